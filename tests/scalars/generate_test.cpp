// SPDX-License-Identifier: BSD-3-Clause
/// Generators of complex matrices.
#include "scalars/complex_systems.hpp"

namespace echelon::test {
namespace {

using Complex = std::complex<double>;

Csr<Complex> generated(const char* name, const Options& options) {
  return to_csr<Complex>(make_matrix<Complex>(name, options));
}

/// The element (i, j), zero where none is stored.
Complex element(const Csr<Complex>& A, std::int64_t i, std::int64_t j) {
  for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
    if (A.column_indices()[k] == j) return A.values()[k];
  }
  return 0;
}

TEST(ComplexGenerators, Helmholtz3d_HasTheStencilAndItsBoundary) {
  const Csr<Complex> A = generated("helmholtz-3d", {{"nx", 3}, {"ny", 4}, {"nz", 5}, {"damping", 0.25}});
  ASSERT_EQ(A.rows(), 60);
  const double kh = 2 * 3.14159265358979323846 / 12;
  EXPECT_LT(std::abs(element(A, 16, 16) - Complex(6 - kh * kh, -0.25 * kh * kh)), 1e-15);
  for (const std::int64_t j : {4, 13, 15, 17, 19, 28}) EXPECT_EQ(element(A, 16, j), Complex(-1));
  EXPECT_LT(std::abs(element(A, 0, 0) - Complex(3 - kh * kh, -0.25 * kh * kh - 3 * kh)), 1e-15);
  EXPECT_TRUE(analyze_structure<Complex>(A).symmetric_values);
}

TEST(ComplexGenerators, ShiftedLaplacian_IsTheLaplacianLessTheShift) {
  for (const std::int64_t nz : {1, 4}) {
    const Csr<Complex> A = generated("shifted-laplacian", {{"nx", 6}, {"ny", 5}, {"nz", nz}});
    const Csr<double> L =
        nz == 1 ? generate::poisson_2d<double>(6, 5) : generate::poisson_3d<double>(6, 5, nz);
    const double k_squared = std::pow(2 * 3.14159265358979323846 / 12, 2);
    ASSERT_EQ(A.nonzeros(), L.nonzeros());
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
        ASSERT_EQ(A.column_indices()[k], L.column_indices()[k]);
        const Complex shift = A.column_indices()[k] == i ? k_squared * Complex(1, 0.5) : 0;
        EXPECT_LT(std::abs(A.values()[k] - (L.values()[k] - shift)), 1e-14);
      }
    }
  }
}

/// The curl of a gradient is zero: for a potential on the points inside, A times its differences is the shift
/// times them.
TEST(ComplexGenerators, CurlCurl_MapsGradientsToTheShift) {
  const std::int64_t nx = 4;
  const std::int64_t ny = 3;
  const std::int64_t nz = 5;
  const Csr<Complex> A =
      generated("curl-curl", {{"nx", nx}, {"ny", ny}, {"nz", nz}, {"points", 20}, {"damping", 0.3}});
  ASSERT_EQ(A.rows(), nx * (ny - 1) * (nz - 1) + (nx - 1) * ny * (nz - 1) + (nx - 1) * (ny - 1) * nz);
  EXPECT_TRUE(analyze_structure<Complex>(A).symmetric_values);
  const auto potential = [&](std::int64_t x, std::int64_t y, std::int64_t z) {
    const bool inside = x > 0 && x < nx && y > 0 && y < ny && z > 0 && z < nz;
    return inside ? std::sin(static_cast<double>(1 + x + 7 * y + 31 * z)) : 0;
  };
  Dense<Complex> gradient(Device(), A.rows(), 1);
  std::int64_t edge = 0;
  for (std::int64_t z = 1; z < nz; ++z)
    for (std::int64_t y = 1; y < ny; ++y)
      for (std::int64_t x = 0; x < nx; ++x) gradient[edge++] = potential(x + 1, y, z) - potential(x, y, z);
  for (std::int64_t z = 1; z < nz; ++z)
    for (std::int64_t y = 0; y < ny; ++y)
      for (std::int64_t x = 1; x < nx; ++x) gradient[edge++] = potential(x, y + 1, z) - potential(x, y, z);
  for (std::int64_t z = 0; z < nz; ++z)
    for (std::int64_t y = 1; y < ny; ++y)
      for (std::int64_t x = 1; x < nx; ++x) gradient[edge++] = potential(x, y, z + 1) - potential(x, y, z);
  ASSERT_EQ(edge, A.rows());
  Dense<Complex> product(Device(), A.rows(), 1);
  multiply<Complex>(1, A, gradient, 0, product);
  const double kh = 2 * 3.14159265358979323846 / 20;
  for (std::int64_t i = 0; i < A.rows(); ++i)
    EXPECT_LT(std::abs(product[i] + kh * kh * Complex(1, 0.3) * gradient[i]), 1e-14);
}

TEST(ComplexGenerators, EveryMatrix_IsSolved) {
  for (const Generator& generator : complex_generators()) {
    SCOPED_TRACE(generator.name);
    const Csr<Complex> A = generated(generator.name.c_str(), {});
    std::vector<Complex> b(static_cast<std::size_t>(A.rows()), Complex(1, -1));
    const Solution<Complex> solution = solve(A, b);
    EXPECT_TRUE(solution.report.solved()) << solution.report.message;
    EXPECT_LT(solution.report.backward_error, 1e-10);
  }
}

}  // namespace
}  // namespace echelon::test
