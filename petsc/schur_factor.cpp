// SPDX-License-Identifier: BSD-3-Clause
#include "schur_factor.hpp"

#include "guard.hpp"

#include <petsc/private/matimpl.h>

#include <algorithm>
#include <cstddef>

namespace echelon::petsc {

PetscErrorCode SchurFactor::factor(Mat F, MatrixRef<double> A, const SchurOptions& options) {
  complement_.emplace(A, interface_, options);
  F->schur_status = MAT_FACTOR_SCHUR_UNFACTORED;
  if (!complement_->ready()) return success;
  const Dense<double>& S = complement_->matrix();
  PetscScalar* values = nullptr;
  PetscInt leading = 0;
  PetscCall(MatDenseGetLDA(F->schur, &leading));
  PetscCall(MatDenseGetArrayWrite(F->schur, &values));
  for (std::int64_t j = 0; j < S.columns(); ++j)
    std::copy_n(S.view().column(j), S.rows(), values + static_cast<std::ptrdiff_t>(j) * leading);
  PetscCall(MatDenseRestoreArrayWrite(F->schur, &values));
  // The factors that PETSc made of an earlier complement in its place.
  F->schur->factortype = MAT_FACTOR_NONE;
  return success;
}

PetscErrorCode SchurFactor::solve_complement(Mat F, const Dense<double>& G, Dense<double>& X_B,
                                             bool transposed) const {
  const auto n = static_cast<PetscInt>(G.rows());
  for (std::int64_t j = 0; j < G.columns(); ++j) {
    Vec g = nullptr;
    Vec x = nullptr;
    PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, n, G.view().column(j), &g));
    PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, n, X_B.view().column(j), &x));
    PetscCall(transposed ? MatFactorSolveSchurComplementTranspose(F, g, x)
                         : MatFactorSolveSchurComplement(F, g, x));
    PetscCall(VecDestroy(&g));
    PetscCall(VecDestroy(&x));
  }
  return success;
}

PetscErrorCode SchurFactor::solve(Mat F, DenseView<const double> B, DenseView<double> X,
                                  bool transposed) const {
  const std::int64_t n_B = std::ssize(interface_);
  Dense<double> X_B(Device::serial(), n_B, B.columns());
  std::fill_n(X_B.data(), n_B * B.columns(), 0.0);
  if (solve_ == SchurSolve::all) {
    Dense<double> G(Device::serial(), n_B, B.columns());
    if (transposed) {
      complement_->reduce_transposed(B, G);
    } else {
      complement_->reduce(B, G);
    }
    PetscCall(solve_complement(F, G, X_B, transposed));
  }
  if (transposed) {
    complement_->expand_transposed(X_B, B, X);
  } else {
    complement_->expand(X_B, B, X);
  }
  return success;
}

}  // namespace echelon::petsc
