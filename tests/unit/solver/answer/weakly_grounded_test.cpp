// SPDX-License-Identifier: BSD-3-Clause
/// Laplacians with a ground so small that they are singular to working precision: their row sums prove that
/// they are nonsingular, and nothing else is said of them. The exact solutions on trees are known.
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

using Edges = std::vector<std::pair<std::int32_t, std::int32_t>>;

/// Edges from parents to children, in an order in which parents come first.
Edges tree(const std::string& family, std::int32_t n) {
  std::mt19937_64 random(11);
  Edges edges;
  for (std::int32_t i = 1; i < n; ++i) {
    const auto any = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(i));
    edges.emplace_back(family == "path" ? i - 1 : family == "star" ? 0 : any, i);
  }
  return edges;
}
Edges grid(std::int32_t side) {
  Edges edges;
  for (std::int32_t i = 0; i < side * side; ++i) {
    if (i % side + 1 < side) edges.emplace_back(i, i + 1);
    if (i + side < side * side) edges.emplace_back(i, i + side);
  }
  return edges;
}

/// A Laplacian with a ground at vertex 0, times a sign, and the ground as it is stored.
struct Grounded {
  Csr<double> A;
  double ground = 0;
};
Grounded grounded(std::int32_t n, const Edges& edges, double ground, double sign) {
  std::vector<double> degree(static_cast<std::size_t>(n), 0);
  std::vector<Triplet<double>> triplets;
  for (const auto& [i, j] : edges) {
    triplets.insert(triplets.end(), {{i, j, -sign}, {j, i, -sign}});
    degree[static_cast<std::size_t>(i)] += 1;
    degree[static_cast<std::size_t>(j)] += 1;
  }
  const double stored = degree[0] + ground;
  for (std::int32_t i = 0; i < n; ++i)
    triplets.push_back({i, i, sign * (i == 0 ? stored : degree[static_cast<std::size_t>(i)])});
  return {Csr<double>::from_triplets(n, n, triplets), stored - degree[0]};
}

/// Random integers with the given sum.
std::vector<double> integers(std::int32_t n, std::int64_t sum) {
  std::mt19937_64 random(5);
  std::vector<double> b(static_cast<std::size_t>(n));
  for (double& element : b) {
    element = static_cast<double>(random() % 19) - 9;
    sum -= static_cast<std::int64_t>(element);
  }
  b[0] += static_cast<double>(sum);
  return b;
}

/// The exact solution on a tree, by its flows, which are integers: x = x_0 + sum(b) / ground.
std::vector<double> solution(const Edges& edges, const std::vector<double>& b, double ground) {
  std::vector<double> flow = b;  // into the subtree of each vertex
  for (auto edge = edges.rbegin(); edge != edges.rend(); ++edge)
    flow[static_cast<std::size_t>(edge->first)] += flow[static_cast<std::size_t>(edge->second)];
  std::vector<double> x(b.size(), 0);
  for (const auto& [parent, child] : edges)
    x[static_cast<std::size_t>(child)] =
        x[static_cast<std::size_t>(parent)] + flow[static_cast<std::size_t>(child)];
  for (double& element : x) element += flow[0] / ground;
  return x;
}

struct Named {
  std::string method;
  Options parameters = {};
};
const std::vector<Named> named_methods = {{"auto"},
                                          {"amg"},
                                          {"cg", {{"preconditioner", "amg"}}},
                                          {"cg"},
                                          {"lamg"},
                                          {"approximate-cholesky"},
                                          {"sparse-cholesky"},
                                          {"sparse-ldlt"},
                                          {"sparse-lu"},
                                          {"bddc"},
                                          {"minres"},
                                          {"mapped-echelon"}};

SolveOptions options_of(const Named& named, std::int64_t most) {
  SolveOptions options;
  options.method = named.method;
  options.parameters = named.parameters;
  options.max_iterations = most;
  return options;
}

/// A is nonsingular, with the sign of its definiteness.
void expect_nonsingular(const Csr<double>& A, double sign, const Report& report) {
  EXPECT_NE(report.status, Status::underdetermined) << report;
  EXPECT_NE(report.status, Status::inconsistent) << report;
  // Of a direction without curvature an iteration does not know whether A or the preconditioner is to blame.
  EXPECT_TRUE(sign < 0 || report.status != Status::not_spd ||
              report.message.find("or the preconditioner") != std::string::npos)
      << report;
  EXPECT_EQ(report.rank.value_or(A.rows()), A.rows()) << report;
  EXPECT_TRUE(report.status != Status::singular || report.certainty == Certainty::working_precision)
      << report;
}

TEST(WeaklyGrounded, Trees_DigitsAreTrue) {
  for (const std::string family : {"path", "star", "random"}) {
    for (const std::int32_t n : {9, 60, 3000}) {
      const Edges edges = tree(family, n);
      for (const double ground : {std::ldexp(1.0, -33), 1e-12, 1e-15}) {
        for (const double sign : {1.0, -1.0}) {
          const Grounded system = grounded(n, edges, ground, sign);
          if (!(system.ground > 0)) continue;
          for (const std::int64_t sum : {0, 7}) {
            std::vector<double> b = integers(n, sum);
            const std::vector<double> exact = solution(edges, b, system.ground);
            for (double& element : b) element *= sign;
            for (const Named& named : named_methods) {
              if (n == 3000 && (named.method == "mapped-echelon" || named.method == "bddc")) continue;
              SCOPED_TRACE(named.method + " " + family + " " + std::to_string(n) + " ground " +
                           std::to_string(ground * 1e16) + "e-16 sum " + std::to_string(sum * sign));
              const auto [x, report] = solve(system.A, b, options_of(named, 2000));
              expect_nonsingular(system.A, sign, report);
              if (!report.solved() || report.error_estimate.value_or(1) >= 1) continue;
              double error = 0;
              double size = 0;
              for (std::size_t i = 0; i < exact.size(); ++i) {
                error = std::max(error, std::abs(x.data()[i] - exact[i]));
                size = std::max(size, std::abs(exact[i]));
              }
              EXPECT_LE(error, 10 * size * std::max(*report.error_estimate, 1e-16)) << report;
            }
          }
        }
      }
    }
  }
}

/// Neither the ranks modulo primes nor a band decide on these.
TEST(WeaklyGrounded, LargeGrids_AreNonsingular) {
  constexpr std::int32_t side = 120;
  const Edges edges = grid(side);
  for (const double ground : {1e-12, 4e-15}) {
    const Grounded system = grounded(side * side, edges, ground, 1);
    for (const std::int64_t sum : {0, 7}) {
      const std::vector<double> b = integers(side * side, sum);
      for (const Named& named : named_methods) {
        if (named.method == "mapped-echelon" || named.method == "bddc") continue;
        SCOPED_TRACE(named.method + " sum " + std::to_string(sum));
        const auto [x, report] = solve(system.A, b, options_of(named, 300));
        expect_nonsingular(system.A, 1, report);
        const bool direct = named.method == "auto" || named.method == "sparse-ldlt";
        EXPECT_TRUE(!direct || ground < 1e-13 || report.status == Status::direct) << report;
        // The sum of all equations is ground x_0 = sum(b).
        const double exact = static_cast<double>(sum) / system.ground;
        const double digits = -std::log10(std::fabs(x[0] / exact - 1) + 1e-16);
        EXPECT_TRUE(sum == 0 || !report.solved() || report.expected_digits().value_or(0) <= digits + 1)
            << report << digits;
      }
    }
  }
}

/// Two grids: with one ground A is singular, which is proven, and with one in each it is not.
TEST(WeaklyGrounded, EachComponent_NeedsAGround) {
  constexpr std::int32_t side = 40;
  constexpr std::int32_t n = side * side;
  for (const bool both : {false, true}) {
    std::vector<Triplet<double>> triplets;
    for (std::int32_t c = 0; c < 2; ++c) {
      const Grounded part = grounded(n, grid(side), c == 0 || both ? 1e-13 : 0, 1);
      for (std::int32_t i = 0; i < n; ++i) {
        for (std::int64_t k = part.A.row_offsets()[i]; k < part.A.row_offsets()[i + 1]; ++k)
          triplets.push_back({i + c * n, part.A.column_indices()[k] + c * n, part.A.values()[k]});
      }
    }
    const auto A = Csr<double>::from_triplets(2 * n, 2 * n, triplets);
    std::vector<double> b = integers(n, 0);
    const std::vector<double> other = b;
    b.insert(b.end(), other.begin(), other.end());
    for (const std::string method : {"auto", "sparse-ldlt", "sparse-lu"}) {
      const Report report = solve(A, b, {.method = method}).report;
      EXPECT_TRUE(report.solved()) << method << ": " << report;
      if (both) {
        expect_nonsingular(A, 1, report);
      } else {
        EXPECT_NE(report.rank.value_or(2 * n - 1), 2 * n) << method << ": " << report;
      }
    }
  }
}

}  // namespace
}  // namespace echelon::test
