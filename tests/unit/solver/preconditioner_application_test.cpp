// SPDX-License-Identifier: BSD-3-Clause
#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace echelon {

namespace {

/// Tridiagonal matrix with the diagonal 2, 3, 4, ... and -1 beside it.
Csr<double> tridiagonal(std::int32_t n) {
  std::vector<Triplet<double>> entries;
  for (std::int32_t i = 0; i < n; ++i) {
    entries.push_back({i, i, 2.0 + i});
    if (i > 0) entries.push_back({i, i - 1, -1});
    if (i < n - 1) entries.push_back({i, i + 1, -1});
  }
  return Csr<double>::from_triplets(n, n, entries);
}

}  // namespace

TEST(PreconditionerApplication, Jacobi_DividesByDiagonal) {
  for (const std::int32_t n : {1, 31, 33, 1025}) {
    const Csr<double> A = tridiagonal(n);
    for (const Device& device : {Device::serial(), Device::openmp(2)}) {
      auto solver = make_solver<double>("jacobi", device);
      ASSERT_TRUE(solver.setup(A).ready());
      PreconditionerApplication<double> apply(solver, n);
      const std::vector<double> r(static_cast<std::size_t>(n), 3.0);
      std::vector<double> z(r.size());
      for (int repeat = 0; repeat < 2; ++repeat) {
        apply(r.data(), z.data());
        for (std::size_t i = 0; i < z.size(); ++i)
          EXPECT_DOUBLE_EQ(z[i], 3.0 / (2.0 + static_cast<double>(i)));
      }
    }
  }
}

TEST(PreconditionerApplication, ExactFactors_Solve) {
  // Incomplete factors of a tridiagonal matrix are exact.
  const std::int32_t n = 33;
  const Csr<double> A = tridiagonal(n);
  const std::vector<double> b(n, 1.0);
  for (const char* method :
       {"ilu0", "ic0", "sparse-lu", "sparse-cholesky", "sparse-ldlt", "lu", "banded-lu"}) {
    auto solver = make_solver<double>(method, Device::serial());
    ASSERT_TRUE(solver.setup(A).ready());
    PreconditionerApplication<double> apply(solver, n);
    std::vector<double> x(n);
    apply(b.data(), x.data());
    for (std::int32_t i = 0; i < n; ++i) {
      const auto at = [&](std::int32_t k) { return k < 0 || k >= n ? 0.0 : x[static_cast<std::size_t>(k)]; };
      EXPECT_NEAR((2.0 + i) * at(i) - at(i - 1) - at(i + 1), 1, 1e-13) << method;
    }
  }
}

TEST(PreconditionerApplication, SeveralColumns_AreAppliedLikeOne) {
  const std::int32_t n = 257;
  const Csr<double> A = tridiagonal(n);
  for (const char* method : {"jacobi", "ilu0", "sparse-lu", "sparse-cholesky", "sparse-ldlt", "banded-lu"}) {
    for (const Device& device : {Device::serial(), Device::openmp(2)}) {
      auto solver = make_solver<double>(method, device);
      ASSERT_TRUE(solver.setup(A).ready());
      PreconditionerApplication<double> apply(solver, n);
      for (const std::int64_t columns : {0, 1, 2, 31, 33}) {
        const std::int64_t leading = n + 3;
        std::vector<double> R(static_cast<std::size_t>(leading * columns));
        for (std::size_t k = 0; k < R.size(); ++k) R[k] = 1 + static_cast<double>(k * 7 % 11);
        std::vector<double> Z(R.size(), -1.0);
        apply(DenseView<const double>(R.data(), n, columns, leading),
              DenseView<double>(Z.data(), n, columns, leading));
        std::vector<double> z(n);
        for (std::int64_t j = 0; j < columns; ++j) {
          apply(R.data() + j * leading, z.data());
          for (std::int32_t i = 0; i < n; ++i)
            ASSERT_NEAR(Z[static_cast<std::size_t>(j * leading + i)], z[static_cast<std::size_t>(i)], 1e-13)
                << method << ", column " << j << " of " << columns;
          for (std::int64_t i = n; i < leading; ++i)
            ASSERT_EQ(Z[static_cast<std::size_t>(j * leading + i)], -1) << method;
        }
      }
    }
  }
}

TEST(PreconditionerApplication, SolverMoves_IsFollowed) {
  const Csr<double> A = Csr<double>::from_triplets(2, 2, {{0, 0, 4}, {0, 1, 1}, {1, 0, 1}, {1, 1, 2}});
  Jacobi<double> jacobi;
  ASSERT_TRUE(jacobi.setup(A).ready());
  PreconditionerApplication<double> apply(jacobi, 2);
  const Solver<double> moved = std::move(jacobi);
  const std::vector<double> r = {8, 6};
  std::vector<double> z(2);
  apply(r.data(), z.data());
  EXPECT_EQ(z, (std::vector<double>{2, 3}));
}

TEST(PreconditionerApplication, UnusableSolver_IsRefused) {
  const Csr<double> A = tridiagonal(4);
  auto cg = make_solver<double>("cg", Device::serial());
  ASSERT_TRUE(cg.setup(A).ready());
  EXPECT_THROW(PreconditionerApplication<double>(cg, 4), Error);  // no preconditioner

  auto jacobi = make_solver<double>("jacobi", Device::serial());
  EXPECT_THROW(PreconditionerApplication<double>(jacobi, 4), Error);  // before its set-up
  ASSERT_TRUE(jacobi.setup(A).ready());
  EXPECT_THROW(PreconditionerApplication<double>(jacobi, 5), DimensionMismatch);

  const auto zero_diagonal = Csr<double>::from_triplets(2, 2, {{0, 1, 1}, {1, 0, 1}});
  EXPECT_EQ(jacobi.setup(zero_diagonal).status, Status::breakdown);
  EXPECT_THROW(PreconditionerApplication<double>(jacobi, 2), Error);
}

}  // namespace echelon
