// SPDX-License-Identifier: BSD-3-Clause
/// Sparse matrices of awkward shapes, and their products and sums by plain loops.
#pragma once

#include <echelon/matrix/csr.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace echelon::test {

/// Rows of entries with ascending columns, from which all matrices here are built.
template <class T>
using MapRows = std::vector<std::map<std::int32_t, T>>;

template <class T>
Csr<T> from_rows(std::int64_t columns, const MapRows<T>& rows) {
  std::vector<std::int64_t> offsets = {0};
  std::vector<std::int32_t> indices;
  std::vector<T> values;
  for (const auto& row : rows) {
    for (const auto& [j, value] : row) {
      indices.push_back(j);
      values.push_back(value);
    }
    offsets.push_back(static_cast<std::int64_t>(indices.size()));
  }
  const Device host;
  return Csr<T>(static_cast<std::int64_t>(rows.size()), columns,
                Array<std::int64_t>(host, std::span<const std::int64_t>(offsets)),
                Array<std::int32_t>(host, std::span<const std::int32_t>(indices)),
                Array<T>(host, std::span<const T>(values)));
}

template <class T>
MapRows<T> to_rows(const Csr<T>& A) {
  MapRows<T> rows(static_cast<std::size_t>(A.rows()));
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      rows[static_cast<std::size_t>(i)][A.column_indices()[k]] = A.values()[k];
    }
  }
  return rows;
}

/// A B, each element summed in ascending k from the first product on, in T.
template <class T>
Csr<T> plain_product(const Csr<T>& A, const Csr<T>& B) {
  const MapRows<T> a = to_rows(A);
  const MapRows<T> b = to_rows(B);
  MapRows<T> c(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (const auto& [k, a_ik] : a[i]) {
      for (const auto& [j, b_kj] : b[static_cast<std::size_t>(k)]) {
        const T term = a_ik * b_kj;
        const auto [place, is_new] = c[i].emplace(j, term);
        if (!is_new) place->second = place->second + term;
      }
    }
  }
  return from_rows(B.columns(), c);
}

template <class T>
Csr<T> plain_sum(T alpha, const Csr<T>& A, T beta, const Csr<T>& B) {
  MapRows<T> c = to_rows(A);
  for (auto& row : c) {
    for (auto& element : row) element.second *= alpha;
  }
  const MapRows<T> b = to_rows(B);
  for (std::size_t i = 0; i < b.size(); ++i) {
    for (const auto& [j, b_ij] : b[i]) {
      const T term = beta * b_ij;
      const auto [place, is_new] = c[i].emplace(j, term);
      if (!is_new) place->second = place->second + term;
    }
  }
  return from_rows(A.columns(), c);
}

template <class T>
Csr<T> plain_transpose(const Csr<T>& A) {
  MapRows<T> rows(static_cast<std::size_t>(A.columns()));
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      rows[static_cast<std::size_t>(A.column_indices()[k])][static_cast<std::int32_t>(i)] = A.values()[k];
    }
  }
  return from_rows(A.rows(), rows);
}

/// Up to `per_row` elements a row at random places.
template <class T>
Csr<T> random_matrix(std::int64_t rows, std::int64_t columns, int per_row, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  MapRows<T> result(static_cast<std::size_t>(rows));
  for (auto& row : result) {
    const unsigned count = columns > 0 ? random() % (2 * static_cast<unsigned>(per_row) + 1) : 0;
    for (unsigned e = 0; e < count; ++e) {
      row[static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(columns))] =
          static_cast<T>(value(random));
    }
  }
  return from_rows(columns, result);
}

/// A matrix with the same pattern and device and other values.
template <class T>
Csr<T> with_new_values(const Csr<T>& A, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  std::vector<T> values(static_cast<std::size_t>(A.nonzeros()));
  for (T& v : values) v = static_cast<T>(value(random));
  return Csr<T>::unchecked(A.rows(), A.columns(), A.row_offsets(), A.column_indices(),
                           Array<T>(A.device(), std::span<const T>(values)));
}

/// A sparse random matrix with row `dense_row` and column `dense_column` full, where they are not negative.
template <class T>
Csr<T> arrow(std::int64_t n, std::int64_t dense_row, std::int64_t dense_column, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  MapRows<T> rows = to_rows(random_matrix<T>(n, n, 2, seed));
  for (std::int32_t e = 0; e < n; ++e) {
    if (dense_row >= 0) rows[static_cast<std::size_t>(dense_row)][e] = static_cast<T>(value(random));
    if (dense_column >= 0) {
      rows[static_cast<std::size_t>(e)][static_cast<std::int32_t>(dense_column)] =
          static_cast<T>(value(random));
    }
  }
  return from_rows(n, rows);
}

/// The 7-point Laplacian's pattern on side^3 points, random values.
template <class T>
Csr<T> grid_3d(std::int32_t side, unsigned seed) {
  MapRows<T> rows(static_cast<std::size_t>(side) * static_cast<std::size_t>(side) *
                  static_cast<std::size_t>(side));
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(rows.size()); ++i) {
    auto& row = rows[static_cast<std::size_t>(i)];
    row[i] = 6;
    for (const std::int32_t step : {1, side, side * side}) {
      const std::int32_t coordinate = i / step % side;
      if (coordinate > 0) row[i - step] = -1;
      if (coordinate + 1 < side) row[i + step] = -1;
    }
  }
  return with_new_values(from_rows(static_cast<std::int64_t>(rows.size()), rows), seed);
}

template <class T>
struct FactorPair {
  std::string name;
  Csr<T> A;
  Csr<T> B;
};

/// Operands for every path: empty matrices, empty rows, rows for each size of hash table, a dense row, a
/// dense column, a dense result, columns with equal hashes.
template <class T>
std::vector<FactorPair<T>> factor_pairs() {
  std::vector<FactorPair<T>> pairs;
  for (const std::int64_t n : {0, 1, 2, 31, 33, 1025}) {
    for (const int per_row : {1, 3, 12}) {
      pairs.push_back({"square_" + std::to_string(n) + "_" + std::to_string(per_row),
                       random_matrix<T>(n, n, per_row, 1), random_matrix<T>(n, n, per_row, 2)});
    }
  }
  pairs.push_back({"no_inner", random_matrix<T>(7, 0, 1, 1), random_matrix<T>(0, 9, 1, 2)});
  pairs.push_back({"no_columns", random_matrix<T>(7, 5, 2, 1), random_matrix<T>(5, 0, 1, 2)});
  pairs.push_back({"wide", random_matrix<T>(33, 700, 40, 3), random_matrix<T>(700, 100'000, 60, 4)});
  pairs.push_back({"tall", random_matrix<T>(3000, 33, 5, 3), random_matrix<T>(33, 17, 6, 4)});
  pairs.push_back({"long_rows", random_matrix<T>(40, 2000, 200, 5), random_matrix<T>(2000, 30'000, 100, 6)});
  pairs.push_back({"dense_row", arrow<T>(1025, 17, -1, 7), random_matrix<T>(1025, 1025, 4, 8)});
  pairs.push_back({"dense_column", arrow<T>(400, -1, 3, 9), arrow<T>(400, -1, 3, 10)});
  pairs.push_back({"dense_row_times_column", arrow<T>(513, 5, -1, 11), arrow<T>(513, -1, 5, 12)});
  pairs.push_back({"dense_result", arrow<T>(300, -1, 5, 13), arrow<T>(300, 5, -1, 14)});
  pairs.push_back({"grid", grid_3d<T>(9, 15), grid_3d<T>(9, 16)});
  MapRows<T> strided(50);
  for (auto& row : strided) {
    for (std::int32_t e = 0; e < 60; ++e) row[e * 4096] = static_cast<T>(0.5 + e);
  }
  MapRows<T> repeated(100);
  for (std::size_t i = 0; i < repeated.size(); ++i) {
    for (std::int32_t e = 0; e < 6; ++e) repeated[i][static_cast<std::int32_t>(i / 3) + 4 * e] = 1;
  }
  pairs.push_back(
      {"repeated_rows", with_new_values(from_rows<T>(60, repeated), 18), random_matrix<T>(60, 90, 5, 19)});
  pairs.push_back({"strided", random_matrix<T>(70, 50, 5, 17), from_rows<T>(60 * 4096, strided)});
  return pairs;
}

/// Matrices of one shape.
template <class T>
std::vector<FactorPair<T>> summand_pairs() {
  std::vector<FactorPair<T>> pairs;
  for (const std::int64_t n : {0, 1, 2, 31, 33, 1025}) {
    for (const int per_row : {1, 7, 40}) {
      pairs.push_back({"square_" + std::to_string(n) + "_" + std::to_string(per_row),
                       random_matrix<T>(n, n, per_row, 1), random_matrix<T>(n, n, per_row, 2)});
    }
  }
  pairs.push_back({"no_columns", random_matrix<T>(7, 0, 1, 1), random_matrix<T>(7, 0, 1, 2)});
  pairs.push_back({"wide", random_matrix<T>(5, 70'000, 3000, 1), random_matrix<T>(5, 70'000, 4000, 2)});
  pairs.push_back({"one_empty", random_matrix<T>(100, 80, 6, 1), from_rows<T>(80, MapRows<T>(100))});
  pairs.push_back({"other_empty", from_rows<T>(80, MapRows<T>(100)), random_matrix<T>(100, 80, 6, 1)});
  pairs.push_back({"dense_row", arrow<T>(3000, 17, -1, 7), arrow<T>(3000, 2999, -1, 8)});
  pairs.push_back({"same_dense_row", arrow<T>(3000, 17, -1, 7), arrow<T>(3000, 17, -1, 8)});
  pairs.push_back({"dense_column", arrow<T>(400, -1, 3, 9), arrow<T>(400, -1, 399, 10)});
  pairs.push_back({"same_pattern", grid_3d<T>(9, 15), grid_3d<T>(9, 16)});
  return pairs;
}

/// Compares bits; all NaNs are equal.
template <class T>
bool same_values(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](T x, T y) {
           return (std::isnan(x) && std::isnan(y)) || std::memcmp(&x, &y, sizeof(T)) == 0;
         });
}

template <class T>
void expect_same_pattern(const Csr<T>& got, const Csr<T>& expected) {
  EXPECT_EQ(got.rows(), expected.rows());
  EXPECT_EQ(got.columns(), expected.columns());
  EXPECT_EQ(got.row_offsets().to_vector(), expected.row_offsets().to_vector());
  EXPECT_EQ(got.column_indices().to_vector(), expected.column_indices().to_vector());
}

template <class T>
void expect_identical(const Csr<T>& got, const Csr<T>& expected) {
  expect_same_pattern(got, expected);
  EXPECT_TRUE(same_values(got.values().to_vector(), expected.values().to_vector()));
}

/// Compares up to the rounding errors of sums of a thousand terms of magnitude one.
template <class T>
void expect_close(const Csr<T>& got, const Csr<T>& expected) {
  expect_same_pattern(got, expected);
  const std::vector<T> a = got.values().to_vector();
  const std::vector<T> b = expected.values().to_vector();
  ASSERT_EQ(a.size(), b.size());
  double worst = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const double error = std::abs(static_cast<double>(a[k]) - static_cast<double>(b[k]));
    worst = std::max(worst, std::isnan(error) ? std::numeric_limits<double>::infinity() : error);
  }
  EXPECT_LE(worst, 2000 * static_cast<double>(std::numeric_limits<T>::epsilon()));
}

}  // namespace echelon::test
