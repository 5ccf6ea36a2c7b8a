// SPDX-License-Identifier: BSD-3-Clause
// Dense L D L^T and L D L^H of complex matrices on a GPU, compared with those of the host and with residuals
// in long double.
#include "gpu/complex/backward_error.hpp"
#include "gpu/gpu_fixture.hpp"
#include "scalars/complex_systems.hpp"

namespace echelon::test {
namespace {

using T = std::complex<double>;

/// The matrix whose lower triangle is that of A.
Entries mirrored(Entries A, bool hermitian) {
  for (std::int64_t i = 0; i < A.rows; ++i) {
    for (std::int64_t j = 0; j < i; ++j) A(j, i) = hermitian ? std::conj(A(i, j)) : A(i, j);
    if (hermitian) A(i, i) = A(i, i).real();
  }
  return A;
}
Entries random_mirrored(std::int64_t n, bool hermitian, unsigned seed) {
  return mirrored(random_entries(n, n, seed), hermitian);
}

Dense<T> elements(const Entries& A) {
  Dense<T> result(Device(), A.rows, A.columns);
  for (std::int64_t i = 0; i < A.rows; ++i) {
    for (std::int64_t j = 0; j < A.columns; ++j) result(i, j) = rounded<T>(A(i, j));
  }
  return result;
}

class GpuComplexLdlt : public GpuTest {
 protected:
  static std::optional<std::int64_t> count(const Report& report, const char* name) {
    const Statistic* const found = report.find_statistic(name);
    return found == nullptr ? std::nullopt : std::optional(std::get<std::int64_t>(found->value));
  }

  void expect_like_host(const Entries& A, bool hermitian) const {
    SCOPED_TRACE(std::to_string(A.rows) + (hermitian ? " rows, Hermitian" : " rows, symmetric"));
    const Dense<T> here = elements(A);
    const Dense<T> there = here.to(gpu);
    Solver<T> solver = make_solver<T>("ldlt", gpu);
    Solver<T> host = make_solver<T>("ldlt", Device());
    const Report setup = solver.setup(MatrixRef<T>(there.view()));
    const Report expected = host.setup(MatrixRef<T>(here.view()));
    ASSERT_TRUE(setup.ready()) << setup.message;
    expect_on_gpu(setup.warnings);
    for (const char* const name : {"positive_eigenvalues", "negative_eigenvalues"}) {
      EXPECT_EQ(count(setup, name).has_value(), hermitian) << name;
      EXPECT_EQ(count(setup, name), count(expected, name)) << name;
    }
    ASSERT_TRUE(setup.reciprocal_condition && expected.reciprocal_condition);
    const double ratio = *setup.reciprocal_condition / *expected.reciprocal_condition;
    EXPECT_TRUE(ratio > 0.02 && ratio < 50) << ratio;
    Dense<T> B(Device(), A.rows, 3);
    Random random(17);
    for (std::int64_t k = 0; k < 3 * A.rows; ++k) B[k] = rounded<T>(random());
    for (const Operation operation : {Operation::none, Operation::transpose, Operation::adjoint}) {
      Dense<T> X(gpu, A.rows, 3);
      const Report report = solver.solve(B.to(gpu), X, {.operation = operation});
      EXPECT_EQ(report.status, Status::direct) << report.message;
      const Dense<T> x = X.to(Device());
      for (std::int64_t c = 0; c < 3; ++c)
        EXPECT_LT(backward_error(A, operation, B.view().column(c), x.view().column(c)), 1e-14);
    }
  }
};

TEST_F(GpuComplexLdlt, RandomMatrices) {
  for (const std::int64_t n : {1, 2, 3, 31, 32, 33, 63, 64, 65, 129, 300, 700}) {
    for (const bool hermitian : {true, false}) expect_like_host(random_mirrored(n, hermitian, 1), hermitian);
  }
}

/// Large enough for products by cuBLAS.
TEST_F(GpuComplexLdlt, LargeMatrices) {
  for (const bool hermitian : {true, false}) expect_like_host(random_mirrored(2500, hermitian, 2), hermitian);
}

TEST_F(GpuComplexLdlt, UnevenRows_AreScaled) {
  for (const bool hermitian : {true, false}) {
    Entries A = random_mirrored(150, hermitian, 3);
    for (std::int64_t i = 0; i < 150; ++i) {
      for (std::int64_t j = 0; j < 150; ++j)
        A(i, j) = std::ldexp(1.0L, static_cast<int>(i % 60 + j % 60)) * A(i, j);
    }
    const Dense<T> there = elements(A).to(gpu);
    Solver<T> solver = make_solver<T>("ldlt", gpu);
    ASSERT_TRUE(solver.setup(MatrixRef<T>(there.view())).ready());
    const Vector b = Random(8).vector(150);
    Dense<T> x(gpu, 150, 1);
    const Report report = solver.solve(column<T>(b).to(gpu), x);
    EXPECT_EQ(report.status, Status::direct) << report.message;
    EXPECT_LT(relative_error(x.to(Device()), solution(A, b)), 1e-8);
  }
}

/// Zeros on the diagonal need pivots of order two.
TEST_F(GpuComplexLdlt, SaddlePoints) {
  for (const bool hermitian : {true, false}) {
    Entries A = random_mirrored(200, hermitian, 4);
    for (std::int64_t i = 0; i < 80; ++i) {
      for (std::int64_t j = 0; j < 80; ++j) A(i, j) = 0;
    }
    expect_like_host(A, hermitian);
  }
}

TEST_F(GpuComplexLdlt, RealElements_CountAsHermitian) {
  Entries A = random_mirrored(90, false, 5);
  for (Exact& value : A.values) value = value.real();
  expect_like_host(A, true);
  Solver<T> solver = make_solver<T>("ldlt", gpu);
  const Dense<T> there = elements(A).to(gpu);
  ASSERT_TRUE(solver.setup(MatrixRef<T>(there.view())).ready());
  EXPECT_EQ(solver.inertia().negative + solver.inertia().positive, 90);
}

TEST_F(GpuComplexLdlt, UnsuitableMatrices_AreNamedAsOnTheHost) {
  Entries general = random_entries(40, 40, 6);
  Entries imaginary = random_mirrored(40, true, 7);
  imaginary(5, 5) += Exact(0, 1);
  Entries bad = random_mirrored(40, true, 8);
  bad(6, 6) = std::numeric_limits<long double>::quiet_NaN();
  Entries zero_row = random_mirrored(40, false, 9);
  for (std::int64_t i = 0; i < 40; ++i) zero_row(i, 11) = zero_row(11, i) = 0;
  for (const Entries& A : {general, imaginary, bad, zero_row}) {
    const Dense<T> here = elements(A);
    const Dense<T> there = here.to(gpu);
    const Report found = make_solver<T>("ldlt", gpu).setup(MatrixRef<T>(there.view()));
    const Report expected = make_solver<T>("ldlt", Device()).setup(MatrixRef<T>(here.view()));
    EXPECT_FALSE(found.ready());
    EXPECT_EQ(found.status, expected.status) << found.message << "; " << expected.message;
    EXPECT_EQ(found.row, expected.row) << found.message << "; " << expected.message;
  }
  const Dense<T> there = elements(random_mirrored(30, false, 10)).to(gpu);
  Solver<T> symmetric = make_solver<T>("ldlt", gpu);
  ASSERT_TRUE(symmetric.setup(MatrixRef<T>(there.view())).ready());
  EXPECT_THROW(static_cast<void>(symmetric.inertia()), Error);
}

TEST_F(GpuComplexLdlt, NewValuesAndSparseMatrices) {
  const Entries first = random_hermitian(120, 6, 11);
  const Entries second = random_mirrored(120, false, 12);
  const Csr<T> A = sparse<T>(first).to(gpu);
  const Dense<T> D = elements(second).to(gpu);
  Solver<T> solver = make_solver<T>("ldlt", gpu);
  const Vector b = Random(13).vector(120);
  Dense<T> x(gpu, 120, 1);
  ASSERT_TRUE(solver.setup(A).ready());
  ASSERT_TRUE(solver.solve(column<T>(b).to(gpu), x).solved());
  EXPECT_LT(relative_error(x.to(Device()), solution(first, b)), 1e-11);
  ASSERT_TRUE(solver.update_values(MatrixRef<T>(D.view())).ready());
  ASSERT_TRUE(solver.solve(column<T>(b).to(gpu), x).solved());
  EXPECT_LT(relative_error(x.to(Device()), solution(second, b)), 1e-9);
}

}  // namespace
}  // namespace echelon::test
