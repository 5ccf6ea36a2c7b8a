// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/gpu_fixture.hpp"
#include "solver/implementation.hpp"
#include "support/domain_decomposition/assembled_problem.hpp"

#include <echelon/domain_decomposition/bddc.hpp>
#include <echelon/domain_decomposition/cube_elements.hpp>
#include <echelon/generate.hpp>
#include <echelon/linalg.hpp>
#include <echelon/methods/bddc.hpp>
#include <echelon/methods/cg.hpp>
#include <echelon/solve.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace echelon {
namespace {

using test::AssembledProblem;
using test::checkerboard;
using test::GpuTest;

double statistic(const Report& report, const char* name) {
  const Statistic* found = report.find_statistic(name);
  EXPECT_NE(found, nullptr) << name;
  return found == nullptr ? 0 : std::get<double>(found->value);
}

class GpuBddc : public GpuTest {
 protected:
  /// Reports of a solve on the host and on the GPU, whose answers are compared.
  void compare(const AssembledProblem& system, const Options& options, const std::string& where) {
    const Dense<double> b{std::span<const double>(system.problem.load)};
    std::vector<std::vector<double>> answers;
    std::vector<Report> reports;
    for (const Device& device : {Device(), gpu}) {
      Solver<double> solver = make_solver<double>("bddc", device, options);
      set_subdomain_matrices(solver, system.subdomains);
      const Csr<double> A = system.A.to(device);
      const Report setup = solver.setup(A);
      ASSERT_TRUE(setup.ready()) << where << " on " << device.name() << ": " << setup.message;
      Dense<double> x(device, b.rows(), 1);
      reports.push_back(solver.solve(b.to(device), x));
      EXPECT_TRUE(reports.back().solved()) << where << ": " << reports.back().message;
      answers.push_back(x.to_vector());
    }
    EXPECT_EQ(reports[0].iterations, reports[1].iterations) << where;
    EXPECT_NEAR(statistic(reports[1], "largest_ritz_value"), statistic(reports[0], "largest_ritz_value"),
                1e-4 * statistic(reports[0], "largest_ritz_value"))
        << where;
    double largest = 0;
    double difference = 0;
    for (std::size_t i = 0; i < answers[0].size(); ++i) {
      largest = std::max(largest, std::abs(answers[0][i]));
      difference = std::max(difference, std::abs(answers[0][i] - answers[1][i]));
    }
    EXPECT_LT(difference, 1e-6 * largest) << where;
  }
};

TEST_F(GpuBddc, Cubes_TakeTheIterationsOfTheHost) {
  for (const std::int64_t elements : {1, 2, 3, 6}) {
    const AssembledProblem system(poisson_on_cube({.subdomains = 3, .elements = elements}));
    for (const bool edges : {false, true}) {
      compare(system, {{"edges", edges}, {"faces", edges}},
              "H/h = " + std::to_string(elements) + (edges ? ", all constraints" : ", corners"));
    }
  }
}

TEST_F(GpuBddc, LargeBoundaries_AreFormedOnTheGpu) {
  const AssembledProblem system(poisson_on_cube({.subdomains = 2, .elements = 24}));  // 1,657 unknowns each
  compare(system, {}, "H/h = 24");
}

TEST_F(GpuBddc, Scalings_TakeTheIterationsOfTheHost) {
  // With jumps, cardinality has a condition number of 4000, and rounding errors decide on its last
  // iterations.
  compare(AssembledProblem(poisson_on_cube({.subdomains = 3, .elements = 4})), {{"scaling", "cardinality"}},
          "cardinality");
  const AssembledProblem jumps(
      poisson_on_cube({.subdomains = 3, .elements = 4, .coefficients = checkerboard(3, 1e4)}));
  for (const std::string scaling : {"stiffness", "deluxe"}) compare(jumps, {{"scaling", scaling}}, scaling);
}

TEST_F(GpuBddc, SchurFactors_TakeTheIterationsOfTheHost) {
  const AssembledProblem system(poisson_on_cube({.subdomains = 3, .elements = 4}));
  compare(system, {{"schur", "cholesky"}}, "cholesky");
  compare(system, {{"schur", "lu"}}, "lu");
  for (const double tolerance : {0.0, 1e-5, 1e-2}) {
    const Options crout = {{"schur", "crout-iterative"}, {"schur_tolerance", tolerance}};
    compare(system, crout, "crout-iterative to " + std::to_string(tolerance));
  }
  compare(system, {{"schur", "crout-iterative"}, {"schur_pivoting", true}}, "crout-iterative with pivoting");
}

TEST_F(GpuBddc, Elasticity_TakesTheIterationsOfTheHost) {
  const AssembledProblem system(elasticity_on_cube({.subdomains = 2, .elements = 3}));
  compare(system, {{"block_size", 3}}, "elasticity");
  compare(system, {{"block_size", 3}, {"scaling", "deluxe"}}, "elasticity, deluxe");
}

TEST_F(GpuBddc, AssembledMatrices_AreSolvedInBothPrecisions) {
  const Csr<double> A = generate::poisson_2d<double>(40, 40);
  for (const std::int64_t subdomains : {1, 2, 7, 30}) {
    const Options options{{"subdomains", subdomains}};
    const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1.0);
    Solver<double> solver = make_solver<double>("bddc", gpu, options);
    const Csr<double> on_gpu = A.to(gpu);
    ASSERT_TRUE(solver.setup(on_gpu).ready());
    Dense<double> x(gpu, A.rows(), 1);
    const Report report = solver.solve(Dense<double>(gpu, std::span<const double>(b)), x);
    EXPECT_TRUE(report.solved()) << report.message;
    Solver<double> host = make_solver<double>("bddc", Device(), options);
    ASSERT_TRUE(host.setup(A).ready());
    std::vector<double> y(b.size());
    EXPECT_EQ(host.solve(b, y).iterations, report.iterations) << subdomains << " subdomains";
  }
}

TEST_F(GpuBddc, AsPreconditioner_TakesTheIterationsOfTheHost) {
  const AssembledProblem system(poisson_on_cube({.subdomains = 3, .elements = 4}));
  std::vector<std::int64_t> iterations;
  for (const Device& device : {Device(), gpu}) {
    Solver<double> solver = make_solver<double>("cg", device, {{"preconditioner", "bddc"}});
    set_subdomain_matrices(solver, system.subdomains);
    const Csr<double> A = system.A.to(device);
    ASSERT_TRUE(solver.setup(A).ready());
    Dense<double> x(device, A.rows(), 1);
    const Report report =
        solver.solve(Dense<double>(device, std::span<const double>(system.problem.load)), x);
    EXPECT_TRUE(report.solved()) << report.message;
    iterations.push_back(report.iterations);
  }
  // A GPU checks the residual every 16 iterations unless told otherwise, but counts those that were needed.
  EXPECT_NEAR(static_cast<double>(iterations[0]), static_cast<double>(iterations[1]), 1);
}

TEST_F(GpuBddc, Operator_IsSymmetric) {
  const AssembledProblem system(poisson_on_cube({.subdomains = 2, .elements = 3}));
  Solver<double> solver = make_solver<double>("bddc", gpu);
  set_subdomain_matrices(solver, system.subdomains);
  const Csr<double> A = system.A.to(gpu);
  ASSERT_TRUE(solver.setup(A).ready());
  const auto& method = SolverAccess<double>::implementation(solver);
  const auto workspace = method.make_workspace();
  const std::int64_t n = A.rows();
  Dense<double> M(gpu, n, n);
  for (std::int64_t j = 0; j < n; ++j) {
    std::vector<double> unit(static_cast<std::size_t>(n), 0.0);
    unit[static_cast<std::size_t>(j)] = 1;
    const Array<double> r(gpu, std::span<const double>(unit));
    method.apply(*workspace, {r.data(), n}, {M.view().column(j), n});
  }
  const Dense<double> on_host = M.to(Device());
  double largest = 0;
  double asymmetry = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) {
      largest = std::max(largest, std::abs(on_host(i, j)));
      asymmetry = std::max(asymmetry, std::abs(on_host(i, j) - on_host(j, i)));
    }
  }
  EXPECT_LT(asymmetry, 1e-13 * largest);
}

TEST_F(GpuBddc, PureNeumannProblem_IsProjected) {
  std::vector<Triplet<double>> elements;
  constexpr std::int32_t side = 20;
  const auto couple = [&](std::int32_t i, std::int32_t j) {
    elements.insert(elements.end(), {{i, i, 1}, {j, j, 1}, {i, j, -1}, {j, i, -1}});
  };
  for (std::int32_t i = 0; i < side * side; ++i) {
    if (i % side + 1 < side) couple(i, i + 1);
    if (i / side + 1 < side) couple(i, i + side);
  }
  const Csr<double> A = Csr<double>::from_triplets(side * side, side * side, elements).to(gpu);
  std::vector<double> b(side * side, 0.0);
  b.front() = 1;
  b.back() = -1;
  Solver<double> solver = make_solver<double>("bddc", gpu, {{"subdomains", 6}});
  ASSERT_TRUE(solver.setup(A).ready());
  Dense<double> x(gpu, A.rows(), 1);
  const Report report = solver.solve(Dense<double>(gpu, std::span<const double>(b)), x);
  EXPECT_TRUE(report.solved()) << report.message;
}

TEST_F(GpuBddc, SubdomainsWithoutInterface_AreSolved) {
  std::vector<Triplet<double>> elements;
  for (std::int32_t i = 0; i < 60; ++i) {
    elements.push_back({i, i, 2.5});
    if (i % 20 > 0) elements.insert(elements.end(), {{i, i - 1, -1}, {i - 1, i, -1}});
  }
  const Csr<double> A = Csr<double>::from_triplets(60, 60, elements).to(gpu);
  for (const std::int64_t subdomains : {1, 3, 5}) {
    Solver<double> solver = make_solver<double>("bddc", gpu, {{"subdomains", subdomains}});
    ASSERT_TRUE(solver.setup(A).ready());
    const std::vector<double> b(60, 1.0);
    Dense<double> x(gpu, 60, 1);
    const Report report = solver.solve(Dense<double>(gpu, std::span<const double>(b)), x);
    EXPECT_TRUE(report.solved()) << subdomains << ": " << report.message;
  }
}

TEST_F(GpuBddc, IndefiniteSubdomain_IsNamed) {
  const AssembledProblem system(poisson_on_cube({.subdomains = 2, .elements = 4}));
  std::vector<SubdomainMatrix> subdomains = system.subdomains;
  Csr<double>& matrix = subdomains[3].matrix;
  for (std::int64_t k = 0; k < matrix.nonzeros(); ++k) matrix.values()[k] *= -1;
  std::vector<Triplet<double>> elements;
  for (const SubdomainMatrix& own : subdomains) {
    for (std::int64_t i = 0; i < own.matrix.rows(); ++i) {
      for (std::int64_t k = own.matrix.row_offsets()[i]; k < own.matrix.row_offsets()[i + 1]; ++k) {
        elements.push_back({own.unknowns[static_cast<std::size_t>(i)],
                            own.unknowns[static_cast<std::size_t>(own.matrix.column_indices()[k])],
                            own.matrix.values()[k]});
      }
    }
  }
  const Csr<double> A = Csr<double>::from_triplets(system.A.rows(), system.A.rows(), elements).to(gpu);
  Solver<double> solver = make_solver<double>("bddc", gpu);
  set_subdomain_matrices(solver, subdomains);
  const Report report = solver.setup(A);
  EXPECT_EQ(report.status, Status::not_spd);
  EXPECT_NE(report.message.find("subdomain 3"), std::string::npos) << report.message;
}

}  // namespace
}  // namespace echelon
