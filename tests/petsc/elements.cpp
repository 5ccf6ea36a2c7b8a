// SPDX-License-Identifier: BSD-3-Clause
// A program for PETSc alone, which does not know of Echelon: bilinear or trilinear elements on the unit
// square or cube, distributed over the processes, as an unassembled matrix (MATIS) for -pc_type bddc, or
// assembled with -dm_mat_type aij. Laplace equation, or with -elasticity an elastic body of Poisson's ratio
// 0.3; the face x = 0 is fixed. -cells N cells in each direction, -dimensions 2 or 3; all else is PETSc's
// options. Prints iterations and times; exit status 0 if the solve converged to the known solution.
#include <petscdmda.h>
#include <petscksp.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace {

/// Gradients of the shape functions of a cell with edges of length 1, at a point; nodes are numbered as in
/// DMDAGetElements, around the bottom face and then around the top face.
class Shape {
 public:
  Shape(int dimensions, const std::array<double, 3>& point) {
    constexpr std::array<std::array<int, 3>, 8> corners{
        {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}}};
    for (std::size_t node = 0; node < 8; ++node) {
      for (int direction = 0; direction < dimensions; ++direction) {
        double product = 1;
        for (int d = 0; d < dimensions; ++d) {
          const auto axis = static_cast<std::size_t>(d);
          const bool upper = corners[node][axis] == 1;
          product *= d == direction ? (upper ? 1 : -1) : upper ? point[axis] : 1 - point[axis];
        }
        gradients_[node][static_cast<std::size_t>(direction)] = product;
      }
    }
  }
  [[nodiscard]] const std::array<double, 3>& gradient(std::size_t node) const { return gradients_[node]; }

 private:
  std::array<std::array<double, 3>, 8> gradients_{};
};

/// Element matrix by two Gauss points in each direction, row after row; the unknowns of a node are adjacent.
std::vector<double> element_matrix(int dimensions, bool elastic) {
  const std::size_t nodes = dimensions == 3 ? 8 : 4;
  const std::size_t components = elastic ? static_cast<std::size_t>(dimensions) : 1;
  const std::size_t n = nodes * components;
  const double mu = 1 / 2.6;  // Young's modulus 1, Poisson's ratio 0.3
  const double lambda = 0.3 / 0.52;
  std::vector<double> matrix(n * n);
  const double offset = 0.5 / std::sqrt(3.0);
  for (std::size_t point = 0; point < nodes; ++point) {
    const auto at = [&](std::size_t bit) { return 0.5 + ((point >> bit & 1U) != 0 ? offset : -offset); };
    const Shape shape(dimensions, {at(0), at(1), at(2)});
    for (std::size_t a = 0; a < nodes; ++a) {
      for (std::size_t b = 0; b < nodes; ++b) {
        const auto& p = shape.gradient(a);
        const auto& q = shape.gradient(b);
        const double dot = p[0] * q[0] + p[1] * q[1] + p[2] * q[2];
        for (std::size_t r = 0; r < components; ++r) {
          for (std::size_t s = 0; s < components; ++s) {
            const double value =
                !elastic ? dot : lambda * p[r] * q[s] + mu * p[s] * q[r] + (r == s ? mu * dot : 0);
            matrix[(a * components + r) * n + b * components + s] += value / static_cast<double>(nodes);
          }
        }
      }
    }
  }
  return matrix;
}

/// Adds the elements of this process; rows and columns of fixed nodes keep their diagonal alone.
PetscErrorCode assemble(DM grid, Mat A, int dimensions, bool elastic) {
  const std::vector<double> element = element_matrix(dimensions, elastic);
  const PetscInt components = elastic ? dimensions : 1;
  PetscInt cells = 0;
  PetscInt nodes = 0;
  PetscInt first = 0;
  PetscInt width = 0;
  const PetscInt* corners = nullptr;
  PetscCall(DMDAGetGhostCorners(grid, &first, nullptr, nullptr, &width, nullptr, nullptr));
  PetscCall(DMDAGetElements(grid, &cells, &nodes, &corners));
  const PetscInt n = nodes * components;
  for (PetscInt cell = 0; cell < cells; ++cell) {
    std::vector<double> values = element;
    std::vector<PetscInt> unknowns;
    std::vector<bool> fixed;
    for (PetscInt a = 0; a < nodes; ++a) {
      const PetscInt node = corners[cell * nodes + a];
      for (PetscInt r = 0; r < components; ++r) {
        unknowns.push_back(node * components + r);
        fixed.push_back(first + node % width == 0);
      }
    }
    for (std::size_t i = 0; i < fixed.size(); ++i) {
      for (std::size_t j = 0; j < fixed.size(); ++j) {
        if (i != j && (fixed[i] || fixed[j])) values[i * fixed.size() + j] = 0;
      }
    }
    PetscCall(MatSetValuesLocal(A, n, unknowns.data(), n, unknowns.data(), values.data(), ADD_VALUES));
  }
  PetscCall(DMDARestoreElements(grid, &cells, &nodes, &corners));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  return MatSetOption(A, MAT_SPD, PETSC_TRUE);
}

/// Rigid-body modes or constants, which multigrid and the constraints of BDDC need.
PetscErrorCode set_near_null_space(DM grid, Mat A, bool elastic) {
  MatNullSpace space = nullptr;
  if (elastic) {
    Vec coordinates = nullptr;
    PetscCall(DMGetCoordinates(grid, &coordinates));
    PetscCall(MatNullSpaceCreateRigidBody(coordinates, &space));
  } else {
    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, nullptr, &space));
  }
  PetscCall(MatSetNearNullSpace(A, space));
  return MatNullSpaceDestroy(&space);
}

PetscErrorCode solve(DM grid, Mat A, bool& solved) {
  KSP ksp = nullptr;
  Vec u = nullptr;
  Vec b = nullptr;
  Vec x = nullptr;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetTolerances(ksp, 1e-9, PETSC_DEFAULT, PETSC_DEFAULT, 500));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(DMCreateGlobalVector(grid, &u));
  PetscCall(VecDuplicate(u, &b));
  PetscCall(VecDuplicate(u, &x));
  PetscCall(VecSet(u, 1));
  PetscInt begin = 0;
  PetscInt end = 0;
  PetscCall(VecGetOwnershipRange(u, &begin, &end));
  for (PetscInt i = begin; i < end; ++i) PetscCall(VecSetValue(u, i, std::sin(1.7 * i), ADD_VALUES));
  PetscCall(VecAssemblyBegin(u));
  PetscCall(VecAssemblyEnd(u));
  PetscCall(MatMult(A, u, b));
  PetscLogDouble started = 0;
  PetscLogDouble ready = 0;
  PetscLogDouble finished = 0;
  PetscCall(PetscTime(&started));
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPSetUpOnBlocks(ksp));
  PetscCall(PetscTime(&ready));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(PetscTime(&finished));
  double error = 0;
  double norm = 0;
  PetscInt iterations = 0;
  KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
  PetscCall(VecAXPY(x, -1, u));
  PetscCall(VecNorm(x, NORM_2, &error));
  PetscCall(VecNorm(u, NORM_2, &norm));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &iterations));
  PetscCall(PetscPrintf(
      PETSC_COMM_WORLD, "%s, iterations %" PetscInt_FMT ", error %.1e, set-up %.3f s, solve %.3f s\n",
      KSPConvergedReasons[reason], iterations, error / norm, ready - started, finished - ready));
  solved = reason > 0 && error <= 1e-5 * norm;
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  return KSPDestroy(&ksp);
}

PetscErrorCode run(bool& solved) {
  PetscInt dimensions = 3;
  PetscInt cells = 8;
  PetscBool elastic = PETSC_FALSE;
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-dimensions", &dimensions, nullptr));
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-cells", &cells, nullptr));
  PetscCall(PetscOptionsGetBool(nullptr, nullptr, "-elasticity", &elastic, nullptr));
  DM grid = nullptr;
  Mat A = nullptr;
  PetscCall(DMDACreate(PETSC_COMM_WORLD, &grid));
  PetscCall(DMSetDimension(grid, dimensions));
  PetscCall(DMDASetSizes(grid, cells + 1, cells + 1, dimensions == 3 ? cells + 1 : 1));
  PetscCall(DMDASetStencilType(grid, DMDA_STENCIL_BOX));
  PetscCall(DMDASetStencilWidth(grid, 1));
  PetscCall(DMDASetDof(grid, elastic == PETSC_TRUE ? dimensions : 1));
  PetscCall(DMDASetElementType(grid, DMDA_ELEMENT_Q1));
  PetscCall(DMSetMatType(grid, MATIS));
  PetscCall(DMSetFromOptions(grid));
  PetscCall(DMSetUp(grid));
  PetscCall(DMDASetUniformCoordinates(grid, 0, 1, 0, 1, 0, 1));
  PetscCall(DMCreateMatrix(grid, &A));
  PetscCall(assemble(grid, A, static_cast<int>(dimensions), elastic == PETSC_TRUE));
  PetscCall(set_near_null_space(grid, A, elastic == PETSC_TRUE));
  PetscCall(solve(grid, A, solved));
  PetscCall(MatDestroy(&A));
  return DMDestroy(&grid);
}

}  // namespace

int main(int argc, char** argv) {
  PetscCall(PetscInitialize(&argc, &argv, nullptr, nullptr));
  bool solved = false;
  PetscCall(run(solved));
  PetscCall(PetscFinalize());
  return solved ? 0 : 1;
}
