// SPDX-License-Identifier: BSD-3-Clause
/// Hard cases of algebraic multigrid, on every device of the host; singular systems; many right-hand sides.
#include "support/multigrid_cases.hpp"
#include "support/test_data.hpp"

#include <echelon/error.hpp>
#include <echelon/io/files.hpp>
#include <echelon/linalg.hpp>
#include <echelon/matrix/matrix.hpp>
#include <echelon/matrix/transform.hpp>
#include <echelon/methods/amg.hpp>
#include <echelon/methods/multigrid/hierarchy.hpp>
#include <echelon/methods/multigrid/near_null_space.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

namespace echelon::test {
namespace {

std::vector<Device> devices() {
  return {Device::serial(), Device::openmp(2)};
}

Options with_amg(Options options) {
  options.set("preconditioner", "amg");
  return options;
}

struct Solved {
  Report setup;
  Report report;
  std::vector<double> x;
};

Solved solve_with(const std::string& method, const Device& device, const Options& options,
                  const Csr<double>& A, const std::vector<double>& b) {
  Solver<double> solver = make_solver<double>(method, device, options);
  Solved solved{solver.setup(A), {}, std::vector<double>(b.size())};
  solved.report = solved.setup;
  if (solved.setup.ready()) solved.report = solver.solve(b, solved.x);
  return solved;
}

TEST(AmgCases, EveryDeviceAndCoarsening_Solves) {
  for (const MultigridCase& problem : MultigridCases::solvable()) {
    for (const Device& device : devices()) {
      for (const char* coarsening : {"auto", "smoothed-aggregation", "aggregation", "classical"}) {
        const Options options = with_amg({{"preconditioner.coarse_size", 20},
                                          {"preconditioner.coarsening", coarsening},
                                          {"max_iterations", 400}});
        const Solved solved = solve_with("cg", device, options, problem.A, problem.b);
        EXPECT_EQ(solved.report.status, Status::converged)
            << problem.name << ", " << coarsening << ", " << device.name() << ": " << solved.report.message;
        const std::vector<double> Ax = MultigridCases::product(problem.A, solved.x);
        double residual = 0;
        double norm = 0;
        for (std::size_t i = 0; i < Ax.size(); ++i) {
          residual += (Ax[i] - problem.b[i]) * (Ax[i] - problem.b[i]);
          norm += problem.b[i] * problem.b[i];
        }
        EXPECT_LE(std::sqrt(residual), 1.01e-8 * std::sqrt(norm)) << problem.name;
      }
    }
  }
}

TEST(AmgCases, EverySmoother_SolvesOrIsNamed) {
  for (const MultigridCase& problem : MultigridCases::solvable()) {
    for (const char* smoother :
         {"jacobi", "l1-jacobi", "chebyshev", "gauss-seidel", "symmetric-gauss-seidel", "ilu0", "ic0"}) {
      const Options options = with_amg({{"preconditioner.coarse_size", 20},
                                        {"preconditioner.smoother", smoother},
                                        {"max_iterations", 400}});
      const Solved solved = solve_with("cg", Device(), options, problem.A, problem.b);
      const std::string name(smoother);
      // Incomplete factors need a pivot in every row.
      const bool incomplete = (name == "ilu0" || name == "ic0") && problem.name == "zero rows";
      EXPECT_EQ(solved.report.status, incomplete ? Status::breakdown : Status::converged)
          << problem.name << ", " << smoother << ": " << solved.report.message;
    }
  }
}

TEST(AmgCases, Indefinite_IsNamed) {
  const Csr<double> A = MultigridCases::shifted(generate::poisson_2d<double>(40, 40), 3.3);
  const std::vector<double> b = MultigridCases::random_vector(A.rows(), 1);
  for (const Device& device : devices()) {
    for (const char* coarsening : {"smoothed-aggregation", "aggregation", "classical"}) {
      const Options options = with_amg({{"preconditioner.coarsening", coarsening}, {"max_iterations", 300}});
      const Solved cg = solve_with("cg", device, options, A, b);
      const Solved alone =
          solve_with("amg", device, {{"coarsening", coarsening}, {"max_iterations", 300}}, A, b);
      // A coarse level that is exact enough can hide the indefiniteness: then x is a solution.
      EXPECT_TRUE(cg.report.status == Status::not_spd || cg.report.solved()) << cg.report.message;
      EXPECT_TRUE(std::string(coarsening) == "classical" || cg.report.status == Status::not_spd)
          << coarsening;
      for (const Report* report : {&cg.report, &alone.report}) {
        EXPECT_TRUE(report->solved() || !report->message.empty());
        EXPECT_TRUE(!report->solved() || report->relative_residual <= 1e-8);
      }
    }
  }
}

TEST(AmgCases, ZeroDiagonals_AreNamed) {
  const Csr<double> A = MultigridCases::shifted(generate::poisson_2d<double>(30, 30), 4);
  const std::vector<double> b = MultigridCases::random_vector(A.rows(), 16);
  for (const Device& device : devices()) {
    const Solved solved = solve_with("amg", device, {{"max_iterations", 50}}, A, b);
    EXPECT_FALSE(solved.report.solved());
    ASSERT_FALSE(solved.setup.warnings.empty());
    EXPECT_NE(solved.setup.warnings[0].find("in 900 of its rows"), std::string::npos)
        << solved.setup.warnings[0];
  }
}

TEST(AmgCases, NonFiniteElements_AreNamed) {
  const std::vector<double> b = MultigridCases::random_vector(900, 2);
  for (const double element : {std::nan(""), HUGE_VAL}) {
    Csr<double> A = generate::poisson_2d<double>(30, 30);
    A.values()[123] = element;
    for (const Device& device : devices()) {
      EXPECT_EQ(solve_with("cg", device, with_amg({}), A, b).report.status, Status::not_a_number);
      EXPECT_EQ(solve_with("amg", device, {}, A, b).report.status, Status::not_a_number);
    }
  }
  // Products that overflow.
  Csr<double> A = generate::poisson_2d<double>(60, 60);
  for (double& value : A.values().span()) value *= 1e307;
  const Solved solved = solve_with("cg", Device(), with_amg({{"preconditioner.coarse_size", 30}}), A,
                                   MultigridCases::random_vector(A.rows(), 3));
  EXPECT_NE(solved.report.status, Status::direct);
  if (!solved.report.solved()) {
    EXPECT_FALSE(solved.report.message.empty());
  }
}

TEST(AmgCases, GraphWithHubs_MemoryIsBounded) {
  const Csr<double> A = MultigridCases::hubs(20000, 4);
  for (const char* coarsening : {"auto", "smoothed-aggregation", "classical"}) {
    Solver<double> solver =
        make_solver<double>("cg", Device(), with_amg({{"preconditioner.coarsening", coarsening}}));
    const Report setup = solver.setup(A);
    ASSERT_TRUE(setup.ready()) << setup.message;
    const HierarchyDescription hierarchy = describe_hierarchy(solver);
    EXPECT_LE(hierarchy.operator_complexity, 10);
    EXPECT_LE(solver.bytes(), 40 * A.bytes()) << coarsening;
    const std::vector<double> b = MultigridCases::random_vector(A.rows(), 4);
    std::vector<double> x(b.size());
    EXPECT_EQ(solver.solve(b, x).status, Status::converged) << coarsening;
  }
}

TEST(AmgCases, CoarseningThatDensifies_EndsAndSaysSo) {
  // A random graph of degree 12 has no coarse form: each aggregate is a neighbour of nearly every other.
  const Csr<double> A = generate::random_spd<double>(20000, 12.0 / 20000, 1.01, 5);
  Solver<double> amg = make_solver<double>("amg", Device(), {{"coarsening", "smoothed-aggregation"}});
  const Report setup = amg.setup(A);
  ASSERT_TRUE(setup.ready());
  const HierarchyDescription hierarchy = describe_hierarchy(amg);
  EXPECT_LE(hierarchy.operator_complexity, 10);
  ASSERT_EQ(setup.warnings.size(), 1U);
  EXPECT_NE(setup.warnings[0].find("the hierarchy ends at"), std::string::npos) << setup.warnings[0];
  EXPECT_FALSE(hierarchy.end.empty());
  const std::vector<double> b = MultigridCases::random_vector(A.rows(), 6);
  std::vector<double> x(b.size());
  EXPECT_EQ(amg.solve(b, x).status, Status::converged);
}

/// A mesh without boundary condition, with 1e-10 added to the diagonal: in float it is singular or
/// indefinite.
TEST(AmgCases, NearlySingular_AutomaticPrecisionIsWorking) {
  const Csr<double> neumann = MultigridCases::neumann(40);
  const Csr<double> regular = MultigridCases::shifted(neumann, -1);
  const Csr<double> symmetric = MultigridCases::shifted(neumann, -1e-10);
  Csr<double> scaled = neumann;  // not symmetric
  for (std::int64_t i = 0; i < scaled.rows(); ++i) {
    const double factor = 1 + static_cast<double>(i % 7) / 10;
    for (std::int64_t k = scaled.row_offsets()[i]; k < scaled.row_offsets()[i + 1]; ++k) {
      scaled.values()[k] *= factor;
    }
  }
  scaled = MultigridCases::shifted(scaled, -1e-10);
  const auto check = [](const std::string& method, const Device& device, const Csr<double>& A) {
    const std::vector<double> b = MultigridCases::product(A, MultigridCases::random_vector(A.rows(), 9));
    const Options options = with_amg({{"preconditioner.coarse_size", 60}, {"max_iterations", 60}});
    const Solved solved = solve_with(method, device, options, A, b);
    EXPECT_EQ(solved.report.status, Status::converged) << method << ": " << solved.report.message;
  };
  for (const Device& device : devices()) {
    check("cg", device, symmetric);
    check("bicgstab", device, scaled);
    // Values of an update decide anew.
    Solver<double> amg = make_solver<double>("amg", device, {{"coarse_size", 60}});
    const auto precision = [](const Report& report) {
      return std::get<std::string>(report.find_statistic("precision")->value);
    };
    EXPECT_EQ(precision(amg.setup(regular)), "single");
    const std::vector<double> b = MultigridCases::random_vector(regular.rows(), 10);
    std::vector<double> first(b.size());
    EXPECT_EQ(amg.solve(b, first).status, Status::converged);
    EXPECT_EQ(precision(amg.update_values(symmetric)), "working");
    EXPECT_EQ(precision(amg.update_values(regular)), "single");
    std::vector<double> again(b.size());
    EXPECT_EQ(amg.solve(b, again).status, Status::converged);
    EXPECT_EQ(again, first);
  }
}

/// x of least norm among the solutions: without a part in the null space.
TEST(AmgCases, PureNeumann_NullSpaceIsProjected) {
  const Csr<double> A = MultigridCases::neumann(40);
  const std::vector<double> b = MultigridCases::product(A, MultigridCases::random_vector(A.rows(), 7));
  for (const Device& device : devices()) {
    for (const char* precision : {"working", "single"}) {
      for (const char* method : {"cg", "amg", "gmres"}) {
        const bool alone = std::string(method) == "amg";
        const std::string prefix = alone ? "" : "preconditioner.";
        Options options = {{prefix + "precision", precision}, {prefix + "coarse_size", 60}};
        if (!alone) options = with_amg(options);
        const Solved solved = solve_with(method, device, options, A, b);
        EXPECT_EQ(solved.report.status, Status::converged) << method << " " << precision;
        ASSERT_EQ(solved.setup.warnings.size(), 1U) << method;
        EXPECT_NE(solved.setup.warnings[0].find("null space, of dimension 1 or more"), std::string::npos);
        double sum = 0;
        for (const double value : solved.x) sum += value;
        EXPECT_NEAR(sum, 0, 1e-8) << method << " " << precision;
      }
    }
  }
}

TEST(AmgCases, InconsistentSystems_AreNamed) {
  const Csr<double> whole = MultigridCases::neumann(40);
  const Csr<double> parts = MultigridCases::repeated(MultigridCases::neumann(12), 7);
  for (const Csr<double>* A : {&whole, &parts}) {
    std::vector<double> b = MultigridCases::product(*A, MultigridCases::random_vector(A->rows(), 8));
    for (std::size_t i = 0; i < 144; ++i) b[i] += 0.25;
    for (const Device& device : devices()) {
      const Solved solved = solve_with("cg", device, with_amg({{"preconditioner.coarse_size", 60}}), *A, b);
      EXPECT_EQ(solved.report.status, Status::inconsistent) << solved.report.message;
      EXPECT_NE(solved.report.message.find("not in its range"), std::string::npos);
      // The residual is orthogonal to the range of A: x has the least one.
      const std::vector<double> Ax = MultigridCases::product(*A, solved.x);
      std::vector<double> r(b.size());
      for (std::size_t i = 0; i < b.size(); ++i) r[i] = b[i] - Ax[i];
      for (const double value : MultigridCases::product(*A, r)) EXPECT_NEAR(value, 0, 1e-6);
    }
  }
  const std::vector<double> ones(1600, 1.0);
  EXPECT_EQ(solve_with("cg", Device(), with_amg({}), whole, ones).report.status, Status::inconsistent);
}

/// A maps no constant to zero, but that of one part.
TEST(AmgCases, SingularPart_IsProjected) {
  const Csr<double> A =
      MultigridCases::block_diagonal(generate::poisson_2d<double>(30, 30), MultigridCases::neumann(12));
  const std::vector<double> consistent =
      MultigridCases::product(A, MultigridCases::random_vector(A.rows(), 12));
  std::vector<double> inconsistent = consistent;
  for (std::size_t i = 900; i < inconsistent.size(); ++i) inconsistent[i] += 0.5;
  for (const char* coarsening : {"classical", "smoothed-aggregation"}) {
    SCOPED_TRACE(coarsening);
    const Options options = with_amg({{"preconditioner.coarse_size", 60},
                                      {"preconditioner.coarsening", coarsening},
                                      {"max_iterations", 60}});
    const Solved solved = solve_with("cg", Device(), options, A, consistent);
    EXPECT_EQ(solved.report.status, Status::converged) << solved.report.message;
    ASSERT_EQ(solved.setup.warnings.size(), 1U);
    EXPECT_NE(solved.setup.warnings[0].find("null space, of dimension 1 or more"), std::string::npos);
    const Solved least = solve_with("cg", Device(), options, A, inconsistent);
    EXPECT_EQ(least.report.status, Status::inconsistent);
    EXPECT_NE(least.report.message.find("satisfies them for the rest of b"), std::string::npos)
        << least.report.message;
    const std::vector<double> Ax = MultigridCases::product(A, least.x);
    for (std::size_t i = 0; i < Ax.size(); ++i) EXPECT_NEAR(Ax[i], consistent[i], 1e-6);
  }
}

/// More zero rows than null vectors that are projected out, beside a part without boundary condition, whose
/// constant must not reach into them, and in a matrix that is not symmetric.
TEST(AmgCases, ZeroRows_InconsistentOnesAreNamed) {
  const Csr<double> zeros = Csr<double>::from_triplets(20, 20, {{0, 0, 0}, {7, 3, 0}});
  const Csr<double> wind = generate::convection_diffusion_2d<double>(30, 30, 20, 10);
  for (const Csr<double>& part : {generate::poisson_2d<double>(30, 30), MultigridCases::neumann(30), wind}) {
    const Csr<double> A = MultigridCases::block_diagonal(part, zeros);
    const std::vector<double> consistent =
        MultigridCases::product(A, MultigridCases::random_vector(A.rows(), 14));
    std::vector<double> inconsistent = consistent;
    inconsistent[903] = 3;
    inconsistent[919] = 4;
    for (const Device& device : devices()) {
      for (const char* method : {"gmres", "amg"}) {
        const Options options = std::string(method) == "amg" ? Options{} : with_amg({});
        EXPECT_EQ(solve_with(method, device, options, A, consistent).report.status, Status::converged);
        const Solved solved = solve_with(method, device, options, A, inconsistent);
        EXPECT_EQ(solved.report.status, Status::inconsistent) << solved.report.message;
        ASSERT_FALSE(solved.setup.warnings.empty());
        EXPECT_NE(solved.setup.warnings[0].find("20 of its rows are zero"), std::string::npos);
        const std::vector<double> Ax = MultigridCases::product(A, solved.x);
        for (std::size_t i = 0; i < Ax.size(); ++i) EXPECT_NEAR(Ax[i], consistent[i], 1e-6);
        for (std::size_t i = 900; i < solved.x.size(); ++i) EXPECT_EQ(solved.x[i], 0);
      }
    }
  }
  const Solved alone = solve_with("cg", Device(), with_amg({}), zeros, std::vector<double>(20, 1.0));
  EXPECT_EQ(alone.report.status, Status::inconsistent) << alone.report.message;
}

TEST(AmgCases, InconsistentSystem_LimitOfIterations_IsNamed) {
  const Csr<double> A = MultigridCases::neumann(40);
  std::vector<double> b = MultigridCases::product(A, MultigridCases::random_vector(A.rows(), 13));
  for (double& element : b) element += 0.25;
  const Solved solved = solve_with("cg", Device(), with_amg({{"max_iterations", 2}}), A, b);
  EXPECT_EQ(solved.report.status, Status::inconsistent);
  EXPECT_EQ(solved.report.message.find("satisfies them"), std::string::npos) << solved.report.message;
  EXPECT_NE(solved.report.message.find("limit of 2 iterations"), std::string::npos) << solved.report.message;
}

/// Most of b is in zero rows, and the rest grows: x = 0 is better than what the iteration reached.
TEST(AmgCases, InconsistentAndIndefinite_ZeroIsReturned) {
  const Csr<double> A =
      MultigridCases::block_diagonal(MultigridCases::shifted(generate::poisson_2d<double>(40, 40), 4),
                                     Csr<double>::from_triplets(10, 10, {{0, 0, 0}}));
  std::vector<double> b = MultigridCases::random_vector(A.rows(), 17);
  for (std::size_t i = 1600; i < b.size(); ++i) b[i] = 1e3;
  const Solved solved = solve_with("amg", Device(), {{"max_iterations", 3}}, A, b);
  EXPECT_EQ(solved.report.status, Status::inconsistent);
  EXPECT_NE(solved.report.message.find("x is returned as zero"), std::string::npos) << solved.report.message;
  for (const double element : solved.x) EXPECT_EQ(element, 0);
}

/// A tolerance below what rounding allows, with one right-hand side and with several.
TEST(AmgCases, LevelOfRounding_EndsTheIteration) {
  const Csr<double> A = generate::poisson_2d<double>(40, 40);
  for (const char* method : {"amg", "geometric-multigrid", "multigrid-dense"}) {
    SCOPED_TRACE(method);
    const Csr<double> line = MultigridCases::shifted(generate::poisson_2d<double>(300, 1), -1);
    const Csr<double>& matrix = std::string(method) == "multigrid-dense" ? line : A;
    Solver<double> solver = make_solver<double>(method, Device(), {{"rtol", 1e-18}});
    ASSERT_TRUE(solver.setup(matrix).ready());
    Dense<double> B(Device(), matrix.rows(), 3);
    for (std::int64_t c = 0; c < 3; ++c) {
      const std::vector<double> b =
          MultigridCases::random_vector(matrix.rows(), static_cast<unsigned>(60 + c));
      for (std::int64_t i = 0; i < matrix.rows(); ++i) B(i, c) = b[static_cast<std::size_t>(i)];
    }
    Dense<double> X(Device(), matrix.rows(), 3);
    const Report report = solver.solve(B, X);
    for (const ColumnReport& column : report.columns) {
      EXPECT_TRUE(column.status == Status::stagnated || column.status == Status::converged);
      EXPECT_LE(column.iterations, 1500);
      EXPECT_LE(column.backward_error, 1e-15);
    }
  }
}

TEST(AmgCases, TurnedAnisotropy_ClassicalCoarsening_FewIterations) {
  const Csr<double> A = std::get<Csr<double>>(
      make_matrix<double>("anisotropic-2d", {{"nx", 150}, {"ny", 150}, {"epsilon", 0.001}, {"angle", 30}}));
  const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1.0);
  const Solved chosen = solve_with("cg", Device(), with_amg({}), A, b);
  const Solved aggregated =
      solve_with("cg", Device(), with_amg({{"preconditioner.coarsening", "smoothed-aggregation"}}), A, b);
  EXPECT_EQ(chosen.report.status, Status::converged);
  const Statistic* coarsening = chosen.setup.find_statistic("preconditioner.coarsening");
  ASSERT_NE(coarsening, nullptr);
  EXPECT_EQ(std::get<std::string>(coarsening->value), "classical");
  EXPECT_LE(chosen.report.iterations, 40);
  EXPECT_LT(chosen.report.iterations, aggregated.report.iterations / 2);
}

TEST(AmgCases, FreePlate_RigidBodyModesAreProjected) {
  // A plate that is not clamped: the sum of its elements' matrices has the rigid-body modes as null space.
  const std::int64_t nx = 20;
  const std::int64_t ny = 12;
  const Generator& generator = find_generator("elasticity-2d");
  const Csr<double> clamped = std::get<Csr<double>>(generator.make_double({{"nx", nx}, {"ny", ny}}));
  const Dense<double> coordinates = generator.make_coordinates({{"nx", nx}, {"ny", ny}});
  const Dense<double> modes = rigid_body_modes(coordinates);
  // The first column of nodes loses the stiffness towards the clamped side: it takes that of the last column.
  std::vector<Triplet<double>> triplets;
  for (std::int64_t i = 0; i < clamped.rows(); ++i) {
    for (std::int64_t k = clamped.row_offsets()[i]; k < clamped.row_offsets()[i + 1]; ++k) {
      const std::int32_t j = clamped.column_indices()[k];
      // Mirrored at the middle, the last column's elements are those of a free side.
      const auto mirrored = [&](std::int64_t row) {
        const std::int64_t node = row / 2;
        return 2 * (node / nx * nx + nx - 1 - node % nx) + row % 2;
      };
      const bool first_column = i / 2 % nx == 0 && j / 2 % nx == 0;
      if (!first_column) {
        triplets.push_back({static_cast<std::int32_t>(i), j, clamped.values()[k]});
        continue;
      }
      for (std::int64_t m = clamped.row_offsets()[mirrored(i)]; m < clamped.row_offsets()[mirrored(i) + 1];
           ++m) {
        if (clamped.column_indices()[m] != mirrored(j)) continue;
        const double sign = i % 2 == j % 2 ? 1 : -1;  // the mirror turns the x axis
        triplets.push_back({static_cast<std::int32_t>(i), j, sign * clamped.values()[m]});
      }
    }
  }
  const Csr<double> A = symmetrize(Csr<double>::from_triplets(clamped.rows(), clamped.rows(), triplets));
  for (std::int64_t c = 0; c < 3; ++c) {
    std::vector<double> mode(static_cast<std::size_t>(A.rows()));
    for (std::int64_t i = 0; i < A.rows(); ++i) mode[static_cast<std::size_t>(i)] = modes(i, c);
    for (const double value : MultigridCases::product(A, mode)) ASSERT_NEAR(value, 0, 1e-12);
  }
  Solver<double> cg = make_solver<double>("cg", Device(), with_amg({{"preconditioner.coarse_size", 60}}));
  set_near_null_space(cg, modes);
  const Report setup = cg.setup(A);
  ASSERT_TRUE(setup.ready());
  ASSERT_EQ(setup.warnings.size(), 1U);
  EXPECT_NE(setup.warnings[0].find("of dimension 3"), std::string::npos) << setup.warnings[0];
  const std::vector<double> b = MultigridCases::product(A, MultigridCases::random_vector(A.rows(), 9));
  std::vector<double> x(b.size());
  const Report report = cg.solve(b, x);
  EXPECT_EQ(report.status, Status::converged) << report.message;
  EXPECT_LE(report.iterations, 30);
}

TEST(AmgCases, ManyRightHandSides_SameAsOneByOne) {
  const Csr<double> A = generate::anisotropic_2d<double>(40, 35, 0.1);
  constexpr std::int64_t columns = 5;
  Dense<double> B(Device(), A.rows(), columns);
  for (std::int64_t c = 0; c < columns; ++c) {
    const std::vector<double> b = MultigridCases::random_vector(A.rows(), static_cast<unsigned>(40 + c));
    for (std::int64_t i = 0; i < A.rows(); ++i) B(i, c) = c == 3 ? 0 : b[static_cast<std::size_t>(i)];
  }
  for (const char* method : {"cg", "amg"}) {
    Solver<double> solver =
        make_solver<double>(method, Device(), std::string(method) == "cg" ? with_amg({}) : Options{});
    ASSERT_TRUE(solver.setup(A).ready());
    Dense<double> X(Device(), A.rows(), columns);
    const Report together = solver.solve(B, X);
    EXPECT_EQ(together.status, Status::converged);
    ASSERT_EQ(together.columns.size(), 5U);
    for (std::int64_t c = 0; c < columns; ++c) {
      std::vector<double> b(static_cast<std::size_t>(A.rows()));
      std::vector<double> x(b.size());
      for (std::int64_t i = 0; i < A.rows(); ++i) b[static_cast<std::size_t>(i)] = B(i, c);
      const Report alone = solver.solve(b, x);
      EXPECT_EQ(alone.iterations, together.columns[static_cast<std::size_t>(c)].iterations);
      for (std::int64_t i = 0; i < A.rows(); ++i) EXPECT_EQ(x[static_cast<std::size_t>(i)], X(i, c));
    }
  }
}

TEST(AmgCases, UpdateValues_AsNewSetup) {
  const Csr<double> A = generate::poisson_2d<double>(70, 60);
  const std::vector<double> b = MultigridCases::random_vector(A.rows(), 10);
  for (const char* coarsening : {"smoothed-aggregation", "aggregation", "classical"}) {
    for (const Device& device : devices()) {
      Options options =
          with_amg({{"preconditioner.coarsening", coarsening}, {"preconditioner.coarse_size", 30}});
      Solver<double> updated = make_solver<double>("cg", device, options);
      ASSERT_TRUE(updated.setup(A).ready());
      // Values whose hierarchy has another pattern of strong connections are those of a diffusion that
      // varies.
      Csr<double> changed = A;
      for (std::int64_t i = 0; i < A.rows(); ++i) {
        for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
          const auto d = [](std::int64_t row) { return 1 + 0.3 * std::sin(0.02 * static_cast<double>(row)); };
          changed.values()[k] = A.values()[k] * d(i) * d(A.column_indices()[k]);
        }
      }
      for (int repetition = 0; repetition < 2; ++repetition) {
        ASSERT_TRUE(updated.update_values(changed).ready());
        std::vector<double> x(b.size());
        const Report report = updated.solve(b, x);
        const Solved fresh = solve_with("cg", device, options, changed, b);
        EXPECT_EQ(report.status, Status::converged) << coarsening;
        EXPECT_LE(report.iterations, fresh.report.iterations + 3) << coarsening;
      }
      // Back to the first values: the bits of the first set-up.
      ASSERT_TRUE(updated.update_values(A).ready());
      std::vector<double> x(b.size());
      (void)updated.solve(b, x);
      const Solved first = solve_with("cg", device, options, A, b);
      EXPECT_EQ(x, first.x) << coarsening;
    }
  }
}

/// As many nonzeros in another pattern: the products of the first hierarchy would not fit.
TEST(AmgCases, UpdateValues_OtherPattern_AsNewSetup) {
  const Csr<double> A = generate::poisson_2d<double>(40, 40);
  const Csr<double> B = MultigridCases::renumbered(A);
  ASSERT_EQ(B.nonzeros(), A.nonzeros());
  const std::vector<double> b = MultigridCases::random_vector(A.rows(), 15);
  for (const char* coarsening : {"smoothed-aggregation", "aggregation", "classical"}) {
    for (const Device& device : devices()) {
      const Options options = with_amg({{"preconditioner.coarsening", coarsening}});
      Solver<double> updated = make_solver<double>("cg", device, options);
      ASSERT_TRUE(updated.setup(A).ready());
      ASSERT_TRUE(updated.update_values(B).ready());
      std::vector<double> x(b.size());
      EXPECT_EQ(updated.solve(b, x).status, Status::converged);
      EXPECT_EQ(x, solve_with("cg", device, options, B, b).x) << coarsening;
    }
  }
}

/// Condition numbers above it leave no digit of a residual of 1e-8 that CG could be sure of.
constexpr double too_ill_conditioned = 1e10;

TEST_F(RealMatrices, CgWithAmg_SolvesPositiveDefiniteOnes) {
  std::ifstream catalogue(real_matrices() / "catalogue.csv");
  std::string line;
  std::getline(catalogue, line);
  int solved_matrices = 0;
  while (std::getline(catalogue, line)) {
    std::vector<std::string> fields;
    std::stringstream stream(line);
    for (std::string field; std::getline(stream, field, ',');) fields.push_back(field);
    if (fields.size() < 12 || fields[8] != "SPD") continue;
    const MatrixFile<double> file = read_matrix_file<double>((real_matrices() / fields[2]).string());
    const auto& A = std::get<Csr<double>>(file.matrix);
    if (A.nonzeros() > 500'000) continue;  // some seconds
    const std::vector<double> b = MultigridCases::product(A, MultigridCases::random_vector(A.rows(), 11));
    const Solved solved = solve_with("cg", Device(), with_amg({{"max_iterations", 3000}}), A, b);
    const double condition = fields[11].empty() ? 0 : std::stod(fields[11]);
    if (solved.report.solved()) {
      ++solved_matrices;
    } else {
      EXPECT_GT(condition, too_ill_conditioned) << fields[1] << ": " << solved.report.message;
      EXPECT_FALSE(solved.report.message.empty()) << fields[1];
    }
  }
  EXPECT_GT(solved_matrices, 20);
}

}  // namespace
}  // namespace echelon::test
