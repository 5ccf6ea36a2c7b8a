// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/matching/large_diagonal.hpp"

#include "matrix/rows.hpp"
#include "sparse_direct/matching/elements.hpp"
#include "sparse_direct/matching/weighted_matching.hpp"
#include "sparse_direct/pattern/dense_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

/// Columns whose diagonal element is less than a fraction of the largest magnitude in them.
template <class T>
std::vector<std::int32_t> columns_with_small_diagonal(const Csr<T>& a, const Scaling& scaling,
                                                      double fraction) {
  std::vector<double> diagonal(static_cast<std::size_t>(a.rows()), 0);
  std::vector<double> largest(static_cast<std::size_t>(a.rows()), 0);
  for_each_element(a, [&](std::int64_t i, std::int64_t j, double magnitude) {
    const double scaled = scaling.rows[i] * magnitude;
    largest[j] = std::max(largest[j], scaled);
    if (i == j) diagonal[j] = scaled;
  });
  std::vector<std::int32_t> columns;
  for (std::size_t j = 0; j < diagonal.size(); ++j) {
    if (!(diagonal[j] > 0 && diagonal[j] >= fraction * largest[j]))
      columns.push_back(static_cast<std::int32_t>(j));
  }
  return columns;
}

/// Whether these rows, which have small diagonal elements as opposed to the others, are dense: they are
/// eliminated last, when the elimination of the others has filled their diagonals. That takes nonzeros a_ri
/// and a_ir for other rows i; there are at least as many as such rows, so that A is not singular by
/// structure.
template <class T>
bool are_filled_by_others(const Csr<T>& a, std::span<const std::int32_t> rows) {
  const double longest = longest_sparse_row(a.rows());
  const SparseRows<T> elements(a);
  std::vector<bool> is_listed(static_cast<std::size_t>(a.rows()), false);
  for (const std::int32_t row : rows) is_listed[static_cast<std::size_t>(row)] = true;
  return std::ranges::all_of(rows, [&](std::int32_t row) {
    const std::int64_t begin = a.row_offsets()[row];
    const std::int64_t end = a.row_offsets()[row + 1];
    if (!(static_cast<double>(end - begin) > longest)) return false;
    std::int64_t others = 0;
    for (std::int64_t k = begin; k < end; ++k) {
      const std::int32_t i = a.column_indices()[k];
      const bool is_other = !is_listed[static_cast<std::size_t>(i)];
      others += is_other && a.values()[k] != T{0} && elements.at(i, row) != T{0} ? 1 : 0;
    }
    return static_cast<double>(others) > longest && others >= std::ssize(rows);
  });
}

template <class T>
bool has_good_diagonal_of_rows(const Csr<T>& a, const Scaling& scaling, double fraction) {
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    double diagonal = 0;
    double largest = 0;
    for (std::int64_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) {
      const std::int32_t j = a.column_indices()[k];
      const double scaled = std::abs(static_cast<double>(a.values()[k])) * scaling.columns[j];
      largest = std::max(largest, scaled);
      if (i == j) diagonal = scaled;
    }
    if (!(diagonal > 0 && diagonal >= fraction * largest)) return false;
  }
  return true;
}

/// Largest difference between the elements of a list.
double spread(std::span<const double> values) {
  if (values.empty()) return 0;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return *most - *least;
}

/// Logarithms of factors relative to those of a scaling.
std::vector<double> relative_to(std::span<const double> logs, std::span<const double> scaling) {
  std::vector<double> relative(logs.begin(), logs.end());
  for (std::size_t i = 0; i < relative.size(); ++i) relative[i] -= std::log(scaling[i]);
  return relative;
}

/// exp of logarithms shifted by a constant, within the range of double.
std::vector<double> exponentials(std::span<const double> logs, double shift) {
  constexpr double largest = 690;
  std::vector<double> factors;
  factors.reserve(logs.size());
  for (const double log : logs) factors.push_back(std::exp(std::clamp(log + shift, -largest, largest)));
  return factors;
}

double middle(std::span<const double> values) {
  if (values.empty()) return 0;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return (*least + *most) / 2;
}

/// Scaling by the matching, with row factors and column factors of about the same size.
Scaling scaling_of(const WeightedMatching& matching) {
  const double shift = (middle(matching.log_column_scale) - middle(matching.log_row_scale)) / 2;
  return {exponentials(matching.log_row_scale, shift), exponentials(matching.log_column_scale, -shift)};
}

bool is_trustworthy(const WeightedMatching& matching, const Scaling& equilibrated) {
  const double limit = -std::log(epsilon);
  return matching.optimal && spread(relative_to(matching.log_row_scale, equilibrated.rows)) <= limit &&
         spread(relative_to(matching.log_column_scale, equilibrated.columns)) <= limit;
}

template <class T>
WeightedMatching run_matching(const Csr<T>& a, const MatchingOptions& options) {
  return maximum_product_matching(
      a, options.work_limit < 0 ? default_work_limit(a.nonzeros()) : options.work_limit);
}

std::vector<std::int32_t> unmatched_rows(std::span<const std::int32_t> row_of_column) {
  std::vector<bool> matched(row_of_column.size(), false);
  for (const std::int32_t row : row_of_column) {
    if (row >= 0) matched[row] = true;
  }
  std::vector<std::int32_t> rows;
  for (std::size_t row = 0; row < matched.size(); ++row) {
    if (!matched[row]) rows.push_back(static_cast<std::int32_t>(row));
  }
  return rows;
}

LargeDiagonal unpermuted(Scaling scaling) {
  LargeDiagonal result;
  result.structural_rank = static_cast<std::int64_t>(scaling.rows.size());
  result.row_permutation.resize(scaling.rows.size());
  std::iota(result.row_permutation.begin(), result.row_permutation.end(), 0);
  result.scaling = std::move(scaling);
  return result;
}

/// Permutes the rows by a matching, and takes its scaling unless it is spread too widely.
template <class T>
void match(const Csr<T>& a, const MatchingOptions& options, LargeDiagonal& result) {
  const WeightedMatching matching = run_matching(a, options);
  result.optimal = matching.optimal;
  result.structural_rank = matching.structural_rank;
  result.unmatched_rows = unmatched_rows(matching.row_of_column);
  auto free_row = result.unmatched_rows.begin();
  for (std::int32_t j = 0; j < a.rows(); ++j) {
    if (matching.row_of_column[j] < 0) result.unmatched_columns.push_back(j);
    result.row_permutation[j] = matching.row_of_column[j] < 0 ? *free_row++ : matching.row_of_column[j];
    result.permuted |= result.row_permutation[j] != j;
  }
  if (is_trustworthy(matching, result.scaling)) {
    result.scaling = scaling_of(matching);
    result.kind = ScalingKind::matching;
  }
}

/// Splits the cycles of a matching, and the paths of one that is not perfect, into pairs of rows and single
/// rows.
class CycleSplitter {
 public:
  /// `diagonal`: scaled magnitudes of the diagonal.
  CycleSplitter(std::span<const std::int32_t> row_of_column, std::span<const double> diagonal)
      : next_(row_of_column), diagonal_(diagonal), partner_(row_of_column.size(), -1) {}

  /// Partner of each row, or itself; an empty list if no rows are paired.
  std::vector<std::int32_t> split() {
    for (const std::int32_t row : unmatched_rows(next_)) {  // a path begins where no column leads
      follow(row);
      pair_neighbours(0);
    }
    for (std::int32_t row = 0; row < std::ssize(next_); ++row) {
      if (partner_[row] >= 0) continue;
      follow(row);
      pair_neighbours(chain_.size() % 2 == 0 ? 0 : position_of_largest_diagonal());
    }
    if (!has_pairs_) partner_.clear();
    return std::move(partner_);
  }

 private:
  /// Collects the rows on the path or cycle that begins with `row`; each is a pivot of its own until paired.
  void follow(std::int32_t row) {
    chain_.clear();
    for (; row >= 0 && partner_[row] < 0; row = next_[row]) {
      partner_[row] = row;
      chain_.push_back(row);
    }
  }

  [[nodiscard]] std::size_t position_of_largest_diagonal() const {
    const auto largest =
        std::max_element(chain_.begin(), chain_.end(),
                         [this](std::int32_t x, std::int32_t y) { return diagonal_[x] < diagonal_[y]; });
    return static_cast<std::size_t>(largest - chain_.begin());
  }

  /// Pairs consecutive rows of the chain; of an odd number, the row at `single` stays alone.
  void pair_neighbours(std::size_t single) {
    const std::size_t size = chain_.size();
    const std::size_t first = size % 2 == 0 ? 0 : single + 1;
    for (std::size_t k = 0; k + 1 < size; k += 2) {
      const std::int32_t x = chain_[(first + k) % size];
      const std::int32_t y = chain_[(first + k + 1) % size];
      partner_[x] = y;
      partner_[y] = x;
      has_pairs_ = true;
    }
  }

  std::span<const std::int32_t> next_;
  std::span<const double> diagonal_;
  std::vector<std::int32_t> partner_;
  std::vector<std::int32_t> chain_;
  bool has_pairs_ = false;
};

}  // namespace

std::string_view to_string(ScalingKind kind) {
  return kind == ScalingKind::matching ? "matching" : "infinity norm";
}

template <class T>
LargeDiagonal large_diagonal(const Csr<T>& a, const MatchingOptions& options) {
  LargeDiagonal result = unpermuted(infinity_norm_scaling(a));
  const std::vector<std::int32_t> small =
      columns_with_small_diagonal(a, result.scaling, options.good_diagonal);
  if (!are_filled_by_others(a, small)) match(a, options, result);
  return result;
}

template <class T>
LargeDiagonal large_diagonal_of_rows(const Csr<T>& a, const MatchingOptions& options) {
  LargeDiagonal result = unpermuted(equilibration(a));
  if (!has_good_diagonal_of_rows(a, result.scaling, options.good_diagonal)) match(a, options, result);
  return result;
}

template <class T>
SymmetricMatching symmetric_matching(const Csr<T>& a, const MatchingOptions& options) {
  SymmetricMatching result;
  const Scaling equilibrated = infinity_norm_scaling(a);  // rows and columns alike, since A is symmetric
  result.scale = equilibrated.rows;
  result.structural_rank = a.rows();
  const std::vector<std::int32_t> small = columns_with_small_diagonal(a, equilibrated, options.good_diagonal);
  if (are_filled_by_others(a, small)) return result;

  WeightedMatching matching = run_matching(a, options);
  result.optimal = matching.optimal;
  result.structural_rank = matching.structural_rank;
  result.unmatched_rows = unmatched_rows(matching.row_of_column);
  // The geometric means of row and column factors are dual variables, too, if A is symmetric.
  for (std::size_t i = 0; i < matching.log_row_scale.size(); ++i) {
    const double mean = (matching.log_row_scale[i] + matching.log_column_scale[i]) / 2;
    matching.log_row_scale[i] = mean;
    matching.log_column_scale[i] = mean;
  }
  if (is_trustworthy(matching, equilibrated)) {
    result.scale = exponentials(matching.log_row_scale, 0);
    result.kind = ScalingKind::matching;
  }
  std::vector<double> diagonal(result.scale.size(), 0);
  for_each_element(a, [&](std::int64_t i, std::int64_t j, double magnitude) {
    if (i == j) diagonal[i] = result.scale[i] * magnitude * result.scale[i];
  });
  result.partner = CycleSplitter(matching.row_of_column, diagonal).split();
  return result;
}

template LargeDiagonal large_diagonal(const Csr<float>&, const MatchingOptions&);
template LargeDiagonal large_diagonal(const Csr<double>&, const MatchingOptions&);
template LargeDiagonal large_diagonal_of_rows(const Csr<float>&, const MatchingOptions&);
template LargeDiagonal large_diagonal_of_rows(const Csr<double>&, const MatchingOptions&);
template SymmetricMatching symmetric_matching(const Csr<float>&, const MatchingOptions&);
template SymmetricMatching symmetric_matching(const Csr<double>&, const MatchingOptions&);

}  // namespace echelon::sparse_direct
