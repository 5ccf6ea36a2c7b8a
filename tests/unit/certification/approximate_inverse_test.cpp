// SPDX-License-Identifier: BSD-3-Clause
// Certificates by approximate inverses of dense matrices.
#include "support/certified_systems.hpp"
#include "support/problems.hpp"
#include "support/sparse_systems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace echelon {
namespace {

using test::BigFloat;
using test::ExactSystem;
using test::expect_bounds_hold;
using test::generated;
using test::median;
using test::Tightness;

const CertifyOptions by_inverse = {.proof = Proof::approximate_inverse};

std::vector<double> random_vector(std::int64_t n, std::mt19937_64& random) {
  std::uniform_real_distribution<double> value(-1, 1);
  std::vector<double> v;
  for (std::int64_t i = 0; i < n; ++i) v.push_back(value(random));
  return v;
}

/// Certifies x* rounded, x* with errors of different sizes, and zero; collects the tightness of those proven.
/// Returns whether they are: all or none.
bool check(const ExactSystem& system, std::mt19937_64& random, std::vector<double>& tightness,
           const Device& device = Device::serial()) {
  std::uniform_real_distribution<double> value(-1, 1);
  CertifyOptions options = by_inverse;
  options.device = device;
  std::vector<std::vector<double>> guesses = {system.rounded()};
  if (guesses[0].empty()) guesses[0] = std::vector<double>(system.b.size(), 1);
  guesses.emplace_back(system.b.size());
  const double size = std::exp2(-50 * std::abs(value(random)));
  guesses.push_back(guesses[0]);
  for (double& element : guesses.back()) element *= 1 + size * value(random);
  int proven = 0;
  for (const std::vector<double>& x : guesses) {
    if (!std::all_of(x.begin(), x.end(), [](double element) { return std::isfinite(element); })) return false;
    const ErrorCertificate certificate = certify<double>(system.A, system.b, x, options);
    EXPECT_FALSE(certificate.reason.empty());
    if (!certificate.proven()) {
      EXPECT_EQ(certificate.error_bound, std::numeric_limits<double>::infinity());
      continue;
    }
    ++proven;
    const Tightness found = expect_bounds_hold(certificate, system, x);
    tightness.insert(tightness.end(), found.of_elements.begin(), found.of_elements.end());
  }
  EXPECT_TRUE(proven == 0 || proven == static_cast<int>(guesses.size()));
  return proven > 0;
}

TEST(ApproximateInverse, RandomSmallSystems_BoundsHoldAndAreTight) {
  std::mt19937_64 random(1);
  std::vector<double> tightness;
  int proven = 0;
  constexpr int systems = 10'000;
  for (int k = 0; k < systems; ++k) {
    const std::int64_t n = 1 + k % 8;
    Dense<double> A(Device(), n, n);
    std::uniform_real_distribution<double> value(-1, 1);
    std::uniform_int_distribution<int> digit(-9, 9);
    for (std::int64_t e = 0; e < n * n; ++e) A[e] = k % 3 == 0 ? digit(random) : value(random);
    if (k % 3 == 2) A = test::badly_scaled(n, 20 * (k % 7), 15 * (k % 5), random);
    proven += check(ExactSystem(A, random_vector(n, random)), random, tightness) ? 1 : 0;
    if (testing::Test::HasFailure()) FAIL() << "system " << k;
  }
  RecordProperty("median_of_bound_over_error", std::to_string(median(tightness)));
  RecordProperty("proven", proven);
  EXPECT_LE(median(tightness), 1.001);
  EXPECT_GE(proven, 9800);  // integer matrices of order 1 and 2 are singular now and then
}

TEST(ApproximateInverse, IntegerSystems_AgreeWithCramersRule) {
  std::mt19937_64 random(2);
  std::uniform_int_distribution<std::int64_t> integer(-1000, 1000);
  const auto determinant = [](const std::int64_t(&m)[3][3]) {
    return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
           m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
           m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
  };
  for (int k = 0; k < 500; ++k) {
    std::int64_t m[3][3];
    std::int64_t right[3];
    Dense<double> A(Device(), 3, 3);
    std::vector<double> b;
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) A(i, j) = static_cast<double>(m[i][j] = integer(random));
      b.push_back(static_cast<double>(right[i] = integer(random)));
    }
    const std::int64_t denominator = determinant(m);
    if (denominator == 0) continue;
    const std::vector<double> x = solve(A, b).x.to_vector();
    const ErrorCertificate certificate = certify<double>(A, b, x, by_inverse);
    ASSERT_TRUE(certificate.proven()) << certificate.reason;
    for (int j = 0; j < 3; ++j) {
      std::int64_t replaced[3][3];
      for (int i = 0; i < 3; ++i) {
        for (int c = 0; c < 3; ++c) replaced[i][c] = c == j ? right[i] : m[i][c];
      }
      // |x - N / D| <= bound; the determinants are below 2^53.
      const BigFloat distance =
          BigFloat(x[static_cast<std::size_t>(j)]) * BigFloat(static_cast<double>(denominator)) -
          BigFloat(static_cast<double>(determinant(replaced)));
      const BigFloat bound =
          BigFloat(certificate.element_bounds(j, 0)) * BigFloat(static_cast<double>(denominator)).magnitude();
      EXPECT_FALSE(bound < distance.magnitude());
    }
  }
}

struct Hard {
  std::string name;
  Options options;
  bool provable;  ///< well within the condition that double can prove
};

TEST(ApproximateInverse, HardMatrices_BoundsHoldOrAreRefused) {
  const std::vector<Hard> hard = {
      {"hilbert", {{"n", 6}}, true},         {"hilbert", {{"n", 8}}, true},
      {"hilbert", {{"n", 10}}, false},       {"hilbert", {{"n", 12}}, false},
      {"hilbert", {{"n", 16}}, false},       {"lotkin", {{"n", 7}}, true},
      {"cauchy", {{"n", 12}}, false},        {"pascal", {{"n", 10}}, true},
      {"frank", {{"n", 12}}, true},          {"moler", {{"n", 20}}, true},
      {"triw", {{"n", 25}}, true},           {"triw", {{"n", 60}}, true},
      {"foster", {{"n", 40}}, true},         {"wright", {{"n", 60}}, true},
      {"gfpp", {{"n", 64}}, true},           {"gepp-growth", {{"n", 64}}, true},
      {"wilkinson", {{"n", 21}}, true},      {"kahan", {{"n", 40}}, true},
      {"extended-kahan", {{"l", 16}}, true}, {"druinsky-toledo", {{"k", 20}}, true},
      {"clement", {{"n", 30}}, true},        {"fiedler", {{"n", 33}}, true},
      {"redheffer", {{"n", 31}}, true},      {"gear", {{"n", 20}}, false},
  };
  std::mt19937_64 random(3);
  for (const Hard& matrix : hard) {
    const std::string name =
        matrix.name + " " + std::to_string(generated(matrix.name, matrix.options).rows());
    SCOPED_TRACE(name);
    const Dense<double> A = generated(matrix.name, matrix.options);
    std::vector<double> tightness;
    const bool proven = check(ExactSystem(A, random_vector(A.rows(), random)), random, tightness);
    if (matrix.provable) {
      EXPECT_TRUE(proven);
    }
    RecordProperty(matrix.name + "_" + std::to_string(A.rows()),
                   proven ? std::to_string(median(tightness)) : std::string("refused"));
  }
}

TEST(ApproximateInverse, IllConditioned_ProvenOrRefusedNeverWrong) {
  std::mt19937_64 random(4);
  for (const std::int64_t n : {10, 33, 50}) {
    for (int digits = 10; digits <= 18; ++digits) {
      std::vector<double> tightness;
      const Dense<double> A = test::of_condition(n, std::pow(10.0, digits), random);
      const bool proven = check(ExactSystem(A, random_vector(n, random)), random, tightness);
      if (digits <= 11) {
        EXPECT_TRUE(proven) << n << ", condition 1e" << digits;
      }
      if (digits >= 17) {
        EXPECT_FALSE(proven) << n << ", condition 1e" << digits;
      }
      RecordProperty("n" + std::to_string(n) + "_1e" + std::to_string(digits),
                     proven ? std::to_string(median(tightness)) : std::string("refused"));
    }
  }
}

TEST(ApproximateInverse, ExtremeRange_BoundsHold) {
  std::mt19937_64 random(5);
  std::vector<double> tightness;
  for (const int exponents : {300, 500}) {
    for (int k = 0; k < 20; ++k) {
      const std::int64_t n = 2 + k % 7;
      EXPECT_TRUE(
          check(ExactSystem(test::badly_scaled(n, exponents, exponents, random), random_vector(n, random)),
                random, tightness));
    }
  }
  EXPECT_LE(median(tightness), 1.001);
  // All elements near the ends of the range: subnormal ones, which have fewer bits, and huge ones.
  for (const int exponent : {-1060, -1022, 1022}) {
    Dense<double> A = test::badly_scaled(6, 0, 0, random);
    for (std::int64_t e = 0; e < 36; ++e) A[e] = std::ldexp(A[e], exponent);
    for (const int right : {-1022, 0, 1000}) {
      std::vector<double> b = random_vector(6, random);
      for (double& element : b) element = std::ldexp(element, right);
      check(ExactSystem(A, b), random, tightness);
    }
  }
  // One row of subnormal and one of huge elements, with a regular element between.
  Dense<double> mixed(Device(), 3, 3);
  const double elements[3][3] = {{1e300, 2e-310, 1e300}, {4e-310, 5e-310, 1e-315}, {1, -1e300, 1e-300}};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) mixed(i, j) = elements[i][j];
  }
  check(ExactSystem(mixed, {1e300, 1e-310, 1}), random, tightness);
}

TEST(ApproximateInverse, RefinedSolutions_AreAccurateToTheLastBit) {
  std::mt19937_64 random(6);
  for (int digits = 0; digits <= 12; digits += 2) {
    const std::int64_t n = 40;
    const ExactSystem system(test::of_condition(n, std::pow(10.0, digits), random), random_vector(n, random));
    Dense<double> refined(Device(), n, 1);
    std::fill_n(refined.data(), n, 0.0);
    const ErrorCertificate certificate =
        refine_and_certify<double>(system.A, system.b, refined.view(), by_inverse);
    ASSERT_TRUE(certificate.proven()) << certificate.reason;
    expect_bounds_hold(certificate, system, refined.to_vector());
    EXPECT_LE(certificate.relative_error_bound, 2.5e-16) << "condition 1e" << digits;
    for (std::int64_t i = 0; i < n; ++i) {
      EXPECT_LE(certificate.element_bounds(i, 0), 1e-14 * std::abs(refined[i])) << "condition 1e" << digits;
    }
  }
}

/// Elements of these well-conditioned matrices grow so much in an elimination that its inverse has rows of
/// rounding errors.
TEST(ApproximateInverse, LargeGrowth_BoundsAreSmall) {
  for (const char* generator : {"foster", "gfpp", "gepp-growth"}) {
    const std::int64_t n = 150;
    const Dense<double> A = generated(generator, {{"n", n}});
    std::vector<double> b(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) b[static_cast<std::size_t>(i)] += A(i, j);
    }
    std::vector<double> x = solve(A, b).x.to_vector();
    EXPECT_LT(certify<double>(A, b, x, by_inverse).error_bound, 1e-12) << generator;
    EXPECT_LT(refine_and_certify<double>(A, b, x, by_inverse).error_bound, 1e-15) << generator;
  }
}

TEST(ApproximateInverse, AwkwardOrders_OnOneAndAllCores) {
  std::mt19937_64 random(7);
  for (const std::int64_t n : {1, 31, 32, 33, 65}) {
    const ExactSystem system(test::badly_scaled(n, 0, 0, random), random_vector(n, random));
    for (const Device& device : {Device::serial(), Device()}) {
      std::vector<double> tightness;
      EXPECT_TRUE(check(system, random, tightness, device)) << n;
    }
  }
}

TEST(ApproximateInverse, LargerSystem_BoundsTheErrorOfAKnownSolution) {
  // Integers, so that b = A x is exact.
  const std::int64_t n = 1025;
  std::mt19937_64 random(8);
  std::uniform_int_distribution<int> digit(-999, 999);
  Dense<double> A(Device(), n, n);
  for (std::int64_t e = 0; e < n * n; ++e) A[e] = digit(random);
  std::vector<double> exact;
  for (std::int64_t i = 0; i < n; ++i) exact.push_back(digit(random));
  std::vector<double> b(exact.size());
  multiply<double>(1, A, exact, 0, b);
  const std::vector<double> x = solve(A, b, {.method = "lu"}).x.to_vector();
  const ErrorCertificate certificate = certify<double>(A, b, x);
  ASSERT_EQ(certificate.proof, Proof::approximate_inverse) << certificate.reason;
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_LE(std::abs(x[i] - exact[i]), certificate.element_bounds(static_cast<std::int64_t>(i), 0));
    largest = std::max(largest, std::abs(x[i] - exact[i]));
  }
  EXPECT_LE(certificate.error_bound, std::max(1.01 * largest, 1e-15));
}

TEST(ApproximateInverse, Singular_Refuses) {
  const std::vector<double> b = {1, 2, 3};
  Dense<double> zero_row(Device(), 3, 3);
  Dense<double> zero_column(Device(), 3, 3);
  Dense<double> dependent(Device(), 3, 3);
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t j = 0; j < 3; ++j) {
      zero_row(i, j) = i == 1 ? 0 : static_cast<double>(i * i + j);
      zero_column(i, j) = j == 2 ? 0 : static_cast<double>(i * i + j);
      dependent(i, j) = static_cast<double>(3 * i + j);
    }
  }
  for (const Dense<double>* A : {&zero_row, &zero_column, &dependent}) {
    const ErrorCertificate certificate = certify<double>(*A, b, b, by_inverse);
    EXPECT_FALSE(certificate.proven());
    EXPECT_EQ(certificate.element_bounds.rows(), 0);
    EXPECT_NE(certificate.reason.find("singular"), std::string::npos) << certificate.reason;
  }
  EXPECT_NE(certify<double>(zero_row, b, b, by_inverse).reason.find("row 1"), std::string::npos);
}

TEST(ApproximateInverse, NotANumber_Refuses) {
  Dense<double> A(Device(), 2, 2);
  std::fill_n(A.data(), 4, 1.0);
  A(0, 0) = 2;
  const std::vector<double> b = {1, 1};
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    A(1, 0) = value;
    const ErrorCertificate certificate = certify<double>(A, b, b, by_inverse);
    EXPECT_FALSE(certificate.proven());
    EXPECT_NE(certificate.reason.find("NaN"), std::string::npos) << certificate.reason;
  }
}

TEST(ApproximateInverse, SolutionBeyondTheRange_Refuses) {
  Dense<double> A(Device(), 1, 1);
  A[0] = 1e-300;
  const std::vector<double> zero = {0};
  const std::vector<double> b = {1e300};
  const ErrorCertificate certificate = certify<double>(A, b, zero, by_inverse);
  EXPECT_FALSE(certificate.proven());
  EXPECT_NE(certificate.reason.find("range"), std::string::npos) << certificate.reason;
  const std::vector<double> in_range = {1e8};
  EXPECT_TRUE(certify<double>(A, in_range, zero, by_inverse).proven());
}

TEST(ApproximateInverse, OtherRoundingModes_Refuse) {
  Dense<double> A(Device(), 1, 1);
  A[0] = 3;
  const std::vector<double> b = {1};
  ASSERT_TRUE(certify<double>(A, b, b).proven());
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(mode);
    const ErrorCertificate certificate = certify<double>(A, b, b);
    std::fesetround(FE_TONEAREST);
    EXPECT_FALSE(certificate.proven());
  }
}

TEST(ApproximateInverse, SparseIndefiniteMatrix_IsTreatedAsDense) {
  const Csr<double> A = test::csr_of<double>(3, {{0, 1, 2}, {1, 0, 3}, {1, 2, 1}, {2, 1, 1}, {2, 2, -4}});
  const std::vector<double> b = {2, 4, -3};
  const std::vector<double> ones = {1, 1, 1};
  const ErrorCertificate certificate = certify<double>(A, b, ones);
  ASSERT_EQ(certificate.proof, Proof::approximate_inverse) << certificate.reason;
  EXPECT_LE(certificate.error_bound, 1e-300);
  EXPECT_NE(certificate.reason.find("treated as dense"), std::string::npos) << certificate.reason;
}

TEST(ApproximateInverse, LargeSparseMatrix_IsNotTreatedAsDenseUnasked) {
  test::Elements elements;
  const std::int32_t n = 5000;
  for (std::int32_t i = 0; i < n; ++i) {
    elements.push_back({i, (i + 1) % n, 2});
    elements.push_back({i, (i + 2) % n, i % 3 == 0 ? 1.0 : -1.0});
  }
  const Csr<double> A = test::csr_of<double>(n, elements);
  const std::vector<double> b(static_cast<std::size_t>(n), 1);
  const ErrorCertificate certificate = certify<double>(A, b, b);
  EXPECT_FALSE(certificate.proven());
  EXPECT_NE(certificate.reason.find("4096"), std::string::npos) << certificate.reason;
}

TEST(ApproximateInverse, DenseHMatrixBeyondItsCondition_IsProvenAsHMatrix) {
  // An M-matrix of condition 2^49.
  Dense<double> A(Device(), 20, 20);
  for (std::int64_t j = 0; j < 20; ++j) {
    for (std::int64_t i = 0; i < 20; ++i) A(i, j) = i == j ? 1 : -(1 - 0x1p-48) / 19;
  }
  const std::vector<double> b(20, 1);
  const ErrorCertificate certificate = certify<double>(A, b, b);
  EXPECT_EQ(certificate.proof, Proof::h_matrix) << certificate.reason;
}

TEST(ApproximateInverse, FloatSystem_IsCertifiedInDouble) {
  std::mt19937_64 random(9);
  const std::int64_t n = 20;
  Dense<float> A(Device(), n, n);
  Dense<double> A_double(Device(), n, n);
  Dense<float> b(Device(), n, 1);
  std::vector<double> b_double;
  std::uniform_real_distribution<float> value(-1, 1);
  for (std::int64_t e = 0; e < n * n; ++e) A_double[e] = A[e] = value(random);
  for (std::int64_t i = 0; i < n; ++i) b_double.push_back(b[i] = value(random));
  Dense<float> x = solve(A, b).x;
  const ExactSystem system(A_double, b_double);
  const auto in_double = [](const Dense<float>& v) {
    return std::vector<double>(v.data(), v.data() + v.rows());
  };
  expect_bounds_hold(certify<float>(A, b, x, by_inverse), system, in_double(x));
  const ErrorCertificate refined = refine_and_certify<float>(A, b, x.view(), by_inverse);
  expect_bounds_hold(refined, system, in_double(x));
  EXPECT_LE(refined.relative_error_bound, 1e-7);
}

TEST(ApproximateInverse, SeveralColumnsInRows_EachHasItsBounds) {
  std::mt19937_64 random(10);
  const std::int64_t n = 12;
  const Dense<double> A = test::badly_scaled(n, 3, 3, random);
  std::vector<double> B;
  std::vector<double> X(static_cast<std::size_t>(2 * n));
  for (std::int64_t e = 0; e < 2 * n; ++e) B.push_back(random_vector(1, random)[0]);
  const DenseView<const double> rows_of_b(B.data(), n, 2, 2, Device(), Layout::row_major);
  const DenseView<double> rows_of_x(X.data(), n, 2, 2, Device(), Layout::row_major);
  const DenseView<const double> transposed(A.data(), n, n, n, Device(), Layout::row_major);
  const ErrorCertificate certificate =
      refine_and_certify<double>(transposed, rows_of_b, rows_of_x, by_inverse);
  ASSERT_TRUE(certificate.proven()) << certificate.reason;
  Dense<double> A_transposed(Device(), n, n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) A_transposed(i, j) = A(j, i);
  }
  for (std::int64_t c = 0; c < 2; ++c) {
    std::vector<double> b;
    for (std::int64_t i = 0; i < n; ++i) b.push_back(rows_of_b(i, c));
    const ExactSystem system(A_transposed, b);
    for (std::int64_t i = 0; i < n; ++i) {
      const BigFloat error = system.error(static_cast<std::size_t>(i), rows_of_x(i, c));
      EXPECT_FALSE(BigFloat(certificate.element_bounds(i, c)) < error);
    }
  }
}

TEST(ApproximateInverse, AskedProof_OnlyOneTried) {
  const Csr<double> A = test::convection_diffusion(4, 0).csr<double>();
  const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1);
  for (const Proof proof : {Proof::h_matrix, Proof::positive_definite, Proof::approximate_inverse}) {
    EXPECT_EQ(certify<double>(A, b, b, {.proof = proof}).proof, proof);
    const Dense<double> dense = to_dense<double>(A);
    EXPECT_EQ(certify<double>(dense, b, b, {.proof = proof}).proof, proof);
  }
}

}  // namespace
}  // namespace echelon
