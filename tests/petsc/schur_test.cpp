// SPDX-License-Identifier: BSD-3-Clause
// Factors of the package "echelon" that leave a Schur complement, compared with dense elimination and MUMPS.
#include "support.hpp"

#include <echelon_petsc.h>
#include <petscmat.h>

#include <string>
#include <tuple>
#include <vector>

namespace petsc_test {

namespace {

using Indices = Owned<IS, ISDestroy>;

/// Rows of the 7 by 7 grid in no order; all others are interior.
const std::vector<PetscInt> interface_rows = {24, 3, 48, 10, 31, 0};

Indices make_interface() {
  Indices rows;
  EXPECT_PETSC(ISCreateGeneral(PETSC_COMM_SELF, static_cast<PetscInt>(interface_rows.size()),
                               interface_rows.data(), PETSC_COPY_VALUES, rows.address()));
  return rows;
}

void factor(Mat F, Mat A, MatFactorType kind) {
  MatFactorInfo info;
  EXPECT_PETSC(MatFactorInfoInitialize(&info));
  if (kind == MAT_FACTOR_LU) {
    EXPECT_PETSC(MatLUFactorSymbolic(F, A, nullptr, nullptr, &info));
    EXPECT_PETSC(MatLUFactorNumeric(F, A, &info));
  } else {
    EXPECT_PETSC(MatCholeskyFactorSymbolic(F, A, nullptr, &info));
    EXPECT_PETSC(MatCholeskyFactorNumeric(F, A, &info));
  }
}

Matrix make_factor(Mat A, const char* package, MatFactorType kind) {
  Matrix F;
  EXPECT_PETSC(MatGetFactor(A, package, kind, F.address()));
  EXPECT_PETSC(MatFactorSetSchurIS(F, make_interface()));
  factor(F, A, kind);
  return F;
}

/// Elements of A, row after row.
std::vector<std::vector<double>> elements(Mat A) {
  PetscInt n = 0;
  EXPECT_PETSC(MatGetSize(A, &n, nullptr));
  std::vector<std::vector<double>> rows(static_cast<std::size_t>(n), std::vector<double>(n));
  for (PetscInt i = 0; i < n; ++i) {
    for (PetscInt j = 0; j < n; ++j) EXPECT_PETSC(MatGetValue(A, i, j, &rows[i][j]));
  }
  return rows;
}

/// Schur complement by elimination of one row of the interior after the other.
std::vector<std::vector<double>> eliminated(Mat A) {
  std::vector<std::vector<double>> a = elements(A);
  const auto n = static_cast<PetscInt>(a.size());
  for (PetscInt k = 0; k < n; ++k) {
    if (std::find(interface_rows.begin(), interface_rows.end(), k) != interface_rows.end()) continue;
    for (PetscInt i = 0; i < n; ++i) {
      if (i == k) continue;
      const double multiplier = a[i][k] / a[k][k];
      for (PetscInt j = 0; j < n; ++j) a[i][j] -= multiplier * a[k][j];
    }
  }
  std::vector<std::vector<double>> S;
  for (const PetscInt i : interface_rows) {
    S.emplace_back();
    for (const PetscInt j : interface_rows) S.back().push_back(a[i][j]);
  }
  return S;
}

double largest_difference(Mat S, const std::vector<std::vector<double>>& expected, bool lower_only = false) {
  double largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    for (std::size_t j = 0; j < (lower_only ? i + 1 : expected.size()); ++j) {
      double value = 0;
      EXPECT_PETSC(MatGetValue(S, static_cast<PetscInt>(i), static_cast<PetscInt>(j), &value));
      largest = std::max(largest, std::abs(value - expected[i][j]));
    }
  }
  return largest;
}

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

constexpr double accurate = 1e-12;

}  // namespace

/// Type of the matrix, kind of the factor, shift of the Laplacian, whether it has convection.
class MatSchur : public testing::TestWithParam<std::tuple<const char*, MatFactorType, double, bool>> {
 protected:
  [[nodiscard]] static Matrix matrix() {
    const auto [type, kind, shift, convective] = GetParam();
    return make_matrix(type, 49, 49, convective ? convection(7) : laplacian(7, shift));
  }
  [[nodiscard]] static MatFactorType kind() { return std::get<1>(GetParam()); }
};

TEST_P(MatSchur, Complement_IsThatOfElimination) {
  const Matrix A = matrix();
  const Matrix F = make_factor(A, MATSOLVERECHELON, kind());
  Mat S = nullptr;
  MatFactorSchurStatus status = MAT_FACTOR_SCHUR_INVERTED;
  EXPECT_PETSC(MatFactorGetSchurComplement(F, &S, &status));
  EXPECT_EQ(status, MAT_FACTOR_SCHUR_UNFACTORED);
  EXPECT_LT(largest_difference(S, eliminated(A)), accurate);
  EXPECT_PETSC(MatFactorRestoreSchurComplement(F, &S, status));
  Matrix copy;
  EXPECT_PETSC(MatFactorCreateSchurComplement(F, copy.address(), &status));
  EXPECT_LT(largest_difference(copy, eliminated(A)), accurate);
}

TEST_P(MatSchur, Solves_AgreeWithTheMatrix) {
  const Matrix A = matrix();
  const Matrix F = make_factor(A, MATSOLVERECHELON, kind());
  EXPECT_LT(solution_error(F, A), accurate);
  EXPECT_LT(solution_error(F, A, true), accurate);
  EXPECT_PETSC(MatFactorInvertSchurComplement(F));
  EXPECT_LT(solution_error(F, A), accurate);
}

TEST_P(MatSchur, NewValues_AreFactored) {
  const Matrix A = matrix();
  const Matrix F = make_factor(A, MATSOLVERECHELON, kind());
  EXPECT_LT(solution_error(F, A), accurate);
  EXPECT_PETSC(MatShift(A, 1));
  MatFactorInfo info;
  EXPECT_PETSC(MatFactorInfoInitialize(&info));
  if (kind() == MAT_FACTOR_LU) {
    EXPECT_PETSC(MatLUFactorNumeric(F, A, &info));
  } else {
    EXPECT_PETSC(MatCholeskyFactorNumeric(F, A, &info));
  }
  Mat S = nullptr;
  EXPECT_PETSC(MatFactorGetSchurComplement(F, &S, nullptr));
  EXPECT_LT(largest_difference(S, eliminated(A)), accurate);
  EXPECT_LT(solution_error(F, A), accurate);
}

TEST_P(MatSchur, SolveOfComplement_IsItsInverse) {
  const Matrix A = matrix();
  const Matrix F = make_factor(A, MATSOLVERECHELON, kind());
  const auto S = eliminated(A);
  const auto n = static_cast<PetscInt>(S.size());
  const Vector u = make_solution(n);
  const PetscScalar* values = nullptr;
  EXPECT_PETSC(VecGetArrayRead(u, &values));
  for (const bool transposed : {false, true}) {
    const Vector b = make_vector(n, [&](PetscInt i) {
      double sum = 0;
      for (PetscInt j = 0; j < n; ++j) sum += (transposed ? S[j][i] : S[i][j]) * values[j];
      return sum;
    });
    Vector x;
    EXPECT_PETSC(VecDuplicate(u, x.address()));
    EXPECT_PETSC(
        (transposed ? MatFactorSolveSchurComplementTranspose : MatFactorSolveSchurComplement)(F, b, x));
    EXPECT_LT(relative_distance(x, u), accurate);
  }
  EXPECT_PETSC(VecRestoreArrayRead(u, &values));
}

/// PCBDDC solves the interior's equations alone by control 26 of MUMPS.
TEST_P(MatSchur, InteriorSolve_LeavesZerosInTheInterface) {
  const Matrix A = matrix();
  const Matrix F = make_factor(A, MATSOLVERECHELON, kind());
  const auto on_interface = [](PetscInt i) {
    return std::find(interface_rows.begin(), interface_rows.end(), i) != interface_rows.end();
  };
  const Vector u = make_vector(49, [&](PetscInt i) { return on_interface(i) ? 0.0 : 1.0 + i; });
  Vector b;
  Vector x;
  EXPECT_PETSC(VecDuplicate(u, b.address()));
  EXPECT_PETSC(VecDuplicate(u, x.address()));
  EXPECT_PETSC(MatMult(A, u, b));
  for (const PetscInt row : interface_rows) EXPECT_PETSC(VecSetValue(b, row, 1e9, INSERT_VALUES));  // ignored
  EXPECT_PETSC(VecAssemblyBegin(b));
  EXPECT_PETSC(VecAssemblyEnd(b));
  EXPECT_PETSC(MatMumpsSetIcntl(F, 26, 0));
  EXPECT_PETSC(MatSolve(F, b, x));
  EXPECT_LT(relative_distance(x, u), accurate);
  EXPECT_PETSC(MatMumpsSetIcntl(F, 26, -1));
  EXPECT_LT(solution_error(F, A), accurate);
}

TEST_P(MatSchur, Mumps_HasTheSameComplement) {
#if defined(PETSC_HAVE_MUMPS)
  const Matrix A = matrix();
  PetscBool dense = PETSC_FALSE;
  EXPECT_PETSC(
      PetscObjectTypeCompare(reinterpret_cast<PetscObject>(static_cast<Mat>(A)), MATSEQDENSE, &dense));
  if (dense == PETSC_TRUE) GTEST_SKIP() << "MUMPS takes sparse matrices";
  const Matrix F = make_factor(A, MATSOLVERMUMPS, kind());
  Mat S = nullptr;
  EXPECT_PETSC(MatFactorGetSchurComplement(F, &S, nullptr));
  // Of a symmetric complement MUMPS gives one triangle.
  EXPECT_LT(largest_difference(S, eliminated(A), kind() == MAT_FACTOR_CHOLESKY), accurate);
#else
  GTEST_SKIP() << "PETSc was built without MUMPS";
#endif
}

INSTANTIATE_TEST_SUITE_P(Kinds, MatSchur,
                         testing::Values(std::tuple(MATSEQAIJ, MAT_FACTOR_LU, 0.0, true),
                                         std::tuple(MATSEQAIJ, MAT_FACTOR_LU, -3.3, false),
                                         std::tuple(MATSEQAIJ, MAT_FACTOR_CHOLESKY, 0.0, false),
                                         std::tuple(MATSEQAIJ, MAT_FACTOR_CHOLESKY, -3.3, false),
                                         std::tuple(MATSEQDENSE, MAT_FACTOR_LU, 0.0, true),
                                         std::tuple(MATSEQDENSE, MAT_FACTOR_CHOLESKY, 0.0, false)));

TEST(MatSchurOutcomes, SeveralColumns_Solve) {
  const Matrix A = make_matrix(MATSEQAIJ, 49, 49, convection(7));
  const Matrix F = make_factor(A, MATSOLVERECHELON, MAT_FACTOR_LU);
  const Matrix U = make_matrix(MATSEQDENSE, 49, 3, [](PetscInt i, PetscInt j) { return 1.0 + i * (j + 1); });
  Matrix B;
  Matrix X;
  EXPECT_PETSC(MatMatMult(A, U, MAT_INITIAL_MATRIX, PETSC_DEFAULT, B.address()));
  EXPECT_PETSC(MatDuplicate(U, MAT_DO_NOT_COPY_VALUES, X.address()));
  EXPECT_PETSC(MatMatSolve(F, B, X));
  EXPECT_PETSC(MatAXPY(X, -1, U, SAME_NONZERO_PATTERN));
  double error = 1;
  EXPECT_PETSC(MatNorm(X, NORM_FROBENIUS, &error));
  EXPECT_LT(error, 1e-9);
}

TEST(MatSchurOutcomes, SingularInterior_IsFactorError) {
  const Matrix A = make_matrix(
      MATSEQAIJ, 49, 49, [](PetscInt i, PetscInt j) { return i == 5 || j == 5 ? 0.0 : laplacian(7)(i, j); });
  const Matrix F = make_factor(A, MATSOLVERECHELON, MAT_FACTOR_LU);
  MatFactorError error = MAT_FACTOR_NOERROR;
  EXPECT_PETSC(MatFactorGetError(F, &error));
  EXPECT_EQ(error, MAT_FACTOR_NUMERIC_ZEROPIVOT);
}

TEST(MatSchurOptions, Ordering_IsTaken_OthersAreRefused) {
  const Matrix A = make_matrix(MATSEQAIJ, 49, 49, laplacian(7));
  {
    const GivenOptions options({{"-mat_echelon_ordering", "rcm"}});
    EXPECT_LT(solution_error(make_factor(A, MATSOLVERECHELON, MAT_FACTOR_LU), A), accurate);
  }
  for (const auto& [name, value, expected] : {std::tuple("-mat_echelon_method", "banded-lu", "banded-lu"),
                                              std::tuple("-mat_echelon_threshold", "0.5", "ordering")}) {
    const GivenOptions options({{name, value}});
    Matrix F;
    MatFactorInfo info;
    EXPECT_PETSC(MatFactorInfoInitialize(&info));
    EXPECT_PETSC(MatGetFactor(A, MATSOLVERECHELON, MAT_FACTOR_LU, F.address()));
    EXPECT_PETSC(MatFactorSetSchurIS(F, make_interface()));
    const CaughtErrors errors;
    EXPECT_EQ(MatLUFactorSymbolic(F, A, nullptr, nullptr, &info), PETSC_ERR_USER_INPUT) << name;
    EXPECT_NE(errors.message().find(expected), std::string::npos) << errors.message();
  }
}

TEST(MatSchurOptions, RowOutsideTheMatrix_IsError) {
  const Matrix A = make_matrix(MATSEQAIJ, 4, 4, laplacian(2));
  Matrix F;
  MatFactorInfo info;
  EXPECT_PETSC(MatFactorInfoInitialize(&info));
  EXPECT_PETSC(MatGetFactor(A, MATSOLVERECHELON, MAT_FACTOR_LU, F.address()));
  EXPECT_PETSC(MatFactorSetSchurIS(F, make_interface()));
  EXPECT_PETSC(MatLUFactorSymbolic(F, A, nullptr, nullptr, &info));
  const CaughtErrors errors;
  EXPECT_NE(MatLUFactorNumeric(F, A, &info), PetscErrorCode{});
  EXPECT_NE(errors.message().find("interface"), std::string::npos) << errors.message();
}

}  // namespace petsc_test
