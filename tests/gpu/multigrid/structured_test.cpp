// SPDX-License-Identifier: BSD-3-Clause
// structured-multigrid on the GPU against the host: what is found, iterations, answers.
#include "gpu/gpu_fixture.hpp"
#include "support/multigrid/stencil_problems.hpp"
#include "support/multigrid_cases.hpp"
#include "support/problems.hpp"
#include "support/several_columns.hpp"

#include <echelon/error.hpp>
#include <echelon/generate.hpp>
#include <echelon/linalg.hpp>
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
#include <limits>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace echelon::test {
namespace {

class GpuStructuredMultigrid : public GpuTest {
 protected:
  struct Solved {
    std::string structure;
    Report report;
    std::vector<double> x;
  };

  static Solved solve(const Csr<double>& host, const Device& device) {
    const Csr<double> A = host.to(device);
    const std::vector<double> elements = MultigridCases::random_vector(A.rows(), 4);
    const Dense<double> b(A.rows(), 1, Array<double>(device, std::span<const double>(elements)));
    Solver<double> solver = make_solver<double>("structured-multigrid", device);
    Solved solved;
    solved.report = solver.setup(A);
    EXPECT_TRUE(solved.report.ready()) << solved.report.message;
    const Statistic* structure = solved.report.find_statistic("structure");
    if (structure != nullptr) solved.structure = std::get<std::string>(structure->value);
    Dense<double> x(device, A.rows(), 1);
    solved.report = solver.solve(b, x);
    EXPECT_TRUE(solved.report.solved()) << solved.report.message;
    solved.x = x.to_vector();
    // Later solves, by the recorded cycle, and after an update have the same bits.
    for (int again = 0; again < 3; ++again) {
      if (again == 2) {
        EXPECT_TRUE(solver.update_values(A).ready());
      }
      Dense<double> repeated(device, A.rows(), 1);
      EXPECT_TRUE(solver.solve(b, repeated).solved());
      EXPECT_TRUE(repeated.to_vector() == solved.x) << again;
    }
    return solved;
  }

  /// Solves with `given`, which is `A` on the GPU, and with `csr`, the same matrix on the host.
  void expect_given_as_csr(const Stencil<double>& A, const Stencil<double>& given, const Csr<double>& csr,
                           const Box& box) const {
    const std::int64_t n = csr.rows();
    std::vector<double> elements = MultigridCases::random_vector(n, 4);
    double mean = 0;
    for (const double value : elements) mean += value / static_cast<double>(n);
    for (double& value : elements) value -= mean;
    const Dense<double> b(n, 1, Array<double>(gpu, std::span<const double>(elements)));
    Dense<double> y(gpu, n, 1);
    std::vector<double> expected(elements.size());
    multiply<double>(1, given, b, 0, y);
    A.linear_operator().apply(elements.data(), expected.data());
    const std::vector<double> products = y.to_vector();
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(products[i], expected[i], 1e-12 * (1 + std::fabs(expected[i])));
    const std::string grid =
        std::to_string(box.nx) + "x" + std::to_string(box.ny) + "x" + std::to_string(box.nz);
    Solver<double> of_csr = make_solver<double>("structured-multigrid", gpu, {{"grid", grid}});
    Solver<double> of_stencil = make_solver<double>("structured-multigrid", gpu);
    const Csr<double> there = csr.to(gpu);
    ASSERT_TRUE(of_csr.setup(there).ready());
    ASSERT_TRUE(of_stencil.setup(given).ready());
    Dense<double> x(gpu, n, 1);
    const Report found = of_csr.solve(b, x);
    const Report report = of_stencil.solve(b, y);
    EXPECT_TRUE(report.solved()) << report.message;
    EXPECT_EQ(report.iterations, found.iterations);
    EXPECT_TRUE(y.to_vector() == x.to_vector());
  }

  void expect_alike(const Csr<double>& A, const std::string& name) const {
    SCOPED_TRACE(name);
    const Solved host = solve(A, Device());
    const Solved device = solve(A, gpu);
    EXPECT_EQ(host.structure, device.structure);
    EXPECT_NE(device.structure, "");
    EXPECT_LE(std::abs(host.report.iterations - device.report.iterations), 1);
    double difference = 0;
    double norm = 0;
    for (std::size_t i = 0; i < host.x.size(); ++i) {
      difference = std::max(difference, std::fabs(host.x[i] - device.x[i]));
      norm = std::max(norm, std::fabs(host.x[i]));
    }
    EXPECT_LE(difference, 1e-5 * norm);
  }
};

TEST_F(GpuStructuredMultigrid, IterationsAndAnswers_AreThoseOfTheHost) {
  const auto one = [](std::int64_t) { return 1.0; };
  expect_alike(generate::poisson_2d<double>(257, 200), "5 points");
  expect_alike(generate::poisson_2d<double>(130, 131, 9), "9 points");
  expect_alike(generate::poisson_3d<double>(48, 47, 33), "7 points");
  expect_alike(generate::poisson_3d<double>(33, 30, 31, 27), "27 points");
  for (const Box& box : {Box{64, 3, 3}, Box{2, 40, 40}, Box{1, 60, 61}, Box{500, 1, 1}, Box{97, 89, 1}}) {
    expect_alike(diffusion<double>(box, one, Boundary::dirichlet), "box");
    expect_alike(diffusion<double>(box, blocks_of(box, 100), Boundary::dirichlet), "box with jumps");
  }
  expect_alike(diffusion<double>({30, 31, 32}, one, Boundary::dirichlet, {1e-6, 1, 0.03}), "anisotropy");
}

TEST_F(GpuStructuredMultigrid, PeriodicAxes_AreThoseOfTheHost) {
  const auto one = [](std::int64_t) { return 1.0; };
  using enum Boundary;
  for (const Box& box : {Box{101, 64, 1}, Box{33, 40, 21}, Box{3, 50, 2}, Box{4, 40, 5}}) {
    expect_alike(diffusion<double>(box, one, {periodic, dirichlet, neumann}), "periodic in x");
    expect_alike(diffusion<double>(box, one, {dirichlet, periodic, periodic}), "periodic in y and z");
    expect_alike(diffusion<double>(box, one, periodic, {1, 2, 0.1}, 1e-2), "periodic");
    expect_alike(
        diffusion<double>(box, blocks_of(box, 100), {periodic, periodic, dirichlet}, {1, 1, 1}, 1e-2),
        "periodic with jumps");
  }
}

TEST_F(GpuStructuredMultigrid, Lines_AreThoseOfTheHost) {
  for (const Box& box : {Box{130, 127, 1}, Box{33, 30, 29}}) {
    const auto halves = [box](std::int64_t i) -> std::array<double, 3> {
      return i % box.nx < box.nx / 2 ? std::array<double, 3>{1, 1e-3, 1e-3}
                                     : std::array<double, 3>{1e-3, 1, 1e-3};
    };
    expect_alike(diffusion<double>(box, Conductivity(halves), Boundary::dirichlet), "strong axis by halves");
    expect_alike(diffusion<double>(box, Conductivity(halves),
                                   {Boundary::periodic, Boundary::dirichlet, Boundary::neumann}),
                 "strong axis by halves, periodic");
    expect_alike(diffusion<double>(box, blocks_of(box, 1e4), Boundary::dirichlet), "jumps");
  }
}

TEST_F(GpuStructuredMultigrid, Convection_IsThatOfTheHost) {
  const Wind wind = [](double, double, double) -> std::array<double, 3> { return {100, -70, 30}; };
  const Wind weak = [](double, double, double) -> std::array<double, 3> { return {0.2, 0.1, 0}; };
  for (const Box& box : {Box{130, 127, 1}, Box{30, 31, 29}}) {
    expect_alike(convection<double>(box, wind), "upwind");
    expect_alike(convection<double>(box, weak), "weak");
  }
}

TEST_F(GpuStructuredMultigrid, SeveralColumns_HaveTheBitsOfOne) {
  const Box box{17, 16, 9};
  for (const double jump : {1.0, 30.0}) {
    const Csr<double> A = diffusion<double>(box, blocks_of(box, jump), Boundary::dirichlet);
    SeveralColumns::expect_as_alone("structured-multigrid", gpu, {}, A,
                                    SeveralColumns::right_hand_sides(A.rows()));
  }
}

/// A stencil that is given has the products, the iterations and the bits of the same matrix in CSR.
TEST_F(GpuStructuredMultigrid, GivenStencils_HaveTheBitsOfCsr) {
  using enum Boundary;
  for (const Box& box : {Box{130, 127, 1}, Box{33, 30, 29}, Box{500, 1, 1}}) {
    for (const Boundaries& boundaries : {Boundaries(dirichlet), Boundaries(periodic, neumann, dirichlet)}) {
      for (const double jump : {1.0, 100.0}) {
        const Csr<double> host = diffusion<double>(box, blocks_of(box, jump), boundaries, {1, 1, 1}, 1e-2);
        const Stencil<double> A = stencil_of(host, box, boundaries.periodic());
        SCOPED_TRACE(A.describe());
        expect_given_as_csr(A, A.to(gpu), host, box);
      }
    }
  }
  const Stencil<double> closed = Stencil<double>::laplacian({{64, 61}, {BoundaryCondition::neumann}}, 9, gpu);
  expect_given_as_csr(closed.to(Device()), closed, to_csr(closed).to(Device()), {64, 61, 1});
}

/// Coefficients in the memory of the GPU are used there, and wrong ones are named.
TEST_F(GpuStructuredMultigrid, CoefficientsOnTheGpu_AreTakenThere) {
  const Box box{40, 41, 1};
  const Csr<double> host = diffusion<double>(box, blocks_of(box, 10), Boundary::dirichlet);
  std::vector<Array<double>> arrays;
  std::vector<StencilArray<double>> coefficients;
  for (const auto& [offset, values] : coefficients_of(host, box)) {
    arrays.emplace_back(gpu, std::span<const double>(values));
    coefficients.push_back({offset, arrays.back().span()});
  }
  const StencilGrid grid{{box.nx, box.ny}};
  const Stencil<double> A = Stencil<double>::variable(grid, coefficients, gpu);
  EXPECT_EQ(A.device(), gpu);
  EXPECT_TRUE(to_csr(A).values().to_vector() == host.values().to_vector());
  EXPECT_TRUE(to_csr(A.transposed()).values().to_vector() == transpose(host).values().to_vector());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> wrong(static_cast<std::size_t>(box.size()), nan);
  const Array<double> there(gpu, std::span<const double>(wrong));
  EXPECT_THROW(static_cast<void>(Stencil<double>::variable(grid, {{{0, 0, 0}, there.span()}}, gpu)),
               InvalidMatrix);
}

/// Krylov methods take a stencil as an operator, and solve() moves one from the host to the GPU.
TEST_F(GpuStructuredMultigrid, GivenStencils_GoToOtherMethods) {
  const Stencil<double> A = Stencil<double>::laplacian({{60, 61}});
  const std::vector<double> b = MultigridCases::random_vector(A.rows(), 4);
  for (const char* const method : {"structured-multigrid", "cg", "bicgstab", "minres", "gmres", "auto"}) {
    const auto [x, report] = echelon::solve(A, b, {.method = method, .device = gpu});
    EXPECT_EQ(report.status, Status::converged) << method << ": " << report.message;
    EXPECT_LE(report.backward_error, 1e-7) << method;
  }
}

TEST_F(GpuStructuredMultigrid, NoStencil_IsAmg) {
  const Csr<double> A = random_dominant(300, 5, true, 1).csr<double>().to(gpu);
  Solver<double> solver = make_solver<double>("structured-multigrid", gpu);
  const Report report = solver.setup(A);
  EXPECT_TRUE(report.ready());
  ASSERT_FALSE(report.warnings.empty());
  EXPECT_NE(report.warnings.front().find("amg instead"), std::string::npos);
}

}  // namespace
}  // namespace echelon::test
