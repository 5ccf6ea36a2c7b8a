// SPDX-License-Identifier: BSD-3-Clause
/// Condition numbers after updates of values in a pattern: by the change of the pivots, or estimated.
#include "support/problems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace echelon::test {
namespace {

const std::vector<std::string> methods_with_updates = {"sparse-cholesky", "sparse-ldlt", "sparse-lu",
                                                       "banded-lu"};

/// A Laplacian of a grid with a random diagonal excess in [1, 2] times `excess`.
Csr<double> grounded_grid(double excess, unsigned seed) {
  Csr<double> A = generate::poisson_2d<double>(25, 25);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> sizes(1, 2);
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    double off_diagonal = 0;
    std::int64_t diagonal = 0;
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      if (A.column_indices()[k] == i)
        diagonal = k;
      else
        off_diagonal += A.values()[k];
    }
    A.values()[diagonal] = -off_diagonal + excess * sizes(random);
  }
  return A;
}

bool by_pivots(const Report& report) {
  return report.find_statistic("condition_by_pivots") != nullptr;
}

TEST(ConditionOfUpdates, SimilarValues_PivotsPredictTheEstimate) {
  for (const std::string& method : methods_with_updates) {
    for (const std::string factorization : {"multifrontal", "left-looking"}) {
      const bool lu = method == "sparse-lu";
      if (!lu && factorization == "left-looking") continue;
      SCOPED_TRACE(method + " " + factorization);
      const Options options = lu ? Options{{"factorization", factorization}} : Options{};
      const Csr<double> first = grounded_grid(1e-3, 1);
      auto solver = make_solver<double>(method, Device(), options);
      EXPECT_FALSE(by_pivots(solver.setup(first)));
      int predicted = 0;
      for (const double excess : {1e-3, 9e-4, 2e-3, 5e-4}) {
        const Csr<double> A = grounded_grid(excess, 2);
        const Report update = solver.update_values(A);
        const Report fresh = make_solver<double>(method, Device(), options).setup(A);
        ASSERT_TRUE(update.reciprocal_condition && fresh.reciprocal_condition);
        const double ratio = *update.reciprocal_condition / *fresh.reciprocal_condition;
        EXPECT_GE(ratio, 0.1) << excess;
        EXPECT_LE(ratio, 10) << excess;
        predicted += by_pivots(update) ? 1 : 0;
      }
      EXPECT_GE(predicted, 3);
    }
  }
}

TEST(ConditionOfUpdates, OnRequest_IsThatOfASetUp) {
  for (const std::string& method : methods_with_updates) {
    SCOPED_TRACE(method);
    const Options options = {{"condition_of_updates", true}};
    auto solver = make_solver<double>(method, Device(), options);
    const Csr<double> first = grounded_grid(1e-3, 1);
    EXPECT_TRUE(solver.setup(first).ready());
    const Csr<double> second = grounded_grid(1e-3, 2);
    const Report update = solver.update_values(second);
    EXPECT_FALSE(by_pivots(update));
    EXPECT_NEAR(*update.reciprocal_condition,
                *make_solver<double>(method, Device()).setup(second).reciprocal_condition,
                1e-6 * *update.reciprocal_condition);
  }
}

/// Pivots that change much, or a matrix near a singular one: the condition number is estimated.
TEST(ConditionOfUpdates, NearlySingularValues_AreNoticed) {
  for (const std::string& method : methods_with_updates) {
    SCOPED_TRACE(method);
    auto solver = make_solver<double>(method, Device());
    const Csr<double> first = grounded_grid(1e-3, 1);
    EXPECT_TRUE(solver.setup(first).ready());
    for (const double excess : {1e-6, 1e-12, 1e-15}) {
      const Csr<double> A = grounded_grid(excess, 2);
      const Report update = solver.update_values(A);
      const Report fresh = make_solver<double>(method, Device()).setup(A);
      EXPECT_FALSE(by_pivots(update)) << excess;
      EXPECT_EQ(update.status, fresh.status) << excess;
      if (!update.reciprocal_condition) continue;
      EXPECT_NEAR(std::log10(*update.reciprocal_condition), std::log10(*fresh.reciprocal_condition), 1);
    }
    const Csr<double> last = grounded_grid(1e-3, 3);
    EXPECT_TRUE(solver.update_values(last).ready());
  }
}

/// Digits after a series of updates, each measured with the factors of its own values.
TEST(ConditionOfUpdates, Digits_AreThere) {
  for (const std::string& method : methods_with_updates) {
    SCOPED_TRACE(method);
    auto solver = make_solver<double>(method, Device());
    std::vector<double> x(625);
    const std::vector<double> ones(625, 1.0);
    for (unsigned step = 0; step < 12; ++step) {
      const Csr<double> A = grounded_grid(std::pow(0.3, step), step);
      const Report update = step == 0 ? solver.setup(A) : solver.update_values(A);
      ASSERT_TRUE(update.ready()) << update;
      std::vector<double> b(625);
      multiply<double>(1.0, A, ones, 0.0, DenseView<double>(b));
      const Report report = solver.solve(b, x);
      ASSERT_TRUE(report.solved()) << report;
      double error = 0;
      for (const double element : x) error = std::max(error, std::abs(element - 1));
      // b is rounded, which moves x by as much as the condition number times eps.
      const double rounding = 1e-16 / *report.reciprocal_condition;
      EXPECT_LE(error, 10 * *report.error_estimate + rounding) << step;
    }
  }
}

/// A matrix whose diagonal is zero, dominated by the elements of a permutation: by pairs of rows if it is
/// symmetric.
Csr<double> dominant_permutation(bool symmetric, unsigned seed) {
  constexpr std::int32_t n = 200;
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> sizes(4, 8), others(-1, 1);
  std::vector<Triplet<double>> elements;
  const auto add = [&](std::int32_t i, std::int32_t j, double value) {
    elements.push_back({i, j, value});
    if (symmetric) elements.push_back({j, i, value});
  };
  for (std::int32_t i = 0; i < n; i += symmetric ? 2 : 1) {
    const std::int32_t partner = symmetric ? i + 1 : (i + 7) % n;
    add(i, partner, sizes(random));
    for (int k = 0; k < 2; ++k) {
      const auto j = static_cast<std::int32_t>(random() % n);
      if (j != i && j != partner) add(i, j, others(random));
    }
  }
  return Csr<double>::from_triplets(n, n, elements);
}

/// n factors from 1e-6 to 1e6 for rows or columns, or ones.
std::vector<double> scale_factors(std::int64_t n, bool wide, unsigned seed) {
  std::vector<double> factors(static_cast<std::size_t>(n), 1.0);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> exponents(-6, 6);
  if (wide) std::ranges::generate(factors, [&] { return std::pow(10, exponents(random)); });
  return factors;
}

Csr<double> scaled(Csr<double> A, const std::vector<double>& rows, const std::vector<double>& columns) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k)
      A.values()[k] *= rows[i] * columns[A.column_indices()[k]];
  }
  return A;
}

void expect_condition_of_a_set_up(Solver<double>& solver, const Csr<double>& A, const std::string& method,
                                  const Options& options) {
  const Report update = solver.update_values(A);
  const Report fresh = make_solver<double>(method, Device(), options).setup(A);
  ASSERT_TRUE(update.ready() && fresh.ready());
  ASSERT_TRUE(update.reciprocal_condition && fresh.reciprocal_condition);
  const double ratio = *update.reciprocal_condition / *fresh.reciprocal_condition;
  EXPECT_LE(ratio, 10);
  EXPECT_GE(ratio, 1e-3);
  const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1.0);
  std::vector<double> x(b.size());
  EXPECT_TRUE(solver.solve(b, x).solved());
}

/// The scaling of a matching does not suit values of other sizes.
TEST(ConditionOfUpdates, MatchedValuesOfOtherScales_AreScaledAgain) {
  const std::vector<std::pair<std::string, Options>> methods = {
      {"sparse-lu", {{"factorization", "left-looking"}}},
      {"sparse-lu", {{"factorization", "multifrontal"}}},
      {"sparse-ldlt", {}}};
  for (const auto& [method, options] : methods) {
    const bool symmetric = method == "sparse-ldlt";
    for (unsigned seed = 0; seed < 8; ++seed) {
      SCOPED_TRACE(method + " " + std::to_string(seed));
      const Csr<double> A = dominant_permutation(symmetric, seed);
      const std::vector<double> rows = scale_factors(A.rows(), symmetric || seed % 4 != 1, 2 * seed);
      const std::vector<double> columns =
          symmetric ? rows : scale_factors(A.rows(), seed % 4 > 0, 2 * seed + 1);
      auto solver = make_solver<double>(method, Device(), options);
      ASSERT_TRUE(solver.setup(A).ready());
      const Csr<double> other = scaled(A, rows, columns);
      expect_condition_of_a_set_up(solver, other, method, options);
      expect_condition_of_a_set_up(solver, other, method, options);
      expect_condition_of_a_set_up(solver, A, method, options);
    }
  }
}

TEST(ConditionOfUpdates, GridsOfOtherScales_AreScaledAgain) {
  for (const std::string& method : methods_with_updates) {
    for (unsigned seed = 0; seed < 3; ++seed) {
      SCOPED_TRACE(method + " " + std::to_string(seed));
      const Csr<double> A = grounded_grid(1, seed);
      const std::vector<double> factors = scale_factors(A.rows(), true, seed);
      auto solver = make_solver<double>(method, Device());
      ASSERT_TRUE(solver.setup(A).ready());
      expect_condition_of_a_set_up(solver, scaled(A, factors, factors), method, {});
      expect_condition_of_a_set_up(solver, A, method, {});
    }
  }
}

}  // namespace
}  // namespace echelon::test
