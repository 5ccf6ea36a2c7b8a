// SPDX-License-Identifier: BSD-3-Clause
// Certificates by approximate inverses on a GPU.
#include "gpu/gpu_fixture.hpp"
#include "support/certified_systems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace echelon {
namespace {

using test::ExactSystem;
using test::expect_bounds_hold;
using test::generated;
using test::median;
using test::Tightness;

class GpuCertify : public test::GpuTest {
 protected:
  const CertifyOptions by_inverse = {.proof = Proof::approximate_inverse};
  std::mt19937_64 random{1};

  std::vector<double> random_vector(std::int64_t n) {
    std::uniform_real_distribution<double> value(-1, 1);
    std::vector<double> v;
    for (std::int64_t i = 0; i < n; ++i) v.push_back(value(random));
    return v;
  }

  /// Certifies x* rounded, and x* with errors; returns whether there is a proof.
  bool check(const ExactSystem& system, std::vector<double>& tightness) {
    std::vector<double> x = system.rounded();
    if (x.empty()) x.assign(system.b.size(), 1);
    const Dense<double> A = system.A.to(gpu);
    const Dense<double> b(gpu, system.b);
    bool proven = false;
    for (const double size : {0.0, 1e-9}) {
      for (double& element : x) element *= 1 + size * random_vector(1)[0];
      const Dense<double> x_gpu(gpu, x);
      const ErrorCertificate certificate = certify<double>(A, b, x_gpu, by_inverse);
      proven = certificate.proven();
      if (!proven) continue;
      const Tightness found = expect_bounds_hold(certificate, system, x);
      tightness.insert(tightness.end(), found.of_elements.begin(), found.of_elements.end());
    }
    return proven;
  }
};

TEST_F(GpuCertify, RandomSystems_BoundsHoldAndAreTight) {
  std::vector<double> tightness;
  for (int k = 0; k < 300; ++k) {
    const std::int64_t n = k % 50 == 0 ? 33 : 1 + k % 9;
    const ExactSystem system(test::badly_scaled(n, 20 * (k % 7), 15 * (k % 5), random), random_vector(n));
    EXPECT_TRUE(check(system, tightness)) << k;
  }
  RecordProperty("median_of_bound_over_error", std::to_string(median(tightness)));
  EXPECT_LE(median(tightness), 1.001);
}

TEST_F(GpuCertify, HardMatrices_BoundsHold) {
  const std::vector<std::pair<std::string, Options>> hard = {
      {"hilbert", {{"n", 8}}}, {"frank", {{"n", 12}}},        {"triw", {{"n", 40}}},
      {"foster", {{"n", 40}}}, {"wright", {{"n", 40}}},       {"gepp-growth", {{"n", 64}}},
      {"kahan", {{"n", 40}}},  {"extended-kahan", {{"l", 8}}}};
  for (const auto& [name, options] : hard) {
    const Dense<double> A = generated(name, options);
    std::vector<double> tightness;
    EXPECT_TRUE(check(ExactSystem(A, random_vector(A.rows())), tightness)) << name;
    RecordProperty(name, std::to_string(median(tightness)));
  }
}

TEST_F(GpuCertify, IllConditioned_ProvenOrRefusedNeverWrong) {
  for (int digits = 10; digits <= 18; ++digits) {
    std::vector<double> tightness;
    const std::int64_t n = 33;
    const Dense<double> A = test::of_condition(n, std::pow(10.0, digits), random);
    const bool proven = check(ExactSystem(A, random_vector(n)), tightness);
    if (digits <= 11) {
      EXPECT_TRUE(proven) << digits;
    }
    if (digits >= 17) {
      EXPECT_FALSE(proven) << digits;
    }
  }
}

TEST_F(GpuCertify, ExtremeRange_BoundsHold) {
  std::vector<double> tightness;
  for (int k = 0; k < 20; ++k) {
    const std::int64_t n = 2 + k % 7;
    EXPECT_TRUE(check(ExactSystem(test::badly_scaled(n, 500, 500, random), random_vector(n)), tightness));
  }
  for (const int exponent : {-1060, 1022}) {
    Dense<double> A = test::badly_scaled(6, 0, 0, random);
    for (std::int64_t e = 0; e < 36; ++e) A[e] = std::ldexp(A[e], exponent);
    check(ExactSystem(A, random_vector(6)), tightness);
  }
}

TEST_F(GpuCertify, LargerSystems_BoundTheErrorOfAKnownSolution) {
  for (const std::int64_t n : {31, 128, 129, 1025}) {
    // Integers, so that b = A x is exact.
    std::uniform_int_distribution<int> digit(-999, 999);
    Dense<double> A(Device(), n, n);
    for (std::int64_t e = 0; e < n * n; ++e) A[e] = digit(random);
    std::vector<double> exact;
    for (std::int64_t i = 0; i < n; ++i) exact.push_back(digit(random));
    std::vector<double> b(exact.size());
    multiply<double>(1, A, exact, 0, b);
    const Dense<double> A_gpu = A.to(gpu);
    const Dense<double> b_gpu(gpu, b);
    Dense<double> x = solve(A_gpu, b_gpu, {.method = "lu"}).x;
    const ErrorCertificate certificate = certify<double>(A_gpu, b_gpu, x, by_inverse);
    ASSERT_TRUE(certificate.proven()) << certificate.reason;
    const std::vector<double> computed = x.to_vector();
    double largest = 0;
    for (std::size_t i = 0; i < computed.size(); ++i) {
      const double error = std::abs(computed[i] - exact[i]);
      EXPECT_LE(error, certificate.element_bounds(static_cast<std::int64_t>(i), 0));
      largest = std::max(largest, error);
    }
    EXPECT_LE(certificate.error_bound, std::max(1.01 * largest, 1e-15));
    ASSERT_TRUE(refine_and_certify<double>(A_gpu, b_gpu, x, by_inverse).proven());
    EXPECT_EQ(x.to_vector(), exact);
  }
}

TEST_F(GpuCertify, MatrixOnTheHost_IsInvertedOnTheGpu) {
  const ExactSystem system(test::badly_scaled(40, 3, 3, random), random_vector(40));
  CertifyOptions options = by_inverse;
  options.device = gpu;
  const std::vector<double> x = system.rounded();
  const ErrorCertificate certificate = certify<double>(system.A, system.b, x, options);
  ASSERT_TRUE(certificate.proven()) << certificate.reason;
  expect_bounds_hold(certificate, system, x);
}

TEST_F(GpuCertify, FloatAndSparseMatrices_AreCertifiedInDouble) {
  const std::int64_t n = 20;
  Dense<double> A_double(Device(), n, n);
  Dense<float> A(Device(), n, n);
  Dense<float> b(Device(), n, 1);
  std::vector<double> b_double;
  for (std::int64_t e = 0; e < n * n; ++e) A[e] = static_cast<float>(random_vector(1)[0]);
  for (std::int64_t e = 0; e < n * n; ++e) A_double[e] = A[e];
  for (std::int64_t i = 0; i < n; ++i) {
    b[i] = static_cast<float>(random_vector(1)[0]);
    b_double.push_back(b[i]);
  }
  const ExactSystem system(A_double, b_double);
  const Dense<float> A_gpu = A.to(gpu);
  const Csr<float> sparse = to_csr<float>(A_gpu);
  for (const MatrixRef<float>& matrix : {MatrixRef<float>(A_gpu), MatrixRef<float>(sparse)}) {
    Dense<float> x(Device(), n, 1);
    std::fill_n(x.data(), n, 0.0F);
    Dense<float> x_gpu = x.to(gpu);
    const Dense<float> b_gpu = b.to(gpu);
    const ErrorCertificate certificate = refine_and_certify<float>(matrix, b_gpu, x_gpu, by_inverse);
    ASSERT_TRUE(certificate.proven()) << certificate.reason;
    x = x_gpu.to(Device());
    expect_bounds_hold(certificate, system, std::vector<double>(x.data(), x.data() + n));
    EXPECT_LE(certificate.relative_error_bound, 1e-7);
  }
}

TEST_F(GpuCertify, SingularOrNotANumber_Refuses) {
  Dense<double> A(Device(), 3, 3);
  for (std::int64_t e = 0; e < 9; ++e) A[e] = static_cast<double>(e);
  const Dense<double> b(gpu, std::vector<double>{1, 2, 3});
  EXPECT_FALSE(certify<double>(A.to(gpu), b, b).proven());
  A(1, 1) = std::numeric_limits<double>::quiet_NaN();
  const ErrorCertificate certificate = certify<double>(A.to(gpu), b, b);
  EXPECT_FALSE(certificate.proven());
  EXPECT_NE(certificate.reason.find("NaN"), std::string::npos) << certificate.reason;
}

}  // namespace
}  // namespace echelon
