// SPDX-License-Identifier: BSD-3-Clause
#include "support/table.hpp"

#include <echelon/matrix/structure.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <vector>

namespace echelon::test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

void add_row(const Table& a, std::int64_t i, Structure& s) {
  std::int64_t length = 0;
  double others = 0;
  for (std::int64_t j = 0; j < a.columns; ++j) {
    const double value = a(i, j);
    if (a.stored[a.place(i, j)] && value == 0) ++s.explicit_zeros;
    if (value == 0) continue;
    ++length;
    s.lower_bandwidth = std::max(s.lower_bandwidth, i - j);
    s.upper_bandwidth = std::max(s.upper_bandwidth, j - i);
    if (i != j) others += std::abs(value);
    s.largest_magnitude = std::max(s.largest_magnitude, std::abs(value));
    if (s.smallest_magnitude == 0) s.smallest_magnitude = std::abs(value);
    s.smallest_magnitude = std::min(s.smallest_magnitude, std::abs(value));
    if (!std::isfinite(value) && !s.nonfinite_row) {
      s.nonfinite_row = i;
      s.nonfinite_column = j;
    }
  }
  s.longest_row = std::max(s.longest_row, length);
  s.shortest_row = i == 0 ? length : std::min(s.shortest_row, length);
  if (length == 0) ++s.empty_rows;
  const double diagonal = i < a.columns ? a(i, i) : 0;
  if (i < a.columns && diagonal == 0) ++s.zero_diagonals;
  if (diagonal > 0) ++s.positive_diagonals;
  if (std::abs(diagonal) > others) ++s.strictly_dominant_rows;
  if (std::abs(diagonal) >= others) ++s.weakly_dominant_rows;
}

/// The header's definitions, word for word, in O(n^2); definiteness is tested separately.
Structure naive_structure(const Table& a) {
  Structure s;
  s.rows = a.rows;
  s.columns = a.columns;
  s.nonzeros = std::count(a.stored.begin(), a.stored.end(), true);
  for (std::int64_t i = 0; i < a.rows; ++i) add_row(a, i, s);
  for (std::int64_t j = 0; j < a.columns; ++j) {
    bool empty = true;
    for (std::int64_t i = 0; i < a.rows; ++i) empty = empty && a(i, j) == 0;
    if (empty) ++s.empty_columns;
  }
  s.symmetric_pattern = s.symmetric_values = a.rows == a.columns;
  s.asymmetry = infinity;
  if (a.rows != a.columns) return s;
  double difference = 0;
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < a.columns; ++j) {
      if ((a(i, j) != 0) != (a(j, i) != 0)) s.symmetric_pattern = false;
      if (a(i, j) != a(j, i)) s.symmetric_values = false;
      difference = std::max(difference, std::abs(a(i, j) - a(j, i)));
    }
  }
  s.asymmetry = difference == 0 ? 0 : difference / s.largest_magnitude;
  return s;
}

void expect_same(const Structure& got, const Structure& expected) {
  EXPECT_EQ(got.rows, expected.rows);
  EXPECT_EQ(got.columns, expected.columns);
  EXPECT_EQ(got.nonzeros, expected.nonzeros);
  EXPECT_EQ(got.explicit_zeros, expected.explicit_zeros);
  EXPECT_EQ(got.symmetric_pattern, expected.symmetric_pattern);
  EXPECT_EQ(got.symmetric_values, expected.symmetric_values);
  EXPECT_EQ(got.lower_bandwidth, expected.lower_bandwidth);
  EXPECT_EQ(got.upper_bandwidth, expected.upper_bandwidth);
  EXPECT_EQ(got.longest_row, expected.longest_row);
  EXPECT_EQ(got.shortest_row, expected.shortest_row);
  EXPECT_EQ(got.empty_rows, expected.empty_rows);
  EXPECT_EQ(got.empty_columns, expected.empty_columns);
  EXPECT_EQ(got.zero_diagonals, expected.zero_diagonals);
  EXPECT_EQ(got.positive_diagonals, expected.positive_diagonals);
  EXPECT_EQ(got.nonfinite_row, expected.nonfinite_row);
  EXPECT_EQ(got.nonfinite_column, expected.nonfinite_column);
  if (expected.nonfinite_row.has_value()) {
    EXPECT_FALSE(got.largest_magnitude < infinity);
    EXPECT_EQ(got.definiteness, Definiteness::unknown);
    EXPECT_TRUE(got.rows != got.columns || std::isnan(got.asymmetry));
    return;
  }
  EXPECT_DOUBLE_EQ(got.asymmetry, expected.asymmetry);
  EXPECT_EQ(got.strictly_dominant_rows, expected.strictly_dominant_rows);
  EXPECT_EQ(got.weakly_dominant_rows, expected.weakly_dominant_rows);
  EXPECT_EQ(got.largest_magnitude, expected.largest_magnitude);
  EXPECT_EQ(got.smallest_magnitude, expected.smallest_magnitude);
}

/// The eigenvalues of a symmetric matrix, by Jacobi's rotations.
std::vector<double> eigenvalues(Table a) {
  const std::int64_t n = a.rows;
  const auto rotate = [](double& x, double& y, double c, double s) {
    const double old = x;
    x = c * old - s * y;
    y = s * old + c * y;
  };
  for (int sweep = 0; sweep < 30; ++sweep) {
    for (std::int64_t p = 0; p < n; ++p) {
      for (std::int64_t q = p + 1; q < n; ++q) {
        const double angle = 0.5 * std::atan2(2 * a(p, q), a(q, q) - a(p, p));
        const double c = std::cos(angle);
        const double s = std::sin(angle);
        for (std::int64_t k = 0; k < n; ++k) rotate(a.values[a.place(k, p)], a.values[a.place(k, q)], c, s);
        for (std::int64_t k = 0; k < n; ++k) rotate(a.values[a.place(p, k)], a.values[a.place(q, k)], c, s);
      }
    }
  }
  std::vector<double> result;
  for (std::int64_t i = 0; i < n; ++i) result.push_back(a(i, i));
  return result;
}

TEST(Structure, RandomMatrices_AgreeWithDefinitions) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 3000 && !HasFailure(); ++trial) {
    const Table table = random_table(random, trial % 3 == 0, trial % 7 == 0);
    SCOPED_TRACE(testing::Message() << "trial " << trial << ", " << table.rows << " by " << table.columns);
    const Structure expected = naive_structure(table);
    const auto csr = table.csr<double>();
    expect_same(analyze_structure<double>(csr), expected);
    expect_same(analyze_structure<float>(table.csr<float>()), expected);

    Structure all_stored = expected;
    all_stored.nonzeros = table.rows * table.columns;
    all_stored.explicit_zeros = std::count(table.values.begin(), table.values.end(), 0.0);
    const DenseView<const double> by_row(table.values.data(), table.rows, table.columns, table.columns,
                                         Device(), Layout::row_major);
    expect_same(analyze_structure<double>(by_row), all_stored);
    expect_same(analyze_structure<double>(to_dense<double>(csr)), all_stored);
  }
}

TEST(Structure, Definiteness_AgreesWithEigenvalues) {
  std::mt19937 random(2);
  std::map<Definiteness, int> seen;
  for (int trial = 0; trial < 5000 && !HasFailure(); ++trial) {
    const Table table = random_table(random, true, false);
    const Definiteness said = analyze_structure<double>(table.csr<double>()).definiteness;
    ++seen[said];
    const std::vector<double> spectrum = eigenvalues(table);
    const double least = spectrum.empty() ? 1 : *std::min_element(spectrum.begin(), spectrum.end());
    const double most = spectrum.empty() ? 1 : *std::max_element(spectrum.begin(), spectrum.end());
    SCOPED_TRACE(testing::Message() << "trial " << trial << ": " << to_string(said) << ", eigenvalues from "
                                    << least << " to " << most);
    // A nonzero eigenvalue of such a matrix (small integers, order up to 7) is far from zero.
    constexpr double zero = 1e-9;
    EXPECT_TRUE(said != Definiteness::positive_definite || least > zero);
    EXPECT_TRUE(said != Definiteness::positive_semidefinite || least > -zero);
    EXPECT_TRUE(said != Definiteness::indefinite || (least < -zero && most > zero));
  }
  EXPECT_EQ(seen.size(), 5u) << "every result occurs";
}

Definiteness definiteness_of(std::int64_t n, std::vector<double> elements) {
  return analyze_structure<double>(Table(n, n, std::move(elements)).csr<double>()).definiteness;
}

TEST(Structure, Definiteness_HandCheckedMatrices) {
  EXPECT_EQ(definiteness_of(0, {}), Definiteness::positive_definite);
  EXPECT_EQ(definiteness_of(1, {2}), Definiteness::positive_definite);
  EXPECT_EQ(definiteness_of(1, {0}), Definiteness::positive_semidefinite);
  EXPECT_EQ(definiteness_of(1, {-1}), Definiteness::unknown) << "negative definite has no name here";
  EXPECT_EQ(definiteness_of(2, {-1, 0, 0, 1}), Definiteness::indefinite);
  EXPECT_EQ(definiteness_of(2, {0, 1, 1, 0}), Definiteness::indefinite);
  EXPECT_EQ(definiteness_of(2, {1, 2, 2, 1}), Definiteness::indefinite);
  EXPECT_EQ(definiteness_of(2, {-1, 2, 2, -1}), Definiteness::indefinite);
  EXPECT_EQ(definiteness_of(2, {1, -1, -1, 1}), Definiteness::positive_semidefinite) << "a graph's Laplacian";
  EXPECT_EQ(definiteness_of(2, {1, 1, 2, 4}), Definiteness::unknown) << "not symmetric";
  EXPECT_EQ(definiteness_of(2, {1, 2, 2, 4.5}), Definiteness::maybe_positive_definite);
  EXPECT_EQ(definiteness_of(2, {1, 2, 2, 4}), Definiteness::unknown) << "a minor that is zero";
  EXPECT_EQ(definiteness_of(3, {2, -1, 0, -1, 2, -1, 0, -1, 2}), Definiteness::positive_definite)
      << "Poisson's: the middle row is only weakly dominant, its neighbours strictly";
  EXPECT_EQ(definiteness_of(3, {1, -1, 0, -1, 1, 0, 0, 0, 5}), Definiteness::positive_semidefinite)
      << "the strict row is out of the weak ones' reach";
  EXPECT_EQ(definiteness_of(3, {1, .9, .9, .9, 1, -.9, .9, -.9, 1}), Definiteness::maybe_positive_definite)
      << "whose determinant is negative: a hint is not a proof";
}

TEST(Structure, Dominance_IsNotDueToRounding) {
  // 1 + 2^-53 + 2^-53 exceeds 1, but adding from the left gives 1 exactly.
  const double tiny = std::ldexp(1.0, -53);
  const Table table(4, 4, {1, 1, tiny, tiny, 1, 4, 0, 0, tiny, 0, 4, 0, tiny, 0, 0, 4});
  const Structure s = analyze_structure<double>(table.csr<double>());
  EXPECT_EQ(s.strictly_dominant_rows, 3);
  EXPECT_EQ(s.weakly_dominant_rows, 3);
  EXPECT_EQ(s.definiteness, Definiteness::maybe_positive_definite);
}

TEST(Structure, Minors_ExtremeValues) {
  constexpr double huge = 1e300;
  constexpr double tiny = 1e-300;
  EXPECT_EQ(definiteness_of(2, {huge, 2 * huge, 2 * huge, huge}), Definiteness::indefinite);
  EXPECT_EQ(definiteness_of(2, {tiny, 2 * tiny, 2 * tiny, tiny}), Definiteness::indefinite);
  EXPECT_EQ(definiteness_of(2, {tiny, .5, .5, huge}), Definiteness::maybe_positive_definite);
  EXPECT_EQ(definiteness_of(2, {huge, tiny, tiny, huge}), Definiteness::positive_definite);
}

TEST(Structure, AnyNumberOfThreads_SameResult) {
  constexpr std::int32_t n = 50'000;
  std::mt19937 random(3);
  std::vector<Triplet<double>> triplets;
  for (std::int32_t i = 0; i < n; ++i) {
    triplets.push_back({i, i, 4.0});
    for (int k = 0; k < 3; ++k) {
      const auto j = static_cast<std::int32_t>(random() % n);
      triplets.push_back({i, j, static_cast<double>(random() % 5) - 2});
    }
  }
  const auto host = Csr<double>::from_triplets(n, n, triplets);
  const auto expected = analyze_structure<double>(host.to(Device::serial()));
  for (const int threads : {1, 2, 3, 7}) {
    SCOPED_TRACE(threads);
    const auto got = analyze_structure<double>(host.to(Device::openmp(threads)));
    expect_same(got, expected);
    EXPECT_EQ(got.definiteness, expected.definiteness);
  }
}

}  // namespace
}  // namespace echelon::test
