// SPDX-License-Identifier: BSD-3-Clause
/// Properties that `auto` finds of a matrix: the structure of dense matrices, trials of iterative methods,
/// and analyses that are kept.
#include "matrix/structure/probable_symmetry.hpp"
#include "solver/selection/method_selection.hpp"
#include "solver/selection/structure/dense_structure.hpp"
#include "solver/selection/structure/sparse_structure.hpp"
#include "support/problems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <stop_token>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace echelon::test {
namespace {

Csr<double> generated(const std::string& name, const Options& options) {
  return std::get<Csr<double>>(find_generator(name).make_double(options));
}

/// B B^T + shift I with some elements changed, so that it may be unsymmetric or indefinite.
Dense<double> random_dense(std::int64_t n, double shift, double unsymmetric, std::mt19937& random) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  Dense<double> A(Device(), n, n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i <= j; ++i) {
      A(i, j) = uniform(random);
      A(j, i) = A(i, j) + unsymmetric * uniform(random);
    }
    A(j, j) += shift;
  }
  return A;
}

TEST(StructureOfDense, AgreesWithTheFullAnalysis) {
  std::mt19937 random(7);
  for (const std::int64_t n : {0, 1, 2, 63, 64, 65, 200, 300}) {
    for (const double shift : {-2.0, 0.0, 4.0}) {
      for (const double unsymmetric : {0.0, 1e-15, 0.1}) {
        const Dense<double> A = random_dense(n, shift, unsymmetric, random);
        const Structure found = structure_of_dense<double>(A.view());
        const Structure full = analyze_structure<double>(A);
        EXPECT_EQ(found.symmetric_values, full.symmetric_values) << n;
        EXPECT_EQ(found.positive_diagonals, full.positive_diagonals) << n;
        EXPECT_EQ(found.zero_diagonals, full.zero_diagonals) << n;
        if (full.asymmetry < 1e-9) {
          EXPECT_DOUBLE_EQ(found.asymmetry, full.asymmetry) << n;
        } else {
          EXPECT_GT(found.asymmetry, 1e-9) << n;
        }
        if (full.symmetric_values) {
          EXPECT_EQ(found.definiteness == Definiteness::indefinite,
                    full.definiteness == Definiteness::indefinite)
              << n << " " << shift;
        }
      }
    }
  }
}

TEST(StructureOfDense, ElementsNearTheEndsOfTheRange_NoOverflow) {
  for (const double scale : {1e-200, 1e200}) {
    Dense<double> A(Device(), 2, 2);
    A(0, 0) = A(1, 1) = 2 * scale;
    A(0, 1) = A(1, 0) = scale;
    EXPECT_EQ(structure_of_dense<double>(A.view()).definiteness, Definiteness::unknown);
    A(0, 1) = A(1, 0) = 3 * scale;
    EXPECT_EQ(structure_of_dense<double>(A.view()).definiteness, Definiteness::indefinite);
  }
}

Report solve_ones(const Csr<double>& A, const SolveOptions& options = {}) {
  const std::vector<double> ones(static_cast<std::size_t>(A.rows()), 1.0);
  Dense<double> b(Device(), A.rows(), 1);
  multiply<double>(1.0, A, ones, 0.0, b);
  return solve(A, b, options).report;
}

TEST(Trial, WellConditioned_SolvedWithoutAFactorization) {
  for (const bool symmetric : {false, true}) {
    const Csr<double> A = symmetric ? generated("random-spd", {{"n", 4000}})
                                    : generated("diagonally-dominant", {{"n", 20'000}, {"density", 0.0005}});
    ASSERT_GT(A.nonzeros(), most_measured_nonzeros);
    const Report report = solve_ones(A);
    EXPECT_EQ(report.method.substr(0, report.method.find(' ')), symmetric ? "cg" : "bicgstab");
    EXPECT_TRUE(report.solved()) << report.message;
    EXPECT_EQ(report.attempts.size(), 0U);
    EXPECT_EQ(report.analysis_seconds, 0);
  }
}

TEST(Trial, SlowConvergence_GivenUpForAFactorization) {
  const Csr<double> L = generated("poisson-2d", {{"nx", 150}, {"ny", 150}});
  const Report report = solve_ones(multiply(L, L));
  EXPECT_EQ(report.method, "sparse-cholesky");
  EXPECT_TRUE(report.solved()) << report.message;
  ASSERT_EQ(report.attempts.size(), 1U);
  EXPECT_EQ(report.attempts[0].status, Status::max_iterations);
  EXPECT_NE(report.attempts[0].message.find("given up after "), std::string::npos)
      << report.attempts[0].message;
}

/// Iterations with Jacobi or IC(0) take up to as long as those with an approximate Cholesky factor.
TEST(Trial, SlowConvergenceOnAGraph_FewerIterationsThanTheSolve) {
  for (const auto& [n, seed] : {std::pair{20'000, 3}, std::pair{50'000, 1}}) {
    const Csr<double> A = generated("chimera", {{"n", n}, {"form", "sddm"}, {"seed", seed}});
    std::int64_t iterations = 0;
    SolveOptions options;
    options.on_progress = [&](const Progress& progress) {
      if (progress.phase == SolverPhase::solve && progress.iteration > 0) ++iterations;
    };
    const Report report = solve_ones(A, options);
    EXPECT_TRUE(report.solved()) << report;
    EXPECT_EQ(report.method, "approximate-cholesky") << n;
    EXPECT_EQ(report.attempts.size(), 1U) << n;
    EXPECT_GT(iterations, report.iterations) << n;
    EXPECT_LE(iterations, 2 * report.iterations) << n;
  }
}

TEST(Trial, CallersRequestToStop_StaysACancellation) {
  const Csr<double> L = generated("poisson-2d", {{"nx", 150}, {"ny", 150}});
  std::stop_source stop;
  SolveOptions options;
  options.cancel = stop.get_token();
  options.on_progress = [&](const Progress&) { stop.request_stop(); };
  EXPECT_EQ(solve_ones(multiply(L, L), options).status, Status::cancelled);
}

TEST(KeptAnalysis, SameSolutionAsByName_AnalysedOnce) {
  for (const auto& [name, options, method] : std::vector<std::tuple<std::string, Options, std::string>>{
           {"poisson-2d", {{"nx", 60}, {"ny", 50}}, "sparse-cholesky"},
           {"convection-diffusion-2d", {{"nx", 60}, {"ny", 50}}, "sparse-lu"}}) {
    const Csr<double> A = generated(name, options);
    const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1.0);
    const Solution<double> chosen = solve(A, b);
    SolveOptions named;
    named.method = method;
    const Solution<double> expected = solve(A, b, named);
    EXPECT_EQ(chosen.report.method, method);
    EXPECT_GT(chosen.report.analysis_seconds, 0);
    EXPECT_EQ(chosen.x.to_vector(), expected.x.to_vector()) << name;
    EXPECT_EQ(chosen.report.rank, expected.report.rank);
  }
}

TEST(KeptAnalysis, MatrixThatIsScaled_IsAnalysedAgain) {
  // An A of huge elements is scaled by a power of two before the set-up; the analysis kept scale factors.
  Csr<double> A = generated("convection-diffusion-2d", {{"nx", 60}, {"ny", 50}});
  for (std::int64_t k = 0; k < A.nonzeros(); ++k) A.values()[k] = std::ldexp(A.values()[k], 900);
  const Report report = solve_ones(A);
  EXPECT_EQ(report.status, Status::direct) << report.message;
  EXPECT_GE(report.expected_digits().value_or(0), 12);
}

TEST(StructureOfSparse, AgreesWithTheFullAnalysis) {
  for (const auto& [name, options] :
       std::vector<std::pair<std::string, Options>>{{"poisson-2d", {{"nx", 30}, {"ny", 20}}},
                                                    {"elasticity-2d", {{"nx", 12}, {"ny", 9}}},
                                                    {"random-spd", {{"n", 300}}},
                                                    {"convection-diffusion-2d", {{"nx", 30}, {"ny", 20}}},
                                                    {"random-sparse", {{"rows", 200}, {"columns", 200}}}}) {
    Csr<double> A = generated(name, options);
    for (const double change : {0.0, 1e-15, 100.0}) {  // of one element; the last makes a minor negative
      A.values()[1] *= 1 + change;
      const Structure full = analyze_structure<double>(A);
      EXPECT_EQ(is_symmetric(A), full.symmetric_values) << name << change;
      const Structure found = structure_of_sparse(A, summarize_rows(A), false);
      EXPECT_EQ(found.symmetric_values, full.symmetric_values) << name << change;
      EXPECT_EQ(found.weakly_dominant_rows, full.weakly_dominant_rows) << name << change;
      EXPECT_EQ(found.strictly_dominant_rows, full.strictly_dominant_rows) << name << change;
      EXPECT_EQ(found.positive_diagonals, full.positive_diagonals) << name << change;
      EXPECT_EQ(found.zero_diagonals, full.zero_diagonals) << name << change;
      EXPECT_EQ(found.asymmetry == 0, full.symmetric_values) << name << change;
    }
  }
}

TEST(StructureOfSparse, NegativeMinor_Indefinite) {
  Csr<double> A = generated("poisson-2d", {{"nx", 3}, {"ny", 1}});  // rows of 2, 3 and 2 elements
  EXPECT_NE(structure_of_sparse(A, summarize_rows(A), false).definiteness, Definiteness::indefinite);
  A.values()[1] = A.values()[2] = 5;
  EXPECT_EQ(structure_of_sparse(A, summarize_rows(A), false).definiteness, Definiteness::indefinite);
}

/// Permutations and shifts have equal sums of rows and columns.
TEST(StructureOfSparse, CyclicShift_IsNotSymmetric) {
  std::vector<Triplet<double>> elements;
  constexpr std::int32_t n = 40;
  for (std::int32_t i = 0; i < n; ++i) elements.push_back({i, (i + 1) % n, 1});
  EXPECT_FALSE(is_probably_symmetric(Csr<double>::from_triplets(n, n, elements)));
  for (std::int32_t i = 0; i < n; ++i) elements.push_back({(i + 1) % n, i, i == 7 ? -1.0 : 1.0});
  EXPECT_FALSE(is_probably_symmetric(Csr<double>::from_triplets(n, n, elements)));
  elements[n + 7].value = 1;
  EXPECT_TRUE(is_probably_symmetric(Csr<double>::from_triplets(n, n, elements)));
}

TEST(SmallSparse, FewElements_NoDenseFactorization) {
  const std::vector<Candidate> few =
      choose<double>(generated("poisson-2d", {{"nx", 22}, {"ny", 22}}), Device());
  EXPECT_EQ(few.at(0).method, "sparse-cholesky");
  const std::vector<Candidate> many =
      choose<double>(generated("random-sparse", {{"rows", 60}, {"columns", 60}, {"density", 0.8}}), Device());
  EXPECT_EQ(many.at(0).method, "lu");
}

}  // namespace
}  // namespace echelon::test
