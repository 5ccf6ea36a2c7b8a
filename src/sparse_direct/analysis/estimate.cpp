// SPDX-License-Identifier: BSD-3-Clause
// Estimate of the cost of a factorisation from parts of the matrix.
#include "solver/factor_estimate.hpp"
#include "sparse_direct/pattern/pattern.hpp"
#include "sparse_direct/symbolic/symbolic_factor.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace echelon {

namespace {

/// Breadth-first search in the graph of A from one row on and, in a component that ends, from the next row
/// that was not found. Ends once `most` rows are found.
template <class T>
class RowSearch {
 public:
  RowSearch(const Csr<T>& A, std::int64_t first, std::int64_t most)
      : A_(A), found_(static_cast<std::size_t>(A.rows()), 0) {
    most = std::min(most, A.rows());
    rows_.reserve(static_cast<std::size_t>(most));
    for (std::int64_t k = 0; std::ssize(rows_) < most; ++k) {
      visit(static_cast<std::int32_t>((first + k) % A.rows()));
      while (std::ssize(rows_) < most && take_step()) {
      }
    }
    rows_.resize(static_cast<std::size_t>(most));
  }

  /// The rows in the order in which they were found.
  [[nodiscard]] const std::vector<std::int32_t>& rows() const { return rows_; }

  /// Size of the smallest level that has at least a third of the rows before and after it, or of the one that
  /// has the row in the middle: about that of a separator.
  [[nodiscard]] std::int64_t middle_width() const {
    const std::int64_t n = std::ssize(rows_);
    std::int64_t width = n;
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      const std::int64_t begin = levels_[level];
      const std::int64_t end = level + 1 < levels_.size() ? levels_[level + 1] : n;
      const bool splits = 3 * begin >= n && 3 * (n - end) >= n;
      if (splits || (2 * begin <= n && 2 * end > n)) width = std::min(width, end - begin);
    }
    return width;
  }

  /// d if about s^d rows are within s steps of the first one. Levels of a component that ends do not count.
  [[nodiscard]] double growth_exponent() const {
    const auto steps = std::ssize(levels_) - 2;  // excluding the last level, which may be cut off
    if (steps < 1) return static_cast<double>(levels_.size());
    const auto within = static_cast<double>(levels_.back());
    const auto before = static_cast<double>(levels_[levels_.size() - 2]);
    const auto s = static_cast<double>(steps);
    constexpr std::int64_t few_steps = 3;
    // Of s steps in a mesh, a box has (2 s + 1)^d rows, others have about as many times a constant.
    if (steps <= few_steps) return std::log(within / before) / std::log((s + 0.5) / (s - 0.5));
    return (within - before) * s / within;
  }

 private:
  /// Visits the neighbours of the last level; false if they contain no new row.
  bool take_step() {
    const std::size_t end = rows_.size();
    for (auto k = static_cast<std::size_t>(levels_.back()); k < end; ++k) {
      for (std::int64_t e = A_.row_offsets()[rows_[k]]; e < A_.row_offsets()[rows_[k] + 1]; ++e)
        add(A_.column_indices()[e]);
    }
    if (rows_.size() > end) levels_.push_back(static_cast<std::int64_t>(end));
    return rows_.size() > end;
  }
  void visit(std::int32_t row) {
    if (found_[static_cast<std::size_t>(row)] != 0) return;
    levels_.push_back(std::ssize(rows_));
    add(row);
  }
  void add(std::int32_t row) {
    if (std::exchange(found_[static_cast<std::size_t>(row)], 1) == 0) rows_.push_back(row);
  }

  const Csr<T>& A_;
  std::vector<unsigned char> found_;
  std::vector<std::int32_t> rows_;
  std::vector<std::int64_t> levels_;  // where each begins in rows_
};

/// The principal submatrix of the given rows, without values.
template <class T>
Csr<T> principal_pattern(const Csr<T>& A, std::vector<std::int32_t> rows) {
  std::sort(rows.begin(), rows.end());
  std::vector<std::int32_t> place(static_cast<std::size_t>(A.rows()), -1);
  for (std::size_t k = 0; k < rows.size(); ++k)
    place[static_cast<std::size_t>(rows[k])] = static_cast<std::int32_t>(k);
  std::vector<std::int64_t> offsets = {0};
  std::vector<std::int32_t> columns;
  for (const std::int32_t i : rows) {
    for (std::int64_t e = A.row_offsets()[i]; e < A.row_offsets()[i + 1]; ++e) {
      const std::int32_t found = place[static_cast<std::size_t>(A.column_indices()[e])];
      if (found >= 0) columns.push_back(found);
    }
    offsets.push_back(static_cast<std::int64_t>(columns.size()));
  }
  const auto n = std::ssize(rows);
  const std::vector<T> values(columns.size(), T{1});
  return Csr<T>(n, n, Array<std::int64_t>(Device(), offsets), Array<std::int32_t>(Device(), columns),
                Array<T>(Device(), values));
}

struct PartCost {
  double elements = 0;  ///< rows and stored elements: a part of an expander has few of its elements
  double flops = 0;
  double entries = 0;
};

template <class T>
double elements_of(const Csr<T>& A) {
  return static_cast<double>(A.rows() + A.nonzeros());
}

template <class T>
PartCost cost_of_part(const Csr<T>& A, const std::vector<std::int32_t>& rows) {
  const Csr<T> part = principal_pattern(A, rows);
  const sparse_direct::PatternStorage pattern = sparse_direct::symmetrized_pattern(part);
  const sparse_direct::SymbolicFactor factor =
      sparse_direct::analyze_symmetric(pattern.view(), {.ordering = {.ordering = Ordering::amd}});
  return {elements_of(part), factor.flops, static_cast<double>(factor.factor_entries)};
}

/// The value at `elements` of the power function through those of two parts.
double extrapolate(double elements, const PartCost& small, const PartCost& large, double PartCost::*value,
                   double most_power) {
  const double power = std::log((large.*value) / (small.*value)) / std::log(large.elements / small.elements);
  return large.*value * std::pow(elements / large.elements, std::clamp(power, 1.0, most_power));
}

/// Cost of a factorisation of A as that of some rows, and of an eighth of them, suggests.
template <class T>
CostPrediction extrapolated_cost(const Csr<T>& A, bool symmetric, std::vector<std::int32_t> rows) {
  constexpr std::size_t parts = 8;
  const PartCost large = cost_of_part(A, rows);
  rows.resize(std::max<std::size_t>(rows.size() / parts, 1));
  const PartCost small = cost_of_part(A, rows);
  const auto n = static_cast<double>(A.rows());
  const double elements = elements_of(A);
  const double flops = std::min(extrapolate(elements, small, large, &PartCost::flops, 3), n * n * n / 3);
  const double entries = std::min(extrapolate(elements, small, large, &PartCost::entries, 2), n * n / 2);
  const double triangles = symmetric ? 1 : 2;
  return {triangles * flops, static_cast<std::size_t>(triangles * entries * sizeof(T))};
}

/// Share of the elements off the diagonal for which the element across the diagonal is stored, in a sample.
template <class T>
double mirrored_share(const Csr<T>& A) {
  constexpr std::int64_t sampled_rows = 200;
  const std::int64_t* const offsets = A.row_offsets().data();
  const std::int32_t* const columns = A.column_indices().data();
  std::int64_t all = 0;
  std::int64_t mirrored = 0;
  for (std::int64_t k = 0; k < sampled_rows; ++k) {
    const std::int64_t i = k * A.rows() / sampled_rows;
    for (std::int64_t e = offsets[i]; e < offsets[i + 1]; ++e) {
      const std::int32_t j = columns[e];
      if (j == i) continue;
      all += 1;
      mirrored += std::binary_search(columns + offsets[j], columns + offsets[j + 1], i) ? 1 : 0;
    }
  }
  return all > 0 ? static_cast<double>(mirrored) / static_cast<double>(all) : 1;
}

/// Cost of a factorisation of an A whose graph is like a random one: rows and columns are of similar length,
/// and most neighbours of the quarter of the rows that are nearest each other lie outside of it. Minimum
/// degree eliminates about a largest independent set of rows, of n 2 ln(d) / d rows for a mean degree d
/// (A. M. Frieze, On the independence number of random graphs, Discrete Math. 81, 1990), before the rest is
/// full: within 10 % of the flops of AMD for d from 10 to 80.
template <class T>
std::optional<CostPrediction> cost_of_random_graph(const Csr<T>& A, bool symmetric,
                                                   const std::vector<std::int32_t>& quarter) {
  constexpr double least_degree = 8;
  constexpr double most_uneven = 4;
  constexpr double most_inside = 0.5;
  const std::int64_t* const offsets = A.row_offsets().data();
  std::vector<std::int32_t> of_column(static_cast<std::size_t>(A.rows()), 0);
  std::int64_t longest = 0;
  for (std::int64_t e = 0; e < A.nonzeros(); ++e)
    ++of_column[static_cast<std::size_t>(A.column_indices()[e])];
  for (std::int64_t i = 0; i < A.rows(); ++i) longest = std::max(longest, offsets[i + 1] - offsets[i]);
  longest = std::max<std::int64_t>(longest, *std::ranges::max_element(of_column));
  const auto n = static_cast<double>(A.rows());
  const double length = static_cast<double>(A.nonzeros()) / n;
  if (static_cast<double>(longest) > most_uneven * length) return std::nullopt;

  const double inside = static_cast<double>(principal_pattern(A, quarter).nonzeros());
  std::int64_t elements = 0;
  for (const std::int32_t i : quarter) elements += offsets[i + 1] - offsets[i];
  if (inside > most_inside * static_cast<double>(elements)) return std::nullopt;

  const double degree = (symmetric ? 1 : 2 - mirrored_share(A)) * (length - 1);
  if (degree < least_degree) return std::nullopt;
  const double full = n * (1 - 2 * std::log(degree) / degree);
  const double triangles = symmetric ? 1 : 2;
  return CostPrediction{triangles * full * full * full / 3,
                        static_cast<std::size_t>(triangles * full * full / 2 * sizeof(T))};
}

}  // namespace

template <class T>
CostPrediction estimate_factor_cost(const Csr<T>& A, bool symmetric) {
  constexpr std::int64_t large_part = 16'384;
  return extrapolated_cost(A, symmetric, RowSearch<T>(A, A.rows() / 2, large_part).rows());
}

template <class T>
double growth_exponent(const Csr<T>& A) {
  constexpr std::int64_t most_rows = 4096;
  const std::int64_t most = std::min(most_rows, A.rows() / 4);
  const std::int64_t inside = 618 * A.rows() / 1000;  // not at the boundary of a mesh in its usual numbering
  return most == 0 ? 0 : RowSearch<T>(A, inside, most).growth_exponent();
}

template <class T>
std::optional<CostPrediction> estimate_long_factorization(const Csr<T>& A, bool symmetric, double flops) {
  // Flops of a symmetric factorisation over the cube of a separator's size: 10 to 40 for meshes.
  constexpr double flops_per_cube = 8;
  // A graph that grows no faster than a plane has small separators, even if its levels are wide.
  constexpr double least_growth = 2.1;
  constexpr std::int64_t least_rows = 500;
  // Graphs with fewer neighbours, as those of power grids, are close to trees: the ordering takes little
  // time.
  constexpr double least_length = 3.5;
  const bool is_sparse = static_cast<double>(A.nonzeros()) < least_length * static_cast<double>(A.rows());
  if (A.rows() < least_rows || is_sparse) return std::nullopt;
  const RowSearch<T> from_middle(A, A.rows() / 2, A.rows());
  const RowSearch<T> from_end(A, from_middle.rows().back(), A.rows());
  const auto width = static_cast<double>(from_end.middle_width());
  if (flops_per_cube * width * width * width < flops || growth_exponent(A) < least_growth)
    return std::nullopt;
  std::vector<std::int32_t> rows = from_middle.rows();
  rows.resize(rows.size() / 4);
  const std::optional<CostPrediction> of_random = cost_of_random_graph(A, symmetric, rows);
  const CostPrediction cost = of_random ? *of_random : extrapolated_cost(A, symmetric, std::move(rows));
  return cost.flops >= flops ? std::optional(cost) : std::nullopt;
}

CostPrediction estimate_grid_factorization(std::array<std::int64_t, 3> points, bool symmetric,
                                           std::size_t element_size) {
  // Of L: nested dissection of n by n points takes 829/84 n^3 flops (A. George, SIAM J. Numer. Anal. 10,
  // 1973), that of a cube whose planes have s points about as many for n = s; L has some 5 s^2 elements.
  constexpr double flops_per_cube = 829.0 / 84;
  constexpr double entries_per_square = 5;
  std::ranges::sort(points);
  const auto plane = static_cast<double>(points[0] * points[1]);
  const double cubes = static_cast<double>(points[2]) / static_cast<double>(points[1]);
  const double triangles = symmetric ? 1 : 2;
  const double bytes = entries_per_square * plane * plane * cubes * static_cast<double>(element_size);
  return {triangles * flops_per_cube * plane * plane * plane * cubes,
          static_cast<std::size_t>(triangles * bytes)};
}

template CostPrediction estimate_factor_cost(const Csr<float>&, bool);
template CostPrediction estimate_factor_cost(const Csr<double>&, bool);
template double growth_exponent(const Csr<float>&);
template double growth_exponent(const Csr<double>&);
template std::optional<CostPrediction> estimate_long_factorization(const Csr<float>&, bool, double);
template std::optional<CostPrediction> estimate_long_factorization(const Csr<double>&, bool, double);

}  // namespace echelon
