// SPDX-License-Identifier: BSD-3-Clause
#include "support/problems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace echelon {
namespace {

using test::convection_diffusion;
using test::random_dense;
using test::random_dominant;

template <class T>
class CusparseIlu0Of : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no GPU that can be used";
  }
  const Device gpu = Device::cuda();

  static void expect_same_verdict(const Report& report, const Report& expected) {
    EXPECT_EQ(report.status, expected.status);
    EXPECT_EQ(report.row, expected.row);
    EXPECT_EQ(report.message, expected.message);
  }

  /// Iteration counts of the host and the GPU differ by rounding only.
  template <class Krylov>
  void expect_iterations_of_the_host(Krylov& host, Krylov& device, const Csr<T>& a, unsigned seed,
                                     const std::string& what) const {
    const Dense<T> b = random_dense<T>(a.rows(), 1, seed);
    Dense<T> x(Device(), a.rows(), 1);
    Dense<T> x_gpu(gpu, a.rows(), 1);
    const Report expected = host.solve(b, x);
    const Report report = device.solve(b.to(gpu), x_gpu);
    EXPECT_EQ(report.status, Status::converged) << what << ": " << report.message;
    EXPECT_NEAR(static_cast<double>(report.iterations), static_cast<double>(expected.iterations), 2) << what;
    const double tolerance = std::is_same_v<T, double> ? 1e-8 : 1e-5;
    EXPECT_LE(test::assess(a, x_gpu.to(Device()), b).relative_residual, 1.01 * tolerance) << what;
  }
};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(CusparseIlu0Of, Reals);

TYPED_TEST(CusparseIlu0Of, NeedsTheIterationsOfTheHost) {
  using T = TypeParam;
  for (const auto& problem :
       {test::diagonal(1), test::diagonal(33), convection_diffusion(33, 0), convection_diffusion(33, 0.6),
        random_dominant(1025, 5, false, 2), random_dominant(31, 3, true, 3)}) {
    const Csr<T> a = problem.template csr<T>();
    const Csr<T> a_gpu = a.to(this->gpu);
    Gmres<T> gmres({}, {.preconditioner = "ilu0"});
    Gmres<T> gmres_gpu(this->gpu, {.preconditioner = "ilu0"});
    gmres.setup(a);
    ASSERT_TRUE(gmres_gpu.setup(a_gpu).ready()) << problem.name;
    this->expect_iterations_of_the_host(gmres, gmres_gpu, a, 1, "gmres, " + problem.name);
    Bicgstab<T> bicgstab({}, {.preconditioner = "ilu0"});
    Bicgstab<T> bicgstab_gpu(this->gpu, {.preconditioner = "ilu0"});
    bicgstab.setup(a);
    bicgstab_gpu.setup(a_gpu);
    this->expect_iterations_of_the_host(bicgstab, bicgstab_gpu, a, 2, "bicgstab, " + problem.name);
  }
}

TYPED_TEST(CusparseIlu0Of, KeepsUpWithNewValuesAndNewPatterns) {
  using T = TypeParam;
  Gmres<T> gmres({}, {.preconditioner = "ilu0"});
  Gmres<T> gmres_gpu(this->gpu, {.preconditioner = "ilu0"});
  for (const std::int32_t side : {20, 7, 33}) {
    const Csr<T> first = convection_diffusion(side, 0.6).csr<T>();
    const Csr<T> first_gpu = first.to(this->gpu);
    gmres.setup(first);
    gmres_gpu.setup(first_gpu);
    this->expect_iterations_of_the_host(gmres, gmres_gpu, first, 3, "before");
    for (const double wind : {-0.6, 0.1}) {
      const Csr<T> next = convection_diffusion(side, wind).csr<T>();
      const Csr<T> next_gpu = next.to(this->gpu);
      gmres.update_values(next);
      gmres_gpu.update_values(next_gpu);
      this->expect_iterations_of_the_host(gmres, gmres_gpu, next, 4, "after");
    }
  }
}

TYPED_TEST(CusparseIlu0Of, NamesTheSameRowAsTheHost) {
  using T = TypeParam;
  const auto small = [](std::int64_t n, const std::vector<Triplet<T>>& elements) {
    return Csr<T>::from_triplets(n, n, elements);
  };
  const T huge = std::numeric_limits<T>::max();
  for (const Csr<T>& a : {
           small(3, {{0, 0, 1}, {1, 0, 1}, {1, 2, 1}, {2, 2, 1}}),
           small(2, {{0, 1, 1}, {1, 0, 1}}),
           small(3, {{0, 0, 1}, {1, 1, 1}}),
           small(3, {}),
           small(2, {{0, 0, 0}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1}}),
           small(3, {{0, 0, 1}, {0, 1, 2}, {1, 0, 2}, {1, 1, 4}, {2, 2, 1}}),
           small(2, {{0, 0, 4 / huge}, {0, 1, huge}, {1, 0, 1}, {1, 1, 1}}),
       }) {
    const Csr<T> a_gpu = a.to(this->gpu);
    Ilu0<T> host;
    Ilu0<T> ilu(this->gpu);
    this->expect_same_verdict(ilu.setup(a_gpu), host.setup(a));
  }
  Ilu0<T> host;
  Ilu0<T> ilu(this->gpu);
  const Dense<T> dense = random_dense<T>(4, 4, 1);
  const Dense<T> dense_gpu = dense.to(this->gpu);
  this->expect_same_verdict(ilu.setup(dense_gpu), host.setup(dense));
}

TYPED_TEST(CusparseIlu0Of, RecoversFromABreakdown) {
  using T = TypeParam;
  const Csr<T> good = convection_diffusion(9, 0.3).csr<T>();
  Csr<T> bad = good;
  std::fill_n(bad.values().data(), bad.nonzeros(), T{0});
  const Csr<T> good_gpu = good.to(this->gpu);
  const Csr<T> bad_gpu = bad.to(this->gpu);
  Gmres<T> gmres({}, {.preconditioner = "ilu0"});
  Gmres<T> gmres_gpu(this->gpu, {.preconditioner = "ilu0"});
  gmres.setup(good);
  gmres_gpu.setup(good_gpu);
  EXPECT_EQ(gmres_gpu.update_values(bad_gpu).row, 0);
  gmres_gpu.update_values(good_gpu);
  this->expect_iterations_of_the_host(gmres, gmres_gpu, good, 3, "after the breakdown");
}

TYPED_TEST(CusparseIlu0Of, TakesNothing) {
  using T = TypeParam;
  const Csr<T> nothing = Csr<T>().to(this->gpu);
  Gmres<T> gmres(this->gpu, {.preconditioner = "ilu0"});
  EXPECT_TRUE(gmres.setup(nothing).ready());
  Dense<T> x(this->gpu, 0, 1);
  EXPECT_TRUE(gmres.solve(Dense<T>(this->gpu, 0, 1), x).solved());
}

TYPED_TEST(CusparseIlu0Of, PreconditionsFromSeveralThreadsAtOnce) {
  using T = TypeParam;
  const Csr<T> a = convection_diffusion(33, 0.4).csr<T>();
  const Csr<T> a_gpu = a.to(this->gpu);
  Bicgstab<T> solver(this->gpu, {.preconditioner = "ilu0"});
  solver.setup(a_gpu);
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned round = 0; round < 5; ++round) {
        const Dense<T> b = random_dense<T>(a.rows(), 1, 10 * t + round);
        Dense<T> x(this->gpu, a.rows(), 1);
        if (!solver.solve(b.to(this->gpu), x).solved()) ++failures;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

}  // namespace
}  // namespace echelon
