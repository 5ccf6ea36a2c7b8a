// SPDX-License-Identifier: BSD-3-Clause
// Certificates against errors in extended precision.
#include "support/problems.hpp"
#include "support/sparse_systems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace echelon {
namespace {

using test::csr_of;
using test::Elements;

using Extended = std::vector<long double>;

/// Solution of A x = b by Gaussian elimination with partial pivoting in extended precision.
Extended solve_extended(const Csr<double>& A, const std::vector<double>& b) {
  const std::size_t n = b.size();
  std::vector<Extended> rows(n, Extended(n + 1));
  for (std::size_t i = 0; i < n; ++i) {
    const auto row = static_cast<std::int64_t>(i);
    for (std::int64_t k = A.row_offsets()[row]; k < A.row_offsets()[row + 1]; ++k) {
      rows[i][static_cast<std::size_t>(A.column_indices()[k])] = A.values()[k];
    }
    rows[i][n] = b[i];
  }
  for (std::size_t p = 0; p < n; ++p) {
    const auto below = rows.begin() + static_cast<std::ptrdiff_t>(p);
    std::iter_swap(below, std::max_element(below, rows.end(), [p](const Extended& x, const Extended& y) {
                     return std::abs(x[p]) < std::abs(y[p]);
                   }));
    for (std::size_t i = 0; i < n; ++i) {
      if (i == p) continue;
      const long double multiplier = rows[i][p] / rows[p][p];
      for (std::size_t j = p; j <= n; ++j) rows[i][j] -= multiplier * rows[p][j];
    }
  }
  Extended x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = rows[i][n] / rows[i][i];
  return x;
}

double largest_error(const std::vector<double>& x, const Extended& exact) {
  long double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) largest = std::max(largest, std::abs(x[i] - exact[i]));
  return static_cast<double>(largest);
}

std::vector<double> random_vector(std::int64_t n, unsigned seed) {
  const Dense<double> values = test::random_dense<double>(n, 1, seed);
  return {values.data(), values.data() + n};
}

/// Certifies the solution of a system with a random right-hand side, compares the bound with the error, and
/// with that of an x that is far off.
ErrorCertificate certify_and_check(const Csr<double>& A, const std::string& method, double sharpness) {
  const std::vector<double> b = random_vector(A.rows(), 5);
  const Dense<double> solution = solve(A, b, {.method = method}).x;
  std::vector<double> x(solution.data(), solution.data() + A.rows());
  const Extended exact = solve_extended(A, b);
  ErrorCertificate certificate = certify<double>(A, b, x);
  EXPECT_TRUE(certificate.proven()) << certificate.reason;
  EXPECT_GE(certificate.error_bound, largest_error(x, exact));
  EXPECT_LE(certificate.error_bound, 1e-9);
  for (std::size_t i = 0; i < x.size(); i += 3) x[i] += 0.01;
  const ErrorCertificate wrong = certify<double>(A, b, x);
  const double error = largest_error(x, exact);
  EXPECT_GE(wrong.error_bound, error);
  EXPECT_LE(wrong.error_bound, sharpness * error);
  EXPECT_EQ(wrong.proof, certificate.proof);
  return certificate;
}

/// A mass and stiffness like matrix A^T A + shift I: positive definite, in general no H-matrix.
Csr<double> normal_equations(std::int32_t n, double shift, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  Dense<double> factor(Device(), n, n);
  std::fill_n(factor.data(), std::int64_t{n} * n, 0.0);
  for (std::int32_t i = 0; i < n; ++i) {
    for (const std::int32_t j : {i, (i + 1) % n, (i + 7) % n, (3 * i + 2) % n}) factor(i, j) += value(random);
  }
  Elements elements;
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t j = 0; j <= i; ++j) {
      double sum = i == j ? shift : 0;
      for (std::int32_t k = 0; k < n; ++k) sum += factor(k, i) * factor(k, j);
      if (sum == 0) continue;
      elements.push_back({i, j, sum});
      if (i != j) elements.push_back({j, i, sum});
    }
  }
  return csr_of<double>(n, elements);
}

TEST(Certify, SymmetricMMatrix_BoundsTheError) {
  const ErrorCertificate certificate =
      certify_and_check(test::convection_diffusion(9, 0).csr<double>(), "sparse-cholesky", 10);
  EXPECT_EQ(certificate.proof, Proof::h_matrix);
}

TEST(Certify, UnsymmetricMMatrix_BoundsTheError) {
  const ErrorCertificate certificate =
      certify_and_check(test::convection_diffusion(9, 0.4).csr<double>(), "sparse-lu", 10);
  EXPECT_EQ(certificate.proof, Proof::h_matrix);
  EXPECT_FALSE(certificate.smallest_eigenvalue);
}

TEST(Certify, DominantMatrixWithSignsOfBothKinds_BoundsTheError) {
  const ErrorCertificate certificate =
      certify_and_check(test::random_dominant(80, 5, false, 3).csr<double>(), "sparse-lu", 100);
  EXPECT_EQ(certificate.proof, Proof::h_matrix);
}

TEST(Certify, PositiveDefiniteMatrix_BoundsTheErrorAndTheSmallestEigenvalue) {
  const ErrorCertificate certificate =
      certify_and_check(normal_equations(60, 0.05, 4), "sparse-cholesky", 1000);
  EXPECT_EQ(certificate.proof, Proof::positive_definite);
}

TEST(Certify, SmallestEigenvalue_IsABoundAndClose) {
  // The eigenvalues of tridiag(1, 4.5, 1) without the diagonal's dominance lost: 4.5 + 2 cos(k pi / (n + 1));
  // with two more diagonals of 1 the matrix is no H-matrix.
  const std::int32_t n = 50;
  Elements elements;
  const double off_diagonal = 1;
  for (std::int32_t i = 0; i < n; ++i) {
    elements.push_back({i, i, 6});
    for (std::int32_t d = 1; d < 3; ++d) {
      if (i + d >= n) continue;
      elements.push_back({i, i + d, d == 1 ? 4 * off_diagonal : off_diagonal});
      elements.push_back({i + d, i, d == 1 ? 4 * off_diagonal : off_diagonal});
    }
  }
  // This is T^2 for T = tridiag(1, 2, 1) but for its first and last diagonal elements, which are 5 there.
  elements[0].value = 5;
  for (Triplet<double>& e : elements) {
    if (e.row == n - 1 && e.column == n - 1) e.value = 5;
  }
  const double root = 2 - 2 * std::cos(std::acos(-1.0) / (n + 1));
  const Csr<double> A = csr_of<double>(n, elements);
  const std::vector<double> b(static_cast<std::size_t>(n), 1);
  const ErrorCertificate certificate = certify<double>(A, b, b);
  ASSERT_EQ(certificate.proof, Proof::positive_definite) << certificate.reason;
  EXPECT_LE(*certificate.smallest_eigenvalue, root * root);
  EXPECT_GE(*certificate.smallest_eigenvalue, 0.05 * root * root);
}

TEST(Certify, ScaledPositiveDefiniteMatrix_IsProven) {
  Csr<double> A = normal_equations(40, 0.1, 6);
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      const auto power = static_cast<int>(i % 41 - 20 + A.column_indices()[k] % 41 - 20);
      A.values()[k] = std::ldexp(A.values()[k], power);
    }
  }
  const std::vector<double> x = random_vector(40, 7);
  std::vector<double> b(x.size());
  multiply<double>(1, A, x, 0, b);
  EXPECT_EQ(certify<double>(A, b, x).proof, Proof::positive_definite);
}

TEST(Certify, IndefiniteMatrix_IsNotProvenPositiveDefinite) {
  const Csr<double> A = csr_of<double>(2, {{0, 0, 1}, {0, 1, 2}, {1, 0, 2}, {1, 1, 1}});
  const std::vector<double> ones = {1, 1};
  const ErrorCertificate certificate = certify<double>(A, ones, ones, {.proof = Proof::positive_definite});
  EXPECT_FALSE(certificate.proven());
  EXPECT_EQ(certificate.error_bound, std::numeric_limits<double>::infinity());
  EXPECT_NE(certificate.reason.find("nor positive definite"), std::string::npos) << certificate.reason;
}

TEST(Certify, SingularMatrix_Refuses) {
  const Csr<double> laplacian =
      csr_of<double>(3, {{0, 0, 1}, {0, 1, -1}, {1, 0, -1}, {1, 1, 2}, {1, 2, -1}, {2, 1, -1}, {2, 2, 1}});
  const std::vector<double> b = {1, 0, -1};
  EXPECT_FALSE(certify<double>(laplacian, b, b).proven());
}

TEST(Certify, NearlySingularMatrix_IsNotCertifiedBeyondItsCondition) {
  const double tiny = std::numeric_limits<double>::epsilon() / 2;
  const Csr<double> A = csr_of<double>(2, {{0, 0, 1}, {0, 1, 1 - tiny}, {1, 0, 1 - tiny}, {1, 1, 1}});
  const std::vector<double> b = {1, 1};
  const std::vector<double> halves = {0.5, 0.5};
  const ErrorCertificate certificate = certify<double>(A, b, halves);
  if (certificate.proven()) {
    EXPECT_GE(certificate.error_bound, std::abs(0.5 - 1 / (2 - tiny)));
  }
}

TEST(Certify, UnsymmetricMatrixWithoutDominance_IsNotProvenPositiveDefinite) {
  const Csr<double> A = csr_of<double>(2, {{0, 0, 1}, {0, 1, 3}, {1, 0, -2}, {1, 1, 1}});
  const std::vector<double> ones = {1, 1};
  const ErrorCertificate certificate = certify<double>(A, ones, ones, {.proof = Proof::positive_definite});
  EXPECT_FALSE(certificate.proven());
  EXPECT_NE(certificate.reason.find("not symmetric"), std::string::npos) << certificate.reason;
}

TEST(Certify, NotANumber_Refuses) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Csr<double> A = csr_of<double>(1, {{0, 0, 2}});
  const std::vector<double> one = {1};
  const std::vector<double> not_a_number = {nan};
  EXPECT_FALSE(certify<double>(A, one, not_a_number).proven());
  EXPECT_FALSE(certify<double>(A, not_a_number, one).proven());
  EXPECT_FALSE(certify<double>(csr_of<double>(1, {{0, 0, nan}}), one, one).proven());
}

TEST(Certify, OverflowOfTheResidual_Refuses) {
  const Csr<double> large = csr_of<double>(1, {{0, 0, 1e200}});
  const Csr<double> spd = csr_of<double>(
      3, {{0, 0, 3}, {0, 1, 2}, {0, 2, 2}, {1, 0, 2}, {1, 1, 3}, {1, 2, 2}, {2, 0, 2}, {2, 1, 2}, {2, 2, 3}});
  const std::vector<double> one = {1};
  const std::vector<double> x = {1e200};
  const std::vector<double> ones = {1, 1, 1};
  const std::vector<double> huge = {1e308, 1e308, 1e308};
  EXPECT_FALSE(certify<double>(large, one, x, {.proof = Proof::h_matrix}).proven());
  EXPECT_EQ(certify<double>(spd, ones, ones).proof, Proof::positive_definite);
  EXPECT_FALSE(certify<double>(spd, ones, huge, {.proof = Proof::positive_definite}).proven());
}

TEST(Certify, ExactSolution_HasTheBoundZeroOrNearly) {
  const Csr<double> A = csr_of<double>(1, {{0, 0, 2}});
  const std::vector<double> one = {1};
  const std::vector<double> half = {0.5};
  const ErrorCertificate certificate = certify<double>(A, one, half);
  ASSERT_TRUE(certificate.proven());
  EXPECT_LE(certificate.error_bound, 1e-30);
}

TEST(Certify, NoUnknowns_IsProven) {
  const ErrorCertificate certificate =
      certify<double>(Csr<double>(), std::vector<double>(), std::vector<double>());
  EXPECT_TRUE(certificate.proven());
  EXPECT_EQ(certificate.error_bound, 0);
}

TEST(Certify, SeveralColumns_TheWorstCounts) {
  const Csr<double> A = test::convection_diffusion(5, 0).csr<double>();
  const Dense<double> B = test::random_dense<double>(A.rows(), 2, 8);
  Dense<double> X = solve(A, B).x;
  const ErrorCertificate both = certify<double>(A, B, X);
  X(3, 1) += 1;
  const ErrorCertificate spoilt = certify<double>(A, B, X);
  EXPECT_LE(both.error_bound, 1e-12);
  EXPECT_GE(spoilt.error_bound, 1);
}

TEST(Certify, FloatSystem_IsBoundedInDouble) {
  const Csr<float> A = test::convection_diffusion(6, 0).csr<float>();
  const Dense<float> B = test::random_dense<float>(A.rows(), 1, 9);
  const Dense<float> X = solve(A, B).x;
  const ErrorCertificate certificate = certify<float>(A, B, X);
  ASSERT_TRUE(certificate.proven()) << certificate.reason;
  EXPECT_LE(certificate.relative_error_bound, 1e-4);
  EXPECT_GE(certificate.relative_error_bound, 1e-9);
}

TEST(Certify, DenseMatrix_IsConvertedForTheProofsOfSparseOnes) {
  const test::Problem problem = test::random_dominant(20, 3, true, 2);
  const std::vector<double> b = random_vector(20, 3);
  const Dense<double> A = problem.dense<double>();
  const Dense<double> x = solve(A, b).x;
  EXPECT_EQ(certify<double>(A, b, x, {.proof = Proof::h_matrix}).proof, Proof::h_matrix);
}

TEST(Certify, ElementBounds_HoldForEveryProof) {
  const Csr<double> A = test::convection_diffusion(6, 0).csr<double>();
  const std::vector<double> b = random_vector(A.rows(), 5);
  const Extended exact = solve_extended(A, b);
  std::vector<double> x(exact.begin(), exact.end());
  for (std::size_t i = 0; i < x.size(); i += 3) x[i] *= 1.001;
  for (const Proof proof : {Proof::h_matrix, Proof::positive_definite, Proof::approximate_inverse}) {
    const ErrorCertificate certificate = certify<double>(A, b, x, {.proof = proof});
    ASSERT_EQ(certificate.proof, proof) << certificate.reason;
    ASSERT_EQ(certificate.element_bounds.rows(), A.rows());
    double largest = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double bound = certificate.element_bounds(static_cast<std::int64_t>(i), 0);
      EXPECT_GE(bound, std::abs(x[i] - exact[i])) << to_string(proof) << " " << i;
      largest = std::max(largest, bound);
    }
    EXPECT_EQ(largest, certificate.error_bound);
  }
}

TEST(Certify, Shapes_AreChecked) {
  const Csr<double> A = csr_of<double>(2, {{0, 0, 1}, {1, 1, 1}});
  const std::vector<double> one = {1};
  const std::vector<double> two = {1, 1};
  EXPECT_THROW(static_cast<void>(certify<double>(A, one, two)), DimensionMismatch);
  EXPECT_THROW(static_cast<void>(certify<double>(A, two, one)), DimensionMismatch);
  EXPECT_THROW(static_cast<void>(certify<double>(Dense<double>(Device(), 2, 3), two, two)),
               DimensionMismatch);
}

TEST(SolveCertified, IndefiniteSystem_IsBoundedAndRefined) {
  const Csr<double> A =
      csr_of<double>(3, {{0, 0, 4}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1e-9}, {1, 2, 2}, {2, 1, 2}, {2, 2, 3}});
  const std::vector<double> b{1, 2, 3};
  const Extended exact = solve_extended(A, b);
  const double rounding_of_exact = 1e-18;
  const auto distance = [&](const Dense<double>& x) {
    long double largest = 0;
    for (std::int64_t i = 0; i < 3; ++i)
      largest = std::max(largest, std::abs(x(i, 0) - exact[static_cast<std::size_t>(i)]));
    return static_cast<double>(largest);
  };
  const CertifiedSolution<double> plain = solve_certified(A, b);
  EXPECT_TRUE(plain.report.solved());
  ASSERT_TRUE(plain.certificate.proven()) << plain.certificate.reason;
  EXPECT_LE(distance(plain.x), plain.certificate.error_bound + rounding_of_exact);
  const CertifiedSolution<double> refined = solve_certified(A, b, {}, {.refine = true});
  ASSERT_TRUE(refined.certificate.proven());
  EXPECT_LE(refined.certificate.relative_error_bound, 2.3e-16);
  EXPECT_LE(distance(refined.x), refined.certificate.error_bound + rounding_of_exact);
}

TEST(SolveCertified, OptionOfSolve_GivesTheSameCertificate) {
  const Dense<double> A = test::random_dense<double>(20, 20, 3);
  const Dense<double> b = test::random_dense<double>(20, 1, 4);
  const auto [x, report] = solve(A, b, {.certify = true});
  const CertifiedSolution<double> expected = solve_certified(A, b);
  ASSERT_TRUE(report.certified());
  EXPECT_EQ(report.error_bound(), expected.certificate.error_bound);
  EXPECT_EQ(report.certificate->element_bounds.to_vector(), expected.certificate.element_bounds.to_vector());
  EXPECT_EQ(report.certificate->proof, Proof::approximate_inverse);
  std::ostringstream text;
  text << report;
  EXPECT_NE(text.str().find("accuracy: |x_i - x*_i| <= "), std::string::npos) << text.str();
  EXPECT_NE(text.str().find("proven: "), std::string::npos) << text.str();
  EXPECT_EQ(solve(A, b).report.certificate, nullptr);
  EXPECT_FALSE(solve(A, b).report.error_bound());
}

TEST(SolveCertified, OptionOfSolve_RefusesWithReason) {
  const Csr<double> A = csr_of<double>(2, {{0, 0, 1}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1}});
  const Report report = solve(A, std::vector<double>{1, 2}, {.certify = true}).report;
  ASSERT_NE(report.certificate, nullptr);
  EXPECT_FALSE(report.certified());
  EXPECT_FALSE(report.certificate->reason.empty());
  const LinearOperator<double> identity(2, 2, [](const double* x, double* y) { std::copy_n(x, 2, y); });
  EXPECT_THROW(static_cast<void>(solve(identity, std::vector<double>{1, 2}, {.certify = true})), BadOption);
}

TEST(SolveCertified, SingularMatrix_NoProof) {
  const Csr<double> A = csr_of<double>(2, {{0, 0, 1}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1}});
  const std::vector<double> b{1, 2};
  const CertifiedSolution<double> result = solve_certified(A, b);
  EXPECT_FALSE(result.report.solved());
  EXPECT_FALSE(result.certificate.proven());
  EXPECT_FALSE(result.certificate.reason.empty());
}

TEST(Certify, Cancelled_RefusesWithReason) {
  std::stop_source source;
  source.request_stop();
  const Csr<double> A = test::convection_diffusion(20, 0).csr<double>();
  const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1);
  const ErrorCertificate certificate = certify<double>(A, b, b, {.cancel = source.get_token()});
  EXPECT_FALSE(certificate.proven());
  EXPECT_EQ(certificate.reason, "stopped by the caller");
}

}  // namespace
}  // namespace echelon
