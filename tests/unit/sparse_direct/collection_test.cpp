// SPDX-License-Identifier: BSD-3-Clause
// Direct methods for sparse matrices on a collection of real ones: LAPACK's scaled residual.
#include "support/sparse_systems.hpp"
#include "support/test_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

constexpr double passing = 30;  // LAPACK's threshold

/// Packed Matrix Market files of at most `largest` bytes.
std::vector<std::string> files(std::uintmax_t largest) {
  std::vector<std::string> names;
  std::error_code absent;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(real_matrices(), absent)) {
    const std::string name = entry.path().string();
    if (name.ends_with(".mtx.gz") && name.find("/complex/") == std::string::npos &&
        entry.file_size() <= largest) {
      names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Files whose matrices take a part of a second.
constexpr std::uintmax_t for_fronts = 300'000;
constexpr std::uintmax_t for_bands = 40'000;
constexpr std::uintmax_t for_maps = 20'000;

/// A square matrix whose factors are found quickly.
bool is_quick(const Csr<double>& A) {
  constexpr double most_flops = 2e8;
  return A.rows() == A.columns() && predict_factor(A, Ordering::amd).flops < most_flops;
}

/// Solves A x = A v for random v. A singular A has to be called so, and its x to satisfy the equations.
template <class Method>
void expect_solved(Method& solver, const Csr<double>& A) {
  const Report factored = solver.factor(A);
  ASSERT_TRUE(factored.ready() || factored.status == Status::singular) << factored.message;
  const std::vector<double> b = product(A, random_vector<double>(A.columns(), 3));
  std::vector<double> x(static_cast<std::size_t>(A.columns()));
  const Report report = solver.solve(b, x);
  if (factored.status == Status::singular) {
    EXPECT_TRUE(report.status == Status::underdetermined || report.status == Status::singular)
        << to_string(report.status) << ": " << report.message;
  } else {
    EXPECT_EQ(report.status, Status::direct) << report.message;
  }
  EXPECT_LT(scaled_residual(A, x.data(), b.data()), passing) << report.message;
}

TEST_F(RealMatrices, SparseLu_ScaledResidualsAreSmall) {
  int solved = 0;
  for (const std::string& file : files(for_fronts)) {
    SCOPED_TRACE(file);
    const auto A = read_matrix_market<double>(file);
    if (!is_quick(A)) continue;
    SparseLu<double> solver;
    expect_solved(solver, A);
    ++solved;
  }
  EXPECT_GT(solved, 0);
}

/// Where the method refuses, the element that it names is not a positive pivot.
TEST_F(RealMatrices, SparseCholesky_ScaledResidualsAreSmallOrAPivotIsNamed) {
  int solved = 0;
  for (const std::string& file : files(for_fronts)) {
    SCOPED_TRACE(file);
    const auto A = read_matrix_market<double>(file);
    if (!is_quick(A) || !analyze_structure<double>(A).symmetric_values) continue;
    SparseCholesky<double> solver;
    if (const Report factored = solver.factor(A); factored.status == Status::not_spd) {
      EXPECT_GE(factored.row.value_or(-1), 0) << factored.message;
      EXPECT_NE(factored.message.find("the pivot of column"), std::string::npos) << factored.message;
      continue;
    }
    expect_solved(solver, A);
    ++solved;
  }
  EXPECT_GT(solved, 0);
}

/// Wide bands are refused with the reason.
TEST_F(RealMatrices, BandedLu_ScaledResidualsAreSmall) {
  int solved = 0;
  for (const std::string& file : files(for_bands)) {
    SCOPED_TRACE(file);
    const auto A = read_matrix_market<double>(file);
    if (A.rows() != A.columns()) continue;
    BandedLu<double> solver;
    const Report factored = solver.factor(A);
    if (factored.status == Status::singular || factored.status == Status::breakdown) {
      EXPECT_FALSE(factored.message.empty());
      continue;
    }
    expect_solved(solver, A);
    ++solved;
  }
  EXPECT_GT(solved, 0);
}

/// Matrices of every shape; those that it calls deficient get a solution of consistent equations.
TEST_F(RealMatrices, MappedEchelon_ScaledResidualsAreSmall) {
  int solved = 0;
  for (const std::string& file : files(for_maps)) {
    SCOPED_TRACE(file);
    const auto A = read_matrix_market<double>(file);
    if (A.columns() == 1) continue;  // a right-hand side
    MappedEchelon<double> solver;
    const Report factored = solver.setup(A);
    ASSERT_TRUE(factored.ready() || factored.rank < A.columns()) << factored.message;
    const std::vector<double> b = product(A, random_vector<double>(A.columns(), 3));
    std::vector<double> x(static_cast<std::size_t>(A.columns()));
    const Report report = solver.solve(b, x);
    EXPECT_EQ(report.status, report.rank == A.columns() ? Status::direct : Status::underdetermined)
        << to_string(report.status) << ": " << report.message;
    EXPECT_LT(scaled_residual(A, x.data(), b.data()), passing) << report.message;
    ++solved;
  }
  EXPECT_GT(solved, 0);
}

}  // namespace
}  // namespace echelon::test
