// SPDX-License-Identifier: BSD-3-Clause
// A program for PETSc alone, which does not know of Echelon: the Laplace equation on a grid of 2 or 3
// dimensions by finite differences, distributed over the processes, for a solution that is known. Solves
// -systems K systems one after another, with other values in the same pattern. All else is PETSc's options:
// -da_grid_x N, -ksp_type, ... Prints iterations and times; exit status 0 if every solve converged to the
// solution.
#include <petscdmda.h>
#include <petscksp.h>

#include <array>
#include <cmath>

namespace {

/// Operator of a grid (KSPSetComputeOperators): 2 dim + shift on the diagonal, -1 for each neighbour.
PetscErrorCode form_matrix(KSP ksp, Mat /*A*/, Mat B, void* context) {
  const double shift = *static_cast<double*>(context);
  DM grid = nullptr;
  DMDALocalInfo info;
  PetscCall(KSPGetDM(ksp, &grid));
  PetscCall(DMDAGetLocalInfo(grid, &info));
  const auto inside = [&](const MatStencil& at) {
    return at.i >= 0 && at.i < info.mx && at.j >= 0 && at.j < info.my && at.k >= 0 && at.k < info.mz;
  };
  for (PetscInt k = info.zs; k < info.zs + info.zm; ++k) {
    for (PetscInt j = info.ys; j < info.ys + info.ym; ++j) {
      for (PetscInt i = info.xs; i < info.xs + info.xm; ++i) {
        const MatStencil row{k, j, i, 0};
        const std::array<MatStencil, 6> neighbours{{{k, j, i - 1, 0},
                                                    {k, j, i + 1, 0},
                                                    {k, j - 1, i, 0},
                                                    {k, j + 1, i, 0},
                                                    {k - 1, j, i, 0},
                                                    {k + 1, j, i, 0}}};
        const double diagonal = 2 * static_cast<double>(info.dim) + shift;
        PetscCall(MatSetValuesStencil(B, 1, &row, 1, &row, &diagonal, INSERT_VALUES));
        for (const MatStencil& column : neighbours) {
          const double value = -1;
          if (inside(column)) PetscCall(MatSetValuesStencil(B, 1, &row, 1, &column, &value, INSERT_VALUES));
        }
      }
    }
  }
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  return MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY);
}

/// A solution without structure, independent of the number of processes.
PetscErrorCode form_solution(DM grid, Vec u) {
  AO order = nullptr;
  PetscInt begin = 0;
  PetscInt end = 0;
  PetscScalar* values = nullptr;
  PetscCall(DMDAGetAO(grid, &order));
  PetscCall(VecGetOwnershipRange(u, &begin, &end));
  PetscCall(VecGetArray(u, &values));
  for (PetscInt i = begin; i < end; ++i) {
    PetscInt natural = i;
    PetscCall(AOPetscToApplication(order, 1, &natural));
    values[i - begin] = 1 + std::sin(1.7 * static_cast<double>(natural));
  }
  return VecRestoreArray(u, &values);
}

/// Solves one system, and checks it.
PetscErrorCode solve(KSP ksp, bool& solved) {
  DM grid = nullptr;
  Vec u = nullptr;
  Vec b = nullptr;
  Vec x = nullptr;
  Mat A = nullptr;
  PetscLogDouble begin = 0;
  PetscLogDouble middle = 0;
  PetscLogDouble end = 0;
  double error = 0;
  double norm = 0;
  PetscInt iterations = 0;
  KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
  PetscCall(KSPGetDM(ksp, &grid));
  PetscCall(DMCreateGlobalVector(grid, &u));
  PetscCall(VecDuplicate(u, &b));
  PetscCall(VecDuplicate(u, &x));
  PetscCall(form_solution(grid, u));
  PetscCall(PetscTime(&begin));
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPSetUpOnBlocks(ksp));
  PetscCall(PetscTime(&middle));
  PetscCall(KSPGetOperators(ksp, &A, nullptr));
  PetscCall(MatMult(A, u, b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(PetscTime(&end));
  PetscCall(VecAXPY(x, -1, u));
  PetscCall(VecNorm(x, NORM_2, &error));
  PetscCall(VecNorm(u, NORM_2, &norm));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &iterations));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "%s, iterations %" PetscInt_FMT ", error %.1e, set-up %.3f s, solve %.3f s\n",
                        KSPConvergedReasons[reason], iterations, error / norm, middle - begin, end - middle));
  solved = solved && reason > 0 && error <= 1e-6 * norm;
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&b));
  return VecDestroy(&x);
}

PetscErrorCode run(bool& solved) {
  PetscInt dimensions = 2;
  PetscInt systems = 1;
  double shift = 0;
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-dimensions", &dimensions, nullptr));
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-systems", &systems, nullptr));
  PetscCall(PetscOptionsGetReal(nullptr, nullptr, "-shift", &shift, nullptr));
  DM grid = nullptr;
  KSP ksp = nullptr;
  PetscCall(DMDACreate(PETSC_COMM_WORLD, &grid));
  PetscCall(DMSetDimension(grid, dimensions));
  PetscCall(DMDASetSizes(grid, 17, 17, dimensions == 3 ? 17 : 1));
  PetscCall(DMDASetStencilType(grid, DMDA_STENCIL_STAR));
  PetscCall(DMDASetStencilWidth(grid, 1));
  PetscCall(DMDASetDof(grid, 1));
  PetscCall(DMSetFromOptions(grid));
  PetscCall(DMSetUp(grid));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetDM(ksp, grid));
  PetscCall(KSPSetTolerances(ksp, 1e-9, PETSC_DEFAULT, PETSC_DEFAULT, 500));
  PetscCall(KSPSetComputeOperators(ksp, form_matrix, &shift));
  PetscCall(KSPSetFromOptions(ksp));
  for (PetscInt k = 0; k < systems; ++k) {
    PetscCall(solve(ksp, solved));
    shift += 0.5;
    PetscCall(KSPSetComputeOperators(ksp, form_matrix, &shift));  // asks for the next operator
  }
  PetscCall(KSPDestroy(&ksp));
  return DMDestroy(&grid);
}

}  // namespace

int main(int argc, char** argv) {
  PetscCall(PetscInitialize(&argc, &argv, nullptr, nullptr));
  bool solved = true;
  PetscCall(run(solved));
  PetscCall(PetscFinalize());
  return solved ? 0 : 1;
}
