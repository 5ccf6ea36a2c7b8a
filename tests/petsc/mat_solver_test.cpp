// SPDX-License-Identifier: BSD-3-Clause
// The matrix solver package "echelon" on one process.
#include "support.hpp"

#include <echelon_petsc.h>
#include <petscmat.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <tuple>

namespace petsc_test {

namespace {

/// Factor of A by the package; the phases are checked one by one.
Matrix make_factor(Mat A, MatFactorType kind) {
  Matrix F;
  MatFactorInfo info;
  EXPECT_PETSC(MatFactorInfoInitialize(&info));
  EXPECT_PETSC(MatGetFactor(A, MATSOLVERECHELON, kind, F.address()));
  if (kind == MAT_FACTOR_LU) {
    EXPECT_PETSC(MatLUFactorSymbolic(F, A, nullptr, nullptr, &info));
    EXPECT_PETSC(MatLUFactorNumeric(F, A, &info));
  } else {
    EXPECT_PETSC(MatCholeskyFactorSymbolic(F, A, nullptr, &info));
    EXPECT_PETSC(MatCholeskyFactorNumeric(F, A, &info));
  }
  return F;
}

MatFactorError factor_error(Mat F) {
  MatFactorError error = MAT_FACTOR_NOERROR;
  EXPECT_PETSC(MatFactorGetError(F, &error));
  return error;
}

/// Relative error of the solution of A x = A u, or of A^T x = A^T u.
double solution_error(Mat F, Mat A, bool transposed = false) {
  PetscInt n = 0;
  EXPECT_PETSC(MatGetSize(A, &n, nullptr));
  const Vector u = make_solution(n);
  Vector b;
  Vector x;
  EXPECT_PETSC(VecDuplicate(u, b.address()));
  EXPECT_PETSC(VecDuplicate(u, x.address()));
  EXPECT_PETSC((transposed ? MatMultTranspose : MatMult)(A, u, b));
  EXPECT_PETSC((transposed ? MatSolveTranspose : MatSolve)(F, b, x));
  return relative_distance(x, u);
}

constexpr double accurate = 1e-11;

}  // namespace

class MatSolver : public testing::TestWithParam<std::tuple<const char*, MatFactorType, PetscInt>> {};

TEST_P(MatSolver, DefiniteMatrix_SolvesTwice) {
  const auto [type, kind, m] = GetParam();
  const Matrix A = make_matrix(type, m * m, m * m, laplacian(m));
  const Matrix F = make_factor(A, kind);
  EXPECT_EQ(factor_error(F), MAT_FACTOR_NOERROR);
  EXPECT_LT(solution_error(F, A), accurate);
  EXPECT_LT(solution_error(F, A), accurate);  // by substitution alone
}

TEST_P(MatSolver, TransposedSystem_Solves) {
  const auto [type, kind, m] = GetParam();
  const Matrix A = make_matrix(type, m * m, m * m, kind == MAT_FACTOR_LU ? convection(m) : laplacian(m));
  const Matrix F = make_factor(A, kind);
  EXPECT_LT(solution_error(F, A, true), accurate);
}

TEST_P(MatSolver, NewValues_AreFactored) {
  const auto [type, kind, m] = GetParam();
  const Matrix A = make_matrix(type, m * m, m * m, laplacian(m));
  const Matrix F = make_factor(A, kind);
  EXPECT_LT(solution_error(F, A), accurate);
  MatFactorInfo info;
  EXPECT_PETSC(MatFactorInfoInitialize(&info));
  for (const double shift : {1.0, 30.0}) {
    EXPECT_PETSC(MatShift(A, shift));
    EXPECT_PETSC((kind == MAT_FACTOR_LU ? MatLUFactorNumeric : MatCholeskyFactorNumeric)(F, A, &info));
    EXPECT_LT(solution_error(F, A), accurate);
  }
}

TEST_P(MatSolver, SeveralColumns_SolveLikeOne) {
  const auto [type, kind, m] = GetParam();
  const PetscInt n = m * m;
  const Matrix A = make_matrix(type, n, n, laplacian(m));
  const Matrix F = make_factor(A, kind);
  const Matrix U = make_matrix(
      MATSEQDENSE, n, 3, [](PetscInt i, PetscInt j) { return std::cos(static_cast<double>(3 * i + j)) + 2; });
  Matrix B;
  Matrix X;
  Matrix dense;
  EXPECT_PETSC(MatConvert(A, MATSEQDENSE, MAT_INITIAL_MATRIX, dense.address()));
  EXPECT_PETSC(MatMatMult(dense, U, MAT_INITIAL_MATRIX, PETSC_DEFAULT, B.address()));
  EXPECT_PETSC(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, X.address()));
  EXPECT_PETSC(MatMatSolve(F, B, X));
  double norm = 0;
  double error = 0;
  EXPECT_PETSC(MatNorm(U, NORM_FROBENIUS, &norm));
  EXPECT_PETSC(MatAXPY(X, -1, U, SAME_NONZERO_PATTERN));
  EXPECT_PETSC(MatNorm(X, NORM_FROBENIUS, &error));
  EXPECT_LT(error, accurate * norm);
}

INSTANTIATE_TEST_SUITE_P(Types, MatSolver,
                         testing::Values(std::tuple(MATSEQAIJ, MAT_FACTOR_LU, 1),
                                         std::tuple(MATSEQAIJ, MAT_FACTOR_LU, 12),
                                         std::tuple(MATSEQAIJ, MAT_FACTOR_CHOLESKY, 12),
                                         std::tuple(MATSEQBAIJ, MAT_FACTOR_LU, 6),
                                         std::tuple(MATSEQSBAIJ, MAT_FACTOR_CHOLESKY, 12),
                                         std::tuple(MATSEQDENSE, MAT_FACTOR_LU, 7),
                                         std::tuple(MATSEQDENSE, MAT_FACTOR_CHOLESKY, 7)));

TEST(MatSolverOutcomes, SpdFlag_SelectsCholesky) {
  const Matrix A = make_matrix(MATSEQAIJ, 25, 25, laplacian(5, -3));  // indefinite in spite of the flag
  EXPECT_PETSC(MatSetOption(A, MAT_SPD, PETSC_TRUE));
  EXPECT_EQ(factor_error(make_factor(A, MAT_FACTOR_CHOLESKY)), MAT_FACTOR_NUMERIC_ZEROPIVOT);
}

TEST(MatSolverOutcomes, IndefiniteMatrix_HasInertia) {
  // Eigenvalues of the Laplacian are sums 4 - 2 cos(i pi / 6) - 2 cos(j pi / 6), i, j = 1, ..., 5.
  PetscInt below = 0;
  for (int i = 1; i <= 5; ++i) {
    for (int j = 1; j <= 5; ++j) {
      const double angle = std::acos(-1.0) / 6;
      if (4 - 2 * std::cos(i * angle) - 2 * std::cos(j * angle) < 3.3) ++below;
    }
  }
  for (const char* type : {MATSEQAIJ, MATSEQSBAIJ, MATSEQDENSE}) {
    const Matrix A = make_matrix(type, 25, 25, laplacian(5, -3.3));
    const Matrix F = make_factor(A, MAT_FACTOR_CHOLESKY);
    EXPECT_LT(solution_error(F, A), accurate) << type;
    PetscInt negative = -1;
    PetscInt zero = -1;
    PetscInt positive = -1;
    EXPECT_PETSC(MatGetInertia(F, &negative, &zero, &positive));
    EXPECT_EQ(negative, below) << type;
    EXPECT_EQ(zero, 0) << type;
    EXPECT_EQ(positive, 25 - below) << type;
  }
}

TEST(MatSolverOutcomes, SingularMatrix_IsFactorError) {
  const auto path = [](PetscInt i, PetscInt j) {  // Laplacian of a path: constants are its null space
    if (i == j) return i == 0 || i == 9 ? 1.0 : 2.0;
    return std::abs(i - j) == 1 ? -1.0 : 0.0;
  };
  for (const char* type : {MATSEQAIJ, MATSEQDENSE}) {
    for (const MatFactorType kind : {MAT_FACTOR_LU, MAT_FACTOR_CHOLESKY}) {
      const Matrix A = make_matrix(type, 10, 10, path);
      const Matrix F = make_factor(A, kind);
      EXPECT_EQ(factor_error(F), MAT_FACTOR_NUMERIC_ZEROPIVOT) << type;
      // A factor that failed solves again once it has good values.
      EXPECT_PETSC(MatShift(A, 1));
      MatFactorInfo info;
      EXPECT_PETSC(MatFactorInfoInitialize(&info));
      EXPECT_PETSC((kind == MAT_FACTOR_LU ? MatLUFactorNumeric : MatCholeskyFactorNumeric)(F, A, &info));
      EXPECT_EQ(factor_error(F), MAT_FACTOR_NOERROR) << type;
      EXPECT_LT(solution_error(F, A), accurate) << type;
    }
  }
}

TEST(MatSolverOutcomes, NanInMatrix_IsFactorError) {
  const Matrix A = make_matrix(MATSEQAIJ, 25, 25, laplacian(5));
  EXPECT_PETSC(MatSetValue(A, 7, 7, std::numeric_limits<double>::quiet_NaN(), INSERT_VALUES));
  EXPECT_PETSC(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  EXPECT_PETSC(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  EXPECT_EQ(factor_error(make_factor(A, MAT_FACTOR_LU)), MAT_FACTOR_OTHER);
}

TEST(MatSolverOutcomes, NanInRhs_GivesInfiniteSolution) {
  const Matrix A = make_matrix(MATSEQAIJ, 25, 25, laplacian(5));
  const Matrix F = make_factor(A, MAT_FACTOR_LU);
  const Vector b =
      make_vector(25, [](PetscInt i) { return i == 3 ? std::numeric_limits<double>::quiet_NaN() : 1.0; });
  Vector x;
  EXPECT_PETSC(VecDuplicate(b, x.address()));
  EXPECT_PETSC(MatSolve(F, b, x));
  double norm = 0;
  EXPECT_PETSC(VecNorm(x, NORM_INFINITY, &norm));
  EXPECT_FALSE(std::isfinite(norm));
  EXPECT_EQ(factor_error(F), MAT_FACTOR_NOERROR);
  EXPECT_LT(solution_error(F, A), accurate);
}

TEST(MatSolverOutcomes, UnsymmetricMatrix_IsNoCholesky) {
  for (const char* type : {MATSEQAIJ, MATSEQDENSE}) {
    const Matrix A = make_matrix(type, 25, 25, convection(5));
    EXPECT_EQ(factor_error(make_factor(A, MAT_FACTOR_CHOLESKY)), MAT_FACTOR_OTHER) << type;
  }
}

TEST(MatSolverOutcomes, RoundedSymmetry_IsAccepted) {
  const auto rounded = [full = laplacian(5)](PetscInt i, PetscInt j) {
    return full(i, j) * (i > j ? 1 + 1e-15 : 1);
  };
  for (const char* type : {MATSEQAIJ, MATSEQDENSE}) {
    const Matrix A = make_matrix(type, 25, 25, rounded);
    EXPECT_LT(solution_error(make_factor(A, MAT_FACTOR_CHOLESKY), A), accurate) << type;
  }
}

TEST(MatSolverOutcomes, EmptyMatrix_Solves) {
  for (const char* type : {MATSEQAIJ, MATSEQDENSE}) {
    const Matrix A = make_matrix(type, 0, 0, laplacian(1));
    for (const MatFactorType kind : {MAT_FACTOR_LU, MAT_FACTOR_CHOLESKY})
      EXPECT_EQ(solution_error(make_factor(A, kind), A), 0) << type;
  }
}

TEST(MatSolverOptions, Method_IsTaken) {
  const Matrix A = make_matrix(MATSEQAIJ, 25, 25, laplacian(5));
  const GivenOptions options({{"-mat_echelon_method", "banded-lu"}, {"-mat_echelon_check", "always"}});
  EXPECT_LT(solution_error(make_factor(A, MAT_FACTOR_LU), A), accurate);
}

TEST(MatSolverOptions, UnknownName_SuggestsNearest) {
  const Matrix A = make_matrix(MATSEQAIJ, 25, 25, laplacian(5));
  Matrix F;
  MatFactorInfo info;
  EXPECT_PETSC(MatFactorInfoInitialize(&info));
  for (const auto& [name, value, expected] : {std::tuple("-mat_echelon_thresold", "0.5", "'threshold'"),
                                              std::tuple("-mat_echelon_method", "sparse-luu", "'sparse-lu'"),
                                              std::tuple("-mat_echelon_method", "cg", "not a factorisation"),
                                              std::tuple("-mat_echelon_check", "firs", "'first'"),
                                              std::tuple("-mat_echelon_threads", "none", "positive integer"),
                                              std::tuple("-mat_echelon_device", "gpu", "cuda")}) {
    const GivenOptions options({{name, value}});
    EXPECT_PETSC(MatGetFactor(A, MATSOLVERECHELON, MAT_FACTOR_LU, F.address()));
    const CaughtErrors errors;
    EXPECT_EQ(MatLUFactorSymbolic(F, A, nullptr, nullptr, &info), PETSC_ERR_USER_INPUT) << name;
    EXPECT_NE(errors.message().find(expected), std::string::npos) << errors.message();
    EXPECT_PETSC(MatDestroy(F.address()));
  }
}

TEST(MatSolverOptions, Report_IsViewed) {
  const Matrix A = make_matrix(MATSEQAIJ, 25, 25, laplacian(5));
  const Matrix F = make_factor(A, MAT_FACTOR_LU);
  EXPECT_LT(solution_error(F, A), accurate);
  PetscViewer viewer = nullptr;
  const std::string path = testing::TempDir() + "petsc_report.txt";
  EXPECT_PETSC(PetscViewerASCIIOpen(PETSC_COMM_SELF, path.c_str(), &viewer));
  EXPECT_PETSC(PetscViewerPushFormat(viewer, PETSC_VIEWER_ASCII_INFO));  // as -ksp_view does
  EXPECT_PETSC(MatView(F, viewer));
  EXPECT_PETSC(PetscViewerPopFormat(viewer));
  EXPECT_PETSC(PetscViewerDestroy(&viewer));
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(text.find("method: sparse-lu"), std::string::npos) << text;
  EXPECT_NE(text.find("backward error"), std::string::npos) << text;
}

}  // namespace petsc_test
