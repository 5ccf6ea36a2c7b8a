// SPDX-License-Identifier: BSD-3-Clause
#include <echelon/error.hpp>
#include <echelon/matrix/transform.hpp>
#include <echelon/problems/steady_state.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace echelon {
namespace {

using Exact = std::vector<long double>;

/// A chain by its rates off the diagonal, row by row.
struct Chain {
  std::int64_t n;
  Exact rates;
  explicit Chain(std::int64_t states) : n(states), rates(static_cast<std::size_t>(states * states)) {}
  long double& operator()(std::int64_t i, std::int64_t j) {
    return rates[static_cast<std::size_t>(i * n + j)];
  }
  long double operator()(std::int64_t i, std::int64_t j) const {
    return rates[static_cast<std::size_t>(i * n + j)];
  }
  [[nodiscard]] long double out(std::int64_t i) const {
    long double sum = 0;
    for (std::int64_t j = 0; j < n; ++j) sum += i == j ? 0 : (*this)(i, j);
    return sum;
  }
};

/// factor Q + shift I with the rates Q.
Csr<double> matrix_of(const Chain& chain, double factor = 1, double shift = 0) {
  std::vector<Triplet<double>> elements;
  for (std::int32_t i = 0; i < chain.n; ++i) {
    elements.push_back({i, i, static_cast<double>(shift - factor * chain.out(i))});
    for (std::int32_t j = 0; j < chain.n; ++j) {
      if (i != j && chain(i, j) != 0) elements.push_back({i, j, factor * static_cast<double>(chain(i, j))});
    }
  }
  return Csr<double>::from_triplets(chain.n, chain.n, elements);
}

/// Dense elimination in the given order of the states, in long double.
Exact dense_steady_state(Chain chain) {
  const std::int64_t n = chain.n;
  Exact sums(static_cast<std::size_t>(n), 1);
  for (std::int64_t k = n - 1; k > 0; --k) {
    long double sum = 0;
    for (std::int64_t j = 0; j < k; ++j) sum += chain(k, j);
    for (std::int64_t i = 0; i < k; ++i) {
      for (std::int64_t j = 0; j < k; ++j) {
        if (i != j) chain(i, j) += chain(i, k) * chain(k, j) / sum;
      }
    }
    sums[static_cast<std::size_t>(k)] = sum;
  }
  Exact x(static_cast<std::size_t>(n), 1);
  long double total = 1;
  for (std::int64_t k = 1; k < n; ++k) {
    long double flow = 0;
    for (std::int64_t i = 0; i < k; ++i) flow += x[static_cast<std::size_t>(i)] * chain(i, k);
    x[static_cast<std::size_t>(k)] = flow / sums[static_cast<std::size_t>(k)];
    total += x[static_cast<std::size_t>(k)];
  }
  for (long double& element : x) element /= total;
  return x;
}

/// Largest error of a component relative to its size.
double componentwise_error(const std::vector<double>& x, const Exact& expected) {
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (expected[i] == 0 && x[i] == 0) continue;
    largest = std::max(largest, static_cast<double>(std::fabs((x[i] - expected[i]) / expected[i])));
  }
  return largest;
}

Chain random_chain(std::int64_t n, std::int64_t per_row, double decades, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> exponent(-decades, decades);
  Chain chain(n);
  for (std::int64_t i = 0; i < n; ++i) {
    chain(i, (i + 1) % n) = std::pow(10, exponent(random));  // irreducible
    for (std::int64_t k = 1; k < per_row; ++k) {
      const auto j = static_cast<std::int64_t>(random() % static_cast<unsigned>(n));
      if (j != i) chain(i, j) = std::pow(10, exponent(random));
    }
  }
  return chain;
}

TEST(SteadyState, BirthsAndDeaths_HaveTheProductForm) {
  constexpr std::int64_t n = 200;
  std::mt19937 random(1);
  std::uniform_real_distribution<double> exponent(-4, 4);
  Chain chain(n);
  Exact expected(n, 1);
  long double sum = 1;
  for (std::int64_t i = 0; i + 1 < n; ++i) {
    chain(i, i + 1) = std::pow(10, exponent(random));
    chain(i + 1, i) = std::pow(10, exponent(random));
    const auto at = static_cast<std::size_t>(i);
    expected[at + 1] = expected[at] * chain(i, i + 1) / chain(i + 1, i);
    sum += expected[at + 1];
  }
  for (long double& element : expected) element /= sum;
  const SteadyState found = steady_state(matrix_of(chain));
  EXPECT_LT(componentwise_error(found.x, expected), 1e-13);
  EXPECT_LT(found.residual, 1e-15);
  EXPECT_EQ(found.closed_classes, 1);
  EXPECT_EQ(found.transient_states, 0);
}

TEST(SteadyState, RandomChains_EachComponentIsAccurate) {
  for (const std::int64_t n : {2, 3, 31, 33, 120}) {
    for (const double decades : {0.0, 3.0, 8.0}) {
      SCOPED_TRACE(std::to_string(n) + ", " + std::to_string(decades));
      const Chain chain = random_chain(n, 4, decades, static_cast<unsigned>(n));
      Chain rounded = chain;
      for (long double& rate : rounded.rates) rate = static_cast<double>(rate);
      const SteadyState found = steady_state(matrix_of(rounded));
      EXPECT_LT(componentwise_error(found.x, dense_steady_state(rounded)), 1e-14);
    }
  }
}

TEST(SteadyState, RatesProbabilitiesAndMMatrices_AreOneChain) {
  const Chain chain = random_chain(40, 3, 1, 5);
  const std::vector<double> expected = steady_state(matrix_of(chain)).x;
  for (const auto& [factor, shift] : {std::pair(-1.0, 0.0), std::pair(1e-3, 1.0), std::pair(1e12, 0.0)}) {
    const std::vector<double> x = steady_state(matrix_of(chain, factor, shift)).x;
    EXPECT_LT(componentwise_error(x, Exact(expected.begin(), expected.end())), 1e-13);
  }
}

/// Two groups of states that are coupled by 1e-12, which elimination with a subtraction would lose.
TEST(SteadyState, NearlyDecomposableChain_IsAccurate) {
  Chain chain = random_chain(20, 4, 0, 3);
  for (std::int64_t i = 0; i < 20; ++i) {
    for (std::int64_t j = 0; j < 20; ++j) {
      if (i / 10 != j / 10) chain(i, j) *= 1e-12L;
    }
  }
  chain(9, 0) = 1;
  chain(19, 10) = 1;
  for (long double& rate : chain.rates) rate = static_cast<double>(rate);
  EXPECT_LT(componentwise_error(steady_state(matrix_of(chain)).x, dense_steady_state(chain)), 1e-14);
}

TEST(SteadyState, TransientStates_HaveProbabilityZero) {
  Chain chain(5);  // 0 and 1 lead to the cycle 2, 3, 4
  chain(0, 1) = 2;
  chain(1, 0) = 1;
  chain(1, 2) = 1;
  chain(2, 3) = 1;
  chain(3, 4) = 2;
  chain(4, 2) = 4;
  const SteadyState found = steady_state(matrix_of(chain));
  EXPECT_EQ(found.closed_classes, 1);
  EXPECT_EQ(found.transient_states, 2);
  EXPECT_LT(componentwise_error(found.x, {0, 0, 4.0L / 7, 2.0L / 7, 1.0L / 7}), 1e-15);
}

TEST(SteadyState, SeveralClosedClasses_AreCounted) {
  Chain chain(3);  // 1 leads to 0 and to 2, which stay
  chain(1, 0) = 1;
  chain(1, 2) = 1;
  const SteadyState found = steady_state(matrix_of(chain));
  EXPECT_EQ(found.closed_classes, 2);
  EXPECT_EQ(found.transient_states, 1);
  EXPECT_EQ(found.x[0] + found.x[2], 1);
  EXPECT_EQ(found.residual, 0);
}

TEST(SteadyState, SmallestChains) {
  EXPECT_TRUE(steady_state(Csr<double>()).x.empty());
  EXPECT_EQ(steady_state(Csr<double>::from_triplets(1, 1, {})).x, std::vector<double>{1});
  EXPECT_EQ(steady_state(Csr<double>::from_triplets(1, 1, {{0, 0, 1.0}})).x, std::vector<double>{1});
}

TEST(SteadyState, OtherMatrices_AreRefusedWithTheirRow) {
  const auto message_of = [](const std::vector<Triplet<double>>& elements) {
    try {
      static_cast<void>(steady_state(Csr<double>::from_triplets(2, 2, elements)));
    } catch (const InvalidMatrix& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(message_of({{0, 0, -1}, {0, 1, 1}, {1, 0, 2}, {1, 1, -1}}).find("row 1 (from 0) has the sum 1"),
            std::string::npos);
  EXPECT_NE(message_of({{0, 0, -1}, {0, 1, nan}}).find("row 0 (from 0) has an element that is not finite"),
            std::string::npos);
  const Csr<double> signs =
      Csr<double>::from_triplets(3, 3, {{0, 0, 0}, {0, 1, 1}, {0, 2, -1}, {1, 0, 1}, {1, 1, -1}});
  EXPECT_THROW(static_cast<void>(steady_state(signs)), InvalidMatrix);
  EXPECT_THROW(static_cast<void>(steady_state(Csr<double>::from_triplets(2, 3, {}))), DimensionMismatch);
}

/// Customers in queues in a row, of at most side - 1 each.
Csr<double> queues(std::int32_t side, int count) {
  std::vector<Triplet<double>> elements;
  const auto go = [&](std::int32_t from, std::int32_t to, double rate) {
    elements.push_back({from, to, rate});
    elements.push_back({from, from, -rate});
  };
  std::int32_t states = 1;
  for (int q = 0; q < count; ++q) states *= side;
  for (std::int32_t state = 0; state < states; ++state) {
    if (state % side + 1 < side) go(state, state + 1, 1);
    std::int32_t step = 1;
    for (int q = 0; q + 1 < count; ++q, step *= side) {
      if (state / step % side > 0 && state / (step * side) % side + 1 < side)
        go(state, state - step + step * side, 1.5 + 0.25 * q);
    }
    if (state / step > 0) go(state, state - step, 2);
  }
  return Csr<double>::from_triplets(states, states, elements);
}

void expect_probabilities(const std::vector<double>& x) {
  double sum = 0;
  for (const double probability : x) {
    EXPECT_GT(probability, 0);
    sum += probability;
  }
  EXPECT_NEAR(sum, 1, 1e-13);
}

TEST(SteadyState, LargeSparseChain_BalancesItsFlows) {
  const SteadyState found = steady_state(queues(61, 2));
  EXPECT_EQ(found.method, SteadyStateMethod::elimination);
  EXPECT_LT(found.residual, 1e-15);
  EXPECT_LT(found.componentwise_residual, 1e-14);
  expect_probabilities(found.x);
}

/// Iterates on chains that elimination solves, too, and compares each component.
TEST(SteadyState, Iteration_AsAccurateAsElimination) {
  std::vector<Csr<double>> chains = {queues(41, 2), queues(12, 3), queues(150, 1)};
  for (const double decades : {0.0, 2.0, 6.0}) chains.push_back(matrix_of(random_chain(500, 4, decades, 8)));
  for (const Csr<double>& chain : chains) {
    SCOPED_TRACE(std::to_string(chain.rows()) + " states");
    const SteadyState found = steady_state(chain, {.method = SteadyStateMethod::iteration});
    EXPECT_EQ(found.method, SteadyStateMethod::iteration);
    EXPECT_TRUE(found.converged);
    EXPECT_LT(found.residual, 1e-14);
    EXPECT_LT(found.componentwise_residual, 1e-14);
    expect_probabilities(found.x);
    const std::vector<double> expected = steady_state(chain, {.method = SteadyStateMethod::elimination}).x;
    EXPECT_LT(componentwise_error(found.x, Exact(expected.begin(), expected.end())), 1e-11);
  }
}

/// Components over more than a hundred decades: small ones may be wrong, and the figure says so.
TEST(SteadyState, Iteration_SaysWhereSmallComponentsAreInaccurate) {
  const Csr<double> chain = queues(120, 2);
  const SteadyState found = steady_state(chain, {.method = SteadyStateMethod::iteration});
  const std::vector<double> expected = steady_state(chain, {.method = SteadyStateMethod::elimination}).x;
  EXPECT_TRUE(found.converged);
  EXPECT_LT(found.residual, 1e-13);
  const double error = componentwise_error(found.x, Exact(expected.begin(), expected.end()));
  EXPECT_TRUE(error < 1e-9 || found.componentwise_residual > 1e-12)
      << error << ", " << found.componentwise_residual;
  for (std::size_t i = 0; i < found.x.size(); ++i) {
    if (expected[i] <= 1e-3) continue;
    EXPECT_NEAR(found.x[i] / expected[i], 1, 1e-9);
  }
}

/// A chain in four dimensions, whose elimination would fill up.
TEST(SteadyState, ChainThatFillsUp_IsIterated) {
  const SteadyState found = steady_state(queues(14, 4));
  EXPECT_EQ(found.method, SteadyStateMethod::iteration);
  EXPECT_TRUE(found.converged);
  EXPECT_LT(found.residual, 1e-14);
  expect_probabilities(found.x);
}

TEST(SteadyState, Iteration_SmallAndReducibleChains) {
  const SteadyStateOptions iteration = {.method = SteadyStateMethod::iteration};
  EXPECT_TRUE(steady_state(Csr<double>(), iteration).x.empty());
  EXPECT_EQ(steady_state(Csr<double>::from_triplets(1, 1, {}), iteration).x, std::vector<double>{1});
  const Csr<double> two =
      Csr<double>::from_triplets(2, 2, {{0, 1, 3.0}, {0, 0, -3.0}, {1, 0, 1.0}, {1, 1, -1.0}});
  EXPECT_LT(componentwise_error(steady_state(two, iteration).x, {0.25L, 0.75L}), 1e-15);
  Chain chain(5);
  chain(0, 1) = chain(1, 2) = chain(2, 3) = chain(3, 4) = 1;
  chain(1, 0) = chain(4, 2) = 2;
  const SteadyState found = steady_state(matrix_of(chain), iteration);
  EXPECT_EQ(found.transient_states, 2);
  EXPECT_LT(componentwise_error(found.x, {0, 0, 0.4L, 0.4L, 0.2L}), 1e-14);
}

}  // namespace
}  // namespace echelon
