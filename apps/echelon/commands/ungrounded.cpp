// SPDX-License-Identifier: BSD-3-Clause
#include "commands/ungrounded.hpp"

#include "terminal/text.hpp"

#include <echelon/error.hpp>
#include <echelon/graph/analysis.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace echelon::tool {

namespace {

constexpr std::size_t listed_rows = 5;

std::span<const std::int32_t> first_rows(const std::vector<std::int32_t>& rows) {
  return {rows.data(), std::min(rows.size(), listed_rows)};
}

std::string rows_text(const std::vector<std::int32_t>& rows) {
  if (rows.size() == 1) return fmt::format("row {}", rows.front());
  std::string list = fmt::format("rows {}", fmt::join(first_rows(rows), ", "));
  if (rows.size() <= listed_rows) return list;
  return fmt::format("{}, ... ({} rows)", list, grouped(static_cast<std::int64_t>(rows.size())));
}

}  // namespace

template <class T>
std::optional<RowsOfComponents> find_ungrounded(MatrixRef<T> A) {
  constexpr std::int64_t most_dense_rows = 4096;
  if (A.rows() != A.columns() || (!A.is_sparse() && A.rows() > most_dense_rows)) return std::nullopt;
  try {
    if (A.is_sparse()) return graph::ungrounded_components(*A.csr());
    return graph::ungrounded_components(to_csr(A));
  } catch (const InvalidMatrix&) {  // not symmetric
    return std::nullopt;
  }
}

std::string ungrounded_text(const RowsOfComponents& components) {
  constexpr std::size_t listed = 5;
  std::string text;
  for (std::size_t c = 0; c < std::min(components.size(), listed); ++c) {
    text += (c > 0 ? "; " : "") + rows_text(components[c]);
  }
  if (components.size() > listed)
    text += fmt::format("; {} others", grouped(static_cast<std::int64_t>(components.size() - listed)));
  return text;
}

Json ungrounded_json(const RowsOfComponents& components) {
  constexpr std::size_t listed = 100;
  Json list = Json::array();
  for (std::size_t c = 0; c < std::min(components.size(), listed); ++c) {
    const auto rows = first_rows(components[c]);
    list.push_back({{"rows", components[c].size()},
                    {"first_rows", std::vector<std::int32_t>(rows.begin(), rows.end())}});
  }
  return list;
}

template <class T>
std::string imbalance_text(MatrixRef<T> A, DenseView<const T> b) {
  const RowsOfComponents components = find_ungrounded(A).value_or(RowsOfComponents());
  double largest = 0;
  std::string text;
  for (std::int64_t j = 0; j < b.columns(); ++j) {
    for (const std::vector<std::int32_t>& rows : components) {
      double sum = 0;
      double magnitudes = 0;
      for (const std::int32_t i : rows) {
        sum += static_cast<double>(b(i, j));
        magnitudes += std::abs(static_cast<double>(b(i, j)));
      }
      const double part = std::abs(sum) / std::sqrt(static_cast<double>(rows.size()));
      const double rounding = static_cast<double>(std::numeric_limits<T>::epsilon()) * magnitudes;
      if (part <= largest || std::abs(sum) <= rounding * static_cast<double>(rows.size())) continue;
      largest = part;
      const std::string column = b.columns() > 1 ? fmt::format("column {} of b", j) : "b";
      text = fmt::format("the component of {} has no ground, and {} sums to {} over it", rows_text(rows),
                         column, short_number(sum));
    }
  }
  return text;
}

template std::optional<RowsOfComponents> find_ungrounded(MatrixRef<float>);
template std::optional<RowsOfComponents> find_ungrounded(MatrixRef<double>);
template std::string imbalance_text(MatrixRef<float>, DenseView<const float>);
template std::string imbalance_text(MatrixRef<double>, DenseView<const double>);

}  // namespace echelon::tool
