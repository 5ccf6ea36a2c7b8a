// SPDX-License-Identifier: BSD-3-Clause
// Results of OpenCL beside those of `serial`: equal bits where sums have one order, else equal up to
// rounding.
#include "opencl/opencl_fixture.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace echelon::test {
namespace {

template <class T>
class OpenClAgreement : public OpenClTest {
 protected:
  static Device device() { return Device::opencl(); }
  /// n by m with up to 7 elements in each row, some rows empty.
  static Csr<T> random_matrix(std::int64_t n, std::int64_t m, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<Triplet<T>> list;
    for (std::int64_t i = 0; i < n; ++i) {
      for (unsigned k = random() % 8; k > 0; --k) {
        list.push_back({static_cast<std::int32_t>(i),
                        static_cast<std::int32_t>(random() % static_cast<unsigned>(m)),
                        static_cast<T>(random() % 1000) / T{999}});
      }
    }
    return Csr<T>::from_triplets(n, m, list);
  }
  static std::vector<T> random_vector(std::int64_t n, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<T> values(static_cast<std::size_t>(n));
    for (T& value : values) value = static_cast<T>(random() % 1000) / T{999} - T{0.5};
    return values;
  }
  static void expect_equal(const Csr<T>& there, const Csr<T>& here) {
    EXPECT_EQ(there.row_offsets().to_vector(), here.row_offsets().to_vector());
    EXPECT_EQ(there.column_indices().to_vector(), here.column_indices().to_vector());
    EXPECT_EQ(there.values().to_vector(), here.values().to_vector());
  }
};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(OpenClAgreement, Reals);

TYPED_TEST(OpenClAgreement, SparseOperations_EqualBits) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 31, 1025, 5000}) {
    const Csr<T> A = this->random_matrix(n, n, 1);
    const Csr<T> B = this->random_matrix(n, n, 2);
    const Csr<T> A_there = A.to(this->device());
    const Csr<T> B_there = B.to(this->device());
    this->expect_equal(transpose(A_there), transpose(A));
    this->expect_equal(multiply(A_there, B_there), multiply(A, B));
    this->expect_equal(add(T{2}, A_there, T{-3}, B_there), add(T{2}, A, T{-3}, B));
    this->expect_equal(symmetrize(A_there), symmetrize(A));
    const std::vector<T> x = this->random_vector(n, 3);
    Dense<T> y(Device(), n, 1);
    Dense<T> y_there(this->device(), n, 1);
    multiply<T>(T{2}, MatrixRef<T>(A), Dense<T>(std::span<const T>(x)).view(), T{0}, y.view());
    multiply<T>(T{2}, MatrixRef<T>(A_there), Dense<T>(this->device(), std::span<const T>(x)).view(), T{0},
                y_there.view());
    EXPECT_EQ(y_there.to_vector(), y.to_vector());
  }
}

TYPED_TEST(OpenClAgreement, Sweeps_EqualBits) {
  using T = TypeParam;
  const Csr<T> A = generate::poisson_2d<T>(37, 23);
  const std::vector<T> b = this->random_vector(A.rows(), 4);
  for (const SweepKind kind : {SweepKind::forward, SweepKind::backward, SweepKind::symmetric}) {
    const auto swept = [&](const Device& device) {
      GaussSeidelSweep<T> sweep(device);
      Dense<T> x(device, std::span<const T>(b));
      const Dense<T> right(device, std::span<const T>(b));
      const Csr<T> matrix = A.to(device);
      SweepOptions options;
      options.kind = kind;
      options.sweeps = 3;
      static_cast<void>(sweep.sweep(matrix, right.view(), x.view(), options));
      return x.to_vector();
    };
    EXPECT_EQ(swept(this->device()), swept(Device::serial()));
  }
}

/// Iterations and hierarchies are those of serial, and repetitions have equal bits.
TYPED_TEST(OpenClAgreement, Methods_SameIterations) {
  using T = TypeParam;
  const Csr<T> A = generate::poisson_2d<T>(40, 40);
  const std::vector<T> b = this->random_vector(A.rows(), 5);
  for (const std::string method :
       {"cg", "minres", "gmres", "jacobi", "gauss-seidel", "gauss-seidel-relaunch", "amg"}) {
    SCOPED_TRACE(method);
    const auto solved = [&](const Device& device) {
      const Options options = {{"rtol", std::is_same_v<T, double> ? 1e-6 : 1e-4}};
      Solver<T> solver = make_solver<T>(method, device, options);
      const Csr<T> matrix = A.to(device);
      EXPECT_TRUE(solver.setup(matrix).ready());
      Dense<T> x(device, A.rows(), 1);
      const Report report = solver.solve(Dense<T>(device, std::span<const T>(b)), x);
      return std::pair(report, x.to_vector());
    };
    const auto [report, x] = solved(this->device());
    const auto [expected, x_expected] = solved(Device::serial());
    EXPECT_EQ(report.status, expected.status) << report.message;
    EXPECT_NEAR(static_cast<double>(report.iterations), static_cast<double>(expected.iterations),
                0.02 * static_cast<double>(expected.iterations) + 1);
    for (const char* name : {"levels", "rows"}) {
      const Statistic* const found = report.find_statistic(name);
      const Statistic* const wanted = expected.find_statistic(name);
      ASSERT_EQ(found == nullptr, wanted == nullptr) << name;
      if (found != nullptr) {
        EXPECT_EQ(to_string(*found), to_string(*wanted));
      }
    }
    const auto again = solved(this->device());
    EXPECT_EQ(again.second, x) << "repetition";
  }
}

TYPED_TEST(OpenClAgreement, IncompleteFactors_SameIterations) {
  using T = TypeParam;
  const Csr<T> A = generate::poisson_2d<T>(31, 29);
  const std::vector<T> b = this->random_vector(A.rows(), 6);
  for (const char* preconditioner : {"ic0", "ilu0"}) {
    const auto iterations = [&](const Device& device) {
      Solver<T> solver = make_solver<T>("cg", device, {{"preconditioner", preconditioner}});
      const Csr<T> matrix = A.to(device);
      EXPECT_TRUE(solver.setup(matrix).ready());
      Dense<T> x(device, A.rows(), 1);
      const Report report = solver.solve(Dense<T>(device, std::span<const T>(b)), x);
      EXPECT_TRUE(report.solved());
      return report.iterations;
    };
    EXPECT_EQ(iterations(this->device()), iterations(Device::serial())) << preconditioner;
  }
}

TYPED_TEST(OpenClAgreement, DenseProducts_UpToRounding) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 7, 8, 33, 130}) {
    const std::int64_t k = n + 5;
    const std::int64_t m = 2 * n + 1;
    const std::vector<T> a = this->random_vector(n * k, 7);
    const std::vector<T> b = this->random_vector(k * m, 8);
    const std::vector<T> c = this->random_vector(n * m, 9);
    const auto product = [&](const Device& device) {
      const Dense<T> A(n, k, Array<T>(device, std::span<const T>(a)));
      const Dense<T> B(k, m, Array<T>(device, std::span<const T>(b)));
      Dense<T> C(n, m, Array<T>(device, std::span<const T>(c)));
      multiply<T>(T{2}, MatrixRef<T>(A), B.view(), T{-1}, C.view());
      return C.to_vector();
    };
    const std::vector<T> there = product(this->device());
    const std::vector<T> here = product(Device::serial());
    for (std::size_t e = 0; e < here.size(); ++e) {
      ASSERT_NEAR(there[e], here[e], 4 * static_cast<double>(k) * std::numeric_limits<T>::epsilon());
    }
  }
}

TYPED_TEST(OpenClAgreement, OtherMethods_Refused) {
  EXPECT_THROW(static_cast<void>(make_solver<TypeParam>("sparse-cholesky", this->device())), NotBuilt);
  EXPECT_FALSE(find_method("sparse-lu").runs_on(this->device()));
}

/// A on the device, of kinds for which `auto` takes different methods on the host.
TYPED_TEST(OpenClAgreement, Auto_MethodRunsOnDevice) {
  using T = TypeParam;
  std::vector<Csr<T>> matrices = {generate::poisson_2d<T>(20, 20), generate::poisson_2d<T>(300, 1),
                                  this->random_matrix(60, 60, 1), this->random_matrix(90, 40, 2),
                                  this->random_matrix(40, 90, 3)};
  for (const Csr<T>& host : matrices) {
    for (const bool sparse : {true, false}) {
      SCOPED_TRACE(std::to_string(host.rows()) + " by " + std::to_string(host.columns()));
      const std::vector<T> values = this->random_vector(host.rows(), 4);
      const auto solved = [&](const Device& device) {
        const Csr<T> A = host.to(device);
        const Dense<T> dense = sparse ? Dense<T>() : to_dense<T>(A);
        Dense<T> x(device, host.columns(), 1);
        Solver<T> solver = make_solver<T>("auto", device);
        static_cast<void>(solver.setup(sparse ? MatrixRef<T>(A) : MatrixRef<T>(dense)));
        return solver.solve(Dense<T>(device, std::span<const T>(values)), x);
      };
      const Report report = solved(this->device());
      const Report expected = solved(Device::serial());
      EXPECT_TRUE(find_method(report.method).runs_on(report.device))
          << report.method << " on " << report.device.name() << ": " << report.message;
      EXPECT_EQ(report.status, expected.status) << report.message << " " << expected.message;
    }
  }
}

}  // namespace
}  // namespace echelon::test
