// SPDX-License-Identifier: BSD-3-Clause
/// A PETSc program that solves with Echelon, in three lines more than without it, marked by numbers:
/// mpirun -n 4 07_petsc -pc_type bjacobi -sub_pc_type echelon -sub_pc_echelon_method sparse-cholesky
/// -ksp_view
#include <echelon_petsc.h>  // 1
#include <petscksp.h>

namespace {

/// Laplacian of a path of n points, by rows of this process.
PetscErrorCode make_matrix(PetscInt n, Mat* A) {
  PetscInt begin = 0;
  PetscInt end = 0;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, 3, nullptr, 1, nullptr, A));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt i = begin; i < end; ++i) {
    PetscCall(MatSetValue(*A, i, i, 2, INSERT_VALUES));
    if (i > 0) PetscCall(MatSetValue(*A, i, i - 1, -1, INSERT_VALUES));
    if (i < n - 1) PetscCall(MatSetValue(*A, i, i + 1, -1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  return MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY);
}

PetscErrorCode run(KSPConvergedReason* reason) {
  Mat A = nullptr;
  Vec x = nullptr;
  Vec b = nullptr;
  KSP ksp = nullptr;
  PC pc = nullptr;
  PetscMPIInt processes = 1;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &processes));
  PetscCall(EchelonPetscRegister());  // 2
  PetscCall(make_matrix(1000, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPGetPC(ksp, &pc));
  if (processes == 1) PetscCall(PCSetType(pc, PCECHELON));  // 3
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, reason));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  return MatDestroy(&A);
}

}  // namespace

int main(int argc, char** argv) {
  KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
  PetscCall(PetscInitialize(&argc, &argv, nullptr, nullptr));
  PetscCall(run(&reason));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s\n", KSPConvergedReasons[reason]));
  PetscCall(PetscFinalize());
  return reason > 0 ? 0 : 1;
}
