// SPDX-License-Identifier: BSD-3-Clause
/// Methods applied to several vectors, and their transposes.
#include "support/problems.hpp"
#include "support/solver/applied_columns.hpp"

#include <echelon/generate.hpp>
#include <echelon/solver.hpp>
#include <echelon/solver/preconditioner_application.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

namespace echelon::test {
namespace {

TEST(Apply, ColumnsLeftOut_OthersAsAlone) {
  for (const Device& device : {Device::serial(), Device::openmp(3)}) AppliedColumns::expect_as_alone(device);
}

/// (s, M^-1 r) = (M^-T s, r) for each column.
TEST(Apply, Transpose_IsTheAdjoint) {
  const Csr<double> symmetric = generate::poisson_2d<double>(9, 8);
  const Csr<double> unsymmetric = convection_diffusion(9, 0.4).csr<double>();
  for (const char* name : {"jacobi", "ic0", "sparse-cholesky", "sparse-ldlt", "sparse-lu"}) {
    SCOPED_TRACE(name);
    const bool any = std::string(name) == "sparse-lu" || std::string(name) == "jacobi";
    const Csr<double>& A = any ? unsymmetric : symmetric;
    for (const std::int64_t columns : {1, 3, 33}) {
      Solver<double> solver = make_solver<double>(name, Device::openmp(2));
      ASSERT_TRUE(solver.setup(A).ready());
      PreconditionerApplication<double> apply(solver, A.rows());
      ASSERT_TRUE(apply.is_transposable());
      const Dense<double> R = random_dense<double>(A.rows(), columns, 1);
      const Dense<double> S = random_dense<double>(A.rows(), columns, 2);
      Dense<double> Z(Device(), A.rows(), columns);
      Dense<double> Y(Device(), A.rows(), columns);
      apply(R, Z);
      apply.transposed(S, Y);
      for (std::int64_t j = 0; j < columns; ++j) {
        double forward = 0;
        double backward = 0;
        double magnitude = 0;
        for (std::int64_t i = 0; i < A.rows(); ++i) {
          forward += S(i, j) * Z(i, j);
          backward += Y(i, j) * R(i, j);
          magnitude += std::fabs(S(i, j) * Z(i, j));
        }
        EXPECT_NEAR(forward, backward, 1e-13 * magnitude) << "column " << j;
      }
    }
  }
}

TEST(Apply, TransposeOfOthers_IsRefused) {
  const Csr<double> A = generate::poisson_2d<double>(9, 8);
  const std::pair<const char*, Options> others[] = {{"ilu0", {}}, {"amg", {}}, {"jacobi", {{"sweeps", 2}}}};
  for (const auto& [name, options] : others) {
    Solver<double> solver = make_solver<double>(name, Device::serial(), options);
    ASSERT_TRUE(solver.setup(A).ready());
    PreconditionerApplication<double> apply(solver, A.rows());
    EXPECT_FALSE(apply.is_transposable()) << name;
    Dense<double> X = random_dense<double>(A.rows(), 1, 1);
    Dense<double> Z(Device(), A.rows(), 1);
    EXPECT_THROW(apply.transposed(X, Z), Error) << name;
  }
}

}  // namespace
}  // namespace echelon::test
