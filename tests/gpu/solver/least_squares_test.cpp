// SPDX-License-Identifier: BSD-3-Clause
// Preconditioners of least squares on a GPU, compared with the normal equations in long double.
#include "gpu/gpu_fixture.hpp"
#include "scalars/complex_systems.hpp"

namespace echelon::test {
namespace {

class GpuLeastSquares : public GpuTest {
 protected:
  /// The x of least ||b - A x||^2 + d^2 ||x||^2.
  static Vector expected(const Entries& A, const Vector& b, long double damping) {
    const Entries adjoint = operate(Operation::adjoint, A);
    Entries normal = product(adjoint, A);
    for (std::int64_t i = 0; i < normal.rows; ++i) normal(i, i) += damping * damping;
    return solution(normal, product(adjoint, b));
  }
  /// Elements of T, whose imaginary parts are zero for a real T; columns are nearly dependent.
  template <class T>
  static Entries tall(std::int64_t m, std::int64_t n) {
    Entries A = random_entries(m, n, 91);
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        const Exact near = j > 0 ? A(i, j - 1) + 0.125L * A(i, j) : A(i, j);
        A(i, j) = is_complex<T> ? near : near.real();
        A(i, j) = Exact(static_cast<float>(A(i, j).real()), static_cast<float>(A(i, j).imag()));
      }
    }
    return A;
  }
  template <class T>
  static T element(Exact value) {
    if constexpr (is_complex<T>) {
      return rounded<T>(value);
    } else {
      return static_cast<T>(value.real());
    }
  }
  template <class T>
  static Csr<T> csr_of(const Entries& A) {
    std::vector<Triplet<T>> elements;
    for (std::int32_t i = 0; i < A.rows; ++i) {
      for (std::int32_t j = 0; j < A.columns; ++j) elements.push_back({i, j, element<T>(A(i, j))});
    }
    return Csr<T>::from_triplets(A.rows, A.columns, elements);
  }

  template <class T>
  void expect_least_squares(double rtol, double largest_error) {
    const Entries entries = tall<T>(500, 14);
    Vector b = product(entries, Vector(14, 1));
    const Vector noise = Random(92).vector(500);
    for (std::size_t i = 0; i < b.size(); ++i) b[i] += 1e-2L * (is_complex<T> ? noise[i] : noise[i].real());
    const Csr<T> A = csr_of<T>(entries).to(gpu);
    Dense<T> rhs(Device(), 500, 1);
    for (std::int64_t i = 0; i < 500; ++i) rhs[i] = element<T>(b[static_cast<std::size_t>(i)]);
    for (const char* const method : {"lsmr", "lsqr", "cgls"}) {
      for (const char* const preconditioner : {"sketch", "ic0"}) {
        for (const double damping : {0.0, 0.25}) {
          SCOPED_TRACE(std::string(method) + ", " + preconditioner);
          Solver<T> solver =
              make_solver<T>(method, gpu, {{"preconditioner", preconditioner}, {"damping", damping}});
          const Report setup = solver.setup(A);
          ASSERT_TRUE(setup.ready()) << setup.message;
          Dense<T> x(gpu, 14, 1);
          const Report report = solver.solve(rhs.to(gpu), x, {.rtol = rtol});
          EXPECT_EQ(report.status, Status::least_squares) << report.message;
          EXPECT_EQ(report.device, gpu);
          EXPECT_LT(report.iterations, 200);
          const Vector exact = expected(entries, b, damping);
          const Dense<T> found = x.to(Device());
          long double difference = 0;
          for (std::int64_t j = 0; j < 14; ++j)
            difference = std::max(difference, std::abs(Exact(found[j]) - exact[static_cast<std::size_t>(j)]));
          EXPECT_LT(static_cast<double>(difference), largest_error);
        }
      }
    }
  }
};

TEST_F(GpuLeastSquares, Preconditioners_LeastResidual) {
  expect_least_squares<double>(1e-10, 1e-7);
  expect_least_squares<float>(1e-5, 1e-2);
  expect_least_squares<std::complex<double>>(1e-10, 1e-7);
}

/// Sketches on the GPU are those of the host: the numbers of iterations agree.
TEST_F(GpuLeastSquares, Sketch_IsThatOfTheHost) {
  const Csr<double> A = csr_of<double>(tall<double>(3000, 20));
  const Csr<double> there = A.to(gpu);
  const std::vector<double> ones(3000, 1);
  const Dense<double> b(3000, 1, Array<double>(Device(), ones));
  std::int64_t iterations[2] = {};
  for (const bool on_gpu : {false, true}) {
    const Device device = on_gpu ? gpu : Device();
    Solver<double> solver = make_solver<double>("lsmr", device, {{"preconditioner", "sketch"}});
    ASSERT_TRUE(solver.setup(on_gpu ? there : A).ready());
    Dense<double> x(device, 20, 1);
    const Report report = solver.solve(b.to(device), x, {.rtol = 1e-10});
    EXPECT_EQ(report.status, Status::least_squares) << report.message;
    iterations[on_gpu ? 1 : 0] = report.iterations;
  }
  EXPECT_NEAR(static_cast<double>(iterations[0]), static_cast<double>(iterations[1]), 3);
}

}  // namespace
}  // namespace echelon::test
