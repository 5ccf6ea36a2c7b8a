// SPDX-License-Identifier: BSD-3-Clause
/// Solves with a stencil that is given, against solves with the same matrix in CSR form.
#include "support/multigrid/stencil_problems.hpp"
#include "support/multigrid_cases.hpp"

#include <echelon/error.hpp>
#include <echelon/generate.hpp>
#include <echelon/matrix/stencil.hpp>
#include <echelon/matrix/transform.hpp>
#include <echelon/methods.hpp>
#include <echelon/solve.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace echelon::test {
namespace {

double unit_conductivity(std::int64_t) {
  return 1;
}

std::string structure_in(const Report& report) {
  const Statistic* found = report.find_statistic("structure");
  return found == nullptr ? "" : std::get<std::string>(found->value);
}

template <class T>
struct StencilSolve {
  Report setup;
  Report report;
  std::vector<T> x;
};

template <class T>
std::vector<T> right_hand_side(std::int64_t n) {
  const std::vector<double> b = MultigridCases::random_vector(n, 4);
  return {b.begin(), b.end()};
}

template <class T>
StencilSolve<T> solve_by(const MatrixRef<T>& A, const std::vector<T>& b,
                         const std::string& method = "structured-multigrid", const Options& options = {},
                         const Device& device = {}) {
  Solver<T> solver = make_solver<T>(method, device, options);
  StencilSolve<T> solved;
  solved.setup = solver.setup(A);
  solved.x.assign(b.size(), T{0});
  solved.report = solver.solve(b, solved.x);
  return solved;
}

std::string grid_text(const Box& box) {
  return std::to_string(box.nx) + "x" + std::to_string(box.ny) + "x" + std::to_string(box.nz);
}

/// Expects the stencil to be solved with the iterations and the bits of its CSR form.
template <class T>
void expect_as_csr(const Csr<T>& A, const Stencil<T>& stencil, const Box& box) {
  SCOPED_TRACE(stencil.describe());
  const std::vector<T> b = right_hand_side<T>(A.rows());
  for (const Device& device : {Device::serial(), Device::openmp(2)}) {
    const StencilSolve<T> found =
        solve_by<T>(A, b, "structured-multigrid", {{"grid", grid_text(box)}}, device);
    const StencilSolve<T> given = solve_by<T>(stencil, b, "structured-multigrid", {}, device);
    EXPECT_TRUE(given.setup.ready()) << given.setup.message;
    EXPECT_EQ(structure_in(given.setup), structure_in(found.setup));
    EXPECT_NE(structure_in(given.setup), "");
    EXPECT_EQ(given.report.status, found.report.status) << given.report.message;
    EXPECT_EQ(given.report.iterations, found.report.iterations);
    // The residual that decides is rounded otherwise, which in float can be one more restart.
    if constexpr (std::is_same_v<T, double>) {
      EXPECT_TRUE(given.x == found.x);
      EXPECT_NEAR(given.report.backward_error, found.report.backward_error,
                  0.01 * found.report.backward_error + 1e-17);
    } else {
      EXPECT_LE(given.report.backward_error, 1e-5);
    }
  }
}
template <class T>
void expect_as_csr(const Csr<T>& A, const Box& box, const Boundaries& boundaries) {
  expect_as_csr(A, stencil_of(A, box, boundaries.periodic()), box);
}

TEST(GivenStencil, Solves_HaveTheBitsOfCsr) {
  using enum Boundary;
  for (const Box& box : {Box{40, 41, 1}, Box{21, 20, 19}, Box{3, 50, 4}, Box{500, 1, 1}, Box{1, 60, 61}}) {
    for (const Boundaries& boundaries :
         {Boundaries(dirichlet), Boundaries(neumann, dirichlet, dirichlet),
          Boundaries(periodic, dirichlet, neumann), Boundaries(dirichlet, periodic, periodic)}) {
      expect_as_csr(diffusion<double>(box, unit_conductivity, boundaries, {1, 1, 1}, 1e-2), box, boundaries);
      expect_as_csr(diffusion<double>(box, blocks_of(box, 100), boundaries, {1, 0.5, 1}, 1e-2), box,
                    boundaries);
    }
    expect_as_csr(diffusion<float>(box, blocks_of(box, 10), dirichlet), box, dirichlet);
  }
  for (const int apart : {2, 3}) {
    const Box box{20, 18, 17};
    expect_as_csr(random_stencil<double>(box, apart, 3), box, dirichlet);
  }
  const Box box{60, 61, 1};
  const Wind wind = [](double, double, double) -> std::array<double, 3> { return {30, -20, 10}; };
  expect_as_csr(convection<double>(box, wind), box, dirichlet);
}

TEST(GivenStencil, Laplacians_HaveTheBitsOfCsr) {
  expect_as_csr(generate::poisson_2d<double>(65, 50), Stencil<double>::laplacian({{65, 50}}), {65, 50, 1});
  expect_as_csr(generate::poisson_2d<double>(65, 50, 9), Stencil<double>::laplacian({{65, 50}}, 9),
                {65, 50, 1});
  expect_as_csr(generate::poisson_3d<float>(17, 20, 21), Stencil<float>::laplacian({{17, 20, 21}}),
                {17, 20, 21});
  expect_as_csr(generate::poisson_3d<double>(17, 20, 21, 27), Stencil<double>::laplacian({{17, 20, 21}}, 27),
                {17, 20, 21});
  const Stencil<double> line = Stencil<double>::laplacian({{301}});
  expect_as_csr(to_csr(line), line, {301, 1, 1});
}

/// Constants are the null vectors: solved for a consistent b, with the bits of CSR, and refused for another.
TEST(GivenStencil, NeumannAndPeriodic_AreSolvedUpToConstants) {
  using enum BoundaryCondition;
  for (const StencilGrid& grid :
       {StencilGrid{{40, 39}, {neumann}}, StencilGrid{{41, 40}, {periodic, neumann}},
        StencilGrid{{12, 13, 14}, {periodic}}, StencilGrid{{20, 21}, {neumann}}}) {
    const Stencil<double> A = Stencil<double>::laplacian(grid);
    SCOPED_TRACE(A.describe());
    const Csr<double> csr = to_csr(A);
    std::vector<double> b = right_hand_side<double>(A.rows());
    double mean = 0;
    for (const double value : b) mean += value / static_cast<double>(A.rows());
    for (double& value : b) value -= mean;
    for (const bool consistent : {true, false}) {
      if (!consistent) b[0] += 1;
      const StencilSolve<double> found = solve_by<double>(csr, b);
      const StencilSolve<double> given = solve_by<double>(A, b);
      EXPECT_EQ(given.report.status, found.report.status) << given.report.message;
      EXPECT_EQ(given.report.solved(), consistent);
      EXPECT_TRUE(given.x == found.x);
    }
    for (const char* const method : {"cg", "minres"}) {
      const StencilSolve<double> solved =
          solve_by<double>(A, b, method, {{"preconditioner", "structured-multigrid"}});
      EXPECT_EQ(solved.report.status,
                solve_by<double>(csr, b, method, {{"preconditioner", "structured-multigrid"}}).report.status)
          << method;
    }
  }
}

TEST(GivenStencil, KrylovMethods_TakeIt) {
  const Box box{40, 41, 1};
  const Csr<double> csr = diffusion<double>(box, blocks_of(box, 10), Boundary::dirichlet);
  const Stencil<double> A = stencil_of(csr, box);
  const std::vector<double> b = right_hand_side<double>(A.rows());
  for (const char* const method : {"cg", "cr", "bicgstab", "minres", "gmres"}) {
    for (const char* const preconditioner : {"none", "structured-multigrid"}) {
      SCOPED_TRACE(std::string(method) + " " + preconditioner);
      const Options options{{"preconditioner", preconditioner}};
      const StencilSolve<double> given = solve_by<double>(A, b, method, options);
      const StencilSolve<double> found = solve_by<double>(csr, b, method, options);
      EXPECT_EQ(given.report.status, Status::converged) << given.report.message;
      EXPECT_NEAR(static_cast<double>(given.report.iterations), static_cast<double>(found.report.iterations),
                  2 + 0.1 * static_cast<double>(found.report.iterations));
      EXPECT_NEAR(given.report.backward_error, found.report.backward_error,
                  0.5 * found.report.backward_error);
    }
  }
}

/// Below the level of rounding a singular A has directions of negative curvature, which do not show that it
/// is indefinite.
TEST(GivenStencil, RoundingErrors_AreNoNegativeCurvature) {
  const Stencil<double> A = Stencil<double>::laplacian({{60, 61}, {BoundaryCondition::neumann}});
  std::vector<double> b = right_hand_side<double>(A.rows());
  double mean = 0;
  for (const double value : b) mean += value / static_cast<double>(A.rows());
  for (double& value : b) value -= mean;
  const Report report = solve_by<double>(A, b, "cg", {{"rtol", 1e-16}, {"max_iterations", 3000}}).report;
  EXPECT_TRUE(report.solved() || report.status == Status::stagnated) << report.message;
}

TEST(GivenStencil, OtherMethods_RefuseAndNameToCsr) {
  const Stencil<double> A = Stencil<double>::laplacian({{5, 6}});
  for (const Method& method : methods()) {
    if (!method.serial || method.operators || method.stencils) continue;
    SCOPED_TRACE(method.name);
    Solver<double> solver = make_solver<double>(method.name, Device::serial());
    try {
      static_cast<void>(solver.setup(A));
      FAIL() << "accepted";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("to_csr(A)"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("structured-multigrid"), std::string::npos) << error.what();
    }
  }
  for (const char* const preconditioner : {"jacobi", "amg", "ilu0", "ssor", "lu"}) {
    Solver<double> solver = make_solver<double>("cg", Device::serial(), {{"preconditioner", preconditioner}});
    try {
      static_cast<void>(solver.setup(A));
      FAIL() << "accepted " << preconditioner;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("to_csr(A)"), std::string::npos) << error.what();
    }
  }
}

TEST(GivenStencil, Auto_TakesMultigrid) {
  const Stencil<double> A = Stencil<double>::laplacian({{60, 61}});
  const std::vector<double> b = right_hand_side<double>(A.rows());
  const auto [x, report] = solve(A, b);
  EXPECT_EQ(report.status, Status::converged) << report.message;
  EXPECT_EQ(report.method.find("structured-multigrid"), 0U) << report.method;
  EXPECT_NE(report.reason.find("stencil"), std::string::npos) << report.reason;
}

/// Stencils that multigrid does not suit say so, and `auto` goes on to GMRES.
TEST(GivenStencil, OutOfReach_IsNamed) {
  const StencilGrid grid{{20, 21}};
  const std::vector<std::pair<Stencil<double>, std::string>> cases = {
      {Stencil<double>::constant(grid, {{{0, 0}, 4.0}, {{1, 0}, 1.0}, {{-1, 0}, 1.0}, {{0, 1}, 1.0}}),
       "M-matrix"},
      {Stencil<double>::constant(grid, {{{0, 0}, -4.0}, {{1, 0}, 1.0}, {{-1, 0}, 1.0}}), "not positive"},
      {Stencil<double>::constant({{20, 21}, {BoundaryCondition::periodic}},
                                 {{{0, 0}, 2.0}, {{-1, 0}, -1.0}, {{0, -1}, -0.9}}),
       "periodic"}};
  for (const auto& [A, reason] : cases) {
    const std::vector<double> b = right_hand_side<double>(A.rows());
    const StencilSolve<double> named = solve_by<double>(A, b);
    EXPECT_EQ(named.setup.status, Status::breakdown);
    EXPECT_FALSE(named.report.solved());
    EXPECT_NE(named.setup.message.find(reason), std::string::npos) << named.setup.message;
    EXPECT_NE(named.setup.message.find("to_csr(A)"), std::string::npos) << named.setup.message;
    const auto [x, report] = solve(A, b);
    EXPECT_TRUE(report.solved()) << report.message;
    EXPECT_EQ(report.method.find("gmres"), 0U) << report.method;
    ASSERT_FALSE(report.attempts.empty());
    EXPECT_EQ(report.attempts.front().method.find("structured-multigrid"), 0U);
  }
}

TEST(GivenStencil, NewValues_AreThoseOfANewSetup) {
  const Box box{30, 31, 1};
  const Stencil<double> first = Stencil<double>::laplacian({{30, 31}});
  const Stencil<double> second =
      stencil_of(diffusion<double>(box, blocks_of(box, 100), Boundary::dirichlet), box);
  const std::vector<double> b = right_hand_side<double>(first.rows());
  Solver<double> solver = make_solver<double>("structured-multigrid", Device());
  ASSERT_TRUE(solver.setup(first).ready());
  const Report update = solver.update_values(second);
  ASSERT_TRUE(update.ready()) << update.message;
  EXPECT_EQ(structure_in(update), "5-point, 30 x 31, variable coefficients");
  std::vector<double> x(b.size());
  EXPECT_TRUE(solver.solve(b, x).solved());
  EXPECT_TRUE(x == solve_by<double>(second, b).x);
  const Csr<double> csr = to_csr(first);
  ASSERT_TRUE(solver.update_values(csr).ready());
  EXPECT_TRUE(solver.solve(b, x).solved());
  EXPECT_TRUE(x == solve_by<double>(first, b).x);
}

TEST(GivenStencil, SeveralColumns_HaveTheBitsOfOne) {
  const Stencil<double> A = Stencil<double>::laplacian({{17, 16, 9}});
  const std::vector<double> elements = MultigridCases::random_vector(11 * A.rows(), 2);
  const Dense<double> b(A.rows(), 11, Array<double>(Device(), std::span<const double>(elements)));
  Solver<double> solver = make_solver<double>("structured-multigrid", Device());
  ASSERT_TRUE(solver.setup(A).ready());
  Dense<double> x(Device(), A.rows(), 11);
  ASSERT_TRUE(solver.solve(b, x).solved());
  for (std::int64_t j = 0; j < 11; ++j) {
    Dense<double> alone(Device(), A.rows(), 1);
    EXPECT_TRUE(
        solver.solve(DenseView<const double>(b.view().column(j), A.rows(), 1, A.rows()), alone).solved());
    EXPECT_TRUE(std::equal(alone.data(), alone.data() + A.rows(), x.view().column(j))) << j;
  }
}

TEST(GivenStencil, TransposedSystems_AreThoseOfCsr) {
  const Box box{40, 41, 1};
  const Csr<double> csr = convection<double>(box, [](double, double, double) -> std::array<double, 3> {
    return {30, -20, 0};
  });
  const Stencil<double> A = stencil_of(csr, box);
  const std::vector<double> b = right_hand_side<double>(A.rows());
  for (const char* const method : {"structured-multigrid", "gmres", "lsqr"}) {
    Solver<double> of_stencil = make_solver<double>(method, Device(), {{"max_iterations", 3000}});
    Solver<double> of_csr = make_solver<double>(method, Device(), {{"max_iterations", 3000}});
    ASSERT_TRUE(of_stencil.setup(A).ready()) << method;
    ASSERT_TRUE(of_csr.setup(csr).ready()) << method;
    std::vector<double> x(b.size());
    std::vector<double> y(b.size());
    const Report report = of_stencil.solve(b, x, {.operation = Operation::transpose});
    const Report expected = of_csr.solve(b, y, {.operation = Operation::transpose});
    EXPECT_EQ(report.status, expected.status) << method << ": " << report.message;
    EXPECT_TRUE(report.solved() || std::string(method) == "structured-multigrid") << method;
    for (std::size_t i = 0; i < x.size() && report.solved(); ++i)
      EXPECT_NEAR(x[i], y[i], 1e-5) << method << " " << i;
  }
}

TEST(GivenStencil, ExtremeScales_ConvergeAlike) {
  const StencilGrid grid{{33, 30}};
  const std::vector<double> b = right_hand_side<double>(990);
  const std::int64_t usual = solve_by<double>(Stencil<double>::laplacian(grid), b).report.iterations;
  for (const double h2 : {1e-290, 1e-100, 1e100, 1e290}) {
    const Stencil<double> A = Stencil<double>::constant(
        grid, {{{0, 0}, 4 * h2}, {{1, 0}, -h2}, {{-1, 0}, -h2}, {{0, 1}, -h2}, {{0, -1}, -h2}});
    const StencilSolve<double> solved = solve_by<double>(A, b);
    EXPECT_EQ(solved.report.status, Status::converged) << h2 << ": " << solved.report.message;
    EXPECT_LE(std::abs(solved.report.iterations - usual), 1) << h2;
  }
}

TEST(GivenStencil, SmallestGrids_AreSolved) {
  for (const std::vector<std::int64_t>& points :
       std::vector<std::vector<std::int64_t>>{{1}, {2}, {1, 1, 1}, {1, 2}}) {
    const Stencil<double> A = Stencil<double>::laplacian({points});
    const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1.0);
    for (const char* const method : {"structured-multigrid", "cg", "gmres"})
      EXPECT_TRUE(solve_by<double>(A, b, method).report.solved()) << method << " " << A.describe();
  }
  const StencilSolve<double> zero =
      solve_by<double>(Stencil<double>::laplacian({{9, 9}}), std::vector<double>(81, 0.0));
  EXPECT_TRUE(zero.report.solved());
  EXPECT_EQ(zero.report.iterations, 0);
}

TEST(GivenStencil, OtherGridOfTheOption_IsBadOption) {
  const Stencil<double> A = Stencil<double>::laplacian({{5, 6}});
  Solver<double> solver = make_solver<double>("structured-multigrid", Device(), {{"grid", "5x5"}});
  EXPECT_THROW(static_cast<void>(solver.setup(A)), BadOption);
}

/// Memory for A does not grow with the points: the solver holds levels of constant size and vectors.
TEST(GivenStencil, ConstantCoefficients_TakeNoMemoryByPoint) {
  Solver<double> small = make_solver<double>("structured-multigrid", Device());
  Solver<double> large = make_solver<double>("structured-multigrid", Device());
  const Stencil<double> few = Stencil<double>::laplacian({{100, 100}});
  const Stencil<double> many = Stencil<double>::laplacian({{4000, 4000}});
  ASSERT_TRUE(small.setup(few).ready());
  ASSERT_TRUE(large.setup(many).ready());
  EXPECT_LE(large.bytes(), small.bytes() + (std::size_t{1} << 17U));
}

}  // namespace
}  // namespace echelon::test
