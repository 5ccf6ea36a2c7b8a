// SPDX-License-Identifier: BSD-3-Clause
/// Part of `info` on orderings, block triangular form and the predicted factor.
#pragma once

#include "arguments/command_line.hpp"
#include "output/json.hpp"
#include "terminal/text.hpp"

#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/matrix.hpp>
#include <echelon/sparse_direct.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace echelon::tool {

/// Number of stored elements up to which a factor is predicted by default: the prediction then takes about as
/// long as reading the file.
constexpr std::int64_t most_predicted_elements = 1'000'000;

struct FactorOptions {
  std::string order;        ///< the word of an ordering, "btf", or empty
  bool predict = false;     ///< predict the factor of a large matrix as well
  std::string factor_plot;  ///< file, or empty
};

/// Adds --order, --factor and --plot-factor.
void add_factor_options(CLI::App& app, FactorOptions& options);

/// Findings on a square sparse matrix; empty for others.
struct FactorSummary {
  std::optional<std::int64_t> blocks;
  std::int64_t largest_block = 0;
  std::optional<FactorPattern> factor;  ///< not of large matrices unless asked for
};

/// Checks the options and analyses A. Throws BadOption, and DimensionMismatch for a rectangular or
/// InvalidMatrix for a dense matrix if an option needs a square sparse one.
[[nodiscard]] FactorSummary analyze_factor(const FactorOptions& options, const MatrixRef<double>& A);

/// A with rows and columns in the order that --order asks for. `summary` is that of A.
[[nodiscard]] Csr<double> reordered(const FactorOptions& options, const FactorSummary& summary,
                                    const Csr<double>& A);

void add_factor_rows(const FactorSummary& summary, std::int64_t nonzeros, std::vector<Row>& rows);
void add_factor_json(const FactorSummary& summary, Json& json);

}  // namespace echelon::tool
