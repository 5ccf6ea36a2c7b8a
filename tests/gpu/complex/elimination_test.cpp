// SPDX-License-Identifier: BSD-3-Clause
// Gauss-Jordan elimination of complex matrices on a GPU: reduced forms, ranks, inverses, systems.
#include "gpu/gpu_fixture.hpp"
#include "scalars/complex_systems.hpp"

namespace echelon::test {
namespace {

using T = std::complex<double>;

class GpuComplexElimination : public GpuTest {};

TEST_F(GpuComplexElimination, ReducedForm_AnyShapeAndRank) {
  unsigned seed = 300;
  for (const auto& [m, n, rank] : shapes_of_ranks) {
    SCOPED_TRACE(std::to_string(m) + " by " + std::to_string(n) + " of rank " + std::to_string(rank));
    const Entries entries = of_rank(m, n, rank, seed += 2);
    EchelonForm<T> form = RowReduction<T>(gpu).reduce(dense<T>(entries).to(gpu));
    ASSERT_TRUE(form.report.solved()) << form.report.message;
    EXPECT_EQ(form.report.device, gpu);
    EXPECT_EQ(form.facts.rank, rank);
    EXPECT_EQ(form.determinant.has_value(), m == n);
    const Dense<T> kernel = null_space(form).to(Device());
    EXPECT_EQ(kernel.columns(), n - rank);
    EXPECT_LT(largest_of_product(entries, kernel), 1e5 * epsilon<T>);
    form.R = form.R.to(Device());
    expect_reduced(entries, form, 1e4 * epsilon<T>);
  }
}

TEST_F(GpuComplexElimination, Inverse_TimesMatrix_IsIdentity) {
  for (const std::int64_t n : {1, 2, 5, 33, 150, 300}) {
    const Entries entries = random_entries(n, n, static_cast<unsigned>(320 + n));
    Dense<T> there = dense<T>(entries).to(gpu);
    const Report report = RowReduction<T>(gpu).invert(there);
    ASSERT_EQ(report.status, Status::direct) << report.message;
    EXPECT_LT(report.backward_error, 1e3 * epsilon<T>);
    const Dense<T> X = there.to(Device());
    for (std::int64_t j = 0; j < n; j += 1 + n / 4) {
      Vector unit(static_cast<std::size_t>(n));
      unit[static_cast<std::size_t>(j)] = 1;
      EXPECT_LT(relative_error(X.view().column(j), solution(entries, unit)), 1e-10) << n;
    }
  }
}

TEST_F(GpuComplexElimination, Inverse_SingularOrNotANumber_IsNamed) {
  Entries entries = random_entries(20, 20, 331);
  for (std::int64_t i = 0; i < 20; ++i) entries(i, 12) = Exact(0, 1) * entries(i, 5);
  Dense<T> X = dense<T>(entries).to(gpu);
  const Report singular = RowReduction<T>(gpu).invert(X);
  EXPECT_EQ(singular.status, Status::singular) << singular.message;
  EXPECT_EQ(singular.column, 12);
  Dense<T> A = dense<T>(random_entries(6, 6, 332));
  A(4, 2) = T{1, std::numeric_limits<double>::quiet_NaN()};
  Dense<T> there = A.to(gpu);
  const Report report = RowReduction<T>(gpu).invert(there);
  EXPECT_EQ(report.status, Status::not_a_number);
  EXPECT_EQ(report.row, 4);
  EXPECT_EQ(report.column, 2);
}

TEST_F(GpuComplexElimination, Systems_GetSolutionsAndStatus) {
  for (const std::int64_t n : {1, 7, 64, 200}) {
    const Entries entries = random_entries(n, n, static_cast<unsigned>(340 + n));
    const Dense<T> A = dense<T>(entries).to(gpu);
    Solver<T> solver = make_solver<T>("gauss-jordan", gpu);
    ASSERT_TRUE(solver.setup(A.view()).ready());
    const Vector b = Random(8).vector(n);
    for (const Operation operation : {Operation::none, Operation::transpose, Operation::adjoint}) {
      Dense<T> x(gpu, n, 1);
      const Report report = solver.solve(column<T>(b).to(gpu), x, {.operation = operation});
      EXPECT_TRUE(report.solved()) << report.message;
      EXPECT_LT(relative_error(x.to(Device()), solution(operate(operation, entries), b)), 1e-9) << n;
    }
  }
  const Entries deficient = of_rank(30, 30, 12, 350);
  const Dense<T> A = dense<T>(deficient).to(gpu);
  Solver<T> solver = make_solver<T>("gauss-jordan", gpu);
  solver.setup(A.view());
  Dense<T> x(gpu, 30, 1);
  const Vector in_range = product(deficient, Random(9).vector(30));
  EXPECT_EQ(solver.solve(column<T>(in_range).to(gpu), x).status, Status::underdetermined);
  EXPECT_EQ(solver.solve(column<T>(Random(10).vector(30)).to(gpu), x).status, Status::inconsistent);
}

}  // namespace
}  // namespace echelon::test
