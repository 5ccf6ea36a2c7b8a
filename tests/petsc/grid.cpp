// SPDX-License-Identifier: BSD-3-Clause
// A program for PETSc alone, which does not know of Echelon: -div(c grad u) + shift u on a grid of 2 or 3
// dimensions by finite differences, distributed over the processes, for a solution that is known. c is
// -jump C in the middle third of each direction, else 1; -wind W makes the matrix unsymmetric; -neumann
// insulates the boundary, which leaves u determined up to a constant. Solves -systems K systems one after
// another, with other values in the same pattern. All else is PETSc's options: -da_grid_x N, -ksp_type, ...
// Prints iterations and times; exit status 0 if every solve converged to the solution.
#include <petscdmda.h>
#include <petscksp.h>

#include <array>
#include <cmath>

namespace {

struct Equation {
  double shift = 0;
  double jump = 1;
  double wind = 0;
  bool neumann = false;
};

/// c at a point of the grid.
double coefficient(const Equation& equation, const DMDALocalInfo& info, const MatStencil& at) {
  const auto in_middle = [](PetscInt i, PetscInt count) { return 3 * i >= count && 3 * i < 2 * count; };
  const bool is_middle =
      in_middle(at.i, info.mx) && in_middle(at.j, info.my) && (info.dim < 3 || in_middle(at.k, info.mz));
  return is_middle ? equation.jump : 1;
}

/// Sets the row of a point: the harmonic means of the coefficients for its neighbours.
PetscErrorCode set_row(const Equation& equation, const DMDALocalInfo& info, const MatStencil& row, Mat B) {
  const auto inside = [&](const MatStencil& at) {
    return at.i >= 0 && at.i < info.mx && at.j >= 0 && at.j < info.my && at.k >= 0 && at.k < info.mz;
  };
  const double own = coefficient(equation, info, row);
  double diagonal = equation.shift;
  for (int side = 0; side < 2 * info.dim; ++side) {
    MatStencil column = row;
    const int step = side % 2 == 0 ? -1 : 1;
    (side / 2 == 0 ? column.i : side / 2 == 1 ? column.j : column.k) += step;
    if (!inside(column)) {
      if (!equation.neumann) diagonal += own;
      continue;
    }
    const double other = coefficient(equation, info, column);
    const double mean = 2 * own * other / (own + other);
    const double value = -mean + (side / 2 == 0 ? step * equation.wind : 0);
    diagonal += mean;
    PetscCall(MatSetValuesStencil(B, 1, &row, 1, &column, &value, INSERT_VALUES));
  }
  return MatSetValuesStencil(B, 1, &row, 1, &row, &diagonal, INSERT_VALUES);
}

/// Operator of a grid (KSPSetComputeOperators).
PetscErrorCode form_matrix(KSP ksp, Mat A, Mat B, void* context) {
  const Equation& equation = *static_cast<const Equation*>(context);
  DM grid = nullptr;
  DMDALocalInfo info;
  PetscCall(KSPGetDM(ksp, &grid));
  PetscCall(DMDAGetLocalInfo(grid, &info));
  for (PetscInt k = info.zs; k < info.zs + info.zm; ++k) {
    for (PetscInt j = info.ys; j < info.ys + info.ym; ++j) {
      for (PetscInt i = info.xs; i < info.xs + info.xm; ++i)
        PetscCall(set_row(equation, info, {k, j, i, 0}, B));
    }
  }
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  if (!equation.neumann) return 0;
  MatNullSpace constants = nullptr;
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, nullptr, &constants));
  PetscCall(MatSetNullSpace(A, constants));
  return MatNullSpaceDestroy(&constants);
}

/// Subtracts the mean.
PetscErrorCode center(Vec x) {
  double sum = 0;
  PetscInt size = 0;
  PetscCall(VecSum(x, &sum));
  PetscCall(VecGetSize(x, &size));
  return VecShift(x, -sum / static_cast<double>(size));
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

/// Solves one system, and checks it, up to a constant if `centered`.
PetscErrorCode solve(KSP ksp, bool centered, bool& solved) {
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
  if (centered) PetscCall(center(x));
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
  Equation equation;
  PetscBool neumann = PETSC_FALSE;
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-dimensions", &dimensions, nullptr));
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-systems", &systems, nullptr));
  PetscCall(PetscOptionsGetReal(nullptr, nullptr, "-shift", &equation.shift, nullptr));
  PetscCall(PetscOptionsGetReal(nullptr, nullptr, "-jump", &equation.jump, nullptr));
  PetscCall(PetscOptionsGetReal(nullptr, nullptr, "-wind", &equation.wind, nullptr));
  PetscCall(PetscOptionsGetBool(nullptr, nullptr, "-neumann", &neumann, nullptr));
  equation.neumann = neumann == PETSC_TRUE;
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
  PetscCall(KSPSetComputeOperators(ksp, form_matrix, &equation));
  PetscCall(KSPSetFromOptions(ksp));
  for (PetscInt k = 0; k < systems; ++k) {
    PetscCall(solve(ksp, equation.neumann, solved));
    equation.shift += 0.5;
    PetscCall(KSPSetComputeOperators(ksp, form_matrix, &equation));  // asks for the next operator
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
