// SPDX-License-Identifier: BSD-3-Clause
#include "mat_solver.hpp"

#include "echelon_petsc.h"
#include "factor.hpp"
#include "guard.hpp"

#include <petsc/private/matimpl.h>

#include <array>
#include <memory>

namespace echelon::petsc {

namespace {

Factor& factor_of(Mat F) {
  return *static_cast<Factor*>(F->data);
}

PetscErrorCode solve_vector(Mat F, Vec b, Vec x, bool transposed) {
  const PetscScalar* from = nullptr;
  PetscScalar* to = nullptr;
  PetscInt n = 0;
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetArrayRead(b, &from));
  PetscCall(VecGetArrayWrite(x, &to));
  const PetscInt leading = n > 0 ? n : 1;
  const PetscErrorCode code = guarded(PETSC_COMM_SELF, "MatSolve_Echelon", [&] {
    return factor_of(F).solve(F, {from, n, 1, leading}, {to, n, 1, leading}, transposed);
  });
  PetscCall(VecRestoreArrayWrite(x, &to));
  PetscCall(VecRestoreArrayRead(b, &from));
  return code;
}

/// Solves for the columns of a seqdense B.
PetscErrorCode solve_columns(Mat F, Mat B, Mat X, bool transposed) {
  PetscBool dense = PETSC_FALSE;
  PetscCall(PetscObjectBaseTypeCompare(reinterpret_cast<PetscObject>(X), MATSEQDENSE, &dense));
  PetscCheck(dense == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "X must be a seqdense matrix");
  PetscCall(PetscObjectBaseTypeCompare(reinterpret_cast<PetscObject>(B), MATSEQDENSE, &dense));
  Mat converted = nullptr;
  if (dense == PETSC_FALSE) PetscCall(MatConvert(B, MATSEQDENSE, MAT_INITIAL_MATRIX, &converted));
  Mat right = converted != nullptr ? converted : B;
  const PetscScalar* from = nullptr;
  PetscScalar* to = nullptr;
  PetscInt n = 0;
  PetscInt columns = 0;
  PetscInt leading_from = 0;
  PetscInt leading_to = 0;
  PetscCall(MatGetSize(X, &n, &columns));
  PetscCall(MatDenseGetLDA(right, &leading_from));
  PetscCall(MatDenseGetLDA(X, &leading_to));
  PetscCall(MatDenseGetArrayRead(right, &from));
  PetscCall(MatDenseGetArrayWrite(X, &to));
  const PetscErrorCode code = guarded(PETSC_COMM_SELF, "MatMatSolve_Echelon", [&] {
    return factor_of(F).solve(F, {from, n, columns, leading_from}, {to, n, columns, leading_to}, transposed);
  });
  PetscCall(MatDenseRestoreArrayWrite(X, &to));
  PetscCall(MatDenseRestoreArrayRead(right, &from));
  PetscCall(MatDestroy(&converted));
  return code;
}

PetscErrorCode solve(Mat F, Vec b, Vec x) {
  return solve_vector(F, b, x, false);
}
PetscErrorCode solve_transpose(Mat F, Vec b, Vec x) {
  return solve_vector(F, b, x, true);
}
PetscErrorCode mat_solve(Mat F, Mat B, Mat X) {
  return solve_columns(F, B, X, false);
}
PetscErrorCode mat_solve_transpose(Mat F, Mat B, Mat X) {
  return solve_columns(F, B, X, true);
}

PetscErrorCode get_inertia(Mat F, PetscInt* negative, PetscInt* zero, PetscInt* positive) {
  return guarded(PETSC_COMM_SELF, "MatGetInertia_Echelon",
                 [&] { return factor_of(F).inertia(F, negative, zero, positive); });
}

PetscErrorCode view(Mat F, PetscViewer viewer) {
  PetscBool ascii = PETSC_FALSE;
  PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(viewer), PETSCVIEWERASCII, &ascii));
  if (ascii == PETSC_FALSE) return success;
  return guarded(PETSC_COMM_SELF, "MatView_Echelon", [&] { return factor_of(F).view(viewer); });
}

PetscErrorCode get_info(Mat F, MatInfoType /*type*/, MatInfo* info) {
  const Factor& factor = factor_of(F);
  const double matrix = factor.matrix_entries();
  *info = {};
  info->block_size = 1;
  info->nz_used = info->nz_allocated = factor.entries();
  info->memory = factor.bytes();
  info->fill_ratio_needed = matrix > 0 ? factor.entries() / matrix : 0;
  return success;
}

PetscErrorCode factor_numeric(Mat F, Mat A, const MatFactorInfo* /*info*/) {
  return guarded(PETSC_COMM_SELF, "MatFactorNumeric_Echelon", [&] {
    PetscCall(factor_of(F).factor(F, A));
    F->assembled = PETSC_TRUE;
    F->preallocated = PETSC_TRUE;
    return success;
  });
}

PetscErrorCode analyze(Mat F, Mat A) {
  F->ops->solve = solve;
  F->ops->solvetranspose = solve_transpose;
  F->ops->matsolve = mat_solve;
  F->ops->matsolvetranspose = mat_solve_transpose;
  return guarded(PETSC_COMM_SELF, "MatFactorSymbolic_Echelon", [&] { return factor_of(F).analyze(F, A); });
}

PetscErrorCode lu_symbolic(Mat F, Mat A, IS /*rows*/, IS /*columns*/, const MatFactorInfo* /*info*/) {
  F->ops->lufactornumeric = factor_numeric;
  return analyze(F, A);
}

PetscErrorCode cholesky_symbolic(Mat F, Mat A, IS /*rows*/, const MatFactorInfo* /*info*/) {
  F->ops->choleskyfactornumeric = factor_numeric;
  F->ops->getinertia = get_inertia;
  return analyze(F, A);
}

PetscErrorCode solver_type(Mat /*F*/, MatSolverType* type) {
  *type = MATSOLVERECHELON;
  return success;
}

PetscErrorCode set_schur(Mat F, IS interface) {
  return guarded(PETSC_COMM_SELF, "MatFactorSetSchurIS_Echelon",
                 [&] { return factor_of(F).set_schur(F, interface); });
}

/// PCBDDC, which reuses a factor for problems of the interior, tells every package so by this control of
/// MUMPS.
PetscErrorCode set_control(Mat F, PetscInt control, PetscInt value) {
  constexpr PetscInt solve_control = 26;
  if (control == solve_control)
    factor_of(F).set_schur_solve(value == 0 ? SchurSolve::interior : SchurSolve::all);
  return success;
}

PetscErrorCode compose(Mat F, bool methods) {
  const auto object = reinterpret_cast<PetscObject>(F);
  PetscCall(PetscObjectComposeFunction(object, "MatFactorGetSolverType_C", methods ? solver_type : nullptr));
  PetscCall(PetscObjectComposeFunction(object, "MatFactorSetSchurIS_C", methods ? set_schur : nullptr));
  return PetscObjectComposeFunction(object, "MatMumpsSetIcntl_C", methods ? set_control : nullptr);
}

PetscErrorCode destroy(Mat F) {
  delete static_cast<Factor*>(F->data);
  F->data = nullptr;
  return compose(F, false);
}

/// Creates the factor of A before it has a pattern or values.
PetscErrorCode get_factor(Mat A, MatFactorType kind, Mat* result) {
  PetscInt rows = 0;
  PetscInt columns = 0;
  PetscCall(MatGetSize(A, &rows, &columns));
  Mat F = nullptr;
  PetscCall(MatCreate(PetscObjectComm(reinterpret_cast<PetscObject>(A)), &F));
  PetscCall(MatSetSizes(F, A->rmap->n, A->cmap->n, rows, columns));
  PetscCall(PetscStrallocpy(MATSOLVERECHELON, &reinterpret_cast<PetscObject>(F)->type_name));
  PetscCall(MatSetUp(F));
  PetscCall(PetscFree(F->solvertype));
  PetscCall(PetscStrallocpy(MATSOLVERECHELON, &F->solvertype));
  F->factortype = kind;
  F->canuseordering = PETSC_FALSE;
  F->data = new Factor(kind);
  F->ops->destroy = destroy;
  F->ops->view = view;
  F->ops->getinfo = get_info;
  if (kind == MAT_FACTOR_LU) {
    F->ops->lufactorsymbolic = lu_symbolic;
  } else {
    F->ops->choleskyfactorsymbolic = cholesky_symbolic;
  }
  PetscCall(compose(F, true));
  *result = F;
  return success;
}

PetscErrorCode guarded_get_factor(Mat A, MatFactorType kind, Mat* F) {
  return guarded(PETSC_COMM_SELF, "MatGetFactor_Echelon", [&] { return get_factor(A, kind, F); });
}

PetscErrorCode register_as(const char* name) {
  for (const char* type : {MATSEQAIJ, MATSEQBAIJ, MATSEQDENSE})
    PetscCall(MatSolverTypeRegister(name, type, MAT_FACTOR_LU, guarded_get_factor));
  for (const char* type : {MATSEQAIJ, MATSEQBAIJ, MATSEQSBAIJ, MATSEQDENSE})
    PetscCall(MatSolverTypeRegister(name, type, MAT_FACTOR_CHOLESKY, guarded_get_factor));
  return success;
}

}  // namespace

PetscErrorCode register_mat_solver() {
  // The first registration would drop those that the initialisation makes meanwhile.
  PetscCall(MatInitializePackage());
  PetscCall(register_as(MATSOLVERECHELON));
#if !defined(PETSC_HAVE_MKL_PARDISO)
  PetscBool asked = PETSC_FALSE;
  PetscCall(PetscOptionsGetBool(nullptr, nullptr, "-echelon_as_mkl_pardiso", &asked, nullptr));
  // PCBDDC asks only packages of two names for Schur complements.
  if (asked == PETSC_TRUE) PetscCall(register_as(MATSOLVERMKL_PARDISO));
#endif
  return success;
}

}  // namespace echelon::petsc
