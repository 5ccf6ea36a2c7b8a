// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/lu/blocks.hpp"

#include "sparse_direct/left_looking/stored_zeros.hpp"
#include "sparse_direct/left_looking/substitution.hpp"
#include "sparse_direct/multifrontal/fronts/pivot_sizes.hpp"
#include "sparse_direct/multifrontal/singular.hpp"
#include "sparse_direct/symbolic/equal_patterns.hpp"

#include <echelon/methods/sparse_lu.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

namespace {

/// Matrix with these vectors as rows, and a diagonal unless it is empty; without elements that are zero.
template <class T>
Csr<T> sparse_rows(const SparseVectors<T>& rows, std::span<const T> diagonal) {
  const std::int64_t n = std::ssize(rows.begin) - 1;
  std::vector<Triplet<T>> elements;
  const auto add = [&](std::int64_t i, std::int64_t j, T value) {
    if (value != 0) elements.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), value});
  };
  for (std::int64_t i = 0; i < n; ++i) {
    if (!diagonal.empty()) add(i, i, diagonal[static_cast<std::size_t>(i)]);
    for (std::int64_t p = rows.begin[static_cast<std::size_t>(i)];
         p < rows.begin[static_cast<std::size_t>(i) + 1]; ++p)
      add(i, rows.index[p], rows.value[p]);
  }
  return Csr<T>::from_triplets(n, n, elements);
}

}  // namespace

template <class T>
void BlockLu<T>::analyze(const Csr<T>& A, const OrderingOptions& ordering, bool same_pattern,
                         bool keeps_zeros) {
  keeps_pivots_ = false;
  drops_zeros_ = !keeps_zeros && has_many_zeros(A);
  const Csr<T> last_reduced = std::move(reduced_);
  LargeDiagonal diagonal = large_diagonal_of_rows(A, {.good_diagonal = threshold_});
  const bool same = same_pattern && diagonal.row_permutation == diagonal_.row_permutation &&
                    diagonal.unmatched_columns == diagonal_.unmatched_columns;
  diagonal_ = std::move(diagonal);
  reduce(A);
  set_scaling();
  if (!same || !have_equal_patterns(last_reduced, reduced_))
    order_ = block_order(matrix(A), diagonal_.row_permutation, ordering);
}

template <class T>
bool BlockLu<T>::adapt_to_values(const Csr<T>& A) {
  if (drops_zeros_ && !copy_kept_values(A, reduced_)) return false;
  keeps_pivots_ = true;
  if (!drops_zeros_) reduce(A);
  return true;
}

template <class T>
CostPrediction BlockLu<T>::predicted_cost() const {
  return {order_.flops, static_cast<std::size_t>(order_.entries) * (sizeof(T) + sizeof(std::int32_t))};
}

template <class T>
LeftLookingEnd BlockLu<T>::factor(const Csr<T>& A, double most_entries, const SetupControl& control) {
  const LeftLookingOptions options{.threshold = threshold_, .most_entries = most_entries, .control = control};
  scaled_again_ = false;
  if (keeps_pivots_) {
    LeftLookingEnd end = refactor(A, options);
    const bool scaled = end == LeftLookingEnd::finished && has_scales_of(pivots_when_scaled_);
    if (scaled || end == LeftLookingEnd::cancelled) return end;
    scale_again(A);
    if (end == LeftLookingEnd::finished) end = refactor(A, options);
    pivots_when_scaled_ = pivots_;
    if (end != LeftLookingEnd::no_pivot) return end;
  }
  const LeftLookingEnd end = factor_left_looking(matrix(A), diagonal_.scaling, order_, options, factors_);
  if (end == LeftLookingEnd::finished) measure_pivots();
  pivots_when_scaled_ = pivots_;
  return end;
}

/// Factors new values with the last pivots.
template <class T>
LeftLookingEnd BlockLu<T>::refactor(const Csr<T>& A, const LeftLookingOptions& options) {
  const LeftLookingEnd end = refactor_left_looking(matrix(A), diagonal_.scaling, options, factors_);
  if (end == LeftLookingEnd::finished) measure_pivots();
  return end;
}

template <class T>
void BlockLu<T>::measure_pivots() {
  PivotSizes pivots;
  for (const T pivot : factors_.pivot.span()) pivots.add(std::abs(static_cast<double>(pivot)));
  pivots_ = {pivots.ratio(), factors_.largest_given / pivots.largest()};
}

/// Whether the pivots are about as far from each other, and from the largest element, as these.
template <class T>
bool BlockLu<T>::has_scales_of(const PivotRatios& other) const {
  constexpr double largest_change = 10;
  const auto is_near = [](double change) { return change >= 1 / largest_change && change <= largest_change; };
  return is_near(pivots_.smallest / other.smallest) && is_near(pivots_.largest_given / other.largest_given);
}

template <class T>
double BlockLu<T>::growth() const {
  return factors_.largest_given > 0 ? factors_.largest_element / factors_.largest_given : 1;
}

template <class T>
void BlockLu<T>::substitute(bool transposed, int columns, T* x, T* /*scratch*/) const {
  sparse_direct::substitute(factors_, transposed, columns, x);
}

template <class T>
DeterminantProduct BlockLu<T>::determinant() const {
  DeterminantProduct product;
  for (const T pivot : factors_.pivot.span()) product.multiply(static_cast<double>(pivot));
  product.permute(factors_.row_order);
  product.permute(factors_.column_order);
  product.divide_by_all(scaling_.rows);
  product.divide_by_all(scaling_.columns);
  return product;
}

template <class T>
MatrixFactors<T> BlockLu<T>::factors() const {
  MatrixFactors<T> result;
  // The blocks B of the transpose are factored: B^T = U^T L^T, where L^T has the unit diagonal.
  result.lower = sparse_rows(factors_.upper, std::span<const T>(factors_.pivot.span()));
  const std::vector<T> ones(factors_.row_order.size(), T{1});
  result.upper = sparse_rows(factors_.lower, std::span<const T>(ones));
  result.coupling = sparse_rows(factors_.coupling, std::span<const T>());
  result.row_permutation.assign(factors_.row_order.begin(), factors_.row_order.end());
  result.column_permutation.assign(factors_.column_order.begin(), factors_.column_order.end());
  result.row_scales = scaling_.rows;
  result.column_scales = scaling_.columns;
  return result;
}

template <class T>
std::vector<Statistic> BlockLu<T>::statistics() const {
  return {{"factorization", std::string(to_string(LuFactorization::left_looking))},
          {"ordering", order_.ordering},
          {"blocks", order_.blocks()},
          {"largest_block", order_.largest_block()},
          {"factor_entries", factors_.entries()},
          {"factor_flops", factors_.flops},
          {"factor_bytes", static_cast<std::int64_t>(factors_.bytes())},
          {"scaling", std::string(to_string(diagonal_.kind))},
          {"row_exchanges", std::string(diagonal_.permuted ? "matching" : "none")},
          {"column_exchanges", factors_.exchanges},
          {"pivot_growth", growth()}};
}

template <class T>
std::size_t BlockLu<T>::bytes() const {
  return factors_.bytes() + reduced_.bytes() +
         (scaling_.rows.size() + scaling_.columns.size()) * sizeof(double);
}

template <class T>
BlockOrder BlockLu<T>::release_to_order() {
  BlockOrder order = std::move(order_);
  *this = BlockLu(threshold_);
  return order;
}

template <class T>
void BlockLu<T>::reduce(const Csr<T>& A) {
  reduced_ = {};
  if (!diagonal_.unmatched_columns.empty()) {
    drops_zeros_ = false;
    reduced_ = with_identity_in(A, diagonal_.unmatched_columns, diagonal_.row_permutation);
  } else if (drops_zeros_) {
    reduced_ = without_zeros(A);
  }
}

/// Scales new values as an analysis does, by a matching where the diagonal is small, but keeps the
/// permutation.
template <class T>
void BlockLu<T>::scale_again(const Csr<T>& A) {
  LargeDiagonal again = large_diagonal_of_rows(A, {.good_diagonal = threshold_});
  if (again.unmatched_rows != diagonal_.unmatched_rows ||
      again.unmatched_columns != diagonal_.unmatched_columns)
    return;  // fronts determine the rank
  diagonal_.scaling = std::move(again.scaling);
  diagonal_.kind = again.kind;
  scaled_again_ = true;
  factors_.schedule.reset();
  set_scaling();
}

template <class T>
void BlockLu<T>::set_scaling() {
  matrix_scaling_ = diagonal_.scaling;
  for (const std::int32_t row : diagonal_.unmatched_rows) matrix_scaling_.rows[row] = 1;
  for (const std::int32_t column : diagonal_.unmatched_columns) matrix_scaling_.columns[column] = 1;
  scaling_ = matrix_scaling_;
  for (const std::int32_t row : diagonal_.unmatched_rows) scaling_.rows[row] = 0;
}

template class BlockLu<float>;
template class BlockLu<double>;

}  // namespace echelon::sparse_direct
