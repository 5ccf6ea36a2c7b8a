// SPDX-License-Identifier: BSD-3-Clause
// Estimate of the cost of a factorisation from parts of the matrix.
#include "solver/factor_estimate.hpp"
#include "sparse_direct/pattern/pattern.hpp"
#include "sparse_direct/symbolic/symbolic_factor.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace echelon {

namespace {

/// The first `most` rows that a breadth-first search in the graph of A finds, from the middle row on and, in
/// a component that ends, from the next row that was not found.
template <class T>
std::vector<std::int32_t> rows_of_ball(const Csr<T>& A, std::int64_t most) {
  std::vector<std::int32_t> ball;
  std::unordered_map<std::int32_t, bool> found;
  const auto add = [&](std::int32_t i) {
    if (std::ssize(ball) < most && found.try_emplace(i, true).second) ball.push_back(i);
  };
  const std::int64_t n = A.rows();
  std::size_t head = 0;
  for (std::int64_t k = 0; k < n && std::ssize(ball) < most; ++k) {
    add(static_cast<std::int32_t>((n / 2 + k) % n));
    for (; head < ball.size() && std::ssize(ball) < most; ++head) {
      for (std::int64_t e = A.row_offsets()[ball[head]]; e < A.row_offsets()[ball[head] + 1]; ++e)
        add(A.column_indices()[e]);
    }
  }
  return ball;
}

/// The principal submatrix of the given rows, without values.
template <class T>
Csr<T> principal_pattern(const Csr<T>& A, std::vector<std::int32_t> rows) {
  std::sort(rows.begin(), rows.end());
  std::unordered_map<std::int32_t, std::int32_t> place;
  for (std::size_t k = 0; k < rows.size(); ++k) place[rows[k]] = static_cast<std::int32_t>(k);
  std::vector<std::int64_t> offsets = {0};
  std::vector<std::int32_t> columns;
  for (const std::int32_t i : rows) {
    for (std::int64_t e = A.row_offsets()[i]; e < A.row_offsets()[i + 1]; ++e) {
      const auto found = place.find(A.column_indices()[e]);
      if (found != place.end()) columns.push_back(found->second);
    }
    offsets.push_back(static_cast<std::int64_t>(columns.size()));
  }
  const auto n = std::ssize(rows);
  const std::vector<T> values(columns.size(), T{1});
  return Csr<T>(n, n, Array<std::int64_t>(Device(), offsets), Array<std::int32_t>(Device(), columns),
                Array<T>(Device(), values));
}

struct PartCost {
  double rows = 0;
  double flops = 0;
  double entries = 0;
};

template <class T>
PartCost cost_of_part(const Csr<T>& A, const std::vector<std::int32_t>& rows) {
  const Csr<T> part = principal_pattern(A, rows);
  const sparse_direct::PatternStorage pattern = sparse_direct::symmetrized_pattern(part);
  const sparse_direct::SymbolicFactor factor =
      sparse_direct::analyze_symmetric(pattern.view(), {.ordering = {.ordering = Ordering::amd}});
  return {static_cast<double>(part.rows()), factor.flops, static_cast<double>(factor.factor_entries)};
}

/// The value at `rows` of the power function through those of two parts.
double extrapolate(double rows, const PartCost& small, const PartCost& large, double PartCost::*value,
                   double most_power) {
  const double power = std::log((large.*value) / (small.*value)) / std::log(large.rows / small.rows);
  return large.*value * std::pow(rows / large.rows, std::clamp(power, 1.0, most_power));
}

}  // namespace

template <class T>
CostPrediction estimate_factor_cost(const Csr<T>& A) {
  constexpr std::int64_t large_part = 32'768;
  constexpr std::int64_t small_part = large_part / 8;
  std::vector<std::int32_t> rows = rows_of_ball(A, large_part);
  const PartCost large = cost_of_part(A, rows);
  rows.resize(static_cast<std::size_t>(std::min(small_part, A.rows())));
  const PartCost small = cost_of_part(A, rows);
  const auto n = static_cast<double>(A.rows());
  const double flops = extrapolate(n, small, large, &PartCost::flops, 3);
  const double entries = extrapolate(n, small, large, &PartCost::entries, 2);
  return {2 * flops, static_cast<std::size_t>(2 * entries * sizeof(T))};
}

template CostPrediction estimate_factor_cost(const Csr<float>&);
template CostPrediction estimate_factor_cost(const Csr<double>&);

}  // namespace echelon
