// SPDX-License-Identifier: BSD-3-Clause
#include "solver/implementation.hpp"
#include "support/domain_decomposition/assembled_problem.hpp"
#include "support/graph_laplacian/graph_outcomes.hpp"

#include <echelon/domain_decomposition/bddc.hpp>
#include <echelon/domain_decomposition/cube_elements.hpp>
#include <echelon/error.hpp>
#include <echelon/generate.hpp>
#include <echelon/methods/bddc.hpp>
#include <echelon/methods/cg.hpp>
#include <echelon/methods/multigrid/near_null_space.hpp>
#include <echelon/solve.hpp>

#include <gtest/gtest.h>
#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

namespace echelon {
namespace {

using test::AssembledProblem;
using test::checkerboard;

double statistic(const Report& report, const std::string& name) {
  for (const Statistic& s : report.statistics) {
    if (s.name != name) continue;
    if (const auto* number = std::get_if<double>(&s.value)) return *number;
    return static_cast<double>(std::get<std::int64_t>(s.value));
  }
  ADD_FAILURE() << "no statistic " << name;
  return 0;
}
std::string text_statistic(const Report& report, const std::string& name) {
  for (const Statistic& s : report.statistics) {
    if (s.name == name) return std::get<std::string>(s.value);
  }
  return {};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Report solve_with(const AssembledProblem& system, const Options& options) {
  Solver<double> solver = make_solver<double>("bddc", Device(), options);
  set_subdomain_matrices(solver, system.subdomains);
  const Report setup = solver.setup(system.A);
  EXPECT_TRUE(setup.ready()) << setup.message;
  std::vector<double> x(system.problem.load.size());
  return solver.solve(system.problem.load, x);
}

/// The preconditioner of all of A as a dense matrix.
Dense<double> preconditioner_matrix(const Solver<double>& solver, std::int64_t n) {
  const auto& method = SolverAccess<double>::implementation(solver);
  const auto workspace = method.make_workspace();
  Dense<double> M(Device(), n, n);
  std::vector<double> unit(static_cast<std::size_t>(n), 0.0);
  for (std::int64_t j = 0; j < n; ++j) {
    unit[static_cast<std::size_t>(j)] = 1;
    method.apply(*workspace, {unit.data(), n}, {M.view().column(j), n});
    unit[static_cast<std::size_t>(j)] = 0;
  }
  return M;
}

/// Eigenvalues of A M for symmetric positive definite matrices, ascending.
std::vector<double> spectrum(const Csr<double>& A, Dense<double> M) {
  Dense<double> dense = to_dense(MatrixRef<double>(A));
  const auto n = static_cast<lapack_int>(A.rows());
  std::vector<double> values(static_cast<std::size_t>(n));
  EXPECT_EQ(LAPACKE_dsygv(LAPACK_COL_MAJOR, 2, 'N', 'L', n, dense.data(), n, M.data(), n, values.data()), 0);
  return values;
}

}  // namespace

TEST(Bddc, CubesByConstraints_HaveTheReferenceCounts) {
  struct Case {
    std::int64_t elements;
    bool edges, faces;
    std::int64_t iterations;
    double condition;
  };
  // Counts and condition numbers of an independent implementation in NumPy, to 1e-8 of the interface's
  // residual.
  for (const Case& c :
       {Case{4, false, false, 8, 8.75}, Case{4, true, false, 7, 1.60}, Case{4, false, true, 7, 1.39},
        Case{4, true, true, 5, 1.13}, Case{8, true, true, 8, 1.47}}) {
    const AssembledProblem system(poisson_on_cube({.subdomains = 4, .elements = c.elements}));
    const Report report = solve_with(system, {{"edges", c.edges}, {"faces", c.faces}});
    EXPECT_TRUE(report.solved());
    EXPECT_NEAR(static_cast<double>(report.iterations), static_cast<double>(c.iterations), 1);
    EXPECT_NEAR(statistic(report, "largest_ritz_value"), c.condition, 0.01 * c.condition);
    EXPECT_NEAR(statistic(report, "smallest_ritz_value"), 1, 1e-3);
    EXPECT_EQ(text_statistic(report, "subdomain_matrices"), "given");
  }
}

TEST(Bddc, Operator_IsSymmetricWithEigenvaluesFromOneOn) {
  const AssembledProblem poisson(
      poisson_on_cube({.subdomains = 2, .elements = 3, .coefficients = checkerboard(2, 100)}));
  const AssembledProblem elastic(elasticity_on_cube({.subdomains = 2, .elements = 2}));
  for (const AssembledProblem* const system : {&poisson, &elastic}) {
    for (const BddcScaling scaling :
         {BddcScaling::cardinality, BddcScaling::stiffness, BddcScaling::deluxe}) {
      Bddc<double> solver(Device(), {.block_size = system == &elastic ? 3 : 1, .scaling = scaling});
      set_subdomain_matrices(solver, system->subdomains);
      ASSERT_TRUE(solver.setup(system->A).ready());
      const std::int64_t n = system->A.rows();
      const Dense<double> M = preconditioner_matrix(solver, n);
      const double scale = *std::max_element(M.data(), M.data() + n * n);
      for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t i = 0; i < j; ++i) ASSERT_NEAR(M(i, j), M(j, i), 1e-12 * scale);
      }
      const std::vector<double> eigenvalues = spectrum(system->A, M);
      EXPECT_NEAR(eigenvalues.front(), 1, 1e-9);
      EXPECT_LT(eigenvalues.back(), scaling == BddcScaling::cardinality ? 200 : 4);
    }
  }
}

TEST(Bddc, PartitionsOfAssembledMatrices_HaveEigenvaluesFromOneOn) {
  const auto plane = generate::poisson_2d<double>(13, 11);
  const auto space = generate::poisson_3d<double>(6, 5, 5);
  for (const Csr<double>* const A : {&plane, &space}) {
    for (const BddcScaling scaling :
         {BddcScaling::cardinality, BddcScaling::stiffness, BddcScaling::deluxe}) {
      for (const bool edge_ends : {false, true}) {
        Bddc<double> solver(Device(), {.subdomains = 7, .edge_ends = edge_ends, .scaling = scaling});
        ASSERT_TRUE(solver.setup(*A).ready());
        const std::vector<double> eigenvalues = spectrum(*A, preconditioner_matrix(solver, A->rows()));
        EXPECT_NEAR(eigenvalues.front(), 1, 1e-12);
        EXPECT_LT(eigenvalues.back(), 8);
      }
    }
  }
}

TEST(Bddc, OneSubdomain_IsTheInverse) {
  const AssembledProblem system(poisson_on_cube({.subdomains = 1, .elements = 5}));
  Bddc<double> solver(Device(), {.subdomains = 1});
  ASSERT_TRUE(solver.setup(system.A).ready());
  EXPECT_NEAR(spectrum(system.A, preconditioner_matrix(solver, 64)).back(), 1, 1e-12);
}

TEST(Bddc, PublishedRun_TakesThePublishedIterations) {
  // The published iterations stop at 1e-6 relative to the right-hand side of the interface's system.
  for (const auto& [elements, iterations] : {std::pair{5, 5}, std::pair{10, 7}}) {
    const AssembledProblem system(poisson_on_cube({.subdomains = 4, .elements = elements}));
    const Report report = solve_with(system, {{"rtol", 1e-6}});
    const double limit = 1e-6 * statistic(report, "interface_right_hand_side");
    const auto below = std::find_if(report.history.begin() + 1, report.history.end(),
                                    [&](double norm) { return norm <= limit; });
    EXPECT_EQ(below - report.history.begin(), iterations) << elements;
  }
}

/// ||b_G - A_GI A_II^-1 b_I|| / ||b|| for the unknowns G with `is_interface` and the others I.
double condensed_norm(const Csr<double>& A, std::vector<double> b, const std::vector<bool>& is_interface) {
  const Dense<double> dense = to_dense(MatrixRef<double>(A));
  const std::int64_t n = A.rows();
  Dense<double> interior(Device(), n, n);  // A_II, and the identity on G
  std::vector<double> x = b;
  for (std::int64_t i = 0; i < n; ++i) {
    const bool in_interface = is_interface[static_cast<std::size_t>(i)];
    if (in_interface) x[static_cast<std::size_t>(i)] = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      const bool both_inside = !in_interface && !is_interface[static_cast<std::size_t>(j)];
      interior(i, j) = both_inside ? dense(i, j) : i == j ? 1 : 0;
    }
  }
  const auto size = static_cast<lapack_int>(n);
  EXPECT_EQ(LAPACKE_dposv(LAPACK_COL_MAJOR, 'L', size, 1, interior.data(), size, x.data(), size), 0);
  double norm = 0, whole = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    double residual = b[static_cast<std::size_t>(i)];
    whole += residual * residual;
    for (std::int64_t j = 0; j < n; ++j) residual -= dense(i, j) * x[static_cast<std::size_t>(j)];
    norm += residual * residual;
  }
  return std::sqrt(norm / whole);
}

TEST(Bddc, InterfaceRightHandSide_IsTheCondensedOne) {
  const AssembledProblem system(poisson_on_cube({.subdomains = 2, .elements = 5}));
  std::vector<int> users(system.problem.load.size());
  for (const SubdomainMatrix& subdomain : system.subdomains) {
    for (const std::int32_t unknown : subdomain.unknowns) ++users[static_cast<std::size_t>(unknown)];
  }
  std::vector<bool> is_interface(users.size());
  std::transform(users.begin(), users.end(), is_interface.begin(), [](int count) { return count > 1; });
  const double expected = condensed_norm(system.A, system.problem.load, is_interface);
  EXPECT_GT(expected, 1);
  EXPECT_NEAR(statistic(solve_with(system, {}), "interface_right_hand_side"), expected, 1e-12 * expected);
}

TEST(Bddc, Checkerboard_NeedsScalingByStiffness) {
  const AssembledProblem system(
      poisson_on_cube({.subdomains = 4, .elements = 4, .coefficients = checkerboard(4, 1e4)}));
  for (const std::string scaling : {"stiffness", "deluxe"}) {
    const Report report = solve_with(system, {{"scaling", scaling}});
    EXPECT_TRUE(report.solved());
    EXPECT_LE(report.iterations, 6);
    EXPECT_LT(statistic(report, "largest_ritz_value"), 1.1);
  }
  const Report report = solve_with(system, {{"scaling", "cardinality"}});
  EXPECT_TRUE(report.solved());
  EXPECT_GT(statistic(report, "largest_ritz_value"), 1000);
}

TEST(Bddc, Elasticity_IsBoundedInTheSizeOfSubdomains) {
  for (const std::int64_t elements : {2, 4, 6}) {
    const AssembledProblem system(elasticity_on_cube({.subdomains = 2, .elements = elements}));
    const Report report = solve_with(system, {{"block_size", 3}});
    EXPECT_TRUE(report.solved());
    EXPECT_LT(statistic(report, "largest_ritz_value"), 1.2 * std::pow(1 + std::log(elements), 2));
    // A Ritz value lies inside the spectrum, and is computed to three digits.
    EXPECT_GE(statistic(report, "smallest_ritz_value"), 1 - 1e-3);
  }
}

TEST(Bddc, RigidBodyModesAsConstraints_AverageRotationsToo) {
  const AssembledProblem system(elasticity_on_cube({.subdomains = 2, .elements = 3}));
  Dense<double> coordinates(Device(), system.A.rows() / 3, 3);
  for (std::int64_t node = 0; node < coordinates.rows(); ++node) {  // 6 by 7 by 7 free nodes
    coordinates(node, 0) = static_cast<double>(1 + node % 6);
    coordinates(node, 1) = static_cast<double>(node / 6 % 7);
    coordinates(node, 2) = static_cast<double>(node / 42);
  }
  const auto solve_once = [&](bool with_rotations) {
    Solver<double> solver = make_solver<double>("bddc", Device(), {{"block_size", 3}, {"corners", false}});
    set_subdomain_matrices(solver, system.subdomains);
    if (with_rotations) set_near_null_space(solver, rigid_body_modes(coordinates));
    EXPECT_TRUE(solver.setup(system.A).ready());
    std::vector<double> x(system.problem.load.size());
    return solver.solve(system.problem.load, x);
  };
  const Report plain = solve_once(false);
  const Report rotations = solve_once(true);
  EXPECT_TRUE(plain.solved());
  EXPECT_TRUE(rotations.solved());
  EXPECT_GT(statistic(rotations, "coarse_unknowns"), statistic(plain, "coarse_unknowns"));
  EXPECT_LT(statistic(rotations, "largest_ritz_value"), statistic(plain, "largest_ritz_value"));
}

TEST(Bddc, MissingCornersOfElasticity_AreAMechanismWithItsSubdomain) {
  const AssembledProblem system(elasticity_on_cube({.subdomains = 2, .elements = 4}));
  Bddc<double> solver(Device(), {.block_size = 3, .edges = false, .faces = false});
  set_subdomain_matrices(solver, system.subdomains);
  const Report report = solver.setup(system.A);
  EXPECT_EQ(report.status, Status::breakdown);
  EXPECT_TRUE(contains(report.message, "subdomain 1 (")) << report.message;
  EXPECT_TRUE(contains(report.message, "3 mechanisms")) << report.message;
}

TEST(Bddc, FaceOfElasticityWithoutCorners_NeedsAveragesOfRotations) {
  // A bar of two halves, which share the 5 by 5 nodes of one face.
  CubeProblem bar = elasticity_on_cube({.subdomains = 1, .elements = 4});
  for (std::size_t e = 0; e < bar.subdomain_of_element.size(); ++e)
    bar.subdomain_of_element[e] = e % 4 < 2 ? 0 : 1;
  const AssembledProblem system(std::move(bar));
  Bddc<double> solver(Device(), {.block_size = 3});
  set_subdomain_matrices(solver, system.subdomains);
  const Report refused = solver.setup(system.A);
  EXPECT_EQ(refused.status, Status::breakdown);
  EXPECT_TRUE(contains(refused.message, "subdomain 1 (")) << refused.message;
  EXPECT_TRUE(contains(refused.message, "(0 corner values and 3 averages) leave it 3 mechanisms"))
      << refused.message;
  Dense<double> coordinates(Device(), system.A.rows() / 3, 3);
  for (std::int64_t node = 0; node < coordinates.rows(); ++node) {  // 4 by 5 by 5 free nodes
    coordinates(node, 0) = static_cast<double>(1 + node % 4);
    coordinates(node, 1) = static_cast<double>(node / 4 % 5);
    coordinates(node, 2) = static_cast<double>(node / 20);
  }
  set_near_null_space(solver, rigid_body_modes(coordinates));
  ASSERT_TRUE(solver.setup(system.A).ready());
  std::vector<double> x(system.problem.load.size());
  const Report report = solver.solve(system.problem.load, x);
  EXPECT_TRUE(report.solved());
  EXPECT_EQ(statistic(report, "coarse_unknowns"), 6);
  EXPECT_GE(statistic(report, "smallest_ritz_value"), 1 - 1e-3);
}

TEST(Bddc, EdgeEndsAsCorners_LeaveElasticityNoMechanism) {
  const AssembledProblem system(elasticity_on_cube({.subdomains = 2, .elements = 4}));
  const Report report =
      solve_with(system, {{"block_size", 3}, {"edges", false}, {"faces", false}, {"edge_ends", true}});
  EXPECT_TRUE(report.solved());
  EXPECT_GE(statistic(report, "smallest_ritz_value"), 1 - 1e-3);
}

TEST(Bddc, WrongBlockSize_IsNamedWithItsSubdomain) {
  const AssembledProblem system(elasticity_on_cube({.subdomains = 2, .elements = 3}));
  for (const BddcSchur schur : {BddcSchur::sparse_cholesky, BddcSchur::cholesky, BddcSchur::lu}) {
    Bddc<double> solver(Device(), {.schur = schur});
    set_subdomain_matrices(solver, system.subdomains);
    const Report report = solver.setup(system.A);
    EXPECT_EQ(report.status, Status::breakdown);
    EXPECT_TRUE(contains(report.message, "subdomain ")) << report.message;
    EXPECT_TRUE(contains(report.message, "nodes of 1 unknown: block_size does not fit")) << report.message;
  }
}

TEST(Bddc, EmptyGivenSubdomains_AreOmitted) {
  AssembledProblem system(poisson_on_cube({.subdomains = 2, .elements = 3}));
  system.subdomains.insert(system.subdomains.begin() + 3, SubdomainMatrix{{}, Csr<double>()});
  const Report report = solve_with(system, {});
  EXPECT_TRUE(report.solved());
  EXPECT_EQ(statistic(report, "subdomains"), 8);
}

TEST(Bddc, ThreadsAndRepetition_GiveTheSameBits) {
  const AssembledProblem system(poisson_on_cube({.subdomains = 3, .elements = 4}));
  for (const std::string schur : {"sparse-cholesky", "cholesky", "crout-iterative"}) {
    std::vector<double> first;
    for (const Device& device : {Device::serial(), Device::openmp(1), Device::openmp(4), Device::openmp(4)}) {
      Solver<double> solver = make_solver<double>("bddc", device, {{"schur", schur}, {"scaling", "deluxe"}});
      set_subdomain_matrices(solver, system.subdomains);
      ASSERT_TRUE(solver.setup(system.A).ready());
      std::vector<double> x(system.problem.load.size());
      ASSERT_TRUE(solver.solve(system.problem.load, x).solved());
      if (first.empty()) first = x;
      EXPECT_EQ(x, first);
    }
  }
}

/// Updates keep the partition and the analyses of subdomains.
TEST(Bddc, NewValues_HaveTheBitsOfASetUp) {
  const Csr<double> A = generate::poisson_2d<double>(30, 30);
  const std::vector<double> b(900, 1.0);
  // Smaller elements beside the diagonal, which stays dominant.
  Csr<double> others = A;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      const std::int64_t j = A.column_indices()[k];
      if (i != j && (i + j) % 3 == 0) others.values()[k] *= 0.5;
    }
  }
  for (const std::string schur : {"sparse-cholesky", "cholesky"}) {
    for (const std::string scaling : {"stiffness", "deluxe"}) {
      const Options options = {{"schur", schur}, {"scaling", scaling}, {"subdomains", 6}};
      Solver<double> solver = make_solver<double>("bddc", Device::serial(), options);
      ASSERT_TRUE(solver.setup(A).ready());
      const Csr<double>* const sequence[] = {&others, &A, &others};
      for (const Csr<double>* values : sequence) {
        ASSERT_TRUE(solver.update_values(*values).ready());
        Solver<double> fresh = make_solver<double>("bddc", Device::serial(), options);
        ASSERT_TRUE(fresh.setup(*values).ready());
        std::vector<double> x(b.size());
        std::vector<double> expected(b.size());
        ASSERT_TRUE(solver.solve(b, x).solved());
        ASSERT_TRUE(fresh.solve(b, expected).solved());
        EXPECT_EQ(x, expected) << schur << ' ' << scaling;
      }
    }
  }
}

TEST(Bddc, OtherPartition_IsTakenByAnUpdate) {
  const Csr<double> A = generate::poisson_2d<double>(20, 20);
  const std::vector<double> b(400, 1.0);
  std::vector<double> x(b.size());
  Solver<double> solver = make_solver<double>("bddc", Device::serial(), {{"subdomains", 4}});
  ASSERT_TRUE(solver.setup(A).ready());
  std::vector<std::int32_t> halves(b.size());
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = i < halves.size() / 2 ? 0 : 1;
  set_partition(solver, halves);
  const Report report = solver.update_values(A);
  ASSERT_TRUE(report.ready());
  EXPECT_EQ(statistic(report, "subdomains"), 2);
  EXPECT_TRUE(solver.solve(b, x).solved());
}

TEST(Bddc, LooseCroutFactors_TakeMoreIterations) {
  const AssembledProblem system(poisson_on_cube({.subdomains = 3, .elements = 6}));
  std::int64_t before = solve_with(system, {{"schur", "lu"}}).iterations;
  EXPECT_EQ(solve_with(system, {{"schur", "crout-iterative"}}).iterations, before);
  EXPECT_EQ(solve_with(system, {{"schur", "crout-iterative"}, {"schur_pivoting", true}}).iterations, before);
  for (const double tolerance : {1e-3, 1e-1}) {
    const Report report = solve_with(system, {{"schur", "crout-iterative"}, {"schur_tolerance", tolerance}});
    EXPECT_TRUE(report.solved());
    EXPECT_GE(report.iterations, before);
    before = report.iterations;
  }
  EXPECT_GT(before, 10);
}

TEST(Bddc, AsPreconditioner_TakesAsManyIterationsAsOnTheInterface) {
  const AssembledProblem system(poisson_on_cube({.subdomains = 3, .elements = 5}));
  const std::int64_t alone = solve_with(system, {}).iterations;
  for (const std::string outer : {"cg", "minres", "gmres"}) {
    Solver<double> solver = make_solver<double>(outer, Device(), {{"preconditioner", "bddc"}});
    set_subdomain_matrices(solver, system.subdomains);
    ASSERT_TRUE(solver.setup(system.A).ready());
    std::vector<double> x(system.problem.load.size());
    const Report report = solver.solve(system.problem.load, x);
    EXPECT_TRUE(report.solved());
    EXPECT_NEAR(static_cast<double>(report.iterations), static_cast<double>(alone), 2);
  }
}

TEST(Bddc, AssembledMatrix_IsSplitAndTheReportSaysHow) {
  const auto A = generate::poisson_2d<double>(40, 40);
  const std::vector<double> b(1600, 1.0);
  const auto [x, report] = solve(A, b, {.method = "bddc", .parameters = {{"subdomains", 9}}});
  EXPECT_TRUE(report.solved());
  EXPECT_LE(report.iterations, 15);
  EXPECT_EQ(text_statistic(report, "subdomain_matrices"), "exact split");
  const Csr<double> elastic =
      std::get<Csr<double>>(make_matrix<double>("elasticity-2d", {{"nx", 12}, {"ny", 12}}));
  Bddc<double> solver(Device(), {.subdomains = 4, .block_size = 2});
  const Report setup = solver.setup(elastic);
  if (setup.ready()) {
    EXPECT_EQ(text_statistic(setup, "subdomain_matrices"), "heuristic split");
  } else {
    EXPECT_EQ(setup.status, Status::not_spd);
    EXPECT_TRUE(contains(setup.message, "give element or subdomain matrices")) << setup.message;
  }
}

TEST(Bddc, Float_MeetsItsTolerance) {
  const auto A = generate::poisson_2d<float>(30, 30);
  const std::vector<float> b(900, 1.0F);
  const auto [x, report] = solve(A, b, {.method = "bddc"});
  EXPECT_TRUE(report.solved());
}

TEST(Bddc, PureNeumannProblem_IsPinnedAndProjected) {
  // The Laplacian of a grid, singular.
  Csr<double> A = generate::poisson_2d<double>(20, 20);
  for (std::int64_t i = 0; i < 400; ++i) {
    const std::int64_t begin = A.row_offsets()[i];
    const std::int64_t end = A.row_offsets()[i + 1];
    for (std::int64_t k = begin; k < end; ++k) {
      if (A.column_indices()[k] == i) A.values()[k] = static_cast<double>(end - begin - 1);
    }
  }
  std::vector<double> b(400, 0.0);
  b[3] = 1;
  b[380] = -1;
  std::vector<double> x(400);
  Bddc<double> solver(Device(), {.subdomains = 6});
  ASSERT_TRUE(solver.setup(A).ready());
  const Report report = solver.solve(b, x);
  EXPECT_TRUE(report.solved()) << report.message;
  EXPECT_TRUE(report.warnings.empty());
  b[7] += 1;
  const Report removed = solver.solve(b, x);
  EXPECT_EQ(removed.status, Status::inconsistent) << removed.message;
  EXPECT_NEAR(removed.residual_norm, 0.05, 1e-7);  // of a mean of 1/400 in 400 elements
  Cg<double> cg(Device(), {.preconditioner = "bddc", .preconditioner_options = {{"subdomains", 6}}});
  ASSERT_TRUE(cg.setup(A).ready());
  b[7] -= 1;
  EXPECT_TRUE(cg.solve(b, x).solved());
}

TEST(Bddc, LaplacianOutcomes_AsIntegersImply) {
  test::expect_outcomes<double>({"bddc", {}}, {1, -1});
  test::expect_outcomes<float>({"bddc", {}}, {1, -1});
  test::expect_outcomes<double>({"cg", {{"preconditioner", "bddc"}}}, {1});
}

TEST(Bddc, ZeroMatrix_InconsistentWithZero) {
  const auto [report, x] =
      test::solve_serially<double>({"bddc", {}}, Csr<double>::from_triplets(3, 3, {}), {1, 1, 1});
  EXPECT_EQ(report.status, Status::inconsistent) << report.message;
  EXPECT_EQ(x, (std::vector<double>{0, 0, 0}));
}

TEST(Bddc, AwkwardSizesAndSubdomains_AreSolved) {
  for (const std::int64_t n : {0, 1, 2, 3, 31, 33}) {
    std::vector<Triplet<double>> triplets;
    for (std::int32_t i = 0; i < n; ++i) {
      triplets.push_back({i, i, 2.5});
      if (i > 0) triplets.insert(triplets.end(), {{i, i - 1, -1}, {i - 1, i, -1}});
    }
    const auto A = Csr<double>::from_triplets(n, n, triplets);
    const std::vector<double> b(static_cast<std::size_t>(n), 1.0);
    std::vector<double> x(b.size());
    for (const std::int64_t subdomains : {std::int64_t{0}, std::int64_t{1}, n}) {  // n: one row in each
      if (subdomains == 0 && n == 0) continue;
      Bddc<double> solver(Device(), {.subdomains = subdomains});
      ASSERT_TRUE(solver.setup(A).ready());
      EXPECT_TRUE(solver.solve(b, x).solved());
    }
  }
}

TEST(Bddc, DisconnectedMatrix_HasSubdomainsWithoutInterface) {
  // Three paths, the last of them a Laplacian, and a row of zeros.
  std::vector<Triplet<double>> triplets;
  for (std::int32_t path = 0; path < 3; ++path) {
    for (std::int32_t i = 0; i < 10; ++i) {
      const std::int32_t row = 10 * path + i;
      const double ends = i == 0 || i == 9 ? 1 : 2;
      triplets.push_back({row, row, path < 2 ? 2 : ends});
      if (i > 0) triplets.insert(triplets.end(), {{row, row - 1, -1}, {row - 1, row, -1}});
    }
  }
  triplets.push_back({30, 30, 0});
  const auto A = Csr<double>::from_triplets(31, 31, triplets);
  std::vector<std::int32_t> part(31, 3);
  std::fill_n(part.begin(), 10, 0);
  std::fill_n(part.begin() + 10, 5, 1);
  std::fill_n(part.begin() + 15, 5, 2);
  std::vector<double> b(31, 0.0);
  b[2] = b[14] = b[20] = 1;
  b[29] = -1;
  std::vector<double> x(31);
  Bddc<double> solver;
  set_partition(solver, part);
  const Report setup = solver.setup(A);
  ASSERT_TRUE(setup.ready()) << setup.message;
  EXPECT_EQ(setup.warnings.size(), 1U);  // the last part is two
  EXPECT_EQ(statistic(setup, "subdomains"), 5);
  EXPECT_TRUE(solver.solve(b, x).solved());
}

TEST(Bddc, PartitionFile_IsReadAndChecked) {
  const std::string name = testing::TempDir() + "bddc_partition.txt";
  const auto A = generate::poisson_2d<double>(8, 8);
  const auto write = [&](const std::string& text) { std::ofstream(name) << text; };
  const auto refused = [&] {
    Bddc<double> solver(Device(), {.partition = name});
    try {
      (void)solver.setup(A);
    } catch (const BadOption& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  std::string halves;
  for (int i = 0; i < 64; ++i) halves += i < 32 ? "0\n" : "1\n";
  write(halves);
  EXPECT_EQ(refused(), "accepted");
  write("0\n1\n");
  EXPECT_TRUE(contains(refused(), "2 numbers for 64 rows"));
  write("0\nx\n");
  EXPECT_TRUE(contains(refused(), "line 2: 'x'"));
  write("");
  EXPECT_TRUE(contains(refused(), "is empty"));
  std::remove(name.c_str());
  EXPECT_TRUE(contains(refused(), "cannot be opened"));
}

TEST(Bddc, BadInput_IsRefused) {
  const auto A = generate::poisson_2d<double>(6, 6);
  EXPECT_THROW((void)Bddc<double>(Device(), {.subdomains = 100}).setup(A), BadOption);
  EXPECT_THROW((void)Bddc<double>(Device(), {.block_size = 5}).setup(A), BadOption);
  Bddc<double> solver;
  EXPECT_THROW(set_partition(solver, {0, -1}), BadOption);
  EXPECT_THROW(set_partition(solver, {0, 2}), BadOption);
  Cg<double> other;
  EXPECT_THROW(set_partition(other, {0, 1}), Error);
  Csr<double> skew = A;
  skew.values()[1] = -2;
  EXPECT_EQ(solver.setup(skew).status, Status::not_spd);
  const AssembledProblem system(poisson_on_cube({.subdomains = 2, .elements = 2}));
  set_subdomain_matrices(solver, system.subdomains);
  EXPECT_THROW((void)solver.setup(A), Error);  // of another matrix
  Csr<double> bad = system.A;
  bad.values()[0] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(solver.setup(bad).status, Status::not_a_number);
}

TEST(Bddc, IndefiniteSubdomain_IsNamed) {
  // The sum is positive definite, and its second part alone is not.
  const auto first = Csr<double>::from_triplets(
      3, 3, {{0, 0, 4}, {0, 1, -1}, {1, 0, -1}, {1, 1, 9}, {1, 2, -1}, {2, 1, -1}, {2, 2, 9}});
  const auto second = Csr<double>::from_triplets(
      3, 3, {{0, 0, -5}, {0, 1, -1}, {1, 0, -1}, {1, 1, -5}, {1, 2, -1}, {2, 1, -1}, {2, 2, 4}});
  const std::vector<SubdomainMatrix> subdomains = {{{0, 1, 2}, first}, {{1, 2, 3}, second}};
  const auto A = Csr<double>::from_triplets(4, 4,
                                            {{0, 0, 4},
                                             {0, 1, -1},
                                             {1, 0, -1},
                                             {1, 1, 4},
                                             {1, 2, -2},
                                             {2, 1, -2},
                                             {2, 2, 4},
                                             {2, 3, -1},
                                             {3, 2, -1},
                                             {3, 3, 4}});
  Bddc<double> solver;
  set_subdomain_matrices(solver, subdomains);
  const Report report = solver.setup(A);
  EXPECT_EQ(report.status, Status::breakdown);  // A itself has a dominant diagonal
  EXPECT_TRUE(contains(report.message, "subdomain 1 (3 unknowns, row 3 of A among them)")) << report.message;
}

TEST(Bddc, CancelledSetUpAndSolve_SaySo) {
  const AssembledProblem system(poisson_on_cube({.subdomains = 3, .elements = 4}));
  std::stop_source stop;
  stop.request_stop();
  Bddc<double> solver;
  EXPECT_EQ(solver.setup(system.A, {.cancel = stop.get_token()}).status, Status::cancelled);
  ASSERT_TRUE(solver.setup(system.A).ready());
  std::vector<double> x(system.problem.load.size());
  EXPECT_EQ(solver.solve(system.problem.load, x, {.cancel = stop.get_token()}).status, Status::cancelled);
}

TEST(Bddc, InitialGuess_IsUsed) {
  const AssembledProblem system(poisson_on_cube({.subdomains = 2, .elements = 4}));
  Bddc<double> solver;
  ASSERT_TRUE(solver.setup(system.A).ready());
  std::vector<double> x(system.problem.load.size());
  ASSERT_TRUE(solver.solve(system.problem.load, x).solved());
  const Report again = solver.solve(system.problem.load, x, {.use_initial_guess = true});
  EXPECT_TRUE(again.solved());
  EXPECT_EQ(again.iterations, 0);
}

}  // namespace echelon
