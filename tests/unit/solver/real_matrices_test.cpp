// SPDX-License-Identifier: BSD-3-Clause
// Products, triple products and sums of real matrices beside Eigen's in long double.
#include "support/test_data.hpp"

#include <echelon/io/matrix_market.hpp>
#include <echelon/linalg/sparse_product.hpp>
#include <echelon/linalg/sparse_sum.hpp>
#include <echelon/matrix/transform.hpp>

#include <gtest/gtest.h>

#ifdef ECHELON_TEST_WITH_EIGEN
#include <Eigen/SparseCore>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

using Exact = Eigen::SparseMatrix<long double, Eigen::RowMajor, int>;

Exact exact(const Csr<double>& A) {
  const std::vector<int> offsets(A.row_offsets().span().begin(), A.row_offsets().span().end());
  using Double = Eigen::SparseMatrix<double, Eigen::RowMajor, int>;
  return Eigen::Map<const Double>(A.rows(), A.columns(), A.nonzeros(), offsets.data(),
                                  A.column_indices().data(), A.values().data())
      .cast<long double>();
}

/// `magnitudes` has, for every element, the sum of the magnitudes of its terms, of which there are at most
/// `terms`.
void expect_close(const Csr<double>& got, const Exact& expected, const Exact& magnitudes, long double terms) {
  ASSERT_EQ(got.nonzeros(), expected.nonZeros());
  const long double bound = (terms + 2) * std::numeric_limits<double>::epsilon();
  for (std::int64_t k = 0; k < got.nonzeros(); ++k) {
    ASSERT_EQ(got.column_indices()[k], expected.innerIndexPtr()[k]);
    const long double error = std::abs(got.values()[k] - expected.valuePtr()[k]);
    ASSERT_LE(error, bound * magnitudes.valuePtr()[k] + std::numeric_limits<double>::min())
        << "element " << k;
  }
  for (std::int64_t i = 0; i <= got.rows(); ++i) ASSERT_EQ(got.row_offsets()[i], expected.outerIndexPtr()[i]);
}

/// Matrices of at most 40 KB packed.
std::vector<std::string> small_files() {
  std::vector<std::string> names;
  std::error_code absent;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(real_matrices(), absent)) {
    const std::string name = entry.path().string();
    if (name.ends_with(".mtx.gz") && name.find("/complex/") == std::string::npos &&
        entry.file_size() < 40'000) {
      names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Columns in groups of three.
Csr<double> aggregation(std::int64_t columns) {
  std::vector<Triplet<double>> triplets;
  for (std::int32_t j = 0; j < columns; ++j) triplets.push_back({j, j / 3, 1 + 0.25 * (j % 3)});
  return Csr<double>::from_triplets(columns, (columns + 2) / 3, triplets);
}

Csr<double> columns_reversed(const Csr<double>& A) {
  Array<std::int32_t> order(A.device(), A.columns());
  for (std::int64_t j = 0; j < A.columns(); ++j) order[j] = static_cast<std::int32_t>(A.columns() - 1 - j);
  return permute_columns(A, order);
}

void check_products(const Csr<double>& A) {
  const Csr<double> At = transpose(A);
  const Csr<double> P = aggregation(A.columns());
  const Csr<double> R = transpose(aggregation(A.rows()));
  const Exact a = exact(A);
  const Exact at = exact(At);
  const Exact p = exact(P);
  const Exact r = exact(R);
  std::int64_t longest = 0;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    longest = std::max(longest, A.row_offsets()[i + 1] - A.row_offsets()[i]);
  }
  const Exact magnitudes = a.cwiseAbs();
  const Exact pairs = magnitudes * Exact(at.cwiseAbs());
  expect_close(multiply(A, At), a * at, pairs, static_cast<long double>(longest));
  const Exact ra = r * a;
  const Exact ra_magnitudes = r * magnitudes;
  expect_close(multiply(R, A, P), ra * p, ra_magnitudes * p, 6);
}

void check_sum(const Csr<double>& A) {
  const Csr<double> B = columns_reversed(A);
  const Exact a = exact(A) * 0.75L;
  const Exact b = exact(B) * -1.25L;
  expect_close(add(0.75, A, -1.25, B), a + b, Exact(a.cwiseAbs()) + Exact(b.cwiseAbs()), 2);
  const Csr<double> back = add(1.0, add(1.0, A, 1.0, B), -1.0, B);
  const Exact sum = exact(A) + exact(B) * 0.0L;
  expect_close(back, sum, Exact(exact(A).cwiseAbs()) + Exact(exact(B).cwiseAbs()) * 2.0L, 2);
}

TEST_F(RealMatrices, ProductsAndSums_AgreeWithEigenInHigherPrecision) {
  const std::vector<std::string> files = small_files();
  EXPECT_FALSE(files.empty());
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    const auto A = read_matrix_market<double>(file);
    if (A.columns() == 1) continue;  // a right-hand side: its product would be full
    check_products(A);
    check_sum(A);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace echelon::test
#endif
