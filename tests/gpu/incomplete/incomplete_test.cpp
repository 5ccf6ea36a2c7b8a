// SPDX-License-Identifier: BSD-3-Clause
// ILU(0) and IC(0) on a GPU have the bits of the host.
#include "support/incomplete.hpp"

#include "gpu/gpu_fixture.hpp"
#include "support/problems.hpp"
#include "support/test_data.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace echelon {
namespace {

using test::convection_diffusion;
using test::kershaw;
using test::precondition;
using test::random_dense;
using test::random_dominant;
using test::small_matrix;

template <class T>
class GpuIncomplete : public test::GpuTest {
 protected:
  static bool same_bits(const Dense<T>& a, const Dense<T>& b) {
    return a.rows() == b.rows() &&
           std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.rows()) * sizeof(T)) == 0;
  }

  /// Sets a method up on the host and on the GPU, and compares the outcome and an application.
  void expect_bits_of_host(const char* method, const Csr<T>& a, const std::string& what) const {
    SCOPED_TRACE(std::string(method) + ", " + what);
    const Csr<T> a_gpu = a.to(gpu);
    auto host = make_solver<T>(method, Device::serial());
    auto there = make_solver<T>(method, gpu);
    const Report expected = host.setup(a);
    const Report report = there.setup(a_gpu);
    EXPECT_EQ(report.status, expected.status);
    EXPECT_EQ(report.row, expected.row);
    EXPECT_EQ(report.message, expected.message);
    ASSERT_EQ(report.statistics.size(), expected.statistics.size());
    for (std::size_t k = 0; k < report.statistics.size(); ++k) {
      EXPECT_EQ(to_string(report.statistics[k]), to_string(expected.statistics[k]));
    }
    if (!expected.ready()) return;
    const Dense<T> r = random_dense<T>(a.rows(), 1, 7);
    const Dense<T> z = precondition(host, r);
    EXPECT_TRUE(same_bits(precondition(there, r), z));
    ASSERT_TRUE(there.update_values(a_gpu).ready());
    EXPECT_TRUE(same_bits(precondition(there, r), z)) << "after update_values";
  }
};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(GpuIncomplete, Reals);

TYPED_TEST(GpuIncomplete, SmallMatrices_BitsOfHost) {
  using T = TypeParam;
  for (const auto& problem :
       {test::diagonal(1), test::diagonal(33), convection_diffusion(3, 0), convection_diffusion(33, 0),
        convection_diffusion(33, 0.6), random_dominant(31, 3, true, 3), random_dominant(1025, 5, true, 2),
        random_dominant(1025, 5, false, 2), random_dominant(257, 100, true, 4),
        random_dominant(300, 200, false, 5)}) {
    this->expect_bits_of_host("ilu0", problem.template csr<T>(), problem.name);
    if (problem.traits.spd) this->expect_bits_of_host("ic0", problem.template csr<T>(), problem.name);
  }
}

/// Lines, planes and chains in sweeps, and many levels in factorisations.
TYPED_TEST(GpuIncomplete, Grids_BitsOfHost) {
  using T = TypeParam;
  this->expect_bits_of_host("ilu0", test::seven_point_cube<T>(60, false), "7-point cube");
  this->expect_bits_of_host("ic0", test::seven_point_cube<T>(60, true), "7-point cube");
  for (const char* method : {"ilu0", "ic0"}) {
    this->expect_bits_of_host(method, generate::poisson_2d<T>(400, 401), "5-point grid");
    this->expect_bits_of_host(method, generate::poisson_3d<T>(48, 47, 49, 27), "27-point grid");
    this->expect_bits_of_host(method, generate::poisson_2d<T>(20'000, 1), "a chain");
    this->expect_bits_of_host(method, generate::poisson_2d<T>(300, 301, 9), "9-point grid");
  }
}

/// An arrow: every row depends on the first ones, and the last row on all.
TYPED_TEST(GpuIncomplete, LongRows_BitsOfHost) {
  using T = TypeParam;
  std::vector<Triplet<T>> elements;
  constexpr std::int32_t n = 5000;
  for (std::int32_t i = 0; i < n; ++i) {
    elements.push_back({i, i, static_cast<T>(n + i % 3)});
    for (const std::int32_t j : {0, 1, n - 1}) {
      if (i == j || (i < j && i <= 1)) continue;
      elements.push_back({i, j, static_cast<T>(-0.5 - 0.25 * (i % 2))});
      elements.push_back({j, i, static_cast<T>(-0.5 - 0.25 * (i % 2))});
    }
  }
  const auto arrow = Csr<T>::from_triplets(n, n, elements);
  this->expect_bits_of_host("ilu0", arrow, "arrow");
  this->expect_bits_of_host("ic0", arrow, "arrow");
}

/// Factors, and the shifts that they need, have the bits of the host.
TYPED_TEST(GpuIncomplete, RealMatrices_BitsOfHost) {
  using T = TypeParam;
  this->expect_bits_of_host("ic0", kershaw<T>(), "Kershaw's matrix");
  for (const char* file : {"bcsstk02.mtx", "bcsstk10.mtx.gz", "orsirr_1.mtx.gz"}) {
    const auto a = read_matrix_market<T>((test::data_directory() / file).string());
    this->expect_bits_of_host("ilu0", a, file);
    this->expect_bits_of_host("ic0", a, file);
  }
}

/// Faults, among them several in matrices whose rows are in work at the same time: the first row is named.
TYPED_TEST(GpuIncomplete, Faults_NameTheRowOfTheHost) {
  using T = TypeParam;
  const T huge = std::numeric_limits<T>::max();
  for (const Csr<T>& a :
       {small_matrix<T>(3, {{0, 0, 1}, {1, 0, 1}, {1, 2, 1}, {2, 2, 1}}),
        small_matrix<T>(2, {{0, 1, 1}, {1, 0, 1}}), small_matrix<T>(3, {{0, 0, 1}, {1, 1, 1}}),
        small_matrix<T>(3, {}), small_matrix<T>(2, {{0, 0, 0}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1}}),
        small_matrix<T>(3, {{0, 0, 1}, {0, 1, 2}, {1, 0, 2}, {1, 1, 4}, {2, 2, 1}}),
        small_matrix<T>(2, {{0, 0, 4 / huge}, {0, 1, huge}, {1, 0, 1}, {1, 1, 1}}),
        small_matrix<T>(2, {{0, 0, 1}, {1, 1, std::numeric_limits<T>::denorm_min()}}),
        small_matrix<T>(3, {{0, 0, 4}, {0, 2, 1}, {1, 1, 4}, {2, 0, 1.5}, {2, 2, 4}}),
        small_matrix<T>(2, {{0, 0, 1}, {0, 1, 1e6F}, {1, 0, 1e6F}, {1, 1, 1}})}) {
    this->expect_bits_of_host("ilu0", a, "small matrix");
    this->expect_bits_of_host("ic0", a, "small matrix");
  }
  Csr<T> cube = test::seven_point_cube<T>(60, true);
  for (const std::int64_t i : {100'000, 100'059, 130'000, 200'000}) {
    for (std::int64_t k = cube.row_offsets()[i]; k < cube.row_offsets()[i + 1]; ++k) {
      if (cube.column_indices()[k] == i) cube.values()[k] = static_cast<T>(0.125);
    }
  }
  this->expect_bits_of_host("ilu0", cube, "cube with small diagonal elements");
  this->expect_bits_of_host("ic0", cube, "cube with small diagonal elements");
  for (const std::int64_t i : {100'000, 100'059, 130'000, 200'000}) {
    for (std::int64_t k = cube.row_offsets()[i]; k < cube.row_offsets()[i + 1]; ++k) cube.values()[k] = 0;
  }
  this->expect_bits_of_host("ilu0", cube, "cube with rows of zeros");
  this->expect_bits_of_host("ic0", cube, "cube with rows of zeros");

  const Dense<T> dense = random_dense<T>(4, 4, 1);
  const Dense<T> dense_gpu = dense.to(this->gpu);
  for (const char* method : {"ilu0", "ic0"}) {
    auto solver = make_solver<T>(method, this->gpu);
    EXPECT_EQ(solver.setup(dense_gpu).status, Status::breakdown);
  }
}

/// Unsorted columns, which are not checked on a GPU: rows that seem to depend on later rows. The result is
/// undefined, but there is no endless wait.
TYPED_TEST(GpuIncomplete, UnsortedColumns_Return) {
  using T = TypeParam;
  constexpr std::int32_t n = 1000;
  std::vector<std::int64_t> offsets = {0};
  std::vector<std::int32_t> columns;
  for (std::int32_t i = 0; i < n; ++i) {
    if (i > 0 && i + 5 < n) {
      columns.insert(columns.end(), {i + 5, i - 1, i, i + 1});
    } else {
      columns.push_back(i);
    }
    offsets.push_back(static_cast<std::int64_t>(columns.size()));
  }
  const std::vector<T> values(columns.size(), T{1});
  const auto a =
      Csr<T>::unchecked(n, n, Array<std::int64_t>(this->gpu, std::span<const std::int64_t>(offsets)),
                        Array<std::int32_t>(this->gpu, std::span<const std::int32_t>(columns)),
                        Array<T>(this->gpu, std::span<const T>(values)));
  auto ilu = make_solver<T>("ilu0", this->gpu);
  if (ilu.setup(a).ready()) precondition(ilu, random_dense<T>(n, 1, 7));
  auto ic = make_solver<T>("ic0", this->gpu);
  EXPECT_THROW((void)ic.setup(a), InvalidMatrix);
}

TYPED_TEST(GpuIncomplete, NewPatternsAndBreakdowns_BitsOfHost) {
  using T = TypeParam;
  Ilu0<T> ilu(this->gpu);
  for (const std::int32_t side : {20, 7, 33}) {
    const Csr<T> good = convection_diffusion(side, 0.6).csr<T>();
    Csr<T> bad = good;
    std::fill_n(bad.values().data(), bad.nonzeros(), T{0});
    const Csr<T> good_gpu = good.to(this->gpu);
    const Csr<T> bad_gpu = bad.to(this->gpu);
    ASSERT_TRUE(ilu.setup(good_gpu).ready());
    EXPECT_EQ(ilu.update_values(bad_gpu).row, 0);
    ASSERT_TRUE(ilu.update_values(good_gpu).ready());
    Ilu0<T> host;
    host.setup(good);
    const Dense<T> r = random_dense<T>(good.rows(), 1, 3);
    EXPECT_TRUE(this->same_bits(precondition(ilu, r), precondition(host, r)));
  }
}

TYPED_TEST(GpuIncomplete, EmptyMatrix_Ready) {
  using T = TypeParam;
  const Csr<T> nothing = Csr<T>().to(this->gpu);
  for (const char* preconditioner : {"ilu0", "ic0"}) {
    Cg<T> cg(this->gpu, {.preconditioner = preconditioner});
    EXPECT_TRUE(cg.setup(nothing).ready());
    Dense<T> x(this->gpu, 0, 1);
    EXPECT_TRUE(cg.solve(Dense<T>(this->gpu, 0, 1), x).solved());
  }
}

/// Iteration counts of the host and the GPU differ by the rounding of dot products only. BiCGStab's residuals
/// fall irregularly, so that the same rounding moves its count further. The tolerance is well above the
/// rounding errors of residuals, near which a restart would add iterations on one of the two.
TYPED_TEST(GpuIncomplete, KrylovMethods_IterationsOfHost) {
  using T = TypeParam;
  const Csr<T> a = convection_diffusion(60, 0).csr<T>();
  const Csr<T> a_gpu = a.to(this->gpu);
  const Dense<T> b = random_dense<T>(a.rows(), 1, 3);
  const double tolerance = std::is_same_v<T, double> ? 1e-8 : 1e-4;
  for (const char* method : {"cg", "minres", "gmres", "bicgstab"}) {
    for (const char* preconditioner : {"ilu0", "ic0"}) {
      const Options options = {{"preconditioner", preconditioner}, {"rtol", tolerance}};
      auto host = make_solver<T>(method, {}, options);
      auto there = make_solver<T>(method, this->gpu, options);
      host.setup(a);
      there.setup(a_gpu);
      Dense<T> x(Device(), a.rows(), 1);
      Dense<T> x_gpu(this->gpu, a.rows(), 1);
      const Report expected = host.solve(b, x);
      const Report report = there.solve(b.to(this->gpu), x_gpu);
      EXPECT_EQ(report.status, Status::converged) << method << ": " << report.message;
      const auto iterations = static_cast<double>(expected.iterations);
      const double difference = std::string(method) == "bicgstab" ? std::max(2.0, iterations / 4) : 2;
      EXPECT_NEAR(static_cast<double>(report.iterations), iterations, difference)
          << method << " with " << preconditioner;
      EXPECT_LE(test::assess(a, x_gpu.to(Device()), b).relative_residual, 1.01 * tolerance) << method;
    }
  }
}

TYPED_TEST(GpuIncomplete, SeveralThreads_PreconditionAtOnce) {
  using T = TypeParam;
  const Csr<T> a = convection_diffusion(33, 0).csr<T>();
  const Csr<T> a_gpu = a.to(this->gpu);
  Cg<T> solver(this->gpu, {.preconditioner = "ic0"});
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
