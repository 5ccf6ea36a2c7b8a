// SPDX-License-Identifier: BSD-3-Clause
// Sparse products on the GPU against plain loops on the host: bit for bit.
#include "backend/targets.hpp"
#include "gpu/gpu_fixture.hpp"
#include "linalg/spgemm/product.hpp"
#include "support/sparse_algebra.hpp"

#include <echelon/error.hpp>
#include <echelon/linalg/sparse_product.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace echelon::test {
namespace {

class GpuSparseProduct : public GpuTest {
 protected:
  template <class T>
  void check_product(const Csr<T>& A, const Csr<T>& B) {
    const Csr<T> expected = plain_product(A, B);
    const Csr<T> a = A.to(gpu);
    const Csr<T> b = B.to(gpu);
    expect_identical(multiply(a, b), expected);
    const Csr<T> A2 = with_new_values(A, 77);
    const Csr<T> expected_of_A2 = plain_product(A2, B);
    for (const bool store_positions : {true, false}) {
      SCOPED_TRACE(store_positions);
      SparseProduct<T> product(a, b, {.store_positions = store_positions});
      Csr<T> C = product.compute(a, b);
      EXPECT_EQ(C.device(), gpu);
      expect_identical(C, expected);
      product.update(A2.to(gpu), b, C);
      expect_identical(C, expected_of_A2);
    }
  }

  template <class T>
  void check_triple(const Csr<T>& R, const Csr<T>& A, const Csr<T>& P) {
    const Csr<T> expected = plain_product(plain_product(R, A), P);
    const Csr<T> r = R.to(gpu);
    const Csr<T> a = A.to(gpu);
    const Csr<T> p = P.to(gpu);
    expect_identical(multiply(r, a, p), expected);
    const Csr<T> A2 = with_new_values(A, 78);
    const Csr<T> expected_of_A2 = plain_product(plain_product(R, A2), P);
    for (const bool store_positions : {true, false}) {
      TripleProduct<T> product(r, a, p, {.store_positions = store_positions});
      Csr<T> C = product.compute(r, a, p);
      expect_identical(C, expected);
      product.update(r, A2.to(gpu), p, C);
      expect_identical(C, expected_of_A2);
    }
  }

  template <class T>
  void check_right_product(const Csr<T>& R, const Csr<T>& A, const Csr<T>& P) {
    const Csr<T> expected = plain_product(R, plain_product(A, P));
    expect_identical(right_product_on<CudaTarget, T>(R.to(gpu), A.to(gpu), P.to(gpu)), expected);
  }
};

TEST_F(GpuSparseProduct, AgreesWithPlainLoops_Double) {
  for (const auto& [name, A, B] : factor_pairs<double>()) {
    SCOPED_TRACE(name);
    check_product(A, B);
  }
}

TEST_F(GpuSparseProduct, AgreesWithPlainLoops_Float) {
  for (const auto& [name, A, B] : factor_pairs<float>()) {
    SCOPED_TRACE(name);
    check_product(A, B);
  }
}

TEST_F(GpuSparseProduct, Triple_AssociatesFromLeft) {
  for (const auto& [name, A, P] : factor_pairs<double>()) {
    SCOPED_TRACE(name);
    check_triple(random_matrix<double>(20 + A.rows() / 8, A.rows(), 3, 5), A, P);
  }
}

/// Rows of A P with room for more elements than they have, together with rows that are counted, and rows of R
/// (A P) of every length.
TEST_F(GpuSparseProduct, RightFactor_HasBitsOfSeparateProducts) {
  for (const auto& [name, A, P] : factor_pairs<double>()) {
    SCOPED_TRACE(name);
    check_right_product(random_matrix<double>(20 + A.rows() / 8, A.rows(), 3, 5), A, P);
  }
  for (const auto& [name, A, P] : factor_pairs<float>()) {
    SCOPED_TRACE(name);
    check_right_product(random_matrix<float>(20 + A.rows() / 8, A.rows(), 3, 6), A, P);
  }
  MapRows<double> rows;
  for (const int length : {0, 1, 5, 8, 9, 31, 32, 33, 64, 255, 257, 1024, 1025, 1999}) {
    auto& row = rows.emplace_back();
    for (std::int32_t e = 0; e < length; ++e) row[(e * 7919) % 2000] = 0.25 + e;
  }
  const Csr<double> lengths = from_rows<double>(2000, rows);
  const Csr<double> right = random_matrix<double>(2000, 700, 4, 7);
  check_right_product(random_matrix<double>(50, lengths.rows(), 6, 8), lengths, right);
  check_right_product(lengths, random_matrix<double>(2000, 2000, 3, 9), right);
}

/// Enough rows for a sample to predict their lengths, without and with rows that are longer than predicted or
/// computed in windows.
TEST_F(GpuSparseProduct, RightFactor_PredictedLengths) {
  constexpr std::int64_t n = 6007;
  for (const int per_row : {2, 8}) {
    SCOPED_TRACE(per_row);
    const Csr<double> A = random_matrix<double>(n, n, per_row, 41);
    const Csr<double> P = random_matrix<double>(n, 2000, 3, 42);
    const Csr<double> R = random_matrix<double>(4111, n, 5, 43);
    check_right_product(R, A, P);
    MapRows<double> rows = to_rows(A);
    for (std::int32_t e = 0; e < 900; ++e) rows[7][6 * e] = 0.5 + e;
    check_right_product(R, from_rows<double>(n, rows), P);
    for (std::int32_t e = 0; e < 3000; ++e) rows[3003][2 * e] = 0.5 + e;
    check_right_product(R, from_rows<double>(n, rows), P);
  }
}

/// Rows of A with one element, whose products are too many for a table and no multiple of four.
TEST_F(GpuSparseProduct, RightFactor_CopiesOfLongRows) {
  MapRows<double> right;
  for (const std::int32_t length : {2047, 2049, 3, 2050, 2051, 2053}) {
    auto& row = right.emplace_back();
    for (std::int32_t e = 0; e < length; ++e) row[e] = 0.25 + e;
  }
  MapRows<double> left(right.size());
  for (std::size_t i = 0; i < left.size(); ++i) left[i][static_cast<std::int32_t>(i)] = 2;
  const Csr<double> A = from_rows<double>(6, left);
  const Csr<double> P = from_rows<double>(3000, right);
  const Csr<double> expected = plain_product(A, plain_product(A, P));
  expect_identical(right_product_on<CudaTarget, double>(A.to(gpu), A.to(gpu), P.to(gpu)), expected);
}

/// Rows on either side of every limit on factors, products and elements.
TEST_F(GpuSparseProduct, RowsOfEveryLength) {
  constexpr std::int32_t columns = 20'000;
  MapRows<double> rows;
  for (const int length : {1,    2,    31,   32,   33,   63,   64,   65,   255,  256,  257,
                           1023, 1024, 1025, 2047, 2048, 2049, 4097, 8191, 8192, 8193, 19'999}) {
    auto& row = rows.emplace_back();
    for (std::int32_t e = 0; e < length; ++e) row[(e * 7919) % columns] = 0.25 + e;
  }
  const Csr<double> lengths = from_rows<double>(columns, rows);
  check_product(random_matrix<double>(60, lengths.rows(), 1, 21), lengths);
  check_product(lengths, random_matrix<double>(columns, 3000, 2, 22));
  check_product(lengths, plain_transpose(lengths));
}

/// Rows on either side of the limits of stored positions: rows of 256 elements of B, and 192 elements of A
/// with those or 768 with rows of 64. Rows without positions stand between rows with them.
TEST_F(GpuSparseProduct, ManyProducts_WithAndWithoutPositions) {
  MapRows<double> left;
  for (const int length : {1, 191, 192, 0, 193, 255, 256, 257, 1, 767, 768, 769, 3, 1022, 1023, 1024, 1025}) {
    auto& row = left.emplace_back();
    for (std::int32_t e = 0; e < length; ++e) row[e] = 0.5 + e;
  }
  for (const int length : {64, 256, 257}) {
    MapRows<double> right(1025);
    for (std::int32_t k = 0; k < 1025; ++k) {
      const std::int32_t own = k % 3 == 0 ? length : 64;
      for (std::int32_t e = 0; e < own; ++e)
        right[static_cast<std::size_t>(k)][(k + 7 * e) % 1999] = 1.0 / (k + e + 1);
    }
    check_product(from_rows<double>(1025, left), from_rows<double>(1999, right));
  }
}

/// Many rows that a block computes together, among them rows without products and without positions.
TEST_F(GpuSparseProduct, ManyRows_Positions) {
  constexpr std::int64_t n = 20'011;
  for (const int per_row : {1, 3, 20}) {
    SCOPED_TRACE(per_row);
    MapRows<double> rows = to_rows(random_matrix<double>(n, n, per_row, 31));
    for (std::int32_t e = 0; e < 3000; ++e) rows[7][e] = rows[9'999][2 * e] = 0.5 + e;
    const Csr<double> A = from_rows<double>(n, rows);
    check_product(A, random_matrix<double>(n, n, 3, 32));
    check_product(random_matrix<double>(n, n, 3, 33), A);
  }
}

TEST_F(GpuSparseProduct, Positions_TakeTheMemoryStated) {
  const Csr<double> A = grid_3d<double>(20, 3).to(gpu);
  const SparseProduct<double> with(A, A);
  const SparseProduct<double> without(A, A, {.store_positions = false});
  const std::vector<std::int64_t> offsets = A.row_offsets().to_vector();
  std::int64_t products = 0;
  for (const std::int32_t column : A.column_indices().to_vector()) {
    const auto row = static_cast<std::size_t>(column);
    products += offsets[row + 1] - offsets[row];
  }
  EXPECT_GT(products, 40 * A.rows());
  const std::int64_t least = 2 * products + 2 * with.nonzeros() + 4 * A.nonzeros();
  const auto stored = static_cast<std::int64_t>(with.bytes() - without.bytes());
  EXPECT_GT(stored, least);
  EXPECT_LE(stored, least + 32 * (products / 1792 + 1));
}

TEST_F(GpuSparseProduct, Zeros_AreKept_NaNPropagates) {
  const double inf = std::numeric_limits<double>::infinity();
  const Csr<double> A(3, 2, {0, 2, 3, 4}, {0, 1, 0, 1}, {1, -1, 0, -0.0});
  const Csr<double> B(2, 3, {0, 3, 5}, {0, 1, 2, 0, 1}, {1, inf, std::nan(""), 1, 2});
  check_product(A, B);
}

TEST_F(GpuSparseProduct, OtherPattern_GivesNaN) {
  const Csr<double> A(2, 2, {0, 1, 3}, {0, 0, 1}, {1, 2, 3});
  const Csr<double> moved(2, 2, {0, 1, 3}, {1, 0, 1}, {1, 2, 3});
  SparseProduct<double> product(A.to(gpu), A.to(gpu));
  Csr<double> C = product.compute(A.to(gpu), A.to(gpu));
  product.update(moved.to(gpu), A.to(gpu), C);
  EXPECT_TRUE(std::isnan(C.values().to_vector()[0]));
}

TEST_F(GpuSparseProduct, OtherPattern_LongRows_GivesNaN) {
  const Csr<double> A = arrow<double>(3000, 5, -1, 1);
  const MapRows<double> left_part = to_rows(random_matrix<double>(3000, 2000, 2, 2));
  MapRows<double> right_part(3000);
  for (std::size_t i = 0; i < 3000; ++i) {
    const auto size = static_cast<std::int32_t>(left_part[i].size());
    for (std::int32_t e = 0; e < size; ++e) right_part[i][2999 - e] = 1;
  }
  const Csr<double> B = from_rows(3000, left_part).to(gpu);
  SparseProduct<double> product(A.to(gpu), B);
  Csr<double> C = product.compute(A.to(gpu), B);
  product.update(A.to(gpu), from_rows(3000, right_part).to(gpu), C);
  const std::vector<std::int64_t> offsets = C.row_offsets().to_vector();
  const std::vector<double> values = C.values().to_vector();
  EXPECT_GT(offsets[6] - offsets[5], 1000) << "row 5 is the long one";
  EXPECT_TRUE(std::isnan(values[static_cast<std::size_t>(offsets[5])]));
}

TEST_F(GpuSparseProduct, ProductTooLarge_OutOfMemory) {
  constexpr std::int64_t n = 2'000'000;
  std::vector<Triplet<double>> down;
  std::vector<Triplet<double>> across;
  for (std::int32_t i = 0; i < n; ++i) {
    down.push_back({i, 0, 1});
    across.push_back({0, i, 1});
  }
  const auto column = Csr<double>::from_triplets(n, 1, down).to(gpu);
  const auto row = Csr<double>::from_triplets(1, n, across).to(gpu);
  try {
    static_cast<void>(multiply(column, row));
    FAIL() << "48 TB were to be had";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.asked(), static_cast<std::size_t>(n * n * 4));
    EXPECT_LT(error.available(), error.asked());
  }
  EXPECT_EQ(multiply(row, column).values().to_vector()[0], static_cast<double>(n));
}

}  // namespace
}  // namespace echelon::test
