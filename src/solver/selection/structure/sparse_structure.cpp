// SPDX-License-Identifier: BSD-3-Clause
#include "solver/selection/structure/sparse_structure.hpp"

#include "backend/backend.hpp"
#include "backend/host/host.hpp"
#include "linalg/exact_sum.hpp"
#include "matrix/rows.hpp"
#include "matrix/stencil/find_grid.hpp"
#include "matrix/stencil/find_stencil.hpp"
#include "matrix/structure/probable_symmetry.hpp"
#include "support/machine_epsilon.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

namespace echelon {

namespace {

constexpr std::int64_t elements_for_threads = 10'000;

/// Adds the distances of the first and the last nonzero of row i from the diagonal.
template <class T>
void add_bandwidths(const SparseRows<T>& rows, std::int64_t i, SparseRowSummary& facts) {
  std::int64_t first = rows.begin(i);
  std::int64_t end = rows.end(i);
  while (first < end && rows.values[first] == T{0}) ++first;
  while (end > first && rows.values[end - 1] == T{0}) --end;
  if (first == end) return;
  facts.lower_bandwidth = std::max(facts.lower_bandwidth, i - rows.column(first));
  facts.upper_bandwidth = std::max(facts.upper_bandwidth, rows.column(end - 1) - i);
}

/// Adds the facts about row i.
template <class T>
void describe_row(const SparseRows<T>& rows, std::int64_t i, SparseRowSummary& facts) {
  double diagonal = 0;
  double sum = 0;     // of the magnitudes off the diagonal, negative
  double errors = 0;  // of its additions
  bool has_positive = false;
  const std::int64_t end = rows.end(i);
  for (std::int64_t k = rows.begin(i); k < end; ++k) {
    const auto value = static_cast<double>(rows.values[k]);
    const bool on_diagonal = rows.column(k) == i;
    diagonal += on_diagonal ? value : 0;
    has_positive |= !on_diagonal && value > 0;
    errors += add_exactly(sum, on_diagonal ? 0 : -std::abs(value));
  }
  const std::int64_t length = end - rows.begin(i);
  const double others = -sum;
  errors += add_exactly(sum, diagonal);
  const double excess = sum + errors;
  const double dominance = diagonal < 0 ? excess - 2 * diagonal : excess;
  const double rounding =
      machine_epsilon<T> * std::max(std::abs(diagonal), others) * static_cast<double>(length);
  constexpr double strong_share = 0.05;
  facts.longest = std::max(facts.longest, length);
  add_bandwidths(rows, i, facts);
  facts.zero_diagonals += diagonal == 0 ? 1 : 0;
  facts.positive_diagonals += diagonal > 0 ? 1 : 0;
  facts.strictly_dominant += dominance > rounding ? 1 : 0;
  facts.weakly_dominant += dominance >= 0 ? 1 : 0;
  facts.strongly_dominant += excess >= strong_share * diagonal ? 1 : 0;
  facts.smallest_diagonal = std::min(facts.smallest_diagonal, diagonal);
  facts.largest_diagonal = std::max(facts.largest_diagonal, diagonal);
  facts.has_positive |= has_positive;
  facts.has_excess |= excess > rounding;
  facts.is_deficient |= !(excess >= -rounding);
}

SparseRowSummary combine(const SparseRowSummary& a, const SparseRowSummary& b) {
  return {std::max(a.longest, b.longest),
          a.zero_diagonals + b.zero_diagonals,
          a.positive_diagonals + b.positive_diagonals,
          a.strictly_dominant + b.strictly_dominant,
          a.weakly_dominant + b.weakly_dominant,
          a.strongly_dominant + b.strongly_dominant,
          std::max(a.lower_bandwidth, b.lower_bandwidth),
          std::max(a.upper_bandwidth, b.upper_bandwidth),
          std::min(a.smallest_diagonal, b.smallest_diagonal),
          std::max(a.largest_diagonal, b.largest_diagonal),
          a.has_positive || b.has_positive,
          a.has_excess || b.has_excess,
          a.is_deficient || b.is_deficient};
}

/// Rows at equal distances, of about this many elements.
template <class T>
std::vector<std::int64_t> sampled_rows(const Csr<T>& A, std::int64_t most_elements) {
  const std::int64_t count =
      A.nonzeros() == 0 ? 0 : std::min(A.rows(), most_elements * A.rows() / A.nonzeros() + 1);
  std::vector<std::int64_t> rows;
  for (std::int64_t k = 0; k < count; ++k) rows.push_back(k * A.rows() / count);
  return rows;
}

/// Whether some rows show that A differs from its transpose by more than rounding can explain: by more than
/// 1e-6 of the largest element of a row.
template <class T>
bool clearly_unsymmetric(const Csr<T>& A) {
  constexpr double slight = 1e-6;
  // Those that are slightly unsymmetric are found by hashes.
  const std::int64_t few_elements = std::min<std::int64_t>(2'000, A.nonzeros() / 8);
  const SparseRows<T> rows(A);
  for (const std::int64_t i : sampled_rows(A, few_elements)) {
    double largest = 0;
    double difference = 0;
    for (std::int64_t k = rows.begin(i); k < rows.end(i); ++k) {
      const auto value = static_cast<double>(rows.value(i, k));
      largest = std::max(largest, std::abs(value));
      difference = std::max(difference, std::abs(value - static_cast<double>(rows.at(rows.column(k), i))));
    }
    if (difference > slight * largest) return true;
  }
  return false;
}

/// Whether a minor a_ii a_jj - a_ij a_ij of a symmetric A with a positive diagonal is negative by more than
/// rounding can explain.
template <class T>
bool has_negative_minor(const Csr<T>& A) {
  constexpr double rounding = 1 + 8 * std::numeric_limits<double>::epsilon();
  const SparseRows<T> rows(A);
  std::vector<double> roots(static_cast<std::size_t>(A.rows()));  // whose products stay within the range
  Host backend(A.device());
  backend.for_each(A.rows(), [&rows, root = roots.data()](std::int64_t i) {
    root[i] = rounding * std::sqrt(static_cast<double>(rows.at(i, i)));
  });
  std::atomic<bool> found = false;
  backend.for_each_range(
      A.rows(), A.nonzeros() > elements_for_threads, [&](std::int64_t begin, std::int64_t end) {
        const double* const root = roots.data();
        for (std::int64_t i = begin; i < end && !found.load(std::memory_order_relaxed); ++i) {
          bool negative = false;
          for (std::int64_t k = rows.begin(i); k < rows.end(i); ++k) {
            const double value = std::abs(static_cast<double>(rows.values[k]));
            negative |= value > root[i] * root[rows.column(k)];
          }
          if (negative) found = true;
        }
      });
  return found;
}

}  // namespace

DominanceKind SparseRowSummary::kind() const {
  if (is_deficient || positive_diagonals == 0) return DominanceKind::none;
  if (has_positive) return DominanceKind::sdd;
  return has_excess ? DominanceKind::sddm : DominanceKind::laplacian;
}

template <class T>
SparseRowSummary summarize_rows(const Csr<T>& A) {
  const SparseRows<T> rows(A);
  const std::int64_t n = A.rows();
  Host backend(A.device());
  std::vector<SparseRowSummary> of_part(static_cast<std::size_t>(backend.threads()));
  backend.parallel(A.nonzeros() > elements_for_threads, [&](int part, int parts) {
    SparseRowSummary facts;
    for (std::int64_t i = n * part / parts; i < n * (part + 1) / parts; ++i) describe_row(rows, i, facts);
    of_part[static_cast<std::size_t>(part)] = facts;
  });
  SparseRowSummary all;
  for (const SparseRowSummary& facts : of_part) all = combine(all, facts);
  return all;
}

template <class T>
Structure sizes_of(const Csr<T>& A, const SparseRowSummary& rows) {
  Structure structure;
  structure.rows = A.rows();
  structure.columns = A.columns();
  structure.nonzeros = A.nonzeros();
  structure.longest_row = rows.longest;
  return structure;
}

template <class T>
bool is_symmetric(const Csr<T>& A) {
  return !clearly_unsymmetric(A) && is_probably_symmetric(A);
}

template <class T>
Structure structure_of_sparse(const Csr<T>& A, const SparseRowSummary& rows, bool known_symmetric) {
  Structure structure = sizes_of(A, rows);
  structure.zero_diagonals = rows.zero_diagonals;
  structure.positive_diagonals = rows.positive_diagonals;
  structure.strictly_dominant_rows = rows.strictly_dominant;
  structure.weakly_dominant_rows = rows.weakly_dominant;
  if (!known_symmetric && clearly_unsymmetric(A)) {
    structure.asymmetry = std::numeric_limits<double>::infinity();
    return structure;
  }
  if (!known_symmetric && !is_probably_symmetric(A)) {
    const Structure full = analyze_structure(MatrixRef<T>(A));
    structure.symmetric_pattern = full.symmetric_pattern;
    structure.asymmetry = full.asymmetry;
    return structure;
  }
  structure.symmetric_pattern = structure.symmetric_values = true;  // every method that needs it tests it
  if (rows.strictly_dominant == A.rows() && rows.positive_diagonals == A.rows()) {
    structure.definiteness = Definiteness::positive_definite;
  } else if (rows.positive_diagonals == A.rows() && rows.weakly_dominant < A.rows() &&
             has_negative_minor(A)) {
    structure.definiteness = Definiteness::indefinite;
  }
  return structure;
}

template <class T>
bool sample_is_dominant(const Csr<T>& A) {
  constexpr double rounding = 16 * static_cast<double>(std::numeric_limits<T>::epsilon());
  constexpr std::int64_t most_elements = 10'000;
  const SparseRows<T> rows(A);
  for (const std::int64_t i : sampled_rows(A, most_elements)) {
    double diagonal = 0;
    double others = 0;
    for (std::int64_t k = rows.begin(i); k < rows.end(i); ++k)
      (rows.column(k) == i ? diagonal : others) += std::abs(static_cast<double>(rows.value(i, k)));
    if (diagonal < (1 - rounding) * others) return false;
  }
  return true;
}

template <class T>
std::optional<BoxStencil> find_box_stencil(const Csr<T>& A) {
  Host backend(A.device());
  const std::optional<Grid> grid = find_grid(backend, "", MatrixRef<T>(A));
  if (!grid || grid->points[1] * grid->points[2] == 1) return {};
  Array<StoredRegionRows<T>> rows(A.device(), 1);
  const StencilCheck check = check_stencil(backend, A, *grid, rows.data());
  if (check.outside.value != FirstIndex::none) return {};
  return BoxStencil{periodic_grid(*grid, check), has_constant_rows(check)};
}

template <class T>
SparseRowSummary summarize_constant_rows(const Csr<T>& A, const Grid& grid) {
  const SparseRows<T> rows(A);
  const GridNumbering numbering(grid);
  SparseRowSummary all;
  for (std::int64_t region = 0; region < grid_regions; ++region) {
    const std::int64_t size = numbering.region_size(region);
    if (size == 0) continue;
    std::int32_t at[3];
    numbering.coordinates_in_region(region, at);
    SparseRowSummary facts;
    describe_row(rows, numbering.index(at), facts);
    for (std::int64_t* count : {&facts.zero_diagonals, &facts.positive_diagonals, &facts.strictly_dominant,
                                &facts.weakly_dominant, &facts.strongly_dominant})
      *count *= size;
    all = combine(all, facts);
  }
  return all;
}

template <class T>
bool is_symmetric_constant(const Csr<T>& A, const Grid& grid) {
  // Two neighbours lie in each axis at its ends, beside them, or between: the points at the ends and beside
  // them show every pair of rows that differs from its transpose.
  const SparseRows<T> rows(A);
  const GridNumbering numbering(grid);
  for (std::int32_t corner = 0; corner < 64; ++corner) {
    std::int32_t at[3];
    for (int axis = 0; axis < 3; ++axis) {
      const std::int32_t place = corner >> 2 * axis & 3;
      const std::int32_t from_end = numbering.points[axis] - 1;
      at[axis] = std::clamp(place < 2 ? place : from_end + place - 3, 0, from_end);
    }
    const std::int64_t i = numbering.index(at);
    for (std::int64_t k = rows.begin(i); k < rows.end(i); ++k) {
      if (rows.at(rows.column(k), i) != rows.values[k]) return false;
    }
  }
  return true;
}

template SparseRowSummary summarize_rows(const Csr<float>&);
template SparseRowSummary summarize_rows(const Csr<double>&);
template Structure sizes_of(const Csr<float>&, const SparseRowSummary&);
template Structure sizes_of(const Csr<double>&, const SparseRowSummary&);
template bool is_symmetric(const Csr<float>&);
template bool is_symmetric(const Csr<double>&);
template Structure structure_of_sparse(const Csr<float>&, const SparseRowSummary&, bool);
template Structure structure_of_sparse(const Csr<double>&, const SparseRowSummary&, bool);
template bool sample_is_dominant(const Csr<float>&);
template bool sample_is_dominant(const Csr<double>&);
template std::optional<BoxStencil> find_box_stencil(const Csr<float>&);
template std::optional<BoxStencil> find_box_stencil(const Csr<double>&);
template SparseRowSummary summarize_constant_rows(const Csr<float>&, const Grid&);
template SparseRowSummary summarize_constant_rows(const Csr<double>&, const Grid&);
template bool is_symmetric_constant(const Csr<float>&, const Grid&);
template bool is_symmetric_constant(const Csr<double>&, const Grid&);

}  // namespace echelon
