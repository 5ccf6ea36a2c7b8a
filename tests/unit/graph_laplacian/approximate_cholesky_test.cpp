// SPDX-License-Identifier: BSD-3-Clause
/// Systems solved by approximate-cholesky.
#include "support/graph_laplacian/lamg_graphs.hpp"
#include "support/graph_laplacian/vectors.hpp"
#include "support/sparse_systems.hpp"

#include <echelon/echelon.hpp>
#include <echelon/methods/approximate_cholesky.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace echelon {
namespace {

using test::make_graph;
using test::mean;
using test::product;
using test::random_vector;

std::vector<double> first_column(const Dense<double>& X) {
  std::vector<double> x(static_cast<std::size_t>(X.rows()));
  for (std::int64_t i = 0; i < X.rows(); ++i) x[static_cast<std::size_t>(i)] = X(i, 0);
  return x;
}

Solution<double> solve_by_ac(const Csr<double>& A, const std::vector<double>& b,
                             const Options& options = {}) {
  SolveOptions solve_options;
  solve_options.method = "approximate-cholesky";
  solve_options.device = Device::serial();
  solve_options.parameters = options;
  return solve(A, b, solve_options);
}

TEST(ApproximateCholesky, Trees_SolvedInOneIteration) {
  for (const char* generator : {"path", "star", "complete-binary-tree", "random-tree"}) {
    for (const std::int64_t n : {1, 2, 3, 31, 33, 1025}) {
      const Csr<double> A = make_graph(generator, {{"n", n}, {"weights", "log-uniform"}, {"decades", 6}});
      const std::vector<double> b = product(A, random_vector(n, 3));
      const Solution<double> solution = solve_by_ac(A, b);
      EXPECT_TRUE(solution.report.solved()) << generator << ' ' << n << ' ' << solution.report.message;
      EXPECT_LE(solution.report.iterations, 2) << generator << ' ' << n;
    }
  }
}

struct GraphCase {
  const char* generator;
  Options options;
};

TEST(ApproximateCholesky, Graphs_SolvedWithMeanZero) {
  const std::vector<GraphCase> cases = {
      {"grid-2d", {{"nx", 60}, {"ny", 50}}},
      {"grid-2d", {{"nx", 60}, {"ny", 50}, {"weight_y", 1e-4}}},
      {"grid-2d", {{"nx", 60}, {"ny", 50}, {"weights", "log-uniform"}, {"decades", 12}}},
      {"grid-3d", {{"nx", 15}, {"ny", 16}, {"nz", 17}}},
      {"complete", {{"n", 100}}},
      {"barabasi-albert", {{"n", 3000}, {"k", 3}}},
      {"chimera", {{"n", 3000}, {"seed", 3}}},
      {"chimera", {{"n", 3000}, {"seed", 4}, {"weights", "chimera"}}},
      {"sachdeva-star", {{"clique", 20}, {"copies", 20}}},
      {"barbell", {{"clique", 30}, {"path", 300}}},
      {"ring", {{"n", 1000}}},
  };
  for (const GraphCase& graph_case : cases) {
    const Csr<double> A = make_graph(graph_case.generator, graph_case.options);
    const std::vector<double> b = product(A, random_vector(A.rows(), 9));
    for (const std::int64_t split : {1, 2}) {
      const Solution<double> solution = solve_by_ac(A, b, {{"split", split}});
      EXPECT_EQ(solution.report.status, Status::converged) << graph_case.generator << solution.report.message;
      EXPECT_LE(solution.report.relative_residual, 1e-8) << graph_case.generator;
      EXPECT_LE(solution.report.iterations, 100) << graph_case.generator;
      const std::vector<double> x = first_column(solution.x);
      double largest = 0;
      for (const double value : x) largest = std::max(largest, std::abs(value));
      EXPECT_LE(std::abs(mean(x)), 1e-12 * largest) << graph_case.generator;
    }
  }
}

TEST(ApproximateCholesky, SddmAndPositiveElements_MatchKnownSolution) {
  for (const char* form : {"sddm", "positive"}) {
    Csr<double> A = make_graph("chimera", {{"n", 1500}, {"seed", 8}, {"form", "sddm"}});
    if (std::string(form) == "positive") {
      for (std::int64_t i = 0; i < A.rows(); ++i) {
        for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
          const std::int64_t j = A.column_indices()[k];
          if (i != j && (i + j) % 3 == 0) A.values()[k] *= -1;
        }
      }
    }
    const std::vector<double> wanted = random_vector(A.rows(), 4);
    const Solution<double> solution = solve_by_ac(A, product(A, wanted), {{"rtol", 1e-12}});
    ASSERT_TRUE(solution.report.solved()) << form << ": " << solution.report.message;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_NEAR(solution.x(static_cast<std::int64_t>(i), 0), wanted[i], 1e-7) << form;
    }
  }
}

/// Elements that are small compared with the largest one count as symmetric whatever their mirror images are:
/// eliminated neighbours of vertex 10, to which it has no edge, make its degree seem low.
TEST(ApproximateCholesky, SmallElementsWithoutMirrorImages_StayInBounds) {
  std::vector<Triplet<double>> triplets;
  const auto add = [&](std::int32_t i, std::int32_t j) {
    triplets.push_back({i, j, -0.25});
    triplets.push_back({i, i, 0.25});
  };
  for (std::int32_t i = 20; i + 1 < 60; ++i) {
    triplets.insert(triplets.end(),
                    {{i, i + 1, -1e20}, {i + 1, i, -1e20}, {i, i, 1e20}, {i + 1, i + 1, 1e20}});
  }
  for (std::int32_t i = 0; i < 20; ++i) triplets.push_back({i, i, 1});
  for (const std::int32_t i : {0, 1, 6, 7, 8, 9}) {
    add(i, 10);
    add(i, 2);
  }
  for (const std::int32_t j : {2, 3, 4, 5, 11, 12, 13, 14}) add(10, j);
  const Csr<double> A = Csr<double>::from_triplets(60, 60, triplets);
  const std::vector<double> b(60, 1.0);
  for (const std::string method : {"approximate-cholesky", "lamg"}) {
    SolveOptions options;
    options.method = method;
    const Report report = solve(A, b, options).report;
    EXPECT_EQ(report.solved(), report.status == Status::converged) << report;
  }
}

TEST(ApproximateCholesky, WeightsOverManyDecades_Solved) {
  const std::vector<GraphCase> cases = {
      {"chimera", {{"n", 2000}, {"seed", 5}, {"weights", "log-uniform"}, {"decades", 20}}},
      {"grid-2d", {{"nx", 50}, {"ny", 50}, {"weights", "log-uniform"}, {"decades", 24}}},
      {"barabasi-albert", {{"n", 2000}, {"k", 3}, {"weights", "log-uniform"}, {"decades", 24}}}};
  for (const GraphCase& graph_case : cases) {
    const Csr<double> A = make_graph(graph_case.generator, graph_case.options);
    const Solution<double> solution = solve_by_ac(A, product(A, random_vector(A.rows(), 1)));
    EXPECT_TRUE(solution.report.solved()) << graph_case.generator << ": " << solution.report.message;
  }
}

/// Rounding limits the residual; the iteration has to end there and not go on until it diverges.
TEST(ApproximateCholesky, PointSourcesAndWeightsOf16Decades_SolvedToRounding) {
  constexpr std::int32_t n = 200;
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> exponent(-8, 8);
  std::vector<Triplet<double>> triplets;
  const auto join = [&](std::int32_t i, std::int32_t j) {
    const double w = std::pow(10, exponent(random));
    if (i != j) triplets.insert(triplets.end(), {{i, j, -w}, {j, i, -w}, {i, i, w}, {j, j, w}});
  };
  for (std::int32_t i = 0; i + 1 < n; ++i) join(i, i + 1);
  for (int edge = 0; edge < 300; ++edge) {
    join(static_cast<std::int32_t>(random() % n), static_cast<std::int32_t>(random() % n));
  }
  const Csr<double> A = Csr<double>::from_triplets(n, n, triplets);
  for (std::size_t v = 0; v < n; v += 5) {
    std::vector<double> b(n, -1.0 / n);
    b[v] += 1;
    const Report report = solve_by_ac(A, b, {{"rtol", 1e-9}}).report;
    EXPECT_TRUE(report.solved() || report.status == Status::stagnated) << v << ' ' << report.message;
    EXPECT_LE(report.backward_error, 1e-15) << v;
  }
}

TEST(ApproximateCholesky, ScaledMatrix_TakesTheSameIterations) {
  Csr<double> A = make_graph("grid-2d", {{"nx", 40}, {"ny", 40}});
  const std::vector<double> b = product(A, random_vector(A.rows(), 2));
  const std::int64_t iterations = solve_by_ac(A, b).report.iterations;
  for (const double scale : {0x1p-200, 0x1p200}) {
    Csr<double> scaled = A;
    for (std::int64_t k = 0; k < scaled.nonzeros(); ++k) scaled.values()[k] *= scale;
    const Solution<double> solution = solve_by_ac(scaled, b);
    EXPECT_TRUE(solution.report.solved()) << solution.report.message;
    EXPECT_EQ(solution.report.iterations, iterations);
  }
}

TEST(ApproximateCholesky, ManyComponents_SolvedTogether) {
  std::vector<Triplet<double>> triplets;
  for (std::int32_t i = 0; i < 9000; i += 3) {  // triangles, and every tenth block three isolated vertices
    if (i % 30 == 0) continue;
    for (std::int32_t e = 0; e < 3; ++e) {
      const std::int32_t a = i + e;
      const std::int32_t b = i + (e + 1) % 3;
      triplets.insert(triplets.end(), {{a, b, -1}, {b, a, -1}, {a, a, 1}, {b, b, 1}});
    }
  }
  const Csr<double> A = Csr<double>::from_triplets(9000, 9000, triplets);
  const Solution<double> solution = solve_by_ac(A, product(A, random_vector(9000, 5)));
  EXPECT_TRUE(solution.report.solved()) << solution.report.message;
  EXPECT_EQ(std::get<std::int64_t>(solution.report.find_statistic("components")->value), 2700 + 900);
  EXPECT_EQ(solution.x(0, 0), 0);
}

TEST(ApproximateCholesky, UnreachableRightHandSide_Inconsistent) {
  const Csr<double> A = make_graph("grid-2d", {{"nx", 10}, {"ny", 10}});
  std::vector<double> b(100, 0);
  b[0] = 1;
  const Report report = solve_by_ac(A, b).report;
  EXPECT_EQ(report.status, Status::inconsistent);
  EXPECT_NEAR(report.residual_norm, 0.1, 1e-7);  // of a mean of 1/100 in 100 elements
  EXPECT_NE(report.message.find("0.1 of its norm"), std::string::npos) << report.message;
  EXPECT_NEAR(std::get<double>(report.find_statistic("removed_norm")->value), 0.1, 1e-12);
  EXPECT_THROW(solve_by_ac(A, b, {{"strict", true}}), Error);
}

/// The tolerance is below what rounding allows; b is inconsistent nevertheless.
TEST(ApproximateCholesky, UnreachableAndLimitedByRounding_Inconsistent) {
  const Csr<double> A = make_graph("path", {{"n", 3000}});
  const std::vector<double> b = random_vector(A.rows(), 5);
  const auto [x, report] = solve_by_ac(A, b, {{"rtol", 3e-16}});
  EXPECT_EQ(report.status, Status::inconsistent) << report.message;
  EXPECT_NE(report.message.find("not in its range"), std::string::npos) << report.message;
  const std::vector<double> product_with_x = product(A, first_column(x));
  double residual = 0;
  double right = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    residual += std::pow(product_with_x[i] - b[i] + mean(b), 2);
    right += b[i] * b[i];
  }
  EXPECT_GT(std::sqrt(residual), 3e-16 * std::sqrt(right)) << "rounding does not limit this residual";
}

TEST(ApproximateCholesky, MatricesOutsideItsClass_AreRefused) {
  const Csr<double> indefinite =
      Csr<double>::from_triplets(3, 3, {{0, 0, 1}, {1, 1, 1}, {1, 2, -3}, {2, 1, -3}, {2, 2, 1}});
  const Report report = solve_by_ac(indefinite, {1, 1, 1}).report;
  EXPECT_EQ(report.status, Status::breakdown);
  EXPECT_EQ(report.row, 1);
  EXPECT_NE(report.message.find("not diagonally dominant"), std::string::npos) << report.message;
}

TEST(ApproximateCholesky, ManyColumns_AgreeWithSingleOnes) {
  const Csr<double> A = make_graph("chimera", {{"n", 1000}, {"seed", 12}});
  const std::int64_t n = A.rows();
  Dense<double> B(Device::serial(), n, 11);
  for (std::int64_t j = 0; j < 11; ++j) {
    const std::vector<double> b = j == 4 ? std::vector<double>(static_cast<std::size_t>(n), 0.0)
                                         : product(A, random_vector(n, static_cast<std::uint64_t>(j)));
    for (std::int64_t i = 0; i < n; ++i) B(i, j) = b[static_cast<std::size_t>(i)];
  }
  ApproximateCholesky<double> solver(Device::serial(), {.stop = {.rtol = 1e-12}});
  ASSERT_TRUE(solver.setup(A).ready());
  Dense<double> X(Device::serial(), n, 11);
  const Report report = solver.solve(B, X);
  EXPECT_TRUE(report.solved()) << report.message;
  EXPECT_EQ(report.columns[4].iterations, 0);
  for (const std::int64_t j : {0, 4, 7, 10}) {
    Dense<double> x(Device::serial(), n, 1);
    const Report single =
        solver.solve(DenseView<const double>(B.view().column(j), n, 1, n, Device::serial()), x);
    EXPECT_TRUE(single.solved());
    for (std::int64_t i = 0; i < n; ++i) EXPECT_NEAR(x(i, 0), X(i, j), 1e-8);
  }
}

TEST(ApproximateCholesky, ThreadCounts_GiveTheSameBits) {
  const Csr<double> A = make_graph("grid-2d", {{"nx", 400}, {"ny", 350}});
  const std::vector<double> b = product(A, random_vector(A.rows(), 6));
  std::vector<std::vector<double>> answers;
  for (const Device& device : {Device::serial(), Device::openmp(1), Device::openmp(4)}) {
    SolveOptions options;
    options.method = "approximate-cholesky";
    options.device = device;
    answers.push_back(first_column(solve(A, b, options).x));
  }
  EXPECT_EQ(answers[0], answers[1]);
  EXPECT_EQ(answers[0], answers[2]);
}

TEST(ApproximateCholesky, InitialGuess_SavesIterations) {
  const Csr<double> A = make_graph("grid-2d", {{"nx", 50}, {"ny", 50}, {"form", "sddm"}});
  const std::vector<double> wanted = random_vector(A.rows(), 6);
  const std::vector<double> b = product(A, wanted);
  ApproximateCholesky<double> solver(Device::serial());
  ASSERT_TRUE(solver.setup(A).ready());
  Dense<double> x(Device::serial(), A.rows(), 1);
  const std::int64_t cold = solver.solve(b, x).iterations;
  for (std::int64_t i = 0; i < A.rows(); ++i) x(i, 0) = wanted[static_cast<std::size_t>(i)] * (1 + 1e-6);
  Control control;
  control.use_initial_guess = true;
  const Report warm = solver.solve(b, x, control);
  EXPECT_TRUE(warm.solved());
  EXPECT_LT(warm.iterations, cold / 2);
}

TEST(ApproximateCholesky, AsPreconditionerOfCg_TakesAsManyIterations) {
  const Csr<double> A = make_graph("grid-2d", {{"nx", 80}, {"ny", 80}});
  const std::vector<double> b = product(A, random_vector(A.rows(), 8));
  SolveOptions options;
  options.method = "cg";
  options.device = Device::serial();
  options.parameters = {{"preconditioner", "approximate-cholesky"}};
  const Report nested = solve(A, b, options).report;
  const Report own = solve_by_ac(A, b).report;
  EXPECT_TRUE(nested.solved()) << nested.message;
  EXPECT_NEAR(static_cast<double>(nested.iterations), static_cast<double>(own.iterations), 2);
}

TEST(ApproximateCholesky, Float_Solved) {
  const Csr<float> A =
      std::get<Csr<float>>(make_matrix<float>("grid-3d", {{"nx", 12}, {"ny", 12}, {"nz", 12}}));
  const std::vector<double> wide = random_vector(A.rows(), 8);
  std::vector<float> b(wide.begin(), wide.end());
  float sum = 0;
  for (const float value : b) sum += value;
  for (float& value : b) value -= sum / static_cast<float>(b.size());
  SolveOptions options;
  options.method = "approximate-cholesky";
  options.device = Device::serial();
  const Report report = solve(A, b, options).report;
  EXPECT_TRUE(report.solved()) << report.message;
}

}  // namespace
}  // namespace echelon
