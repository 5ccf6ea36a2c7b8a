// SPDX-License-Identifier: BSD-3-Clause
#include "commands/factor_info.hpp"

#include <echelon/enum_words.hpp>
#include <echelon/error.hpp>
#include <echelon/matrix/transform.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace echelon::tool {

namespace {

const std::string block_triangular = "btf";

std::vector<std::string> order_words() {
  std::vector<std::string> words;
  for (const auto& [ordering, word] : words_of(Ordering{})) words.emplace_back(word);
  words.push_back(block_triangular);
  return words;
}

/// The ordering for the factor.
Ordering ordering_of(const FactorOptions& options) {
  return from_word<Ordering>(options.order).value_or(Ordering::automatic);
}

bool needs_square_matrix(const FactorOptions& options) {
  return options.predict || !options.order.empty() || !options.factor_plot.empty();
}

Array<std::int32_t> array_of(std::span<const std::int32_t> list) {
  return {Device(), list};
}

std::string amount(double flops) {
  for (const auto& [unit, name] : {std::pair{1e12, "Tflop"}, {1e9, "Gflop"}, {1e6, "Mflop"}}) {
    if (flops >= unit) return fmt::format("{:.3g} {}", flops / unit, name);
  }
  return fmt::format("{} flops", grouped(static_cast<std::int64_t>(flops)));
}

}  // namespace

void add_factor_options(CLI::App& app, FactorOptions& options) {
  app.add_option("--order", options.order, "ordering for the predicted factor and the plots")
      ->type_name(fmt::format("{}", fmt::join(order_words(), "|")));
  app.add_flag("--factor", options.predict, "predict the factor of a large matrix, too");
  add_file_option(app, "--plot-factor", options.factor_plot, "draw the pattern of the factor")
      ->type_name("FILE.svg");
}

FactorSummary analyze_factor(const FactorOptions& options, const MatrixRef<double>& A) {
  if (!options.order.empty()) parse_word("--order", options.order, order_words());
  FactorSummary summary;
  if (!A.is_sparse() || A.rows() != A.columns()) {
    if (!needs_square_matrix(options)) return summary;
    if (A.rows() == A.columns()) throw InvalidMatrix("an ordering needs a sparse matrix");
    throw DimensionMismatch(
        fmt::format("A is {} by {}; an ordering needs a square matrix", A.rows(), A.columns()));
  }
  const BlockTriangularForm form = block_triangular_form(*A.csr());
  summary.blocks = form.blocks();
  summary.largest_block = form.largest_block();
  if (!needs_square_matrix(options) && A.nonzeros() > most_predicted_elements) return summary;
  const bool needs_positions = !options.order.empty() || !options.factor_plot.empty();
  if (form.structural_rank < A.rows() && !needs_positions) {
    summary.factor.emplace().prediction = predict_factor(*A.csr(), ordering_of(options));
  } else {
    summary.factor = factor_pattern(*A.csr(), ordering_of(options));
  }
  return summary;
}

Csr<double> reordered(const FactorOptions& options, const FactorSummary& summary, const Csr<double>& A) {
  if (options.order.empty()) return A;
  if (options.order == block_triangular) {
    const BlockTriangularForm form = block_triangular_form(A);
    return permute(A, array_of(form.row_permutation), array_of(form.column_permutation));
  }
  return permute(A, array_of(summary.factor->row_permutation), array_of(summary.factor->column_permutation));
}

void add_factor_rows(const FactorSummary& summary, std::int64_t nonzeros, std::vector<Row>& rows) {
  if (!summary.blocks) return;
  rows.emplace_back("block triangular form",
                    *summary.blocks == 1
                        ? "one block: A is irreducible"
                        : fmt::format("{} blocks, the largest of {} rows", grouped(*summary.blocks),
                                      grouped(summary.largest_block)));
  if (!summary.factor) {
    rows.emplace_back("predicted factor", fmt::format("with --factor, as A has more than {} nonzeros",
                                                      grouped(most_predicted_elements)));
    return;
  }
  const FactorPrediction& p = summary.factor->prediction;
  const auto n = static_cast<std::int64_t>(summary.factor->row_permutation.size());
  const std::int64_t before = std::max<std::int64_t>(1, p.symmetric ? (nonzeros + n) / 2 : nonzeros);
  rows.emplace_back(
      "predicted factor",
      fmt::format("{} nonzeros in {}, {:.3g} times those of {}; {}; {}; ordering {}", grouped(p.entries),
                  p.symmetric ? "L" : "L and U", static_cast<double>(p.entries) / static_cast<double>(before),
                  p.symmetric ? "A's lower triangle" : "A", amount(p.flops), byte_count(p.bytes),
                  p.ordering));
}

void add_factor_json(const FactorSummary& summary, Json& json) {
  json["block_triangular_blocks"] = summary.blocks ? Json(*summary.blocks) : Json();
  json["largest_block"] = summary.blocks ? Json(summary.largest_block) : Json();
  const bool predicted = summary.factor.has_value();
  const FactorPrediction p = predicted ? summary.factor->prediction : FactorPrediction();
  json["predicted_factor_entries"] = predicted ? Json(p.entries) : Json();
  json["predicted_factor_flops"] = predicted ? Json(p.flops) : Json();
  json["predicted_factor_bytes"] = predicted ? Json(p.bytes) : Json();
  json["ordering"] = predicted ? Json(p.ordering) : Json();
}

}  // namespace echelon::tool
