// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/gpu_fixture.hpp"
#include "support/gallery.hpp"
#include "support/sparse_systems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace echelon {
namespace {

using test::graded;
using test::hilbert;
using test::random_dense;
using test::scaled_residual;
using test::statistic;

constexpr double passing = 30;  // LAPACK's threshold

struct Form {
  std::string method;
  Options options = {};
};
const std::vector<Form> forms = {{"crout-parallel"},
                                 {"crout-parallel", {{"threads_per_block", 32}}},
                                 {"crout-parallel", {{"threads_per_block", 200}}},
                                 {"crout-iterative"},
                                 {"crout-iterative", {{"block_size", 8}}},
                                 {"crout-iterative", {{"block_size", 16}, {"section_size", 100}}},
                                 {"crout-iterative", {{"section_size", 7}}},
                                 {"crout-iterative", {{"section_size", 100}}},
                                 {"crout-blocked"},
                                 {"crout-blocked", {{"section_size", 5}}},
                                 {"crout-blocked", {{"section", "iterated"}, {"section_size", 16}}},
                                 {"crout-blocked", {{"section", "iterated"}}}};

template <class T>
class GpuCroutOf : public test::GpuTest {
 protected:
  struct Answer {
    std::string description;
    Report setup, report;
    Dense<T> x;
  };
  Answer solve(const Form& form, const Dense<T>& a, const Dense<T>& b, const Device& device) const {
    const Dense<T> matrix = a.to(device);
    Dense<T> x(device, b.rows(), b.columns());
    Solver<T> solver = make_solver<T>(form.method, device, form.options);
    Answer answer;
    answer.description = solver.describe();
    answer.setup = solver.setup(matrix);
    answer.report = solver.solve(b.to(device), x);
    answer.x = x.to(Device());
    return answer;
  }
};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(GpuCroutOf, Reals);

TYPED_TEST(GpuCroutOf, BackwardErrorAndCondition_AsOnHost) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 2, 3, 31, 32, 33, 65, 129, 300}) {
    const Dense<T> b = random_dense<T>(n, 3, 99);
    for (const Dense<T>& a : {random_dense<T>(n, n, 1), graded<T>(n, 2), hilbert<T>(n)}) {
      const auto expected = this->solve({"crout"}, a, b, Device());
      for (const Form& form : forms) {
        const auto found = this->solve(form, a, b, this->gpu);
        const std::string where = found.description + ", n = " + std::to_string(n);
        EXPECT_EQ(found.setup.status, expected.setup.status) << where << ": " << found.setup.message;
        EXPECT_EQ(found.report.status, expected.report.status) << where << ": " << found.report.message;
        // cuBLAS inverts diagonal blocks of triangles: nothing is promised where these are singular to
        // working precision.
        if (!expected.setup.ready()) continue;
        EXPECT_LT(scaled_residual<T>(a, found.x, b), passing) << where;
        EXPECT_LT(
            std::abs(std::log10(*found.setup.reciprocal_condition / *expected.setup.reciprocal_condition)), 1)
            << where;
      }
    }
  }
}

TYPED_TEST(GpuCroutOf, RowExchanges_AsOnHost) {
  using T = TypeParam;
  for (const std::int64_t n : {60, 257}) {
    const Dense<T> a = random_dense<T>(n, n, 8);
    const Dense<T> b = random_dense<T>(n, 1, 9);
    const double growth = statistic(this->solve({"crout"}, a, b, Device()).setup, "pivot_growth");
    for (const Form& form : forms) {
      const auto found = this->solve(form, a, b, this->gpu);
      EXPECT_NEAR(statistic(found.setup, "pivot_growth"), growth, 1e-4 * growth) << found.description;
    }
  }
}

TYPED_TEST(GpuCroutOf, NamesTheZeroPivot) {
  using T = TypeParam;
  const std::int64_t n = 70;
  Dense<T> a = random_dense<T>(n, n, 3);
  for (std::int64_t i = 0; i < n; ++i) a(i, 40) = 0;
  const Dense<T> b = random_dense<T>(n, 1, 9);
  for (Form form : forms) {
    const auto zero_column = this->solve(form, a, b, this->gpu);
    EXPECT_EQ(zero_column.setup.status, Status::singular) << zero_column.description;
    form.options.set("equilibrate", false);
    const auto zero_pivot = this->solve(form, a, b, this->gpu);
    EXPECT_EQ(zero_pivot.setup.status, Status::singular) << zero_pivot.description;
    EXPECT_EQ(zero_pivot.setup.row, 40) << zero_pivot.description;
  }
}

TYPED_TEST(GpuCroutOf, OverflowingIterates_FactorsAreFound) {
  using T = TypeParam;
  // Uniform random matrices of this size have transients beyond the range of either precision.
  const std::int64_t n = 250;
  const Dense<T> a = random_dense<T>(n, n, 1);
  const Dense<T> b = random_dense<T>(n, 2, 2);
  const auto found = this->solve({"crout-iterative"}, a, b, this->gpu);
  EXPECT_TRUE(found.setup.ready()) << found.setup.message;
  EXPECT_EQ(statistic(found.setup, "sections"), 1);
  EXPECT_LT(scaled_residual<T>(a, found.x, b), passing);
}

TYPED_TEST(GpuCroutOf, LooseTolerance_Preconditions) {
  using T = TypeParam;
  const auto problem = test::convection_diffusion(12, 0.4);
  const Csr<T> a = problem.csr<T>().to(this->gpu);
  const Dense<T> b = random_dense<T>(problem.n, 1, 1).to(this->gpu);
  Dense<T> x(this->gpu, problem.n, 1);
  Gmres<T> gmres(this->gpu,
                 {.preconditioner = "crout-iterative", .preconditioner_options = {{"tolerance", 0.01}}});
  gmres.setup(a);
  const Report report = gmres.solve(b, x);
  EXPECT_EQ(report.status, Status::converged) << report.message;
  EXPECT_LT(report.iterations, 15);
}

TYPED_TEST(GpuCroutOf, SolvesNothing) {
  using T = TypeParam;
  for (const Form& form : forms) {
    const auto found = this->solve(form, Dense<T>(Device(), 0, 0), Dense<T>(Device(), 0, 2), this->gpu);
    EXPECT_EQ(found.setup.status, Status::ready) << found.description;
    EXPECT_EQ(found.report.status, Status::direct) << found.description;
  }
}

class GpuCrout : public test::GpuTest {};

TEST_F(GpuCrout, DominantMatrices_FewSweeps) {
  const std::int64_t n = 200;
  Dense<double> a = random_dense<double>(n, n, 4);
  for (std::int64_t i = 0; i < n; ++i) a(i, i) += static_cast<double>(n);
  for (const bool pivoting : {true, false}) {
    CroutIterative<double> solver(gpu, {.section_size = 128, .pivoting = pivoting});
    const Dense<double> matrix = a.to(gpu);
    const Report report = solver.factor(matrix);
    ASSERT_TRUE(report.ready()) << report.message;
    EXPECT_EQ(statistic(report, "sections"), 2);
    EXPECT_LE(statistic(report, "most_diagonal_sweeps"), 30);
    EXPECT_EQ(statistic(report, "row_exchanges"), 0);
  }
}

TEST_F(GpuCrout, BlockedSections_AreTakenTogetherWhereNoRowsAreExchanged) {
  const std::int64_t n = 200;
  const Dense<double> random = random_dense<double>(n, n, 4);
  Dense<double> dominant = random;
  for (std::int64_t i = 0; i < n; ++i) dominant(i, i) += static_cast<double>(n);
  const auto factor = [&](const Dense<double>& a) {
    CroutBlocked<double> solver(gpu, {.section = CroutSection::iterated});
    const Dense<double> matrix = a.to(gpu);
    Report report = solver.factor(matrix);
    EXPECT_TRUE(report.ready()) << report.message;
    EXPECT_GE(statistic(report, "sections"), 13);
    EXPECT_LE(statistic(report, "most_diagonal_sweeps"), 16);
    return report;
  };
  const Report together = factor(dominant);
  EXPECT_EQ(statistic(together, "direct_sections"), 0);
  EXPECT_EQ(statistic(together, "row_exchanges"), 0);
  const Report directly = factor(random);
  EXPECT_GT(statistic(directly, "direct_sections"), 0);
  EXPECT_GT(statistic(directly, "row_exchanges"), n / 2);
}

TEST_F(GpuCrout, WithoutPivoting_AZeroOnTheDiagonalIsTheEnd) {
  Dense<double> a(Device(), 2, 2);
  a(0, 0) = 0;
  a(0, 1) = a(1, 0) = a(1, 1) = 1;
  const Dense<double> matrix = a.to(gpu);
  CroutIterative<double> without(gpu, {.pivoting = false});
  EXPECT_EQ(without.factor(matrix).status, Status::breakdown);
  CroutIterative<double> with(gpu);
  EXPECT_TRUE(with.factor(matrix).ready());
}

TEST_F(GpuCrout, RepeatedFactorization_HasTheSameBits) {
  const Dense<double> a = random_dense<double>(300, 300, 5).to(gpu);
  const Dense<double> b = random_dense<double>(300, 1, 6).to(gpu);
  for (const Form& form : forms) {
    std::vector<double> first;
    for (int run = 0; run < 3; ++run) {
      Solver<double> solver = make_solver<double>(form.method, gpu, form.options);
      ASSERT_TRUE(solver.setup(a).ready());
      Dense<double> x(gpu, 300, 1);
      ASSERT_TRUE(solver.solve(b, x).solved());
      if (run == 0) first = x.to_vector();
      EXPECT_EQ(x.to_vector(), first) << solver.describe();
    }
  }
}

TEST_F(GpuCrout, TilesOfBlocks_SameBitsAndSweeps) {
  constexpr std::int64_t n = 150;
  const Dense<double> A = random_dense<double>(n, n, 8).to(gpu);
  const Dense<double> b = random_dense<double>(n, 1, 9).to(gpu);
  for (const bool pivoting : {true, false}) {
    std::vector<std::vector<double>> answers;
    std::vector<double> sweeps;
    for (const std::int64_t block_size : {32, 16, 8}) {
      Solver<double> solver = make_solver<double>(
          "crout-iterative", gpu, {{"block_size", block_size}, {"pivoting", pivoting}, {"refine", 0}});
      const Report setup = solver.setup(A);
      Dense<double> x(gpu, n, 1);
      EXPECT_TRUE(solver.solve(b, x).solved());
      answers.push_back(x.to_vector());
      sweeps.push_back(statistic(setup, "diagonal_sweeps"));
    }
    EXPECT_EQ(answers[0], answers[1]);
    EXPECT_EQ(answers[0], answers[2]);
    EXPECT_EQ(sweeps[0], sweeps[1]);
    EXPECT_EQ(sweeps[0], sweeps[2]);
  }
}

TEST_F(GpuCrout, TriangularIterative_FindsTheSolutionOfTheHost) {
  for (const std::int64_t n : {1, 2, 33, 257}) {
    for (const bool lower : {true, false}) {
      const auto problem = test::random_triangular(n, 6, lower, 3);
      const Dense<double> b = random_dense<double>(n, 2, 4);
      const Csr<double> sparse = problem.csr<double>();
      const Dense<double> dense = problem.dense<double>();
      for (const bool as_sparse : {true, false}) {
        const auto solution = [&](const Device& device) {
          const Csr<double> csr = sparse.to(device);
          const Dense<double> full = dense.to(device);
          TriangularIterative<double> solver(device, {.stop = {.rtol = 1e-14}});
          EXPECT_TRUE(solver.setup(as_sparse ? MatrixRef<double>(csr) : MatrixRef<double>(full)).ready());
          Dense<double> x(device, n, 2);
          EXPECT_TRUE(solver.solve(b.to(device), x).solved());
          return x.to_vector();
        };
        const std::vector<double> expected = solution(Device());
        const std::vector<double> found = solution(gpu);
        for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-13);
      }
    }
  }
  Dense<double> full = random_dense<double>(5, 5, 1).to(gpu);
  TriangularIterative<double> solver(gpu);
  EXPECT_EQ(solver.setup(full).status, Status::breakdown);
}

}  // namespace
}  // namespace echelon
