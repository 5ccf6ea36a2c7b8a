// SPDX-License-Identifier: BSD-3-Clause
// A set-up solver's repeated solve on the GPU from device memory: no allocation, and no wait that the report
// does not need. Counted by the backend, for every method of this build.
#include "backend/cuda/counters.hpp"
#include "gpu/gpu_fixture.hpp"
#include "support/problems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace echelon {
namespace {

using test::GpuTest;
using test::random_dense;

constexpr std::int64_t rows = 1025;
constexpr std::int64_t check_every = 8;

test::Problem problem_for(const Method& method) {
  return test::system_for(method, rows, 6, 1);
}

Options options_for(const Method& method) {
  if (method.kind != MethodKind::iterative) return {};
  return {{"rtol", 1e-6}, {"check_every", check_every}};
}

/// Waits of the host that a solve of one right-hand side may make: one to read each of the norms of b, x and
/// b - A x and the nonfinite elements with them, one for each batch of iterations, and after the last batch
/// of a cycle one for its true residual. A direct method reads the residual's norm before and after each step
/// of refinement, and its status.
std::int64_t allowed_waits(const Method& method, const Report& report) {
  constexpr std::int64_t norms = 3;
  constexpr std::int64_t refinement = 8;
  if (method.kind != MethodKind::iterative) return norms + refinement;
  constexpr std::int64_t restart = 30;  // the default of gmres
  const std::int64_t cycles = 2 + report.iterations / restart;
  return norms + (report.iterations + check_every - 1) / check_every + 2 * cycles;
}

/// gauss-seidel-relaunch waits after every launch, which is what it is there to show.
bool waits_without_bound(const Method& method) {
  return method.name == "gauss-seidel-relaunch";
}

void expect_no_allocation(const Method& method, const MatrixRef<double>& A, DenseView<const double> b,
                          DenseView<double> x) {
  Solver<double> solver = make_solver<double>(method.name, Device::cuda(), options_for(method));
  static_cast<void>(solver.setup(A));
  const Control quick{.measure_error = false};
  const Report first = solver.solve(b, x, quick);
  ASSERT_FALSE(first.columns.empty()) << first.message;
  for (int repetition = 2; repetition <= 3; ++repetition) {
    const CudaCounts before = cuda_counts();
    const Report report = solver.solve(b, x, quick);
    const CudaCounts calls = cuda_counts() - before;
    SCOPED_TRACE("solve number " + std::to_string(repetition));
    EXPECT_EQ(report.iterations, first.iterations);
    EXPECT_EQ(calls.allocations, 0);
    EXPECT_EQ(calls.frees, 0);
    if (waits_without_bound(method)) continue;
    EXPECT_LE(calls.synchronizations,
              allowed_waits(method, report) * static_cast<std::int64_t>(report.columns.size()));
  }
}

class RepeatedSolve : public GpuTest {
 protected:
  /// f(method, A) for every method that runs on a GPU and each form of A that it works on.
  template <class F>
  void for_each_method(const F& f) const {
    for (const Method& method : methods()) {
      if (!method.cuda || method.kind == MethodKind::automatic) continue;  // which allocates for attempts
      const Csr<double> sparse = problem_for(method).csr<double>().to(gpu);
      const Dense<double> dense = problem_for(method).dense<double>().to(gpu);
      if (method.sparse) {
        SCOPED_TRACE(method.name + ", sparse");
        f(method, MatrixRef<double>(sparse));
      }
      if (method.dense) {
        SCOPED_TRACE(method.name + ", dense");
        f(method, MatrixRef<double>(dense));
      }
    }
  }
};

TEST_F(RepeatedSolve, Counters_SeeAllocationsAndWaits) {
  const CudaCounts before = cuda_counts();
  {
    const Array<double> array(gpu, 1000);
    static_cast<void>(array.to(Device()));
  }
  const CudaCounts calls = cuda_counts() - before;
  EXPECT_EQ(calls.allocations, 1);
  EXPECT_EQ(calls.frees, 1);
  EXPECT_EQ(calls.synchronizations, 1);
}

TEST_F(RepeatedSolve, ColumnMajor_AllocatesNothing) {
  const Dense<double> b = random_dense<double>(rows, 1, 3).to(gpu);
  Dense<double> x(gpu, rows, 1);
  for_each_method([&](const Method& method, const MatrixRef<double>& A) {
    expect_no_allocation(method, A, b.view(), x.view());
  });
}

TEST_F(RepeatedSolve, SeveralColumns_AllocateNothing) {
  const Dense<double> b = random_dense<double>(rows, 3, 4).to(gpu);
  Dense<double> x(gpu, rows, 3);
  for_each_method([&](const Method& method, const MatrixRef<double>& A) {
    expect_no_allocation(method, A, b.view(), x.view());
  });
}

TEST_F(RepeatedSolve, RowMajor_AllocatesNothing) {
  const Dense<double> b = random_dense<double>(rows * 2, 1, 5).to(gpu);
  Dense<double> x(gpu, rows * 2, 1);
  const DenseView<const double> b_view(b.data(), rows, 2, 2, gpu, Layout::row_major);
  const DenseView<double> x_view(x.data(), rows, 2, 2, gpu, Layout::row_major);
  for_each_method([&](const Method& method, const MatrixRef<double>& A) {
    expect_no_allocation(method, A, b_view, x_view);
  });
}

TEST_F(RepeatedSolve, Preconditioned_AllocatesNothing) {
  const Csr<double> A = problem_for(find_method("gmres")).csr<double>().to(gpu);
  const Dense<double> b = random_dense<double>(rows, 1, 6).to(gpu);
  Dense<double> x(gpu, rows, 1);
  for (const Method& preconditioner : methods()) {
    if (!preconditioner.cuda || !preconditioner.usable_as_preconditioner) continue;
    SCOPED_TRACE(preconditioner.name);
    Solver<double> gmres = make_solver<double>("gmres", gpu, {{"preconditioner", preconditioner.name}});
    static_cast<void>(gmres.setup(A));
    ASSERT_TRUE(gmres.solve(b, x).solved());
    const CudaCounts before = cuda_counts();
    ASSERT_TRUE(gmres.solve(b, x).solved());
    const CudaCounts calls = cuda_counts() - before;
    EXPECT_EQ(calls.allocations, 0);
    EXPECT_EQ(calls.frees, 0);
  }
}

}  // namespace
}  // namespace echelon
