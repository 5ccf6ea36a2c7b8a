// SPDX-License-Identifier: BSD-3-Clause
/// Statements about an answer: solved, singular or inconsistent, with proofs.
#include "solver/answer/acceptance.hpp"

#include "exact/exact_rank.hpp"
#include "solver/implementation.hpp"
#include "support/problems.hpp"
#include "support/solver/rows.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace echelon::test {
namespace {

template <class T>
class AcceptanceOf : public ::testing::Test {};
TYPED_TEST_SUITE(AcceptanceOf, Reals);

Rows bipartite(std::size_t n, std::size_t m) {
  return graph_laplacian(n + m, [=](std::size_t i, std::size_t j) { return (i < n) != (j < n); });
}
/// The matrix D L D for powers of two D over some decades.
Rows scaled_symmetrically(Rows rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < rows.size(); ++j)
      rows[i][j] = std::ldexp(rows[i][j], static_cast<int>(i % 7) + static_cast<int>(j % 7));
  }
  return rows;
}

std::vector<Rows> singular_matrices() {
  std::vector<Rows> list;
  for (const std::size_t n : {2, 5, 22, 23, 30, 47}) {
    list.push_back(complete(n));
    list.push_back(scaled(complete(n), -1));
  }
  for (const std::size_t n : {3, 11, 16}) {
    list.push_back(bipartite(n, n));
    list.push_back(scaled(bipartite(n, n + 2), -1));
    list.push_back(scaled_symmetrically(bipartite(n, n)));
  }
  return list;
}

/// Direct methods and auto, for A of rank n - 1.
const std::vector<std::string> methods_for_any_matrix = {
    "auto", "lu", "ldlt", "sparse-lu", "sparse-ldlt", "gauss-jordan", "mapped-echelon"};

TYPED_TEST(AcceptanceOf, SingularInconsistent_IsNeverSolved) {
  using T = TypeParam;
  for (const Rows& rows : singular_matrices()) {
    const Csr<T> A = sparse<T>(rows);
    std::vector<T> b(rows.size(), T{0});
    b[0] = 1;  // the sum over the rows is not zero, nor is it with powers of two
    for (const std::string& method : methods_for_any_matrix) {
      const auto [x, report] = solve(A, b, {.method = method, .device = Device::serial()});
      EXPECT_FALSE(report.solved()) << method << ", order " << rows.size() << ": " << report;
      if (method != "auto") continue;
      EXPECT_EQ(report.status, Status::inconsistent) << report;
      EXPECT_EQ(report.certainty, Certainty::proven);
      EXPECT_EQ(report.rank.value_or(A.rows() - 1), A.rows() - 1) << report;
    }
  }
}

TYPED_TEST(AcceptanceOf, SingularConsistent_IsNeverInconsistent) {
  using T = TypeParam;
  for (const Rows& rows : singular_matrices()) {
    const Csr<T> A = sparse<T>(rows);
    std::vector<double> x0;
    for (std::size_t i = 0; i < rows.size(); ++i) x0.push_back(static_cast<double>(i % 5) - 2);
    const std::vector<T> b = as<T>(product(rows, x0));
    for (const std::string& method : methods_for_any_matrix) {
      const auto [x, report] = solve(A, b, {.method = method, .device = Device::serial()});
      EXPECT_NE(report.status, Status::inconsistent) << method << ", order " << rows.size() << ": " << report;
      if (method == "auto") {
        EXPECT_TRUE(report.solved()) << report;
      }
      const double level = std::is_same_v<T, double> ? 1e-8 : 1e-4;
      EXPECT_TRUE(!report.solved() || report.relative_residual <= level) << report;
    }
  }
}

/// Methods that find a solution and the rank report the same status as auto.
TEST(Acceptance, ConsistentOfRankDeficiency_UnderdeterminedIsSolved) {
  Rows rows = {{2, 1, 3, 0}, {1, 4, 5, 1}, {3, 5, 8, 1}, {0, 1, 1, 7}};  // row 2 = row 0 + row 1
  const Csr<double> A = sparse<double>(rows);
  const std::vector<double> b = product(rows, {1, 2, 3, 4});
  for (const std::string method : {"auto", "gauss-jordan", "mapped-echelon", "sparse-lu"}) {
    const auto [x, report] = solve(A, b, {.method = method});
    EXPECT_TRUE(report.solved()) << method << ": " << report;
    EXPECT_EQ(report.rank.value_or(3), 3) << report;
    EXPECT_TRUE(method == "auto" || report.status == Status::underdetermined) << method << ": " << report;
  }
}

/// Rounding errors of the residual in working precision do not make an answer.
TEST(Acceptance, IterationLimitedByRounding_IsJudgedByItsTrueResidual) {
  for (const auto& [residual, status] :
       {std::pair(0.9e-4, Status::converged), std::pair(2.2e-4, Status::stagnated)}) {
    Answer<float> answer;
    answer.b.norm2 = 1;
    answer.r.norm2 = residual;
    Job job;
    job.outcome.status = Status::converged;
    job.tolerance = 1e-5;
    job.limited_by_rounding = true;
    ExactRank<float> exact;
    accept_iterative(answer, exact, job);
    EXPECT_EQ(job.outcome.status, status) << residual;
  }
}

/// A solver whose rank is not reported computes none, and has the same x.
TEST(Acceptance, LeaveRankUnproven_OmitsTheProof) {
  const Csr<double> A = sparse<double>(complete(30));
  std::vector<double> b(30, 0);
  b[0] = 1;
  b[7] = -1;
  std::vector<double> x[2];
  for (const bool proves : {false, true}) {
    auto solver = make_solver<double>("sparse-ldlt", Device::serial());
    if (!proves) SolverAccess<double>::implementation(solver).leave_rank_unproven();
    solver.setup(A);
    std::vector<double>& answer = x[proves ? 1 : 0];
    answer.resize(30);
    const Report report = solver.solve(std::as_const(b), answer);
    EXPECT_EQ(report.status, Status::underdetermined) << report;
    EXPECT_EQ(report.rank, 29) << report;
    EXPECT_EQ(report.certainty, proves ? Certainty::proven : Certainty::working_precision) << report;
  }
  EXPECT_EQ(x[0], x[1]);

  ExactRank<double> exact{MatrixRef<double>(A)};
  Outcome outcome = {.status = Status::underdetermined, .rank = 29};
  accept_direct<double>({.b = {}, .x = {}, .r = {}, .proves_rank = false}, 30, exact, outcome);
  EXPECT_EQ(outcome.certainty, Certainty::working_precision);
  EXPECT_EQ(exact.known(), std::nullopt);
}

/// The x of least residual is the answer only where it is asked for.
TEST(Acceptance, LeastSquares_OnRequestOnly) {
  const Csr<double> A = sparse<double>(complete(12));
  std::vector<double> b(12, 0);
  b[3] = 1;
  const auto [refused_x, refused] = solve(A, b, {.method = "minres"});
  EXPECT_FALSE(refused.solved()) << refused;
  const auto [x, report] = solve(A, b, {.method = "lamg", .least_squares = true});
  EXPECT_EQ(report.status, Status::least_squares) << report;
  EXPECT_NEAR(report.residual_norm, 1 / std::sqrt(12.0), 1e-7);
  const auto [ungraded_x, solved] = solve(sparse<double>({{2, 1}, {1, 2}}), std::vector<double>{1, 2},
                                          {.method = "lu", .least_squares = true});
  EXPECT_EQ(solved.status, Status::direct);
}

/// A x = b and -A x = -b have one status, also where the sum of b is small, and by direct methods.
TEST(Acceptance, SignOfASystem_ChangesNothing) {
  for (const std::size_t n : {7, 40, 100}) {
    const Rows L = graph_laplacian(n, [](std::size_t i, std::size_t j) { return i + 1 == j || j + 1 == i; });
    for (const double share : {0.0, 1e-13, 1e-10, 1.0}) {
      const bool balanced = share < 1e-8;
      std::vector<double> b(n);
      double sum = 0;
      for (std::size_t i = 0; i < n; ++i) sum += b[i] = std::sin(static_cast<double>(i * i));
      for (double& element : b) element -= (1 - share) * sum / static_cast<double>(n);
      std::vector<double> negative_b = b;
      for (double& element : negative_b) element = -element;
      for (const std::string method : {"auto", "cg", "minres", "gmres", "amg", "lamg", "approximate-cholesky",
                                       "bddc", "sparse-lu", "gauss-jordan", "mapped-echelon"}) {
        SCOPED_TRACE(method + " " + std::to_string(n) + " " + std::to_string(share));
        const Report positive = solve(sparse<double>(L), b, {.method = method}).report;
        const Report negative = solve(sparse<double>(scaled(L, -1)), negative_b, {.method = method}).report;
        EXPECT_EQ(positive.solved(), balanced) << positive;
        if (method == "cg") continue;  // which takes no negative definite A
        EXPECT_EQ(negative.solved(), positive.solved()) << negative;
        if (method == "auto" && balanced) continue;  // which takes other methods
        EXPECT_EQ(negative.status, positive.status) << negative;
        EXPECT_EQ(negative.certainty, positive.certainty) << negative;
      }
    }
  }
}

/// Nonsingular, however weak the ground: no method calls it inconsistent, and none accepts an x that does
/// not satisfy the equations.
TEST(Acceptance, WeaklyGroundedPath_IsNeverInconsistent) {
  for (const std::size_t n : {30, 60, 61}) {
    for (const double ground : {1e-9, 1e-11, 1e-12}) {
      Rows rows = graph_laplacian(n, [](std::size_t i, std::size_t j) { return i + 1 == j || j + 1 == i; });
      rows[0][0] += ground;
      const Csr<double> A = sparse<double>(rows);
      std::vector<double> b(n, 0);
      b[n / 2] = 1;
      // The current flows through the ground.
      const double level = 1 / (rows[0][0] - 1);
      for (const Method& method : methods()) {
        const bool general = method.kind != MethodKind::preconditioner && method.runs_on(Device());
        if (!general || method.needs == MethodNeeds::triangular) continue;
        SCOPED_TRACE(method.name + " " + std::to_string(n) + " " + std::to_string(ground));
        const auto [x, report] = solve(A, b, {.method = method.name, .max_iterations = 3000});
        EXPECT_NE(report.status, Status::inconsistent) << report;
        if (!report.solved()) continue;
        EXPECT_LE(report.relative_residual, 1e-7) << report;
        const double error = std::abs(x.data()[n / 2] - (level + static_cast<double>(n / 2))) / level;
        EXPECT_LE(report.expected_digits().value_or(0), 1 - std::log10(error + 1e-16)) << report;
      }
    }
  }
}

/// Rounding errors in one half of a symmetric matrix do not make it unsymmetric.
TEST(Acceptance, Auto_NearlySymmetric_IsTakenAsSymmetric) {
  Csr<double> A = poisson(20);
  A.values()[1] = std::nextafter(A.values()[1], 0.0);
  const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1.0);
  const auto [x, report] = solve(A, b);
  EXPECT_TRUE(report.solved()) << report;
  EXPECT_TRUE(std::any_of(report.warnings.begin(), report.warnings.end(), [](const std::string& warning) {
    return warning.find("taken as symmetric") != std::string::npos;
  })) << report;
}

}  // namespace
}  // namespace echelon::test
