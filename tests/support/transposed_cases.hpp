// SPDX-License-Identifier: BSD-3-Clause
/// Cases of solves with the transpose by the factors of A, for every device; operands and results are on the
/// host.
#pragma once

#include "support/problems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace echelon::test {

/// An unsymmetric matrix with rows and columns of very different magnitudes, in another order. Its elements
/// are about `reach` or less from the diagonal before that.
template <class T>
Csr<T> shuffled_band(std::int64_t n, std::int64_t reach, double orders, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  std::vector<double> row_scale;
  std::vector<double> column_scale;
  for (std::int64_t i = 0; i < n; ++i) {
    row_scale.push_back(std::pow(10.0, orders * value(random)));
    column_scale.push_back(std::pow(10.0, orders * value(random)));
  }
  std::vector<Triplet<T>> triplets;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = std::max<std::int64_t>(0, i - reach); j <= std::min(n - 1, i + 1); ++j) {
      const double element = value(random) + (i == j ? 3 : 0);
      triplets.push_back({static_cast<std::int32_t>(i * 7 % n), static_cast<std::int32_t>(j * 7 % n),
                          static_cast<T>(element * row_scale[static_cast<std::size_t>(i)] *
                                         column_scale[static_cast<std::size_t>(j)])});
    }
  }
  return Csr<T>::from_triplets(n, n, triplets);
}

/// Solves with the transpose, and compares with LAPACK's solution for the transpose and the residual.
template <class Solver, class T>
void expect_transposed_solved(const Device& device, const Csr<T>& A, std::int64_t columns) {
  const Csr<T> transposed = transpose(A);
  const Csr<T> there = A.to(device);
  Solver solver(device);
  ASSERT_TRUE(solver.factor(there).ready());
  const Dense<T> b = random_dense<T>(A.rows(), columns, 3);
  Dense<T> x(device, A.rows(), columns);
  const Dense<T> b_there = b.to(device);
  const Report report = solver.solve_transposed(b_there, x);
  EXPECT_EQ(report.status, Status::direct) << report.message;
  EXPECT_EQ(report.columns.size(), static_cast<std::size_t>(columns));
  const Dense<T> found = x.to(Device());
  LapackLu<T> lapack(Device::serial());
  lapack.factor(transposed);
  Dense<T> expected(Device(), A.rows(), columns);
  ASSERT_TRUE(lapack.solve(b, expected).solved());
  for (std::int64_t j = 0; j < columns; ++j) {
    EXPECT_LT(assess(transposed, found, b, j).scaled_residual, 30);
    double largest = 0;
    double difference = 0;
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(expected(i, j))));
      difference = std::max(difference, std::abs(static_cast<double>(found(i, j) - expected(i, j))));
    }
    EXPECT_LE(difference, 1e5 * std::numeric_limits<T>::epsilon() * largest);
  }
}

/// For banded-lu and sparse-lu.
template <class Solver, class T>
void check_transposed_solves(const Device& device) {
  for (const std::int64_t n : {1, 2, 33, 500}) {
    for (const std::int64_t reach : {1, 3, 9}) {
      for (const double orders : {0.0, 3.0}) {
        SCOPED_TRACE(device.name() + ", n " + std::to_string(n) + ", reach " + std::to_string(reach) +
                     ", scaled by " + std::to_string(orders) + " orders");
        expect_transposed_solved<Solver>(device, shuffled_band<T>(n, reach, orders, 5), n == 33 ? 35 : 2);
      }
    }
  }
  expect_transposed_solved<Solver>(device, convection_diffusion(17, 0.4).csr<T>(), 3);
}

/// A singular matrix: the unknowns of its transpose are determined up to a null space, if at all.
template <class Solver, class T>
void check_transposed_singular(const Device& device) {
  const std::int64_t n = 60;
  std::vector<Triplet<T>> triplets;
  for (std::int32_t i = 0; i < n; ++i) {
    if (i == 20) continue;  // a zero row
    triplets.push_back({i, i, T{4}});
    if (i > 0) triplets.push_back({i, i - 1, T{1}});
    if (i + 1 < n) triplets.push_back({i, i + 1, T{-2}});
  }
  const Csr<T> A = Csr<T>::from_triplets(n, n, triplets);
  const Csr<T> transposed = transpose(A);
  const Csr<T> there = A.to(device);
  Solver solver(device);
  EXPECT_EQ(solver.factor(there).status, Status::singular);
  Dense<T> b(Device(), n, 1);
  for (std::int64_t i = 0; i < n; ++i) {
    b[i] = 0;
    for (std::int64_t k = transposed.row_offsets()[i]; k < transposed.row_offsets()[i + 1]; ++k)
      b[i] += transposed.values()[k];
  }
  Dense<T> x(device, n, 1);
  const Report solved = solver.solve_transposed(b.to(device), x);
  EXPECT_EQ(solved.status, Status::underdetermined) << solved.message;
  EXPECT_LT(assess(transposed, x.to(Device()), b, 0).scaled_residual, 30);
  b[20] += 1;
  EXPECT_EQ(solver.solve_transposed(b.to(device), x).status, Status::inconsistent);
}

}  // namespace echelon::test
