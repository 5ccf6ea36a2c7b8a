// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "backend/backend.hpp"
#include "backend/host/host.hpp"
#include "matrix/host_copy.hpp"
#include "matrix/rows.hpp"
#include "matrix/structure/probable_symmetry.hpp"
#include "support/hash.hpp"

#include <echelon/matrix/structure.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace echelon {

namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

/// A sum with an error bound: the rounding error of every addition is computed exactly (Knuth's TwoSum), and
/// only the sum of these errors is rounded.
class CertifiedSum {
 public:
  void add(double term) {
    const double before = sum_;
    sum_ += term;
    const double added = sum_ - before;
    const double error = (before - (sum_ - added)) + (term - added);
    errors_ += error;
    magnitudes_ += std::abs(error);
    ++terms_;
  }
  /// Upper bound of the exact sum; equal to it if no addition was rounded. NaN after an overflow.
  [[nodiscard]] double upper_bound() const {
    return sum_ + (errors_ + 2 * static_cast<double>(terms_) * epsilon * magnitudes_);
  }

 private:
  double sum_ = 0;
  double errors_ = 0;
  double magnitudes_ = 0;
  std::int64_t terms_ = 0;
};

/// Contribution of one or several rows to the structure. Explicit zeros count as not stored.
struct RowFacts {
  std::int64_t zeros = 0;
  std::int64_t longest = 0;
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  std::int64_t empty = 0;
  std::int64_t lower_bandwidth = 0;
  std::int64_t upper_bandwidth = 0;
  std::int64_t zero_diagonals = 0;
  std::int64_t positive_diagonals = 0;
  std::int64_t negative_diagonals = 0;
  std::int64_t strictly_dominant = 0;
  std::int64_t weakly_dominant = 0;
  Largest largest = {};
  double smallest = std::numeric_limits<double>::infinity();
  std::int64_t unmatched_places = 0;  // a_ij != 0 == a_ji
  std::int64_t unequal_values = 0;    // a_ij != a_ji
  Largest half_asymmetry = {};
  bool minor_not_positive = false;  // of the minors a_ii a_jj - a_ij a_ij
  bool minor_negative = false;      // by more than rounding can explain
  FirstIndex nonfinite_row = {};
  std::int64_t nonfinite_column = 0;

  void add(const RowFacts& b) {
    zeros += b.zeros;
    longest = std::max(longest, b.longest);
    shortest = std::min(shortest, b.shortest);
    empty += b.empty;
    lower_bandwidth = std::max(lower_bandwidth, b.lower_bandwidth);
    upper_bandwidth = std::max(upper_bandwidth, b.upper_bandwidth);
    zero_diagonals += b.zero_diagonals;
    positive_diagonals += b.positive_diagonals;
    negative_diagonals += b.negative_diagonals;
    strictly_dominant += b.strictly_dominant;
    weakly_dominant += b.weakly_dominant;
    largest = combine(largest, b.largest);
    smallest = std::min(smallest, b.smallest);
    unmatched_places += b.unmatched_places;
    unequal_values += b.unequal_values;
    half_asymmetry = combine(half_asymmetry, b.half_asymmetry);
    minor_not_positive |= b.minor_not_positive;
    minor_negative |= b.minor_negative;
    if (b.nonfinite_row.value < nonfinite_row.value) nonfinite_column = b.nonfinite_column;
    nonfinite_row = combine(nonfinite_row, b.nonfinite_row);
  }
};

/// Sign of a_ii a_jj - a_ij a_ij for a_ij != 0.
void assess_minor(double a_ii, double a_jj, double a_ij, RowFacts& facts) {
  const bool same_sign = (a_ii > 0 && a_jj > 0) || (a_ii < 0 && a_jj < 0);
  // Quotients do not overflow or underflow where the sign is open; 8 epsilon exceeds their rounding errors.
  const double ratio = (a_ij / a_ii) * (a_ij / a_jj);
  if (!(same_sign && ratio < 1)) facts.minor_not_positive = true;
  if (!same_sign || (ratio > 1 + 8 * epsilon && std::isfinite(ratio))) facts.minor_negative = true;
}

template <class Rows>
struct ReadDiagonal {
  Rows rows;
  double* diagonal;
  void operator()(std::int64_t i) const { diagonal[i] = static_cast<double>(rows.at(i, i)); }
};

template <class Rows>
struct DescribeRow {
  Rows rows;
  bool square;
  std::int64_t diagonal_length;
  const double* diagonal;
  unsigned char* column_is_used;
  unsigned char* row_is_strict;

  void operator()(std::int64_t i, RowFacts& facts) const {
    CertifiedSum excess;  // sum of the off-diagonal magnitudes minus the diagonal's
    std::int64_t length = 0;
    for (std::int64_t k = rows.begin(i); k < rows.end(i); ++k) {
      const auto a_ij = static_cast<double>(rows.value(i, k));
      if (a_ij == 0) continue;
      const std::int64_t j = rows.column(k);
      ++length;
      excess.add(i == j ? -std::abs(a_ij) : std::abs(a_ij));
      describe_element(i, j, a_ij, facts);
      if (square) compare_with_mirror(i, j, a_ij, facts);
    }
    facts.zeros += rows.end(i) - rows.begin(i) - length;
    facts.longest = std::max(facts.longest, length);
    facts.shortest = std::min(facts.shortest, length);
    facts.empty += length == 0 ? 1 : 0;
    const bool strict = excess.upper_bound() < 0;
    row_is_strict[i] = strict ? 1 : 0;
    facts.strictly_dominant += strict ? 1 : 0;
    facts.weakly_dominant += excess.upper_bound() <= 0 ? 1 : 0;
    if (i < diagonal_length) {
      facts.zero_diagonals += diagonal[i] == 0 ? 1 : 0;
      facts.positive_diagonals += diagonal[i] > 0 ? 1 : 0;
      facts.negative_diagonals += diagonal[i] < 0 ? 1 : 0;
    }
  }

  void describe_element(std::int64_t i, std::int64_t j, double a_ij, RowFacts& facts) const {
    std::atomic_ref<unsigned char>(column_is_used[j]).store(1, std::memory_order_relaxed);
    facts.lower_bandwidth = std::max(facts.lower_bandwidth, i - j);
    facts.upper_bandwidth = std::max(facts.upper_bandwidth, j - i);
    facts.largest = combine(facts.largest, Largest{std::abs(a_ij)});
    facts.smallest = std::min(facts.smallest, std::abs(a_ij));
    if (!std::isfinite(a_ij) && facts.nonfinite_row.value == FirstIndex::none) {
      facts.nonfinite_row.value = i;
      facts.nonfinite_column = j;
    }
  }

  void compare_with_mirror(std::int64_t i, std::int64_t j, double a_ij, RowFacts& facts) const {
    const auto a_ji = static_cast<double>(rows.at(j, i));
    if (a_ji == 0) ++facts.unmatched_places;
    if (a_ij != a_ji) ++facts.unequal_values;
    facts.half_asymmetry = combine(facts.half_asymmetry, Largest{std::abs(a_ij / 2 - a_ji / 2)});
    if (i < j) assess_minor(diagonal[i], diagonal[j], a_ij, facts);
  }
};

/// Marks the rows with a nonzero in the column of a marked row, in ascending or descending order. Returns
/// whether all rows are marked then.
template <class Rows>
bool mark_neighbours(const Rows& rows, bool ascending, std::vector<unsigned char>& reached) {
  const auto n = static_cast<std::int64_t>(reached.size());
  bool all = true;
  for (std::int64_t step = 0; step < n; ++step) {
    const std::int64_t i = ascending ? step : n - 1 - step;
    unsigned char& seen = reached[static_cast<std::size_t>(i)];
    for (std::int64_t k = rows.begin(i); seen == 0 && k < rows.end(i); ++k) {
      const std::int64_t j = rows.column(k);
      if (reached[static_cast<std::size_t>(j)] != 0 && rows.value(i, k) != 0) seen = 1;
    }
    all = all && seen != 0;
  }
  return all;
}

/// True if every row of a symmetric matrix is connected to a strictly dominant row by a path of nonzeros. A
/// weakly dominant matrix is then nonsingular: P. Shivakumar, K. Chew, A sufficient condition for
/// nonvanishing of determinants, Proc. Amer. Math. Soc. 43 (1974). Two sweeps reach all rows of most meshes
/// in their usual numbering, without a queue.
template <class Rows>
bool leads_to_strict_rows(const Rows& rows, std::vector<unsigned char> reached) {
  if (mark_neighbours(rows, true, reached) || mark_neighbours(rows, false, reached)) return true;
  std::vector<std::int64_t> queue;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    if (reached[i] != 0) queue.push_back(static_cast<std::int64_t>(i));
  }
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const std::int64_t i = queue[head];
    for (std::int64_t k = rows.begin(i); k < rows.end(i); ++k) {
      unsigned char& seen = reached[static_cast<std::size_t>(rows.column(k))];
      if (seen != 0 || rows.value(i, k) == 0) continue;
      seen = 1;
      queue.push_back(rows.column(k));
    }
  }
  return queue.size() == reached.size();
}

template <class Rows>
Definiteness classify(const RowFacts& facts, const Rows& rows, const std::vector<unsigned char>& strict) {
  const auto n = static_cast<std::int64_t>(strict.size());
  if (facts.unequal_values > 0 || facts.nonfinite_row.value != FirstIndex::none) return Definiteness::unknown;
  if (facts.minor_negative || (facts.positive_diagonals > 0 && facts.negative_diagonals > 0)) {
    return Definiteness::indefinite;
  }
  if (facts.negative_diagonals == 0 && facts.weakly_dominant == n) {
    const bool nonsingular = facts.strictly_dominant == n || leads_to_strict_rows(rows, strict);
    return nonsingular ? Definiteness::positive_definite : Definiteness::positive_semidefinite;
  }
  return facts.positive_diagonals == n && !facts.minor_not_positive ? Definiteness::maybe_positive_definite
                                                                    : Definiteness::unknown;
}

double relative_asymmetry(const RowFacts& facts, bool square) {
  if (!square) return std::numeric_limits<double>::infinity();
  return facts.half_asymmetry.value == 0 ? 0 : 2 * (facts.half_asymmetry.value / facts.largest.value);
}

/// The facts about all rows: each thread describes a part of them.
template <class Rows>
RowFacts describe_rows(const Device& device, std::int64_t rows, std::int64_t elements,
                       const DescribeRow<Rows>& describe_row) {
  constexpr std::int64_t elements_for_threads = 10'000;
  std::vector<RowFacts> of_part(static_cast<std::size_t>(device.threads()));
  Host(device).parallel(elements > elements_for_threads, [&](int part, int parts) {
    RowFacts facts;
    for (std::int64_t i = rows * part / parts; i < rows * (part + 1) / parts; ++i) describe_row(i, facts);
    of_part[static_cast<std::size_t>(part)] = facts;
  });
  RowFacts all;
  for (const RowFacts& facts : of_part) all.add(facts);
  return all;
}

template <class T, class Rows>
Structure describe(const MatrixRef<T>& A, const Rows& rows) {
  const bool square = A.rows() == A.columns();
  std::vector<double> diagonal(static_cast<std::size_t>(std::min(A.rows(), A.columns())));
  std::vector<unsigned char> used(static_cast<std::size_t>(A.columns()), 0);
  std::vector<unsigned char> strict(static_cast<std::size_t>(A.rows()), 0);
  const auto diagonal_length = static_cast<std::int64_t>(diagonal.size());
  Host(A.device()).for_each(diagonal_length, ReadDiagonal<Rows>{rows, diagonal.data()});
  const RowFacts facts =
      describe_rows<Rows>(A.device(), A.rows(), A.nonzeros(),
                          {rows, square, diagonal_length, diagonal.data(), used.data(), strict.data()});

  Structure s;
  s.rows = A.rows();
  s.columns = A.columns();
  s.nonzeros = A.nonzeros();
  s.explicit_zeros = facts.zeros;
  s.symmetric_pattern = square && facts.unmatched_places == 0;
  s.symmetric_values = square && facts.unequal_values == 0;
  s.hermitian_values = s.symmetric_values;
  s.asymmetry = relative_asymmetry(facts, square);
  s.lower_bandwidth = facts.lower_bandwidth;
  s.upper_bandwidth = facts.upper_bandwidth;
  s.longest_row = facts.longest;
  s.shortest_row = A.rows() > 0 ? facts.shortest : 0;
  s.empty_rows = facts.empty;
  s.empty_columns = std::count(used.begin(), used.end(), 0);
  s.zero_diagonals = facts.zero_diagonals;
  s.positive_diagonals = facts.positive_diagonals;
  s.strictly_dominant_rows = facts.strictly_dominant;
  s.weakly_dominant_rows = facts.weakly_dominant;
  s.largest_magnitude = facts.largest.value;
  s.smallest_magnitude = facts.largest.value == 0 ? 0 : facts.smallest;
  if (square) s.definiteness = classify(facts, rows, strict);
  if (facts.nonfinite_row.value != FirstIndex::none) {
    s.nonfinite_row = facts.nonfinite_row.value;
    s.nonfinite_column = facts.nonfinite_column;
  }
  return s;
}

}  // namespace

std::string_view to_string(Definiteness definiteness) {
  switch (definiteness) {
    case Definiteness::unknown:
      return "unknown";
    case Definiteness::positive_definite:
      return "positive_definite";
    case Definiteness::positive_semidefinite:
      return "positive_semidefinite";
    case Definiteness::maybe_positive_definite:
      return "maybe_positive_definite";
    case Definiteness::indefinite:
      return "indefinite";
  }
  return {};
}

template <class T>
Structure analyze_structure(MatrixRef<T> A) {
  return at_api_boundary([&] {
    const HostCopy<T> host(A);
    return with_rows(host.matrix(), [&](const auto& rows) { return describe(host.matrix(), rows); });
  });
}

namespace {

/// Odd random numbers r, one for each row.
struct RandomNumbers {
  std::uint64_t* r;
  void operator()(std::int64_t i) const {
    r[i] = hash_bits(static_cast<std::uint64_t>(i) * golden_ratio_64 + golden_ratio_64) | 1U;
  }
};

/// Part of row i in the sum of h(a_ij) (r_i s_j - s_i r_j) with s_i = r_i^2 and a hash h that maps 0 to 0,
/// which is zero modulo 2^64 if A is symmetric.
template <class T>
struct AsymmetryOfRow {
  SparseRows<T> rows;
  const std::uint64_t* r;

  std::uint64_t operator()(std::int64_t i) const {
    std::uint64_t by_r = 0;
    std::uint64_t by_s = 0;
    for (std::int64_t k = rows.begin(i); k < rows.end(i); ++k) {
      const double value = static_cast<double>(rows.values[k]) + 0.0;  // -0 becomes 0
      const std::uint64_t r_j = r[rows.column(k)];
      const std::uint64_t term = hash_bits(std::bit_cast<std::uint64_t>(value)) * r_j;
      by_r += term;
      by_s += term * r_j;
    }
    return r[i] * (by_s - r[i] * by_r);
  }
};

/// Sum modulo 2^64.
struct WrappedSum {
  std::uint64_t value = 0;
  friend WrappedSum combine(WrappedSum a, WrappedSum b) { return {a.value + b.value}; }
};

}  // namespace

template <class T>
bool is_probably_symmetric(const Csr<T>& A) {
  Host backend(A.device());
  std::vector<std::uint64_t> numbers(static_cast<std::size_t>(A.rows()));
  backend.for_each(A.rows(), RandomNumbers{numbers.data()});
  const AsymmetryOfRow<T> asymmetry{SparseRows<T>(A), numbers.data()};
  WrappedSum sum;
  backend.reduce(
      A.rows(), [&asymmetry](std::int64_t i) { return WrappedSum{asymmetry(i)}; },
      [&](const WrappedSum& all) { sum = all; });
  return sum.value == 0;
}

template Structure analyze_structure(MatrixRef<float>);
template Structure analyze_structure(MatrixRef<double>);
template bool is_probably_symmetric(const Csr<float>&);
template bool is_probably_symmetric(const Csr<double>&);

}  // namespace echelon
