// SPDX-License-Identifier: BSD-3-Clause
// The preconditioner "echelon" on one process.
#include "support.hpp"

#include <echelon_petsc.h>
#include <petscksp.h>

#include <cmath>
#include <limits>
#include <string>
#include <tuple>

namespace petsc_test {

namespace {

/// Solver by `type` (KSPCG, ...) with the preconditioner, and options from the database.
Krylov make_krylov(Mat A, const char* type) {
  Krylov ksp;
  PC pc = nullptr;
  EXPECT_PETSC(KSPCreate(PETSC_COMM_SELF, ksp.address()));
  EXPECT_PETSC(KSPSetType(ksp, type));
  EXPECT_PETSC(KSPSetTolerances(ksp, 1e-10, PETSC_DEFAULT, PETSC_DEFAULT, 200));
  EXPECT_PETSC(KSPGetPC(ksp, &pc));
  EXPECT_PETSC(PCSetType(pc, PCECHELON));
  EXPECT_PETSC(KSPSetOperators(ksp, A, A));
  EXPECT_PETSC(KSPSetFromOptions(ksp));
  return ksp;
}

KSPConvergedReason reason_of(KSP ksp) {
  KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
  EXPECT_PETSC(KSPGetConvergedReason(ksp, &reason));
  return reason;
}

PetscInt iterations_of(KSP ksp) {
  PetscInt iterations = 0;
  EXPECT_PETSC(KSPGetIterationNumber(ksp, &iterations));
  return iterations;
}

/// Relative error of the solution of A x = A u.
double solution_error(KSP ksp, Mat A) {
  PetscInt n = 0;
  EXPECT_PETSC(MatGetSize(A, &n, nullptr));
  const Vector u = make_solution(n);
  Vector b;
  Vector x;
  EXPECT_PETSC(VecDuplicate(u, b.address()));
  EXPECT_PETSC(VecDuplicate(u, x.address()));
  EXPECT_PETSC(MatMult(A, u, b));
  EXPECT_PETSC(KSPSolve(ksp, b, x));
  return relative_distance(x, u);
}

}  // namespace

/// Method, Krylov method around it, largest number of iterations.
class Preconditioner : public testing::TestWithParam<std::tuple<const char*, const char*, PetscInt>> {};

TEST_P(Preconditioner, LaplaceEquation_Converges) {
  const auto [method, krylov, most] = GetParam();
  const Matrix A = make_matrix(MATSEQAIJ, 900, 900, laplacian(30));
  const GivenOptions options({{"-pc_echelon_method", method}});
  const Krylov ksp = make_krylov(A, krylov);
  EXPECT_LT(solution_error(ksp, A), 1e-7);
  EXPECT_GT(reason_of(ksp), 0);
  EXPECT_LE(iterations_of(ksp), most);
}

TEST_P(Preconditioner, NewValues_AreSetUp) {
  const auto [method, krylov, most] = GetParam();
  const Matrix A = make_matrix(MATSEQAIJ, 400, 400, laplacian(20));
  const GivenOptions options({{"-pc_echelon_method", method}});
  const Krylov ksp = make_krylov(A, krylov);
  EXPECT_LT(solution_error(ksp, A), 1e-7);
  EXPECT_PETSC(MatScale(A, 1e6));
  EXPECT_PETSC(MatShift(A, 1e6));
  EXPECT_LT(solution_error(ksp, A), 1e-7);
  EXPECT_GT(reason_of(ksp), 0);
  EXPECT_LE(iterations_of(ksp), most);
}

INSTANTIATE_TEST_SUITE_P(Methods, Preconditioner,
                         testing::Values(std::tuple("amg", KSPCG, 25), std::tuple("lamg", KSPFCG, 40),
                                         std::tuple("ic0", KSPCG, 60), std::tuple("ilu0", KSPGMRES, 80),
                                         std::tuple("ssor", KSPCG, 80), std::tuple("jacobi", KSPCG, 120),
                                         std::tuple("sparse-cholesky", KSPPREONLY, 1),
                                         std::tuple("gauss-seidel", KSPFGMRES, 2),
                                         std::tuple("cg", KSPPREONLY, 1)));

/// Element (i, j) of the preconditioner is that of its transpose at (j, i).
TEST(PreconditionerTranspose, Application_IsTheAdjoint) {
  const Matrix A = make_matrix(MATSEQAIJ, 64, 64, convection(8));
  for (const char* method : {"sparse-lu", "jacobi", "ilu0", "ssor", "lu"}) {
    const GivenOptions options({{"-pc_echelon_method", method}});
    const Krylov ksp = make_krylov(A, KSPGMRES);
    PC pc = nullptr;
    EXPECT_PETSC(KSPGetPC(ksp, &pc));
    const Vector r = make_solution(64);
    const Vector s = make_vector(64, [](PetscInt i) { return std::cos(0.3 * i); });
    Vector z;
    Vector y;
    EXPECT_PETSC(VecDuplicate(r, z.address()));
    EXPECT_PETSC(VecDuplicate(r, y.address()));
    EXPECT_PETSC(PCSetUp(pc));
    EXPECT_PETSC(PCApply(pc, r, z));
    EXPECT_PETSC(PCApplyTranspose(pc, s, y));
    double forward = 0;
    double backward = 0;
    EXPECT_PETSC(VecDot(s, z, &forward));
    EXPECT_PETSC(VecDot(y, r, &backward));
    EXPECT_NEAR(forward, backward, 1e-12 * std::abs(forward)) << method;
  }
}

TEST(PreconditionerTranspose, BiconjugateGradients_Converge) {
  const Matrix A = make_matrix(MATSEQAIJ, 900, 900, convection(30));
  const GivenOptions options({{"-pc_echelon_method", "ilu0"}});
  const Krylov ksp = make_krylov(A, KSPBICG);
  EXPECT_LT(solution_error(ksp, A), 1e-7);
  EXPECT_GT(reason_of(ksp), 0);
}

TEST(PreconditionerTranspose, Multigrid_HasNone) {
  const Matrix A = make_matrix(MATSEQAIJ, 64, 64, laplacian(8));
  const Krylov ksp = make_krylov(A, KSPCG);
  PC pc = nullptr;
  EXPECT_PETSC(KSPGetPC(ksp, &pc));
  EXPECT_PETSC(PCSetUp(pc));
  const Vector r = make_solution(64);
  Vector z;
  EXPECT_PETSC(VecDuplicate(r, z.address()));
  const CaughtErrors errors;
  EXPECT_EQ(PCApplyTranspose(pc, r, z), PETSC_ERR_SUP);
  EXPECT_NE(errors.message().find("ilu0"), std::string::npos) << errors.message();
}

TEST(PreconditionerColumns, AreAppliedLikeOne) {
  const Matrix A = make_matrix(MATSEQAIJ, 64, 64, laplacian(8));
  const Matrix R =
      make_matrix(MATSEQDENSE, 64, 3, [](PetscInt i, PetscInt j) { return 1.0 + (i * (j + 2)) % 7; });
  for (const char* method : {"amg", "ic0", "sparse-cholesky", "cg"}) {
    const GivenOptions options({{"-pc_echelon_method", method}});
    const Krylov ksp = make_krylov(A, KSPCG);
    PC pc = nullptr;
    EXPECT_PETSC(KSPGetPC(ksp, &pc));
    EXPECT_PETSC(PCSetUp(pc));
    Matrix Z;
    EXPECT_PETSC(MatDuplicate(R, MAT_DO_NOT_COPY_VALUES, Z.address()));
    EXPECT_PETSC(PCMatApply(pc, R, Z));
    for (PetscInt j = 0; j < 3; ++j) {
      Vector r;
      Vector z;
      Vector expected;
      EXPECT_PETSC(MatCreateVecs(A, r.address(), z.address()));
      EXPECT_PETSC(VecDuplicate(z, expected.address()));
      EXPECT_PETSC(MatGetColumnVector(R, r, j));
      EXPECT_PETSC(MatGetColumnVector(Z, z, j));
      EXPECT_PETSC(PCApply(pc, r, expected));
      EXPECT_LT(relative_distance(z, expected), 1e-7) << method;
    }
  }
}

TEST(PreconditionerOutcomes, ZeroDiagonal_FailsSetup) {
  const Matrix A = make_matrix(MATSEQAIJ, 3, 3, [](PetscInt i, PetscInt j) {
    return i == 1 && j == 1 ? 0.0 : i == j ? 2.0 : 1.0;
  });
  const GivenOptions options({{"-pc_echelon_method", "jacobi"}});
  const Krylov ksp = make_krylov(A, KSPGMRES);
  (void)solution_error(ksp, A);
  EXPECT_EQ(reason_of(ksp), KSP_DIVERGED_PC_FAILED);
}

TEST(PreconditionerOutcomes, SingularMatrix_FailsSetup) {
  const Matrix A = make_matrix(MATSEQAIJ, 4, 4, [](PetscInt, PetscInt) { return 1.0; });
  const GivenOptions options({{"-pc_echelon_method", "sparse-lu"}});
  const Krylov ksp = make_krylov(A, KSPPREONLY);
  (void)solution_error(ksp, A);
  EXPECT_EQ(reason_of(ksp), KSP_DIVERGED_PC_FAILED);
}

TEST(PreconditionerOutcomes, NanInMatrix_FailsSetup) {
  const Matrix A = make_matrix(MATSEQAIJ, 4, 4, [](PetscInt i, PetscInt j) {
    return i == 2 && j == 2 ? std::numeric_limits<double>::quiet_NaN() : i == j ? 1.0 : 0.0;
  });
  const Krylov ksp = make_krylov(A, KSPCG);
  (void)solution_error(ksp, A);
  EXPECT_EQ(reason_of(ksp), KSP_DIVERGED_PC_FAILED);
}

TEST(PreconditionerOutcomes, WholeSolve_ThatStops_Fails) {
  const Matrix A = make_matrix(MATSEQAIJ, 25, 25, laplacian(5, -3.3));  // indefinite: cg breaks down
  const GivenOptions options({{"-pc_echelon_method", "cg"}});
  const Krylov ksp = make_krylov(A, KSPFGMRES);
  (void)solution_error(ksp, A);
  EXPECT_EQ(reason_of(ksp), KSP_DIVERGED_PC_FAILED);
}

TEST(PreconditionerOutcomes, GivenIterations_AreAccepted) {
  const Matrix A = make_matrix(MATSEQAIJ, 900, 900, laplacian(30));
  const GivenOptions options({{"-pc_echelon_method", "gauss-seidel"}, {"-pc_echelon_max_iterations", "4"}});
  const Krylov ksp = make_krylov(A, KSPFGMRES);
  EXPECT_LT(solution_error(ksp, A), 1e-7);
  EXPECT_GT(iterations_of(ksp), 2);
}

TEST(PreconditionerOutcomes, RectangularMatrix_IsError) {
  const Matrix A = make_matrix(MATSEQAIJ, 4, 3, [](PetscInt i, PetscInt j) { return i == j ? 1.0 : 0.0; });
  PC pc = nullptr;
  EXPECT_PETSC(PCCreate(PETSC_COMM_SELF, &pc));
  EXPECT_PETSC(PCSetType(pc, PCECHELON));
  EXPECT_PETSC(PCSetOperators(pc, A, A));
  {
    const CaughtErrors errors;
    EXPECT_EQ(PCSetUp(pc), PETSC_ERR_ARG_SIZ);
    EXPECT_NE(errors.message().find("square"), std::string::npos) << errors.message();
  }
  EXPECT_PETSC(PCDestroy(&pc));
}

TEST(PreconditionerOutcomes, EmptyMatrix_Solves) {
  const Matrix A = make_matrix(MATSEQAIJ, 0, 0, laplacian(1));
  const Krylov ksp = make_krylov(A, KSPCG);
  EXPECT_EQ(solution_error(ksp, A), 0);
}

TEST(PreconditionerOptions, Methods_TakeTheirOptions) {
  const Matrix A = make_matrix(MATSEQAIJ, 900, 900, laplacian(30));
  const GivenOptions options({{"-pc_echelon_method", "gmres"},
                              {"-pc_echelon_preconditioner", "ssor"},
                              {"-pc_echelon_preconditioner.omega", "1.2"},
                              {"-pc_echelon_rtol", "1e-11"},
                              {"-pc_echelon_threads", "2"}});
  const Krylov ksp = make_krylov(A, KSPPREONLY);
  EXPECT_LT(solution_error(ksp, A), 1e-7);
}

TEST(PreconditionerOptions, UnknownName_SuggestsNearest) {
  for (const auto& [name, value, expected] :
       {std::tuple("-pc_echelon_cycel", "w", "'cycle'"), std::tuple("-pc_echelon_cycle", "q", "v or w"),
        std::tuple("-pc_echelon_methd", "ilu0", "'method'"),
        std::tuple("-pc_echelon_method", "ilu", "'ilu0'"), std::tuple("-pc_echelon_sweeps", "0", "sweeps")}) {
    const GivenOptions options({{name, value}});
    PC pc = nullptr;
    EXPECT_PETSC(PCCreate(PETSC_COMM_SELF, &pc));
    EXPECT_PETSC(PCSetType(pc, PCECHELON));
    {
      const CaughtErrors errors;
      EXPECT_EQ(PCSetFromOptions(pc), PETSC_ERR_USER_INPUT) << name;
      EXPECT_NE(errors.message().find(expected), std::string::npos) << errors.message();
    }
    EXPECT_PETSC(PCDestroy(&pc));
  }
}

TEST(PreconditionerOptions, Prefix_SeparatesObjects) {
  const Matrix A = make_matrix(MATSEQAIJ, 900, 900, laplacian(30));
  const GivenOptions options({{"-other_pc_echelon_method", "jacobi"}, {"-pc_echelon_method", "sparse-lu"}});
  const Krylov ksp = make_krylov(A, KSPCG);
  EXPECT_LT(solution_error(ksp, A), 1e-7);
  EXPECT_EQ(iterations_of(ksp), 1);
}

}  // namespace petsc_test
