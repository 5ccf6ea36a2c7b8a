// SPDX-License-Identifier: BSD-3-Clause
/// Algebraic multigrid for complex matrices.
#include "scalars/complex_systems.hpp"

namespace echelon::test {
namespace {

template <class T>
class ComplexMultigrid : public ComplexSystems<T> {
 protected:
  /// Solves with the preconditioner and returns the number of iterations; the residual is computed in
  /// extended precision.
  std::int64_t iterations(const char* method, const Entries& entries, const Options& preconditioner) {
    Options options = preconditioner;
    options.set("max_iterations", 2000);
    const Csr<T> A = sparse<T>(entries);
    Solver<T> solver = this->make(method, Device::openmp(2), options);
    const Report ready = solver.setup(A);
    EXPECT_TRUE(ready.ready()) << ready.message;
    const Vector b = Random(5).vector(entries.rows);
    Dense<T> x(Device(), entries.rows, 1);
    const Report report = solver.solve(column<T>(b), x, {.rtol = tolerance});
    EXPECT_EQ(report.status, Status::converged) << report.message;
    Vector computed;
    for (std::int64_t i = 0; i < entries.rows; ++i) computed.emplace_back(x[i].real(), x[i].imag());
    Vector r = product(entries, computed);
    for (std::size_t i = 0; i < r.size(); ++i) r[i] -= b[i];
    EXPECT_LT(static_cast<double>(norm(r) / norm(b)), 2 * tolerance);
    return report.iterations;
  }
  static constexpr double tolerance = std::is_same_v<Real<T>, double> ? 1e-10 : 1e-5;
  const Options with_amg = {{"preconditioner", "amg"}, {"preconditioner.coarse_size", 20}};
  const Options with_jacobi = {{"preconditioner", "jacobi"}};
};
TYPED_TEST_SUITE(ComplexMultigrid, ComplexTypes);

/// e^(i angle) A.
Entries rotated(Entries A, float angle) {
  const Exact phase(std::cos(angle), std::sin(angle));
  for (Exact& value : A.values) value *= phase;
  return A;
}

/// True if A, up to rounding, equals its transpose, or its adjoint.
template <class T>
bool equals_mirror(const Csr<T>& A, bool hermitian) {
  const Dense<T> D = to_dense<T>(A);
  double largest = 0;
  double difference = 0;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t j = 0; j < A.rows(); ++j) {
      const T mirror = hermitian ? std::conj(D(j, i)) : D(j, i);
      largest = std::max<double>(largest, std::abs(D(i, j)));
      difference = std::max<double>(difference, std::abs(D(i, j) - mirror));
    }
  }
  return difference <= 100 * epsilon<T> * largest;
}

TYPED_TEST(ComplexMultigrid, HermitianMatrix_TakesFewIterations) {
  const Entries A = magnetic_laplacian(30, 0.001);
  EXPECT_LT(this->iterations("cg", A, this->with_amg), 30);
  EXPECT_LT(2 * this->iterations("cg", A, this->with_amg), this->iterations("cg", A, this->with_jacobi));
}

TYPED_TEST(ComplexMultigrid, ShiftedLaplacian_TakesFewIterations) {
  const Entries A = damped_helmholtz(30, 0.1, 0.5);
  for (const char* method : {"cocg", "gmres", "bicgstab"}) {
    SCOPED_TRACE(method);
    const std::int64_t iterations = this->iterations(method, A, this->with_amg);
    EXPECT_LT(iterations, 35);
    EXPECT_LT(2 * iterations, this->iterations(method, A, this->with_jacobi));
  }
}

TYPED_TEST(ComplexMultigrid, RotatedMatrix_TakesTheIterationsOfTheReal) {
  const Entries A = magnetic_laplacian(30, 0);
  const Options full = {{"preconditioner", "amg"},
                        {"preconditioner.coarse_size", 20},
                        {"preconditioner.aggressive_levels", 0},
                        {"preconditioner.coarsening", "classical"}};
  const std::int64_t expected = this->iterations("gmres", A, full);
  for (const float angle : {0.5F, 1.6F, 3.0F, -3.1F}) {
    SCOPED_TRACE(angle);
    EXPECT_NEAR(this->iterations("gmres", rotated(A, angle), full), expected, 1);
  }
}

TYPED_TEST(ComplexMultigrid, RealMatrix_HasTheHierarchyOfTheReal) {
  using T = TypeParam;
  const Csr<Real<T>> real = generate::poisson_2d<Real<T>>(40, 40);
  const Csr<T> A = sparse<T>(magnetic_laplacian(40, 0));
  for (const char* coarsening : {"classical", "smoothed-aggregation", "aggregation"}) {
    SCOPED_TRACE(coarsening);
    const Options options = {{"coarsening", coarsening}, {"precision", "working"}};
    Solver<T> of_complex = this->make("amg", Device(), options);
    Solver<Real<T>> of_real = make_solver<Real<T>>("amg", Device(), options);
    ASSERT_TRUE(of_complex.setup(A).ready());
    ASSERT_TRUE(of_real.setup(real).ready());
    const HierarchyDescription levels = describe_hierarchy(of_complex);
    const HierarchyDescription expected = describe_hierarchy(of_real);
    ASSERT_EQ(levels.levels.size(), expected.levels.size());
    for (std::size_t l = 0; l < levels.levels.size(); ++l) {
      EXPECT_EQ(levels.levels[l].rows, expected.levels[l].rows);
      EXPECT_EQ(levels.levels[l].nonzeros, expected.levels[l].nonzeros);
    }
  }
}

TYPED_TEST(ComplexMultigrid, CoarseMatrices_KeepTheSymmetry) {
  using T = TypeParam;
  for (const bool hermitian : {true, false}) {
    const Csr<T> A = sparse<T>(hermitian ? magnetic_laplacian(20, 0.1) : damped_helmholtz(20, 0.2, 0.7));
    for (const char* coarsening : {"classical", "smoothed-aggregation"}) {
      SCOPED_TRACE(coarsening);
      Solver<T> amg = this->make("amg", Device(), {{"coarsening", coarsening}, {"coarse_size", 10}});
      ASSERT_TRUE(amg.setup(A).ready());
      const std::size_t levels = describe_hierarchy(amg).levels.size();
      ASSERT_GE(levels, 2U);
      for (std::size_t l = 0; l < levels; ++l)
        EXPECT_TRUE(equals_mirror(level_matrix(amg, l), hermitian)) << l;
    }
  }
}

TYPED_TEST(ComplexMultigrid, EverySmootherCycleAndCoarsening_Converges) {
  const Entries hermitian = magnetic_laplacian(16, 0.01);
  const Entries symmetric = damped_helmholtz(16, 0.1, 1);
  for (const char* smoother :
       {"jacobi", "l1-jacobi", "chebyshev", "gauss-seidel", "symmetric-gauss-seidel", "ilu0", "ic0"}) {
    for (const char* coarsening : {"classical", "smoothed-aggregation", "aggregation"}) {
      SCOPED_TRACE(std::string(smoother) + ", " + coarsening);
      Options options = this->with_amg;
      options.set("preconditioner.smoother", smoother);
      options.set("preconditioner.coarsening", coarsening);
      EXPECT_LT(this->iterations("gmres", hermitian, options), 60);
      if (smoother != std::string("ic0")) {
        EXPECT_LT(this->iterations("gmres", symmetric, options), 80);
      }
    }
  }
  for (const char* cycle : {"v", "w", "f"}) {
    Options options = this->with_amg;
    options.set("preconditioner.cycle", cycle);
    EXPECT_LT(this->iterations("cg", hermitian, options), 30);
  }
  EXPECT_THROW(static_cast<void>(this->make("amg", Device(), {{"cycle", "k"}})), BadOption);
}

TYPED_TEST(ComplexMultigrid, NewValues_HaveTheIteratesOfANewSetup) {
  using T = TypeParam;
  const Entries entries = damped_helmholtz(20, 0.1, 0.5);
  const Csr<T> first = sparse<T>(rotated(entries, 0.9F));
  const Csr<T> second = sparse<T>(entries);
  const Dense<T> b = column<T>(Random(9).vector(400));
  for (const char* coarsening : {"classical", "smoothed-aggregation", "aggregation"}) {
    SCOPED_TRACE(coarsening);
    const Options options = {{"coarsening", coarsening}, {"coarse_size", 20}, {"max_iterations", 5}};
    Solver<T> updated = this->make("amg", Device(), options);
    ASSERT_TRUE(updated.setup(first).ready());
    ASSERT_TRUE(updated.update_values(second).ready());
    Solver<T> fresh = this->make("amg", Device(), options);
    ASSERT_TRUE(fresh.setup(second).ready());
    Dense<T> x(Device(), 400, 1);
    Dense<T> expected(Device(), 400, 1);
    static_cast<void>(updated.solve(b, x));
    static_cast<void>(fresh.solve(b, expected));
    double difference = 0;
    for (std::int64_t i = 0; i < 400; ++i)
      difference = std::max<double>(difference, std::abs(x[i] - expected[i]));
    EXPECT_LT(difference, 1000 * epsilon<T> * norm_inf<T>(expected));
  }
}

/// A Laplacian L without boundary in D^H L D with the phases i^k: its null vector is not constant.
TYPED_TEST(ComplexMultigrid, SingularCoarsestMatrix_IsInvertedOutsideItsNullSpace) {
  using T = TypeParam;
  constexpr std::int64_t n = 40;
  Entries A(n, n);
  for (std::int64_t i = 0; i < n; ++i) {
    for (const std::int64_t j : {i - 1, i + 1}) {
      if (j < 0 || j >= n) continue;
      A(i, i) += 1;
      A(i, j) = j > i ? Exact(0, -1) : Exact(0, 1);
    }
  }
  const Csr<T> csr = sparse<T>(A);
  Solver<T> amg = this->make("amg", Device());
  ASSERT_TRUE(amg.setup(csr).ready());
  EXPECT_EQ(describe_hierarchy(amg).null_space, 1);
  const Vector b = product(A, Random(4).vector(n));
  Dense<T> x(Device(), n, 1);
  const Report report = amg.solve(column<T>(b), x, {.rtol = 100 * epsilon<T>});
  EXPECT_TRUE(report.solved()) << report.message;
  EXPECT_LT(report.iterations, 4);
}

TYPED_TEST(ComplexMultigrid, UnknownsAlongALine_AreSolved) {
  using T = TypeParam;
  constexpr std::int64_t n = 1023;
  std::vector<Triplet<T>> elements;
  for (std::int32_t i = 0; i < n; ++i) {
    elements.push_back({i, i, T{2, Real<T>{-0.01F}}});
    if (i > 0) elements.push_back({i, i - 1, T{-1, 0}});
    if (i + 1 < n) elements.push_back({i, i + 1, T{-1, 0}});
  }
  const Csr<T> A = Csr<T>::from_triplets(n, n, elements);
  Solver<T> multigrid = this->make("multigrid", Device());
  ASSERT_TRUE(multigrid.setup(A).ready());
  EXPECT_GE(describe_hierarchy(multigrid).levels.size(), 3U);
  Dense<T> x(Device(), n, 1);
  const Report report = multigrid.solve(column<T>(Random(3).vector(n)), x);
  EXPECT_EQ(report.status, Status::converged) << report.message;
  EXPECT_LT(report.iterations, 30);
}

TYPED_TEST(ComplexMultigrid, MatricesWithoutADiagonal_EndWithAStatus) {
  using T = TypeParam;
  const Csr<T> A = Csr<T>::from_triplets(2, 2, {{0, 1, T{0, 1}}, {1, 0, T{0, -1}}});
  Solver<T> amg = this->make("amg", Device());
  ASSERT_TRUE(amg.setup(A).ready());
  Dense<T> x(Device(), 2, 1);
  EXPECT_TRUE(amg.solve(column<T>(Random(3).vector(2)), x).solved());
}

}  // namespace
}  // namespace echelon::test
