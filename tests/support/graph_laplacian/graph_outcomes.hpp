// SPDX-License-Identifier: BSD-3-Clause
/// Systems with Laplacians of graphs of which it is known in integers whether they have solutions: components
/// are counted as they are made, and right-hand sides are integers.
#pragma once

#include <echelon/matrix/csr.hpp>
#include <echelon/solver.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace echelon::test {

struct GraphEdge {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int32_t weight = 1;
};

/// A connected graph.
struct IntegerGraph {
  std::string name;
  std::int32_t vertices = 0;
  std::vector<GraphEdge> edges;
};

inline IntegerGraph integer_path(std::int32_t n) {
  IntegerGraph graph{"path " + std::to_string(n), n, {}};
  for (std::int32_t i = 1; i < n; ++i) graph.edges.push_back({i - 1, i, 1});
  return graph;
}
inline IntegerGraph integer_grid(std::int32_t nx, std::int32_t ny) {
  IntegerGraph graph{"grid " + std::to_string(nx) + " by " + std::to_string(ny), nx * ny, {}};
  for (std::int32_t i = 0; i < nx * ny; ++i) {
    if (i % nx + 1 < nx) graph.edges.push_back({i, i + 1, 1});
    if (i + nx < nx * ny) graph.edges.push_back({i, i + nx, 1});
  }
  return graph;
}
/// A random tree and as many more edges, of weights 1, 2 and 3.
inline IntegerGraph integer_random(std::int32_t n, std::uint64_t seed) {
  IntegerGraph graph{"random " + std::to_string(n), n, {}};
  std::mt19937_64 random(seed);
  const auto below = [&](std::int32_t end) {
    return static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(end));
  };
  for (std::int32_t i = 1; i < n; ++i) {
    graph.edges.push_back({below(i), i, 1 + below(3)});
    if (i > 1) graph.edges.push_back({below(i - 1), i, 1 + below(3)});
  }
  return graph;
}

/// A component: a graph, and the weight of the edge from a vertex to the ground, zero for none.
struct GraphPart {
  IntegerGraph graph;
  double ground = 0;
  std::int32_t grounded_vertex = 0;
};

/// The part with the ground that is left of its own in the diagonal element of a matrix of T.
template <class T>
GraphPart stored_part(GraphPart part) {
  double diagonal = 0;
  for (const GraphEdge& edge : part.graph.edges) {
    if (edge.from == part.grounded_vertex || edge.to == part.grounded_vertex) diagonal += edge.weight;
  }
  part.ground = static_cast<double>(static_cast<T>(diagonal + part.ground)) - diagonal;
  return part;
}

/// The block diagonal matrix of the parts, times `sign`.
template <class T>
Csr<T> matrix_of_parts(const std::vector<GraphPart>& parts, double sign = 1) {
  std::vector<Triplet<T>> triplets;
  std::int32_t first = 0;
  for (const GraphPart& part : parts) {
    std::vector<double> diagonal(static_cast<std::size_t>(part.graph.vertices), 0);
    for (const GraphEdge& edge : part.graph.edges) {
      const auto value = static_cast<T>(-sign * edge.weight);
      triplets.push_back({first + edge.from, first + edge.to, value});
      triplets.push_back({first + edge.to, first + edge.from, value});
      diagonal[static_cast<std::size_t>(edge.from)] += edge.weight;
      diagonal[static_cast<std::size_t>(edge.to)] += edge.weight;
    }
    diagonal[static_cast<std::size_t>(part.grounded_vertex)] += part.ground;
    for (std::int32_t i = 0; i < part.graph.vertices; ++i) {
      triplets.push_back(
          {first + i, first + i, static_cast<T>(sign * diagonal[static_cast<std::size_t>(i)])});
    }
    first += part.graph.vertices;
  }
  return Csr<T>::from_triplets(first, first, triplets);
}

/// Random integers from -9 to 9 that sum to sums[p] over part p.
template <class T>
std::vector<T> rhs_of_parts(const std::vector<GraphPart>& parts, const std::vector<int>& sums,
                            std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> b;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    std::int64_t sum = 0;
    for (std::int32_t i = 0; i < parts[p].graph.vertices; ++i) {
      const auto value = static_cast<std::int64_t>(random() % 19) - 9;
      sum += value;
      b.push_back(static_cast<T>(value));
    }
    b.back() += static_cast<T>(sums[p] - sum);
  }
  return b;
}

/// ||b - A x||_2 and ||b||_2, in long double.
template <class T>
std::pair<double, double> residual_and_rhs(const Csr<T>& A, const std::vector<T>& b,
                                           const std::vector<T>& x) {
  long double squares = 0;
  long double right = 0;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    long double r = b[static_cast<std::size_t>(i)];
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      r -= static_cast<long double>(A.values()[k]) *
           static_cast<long double>(x[static_cast<std::size_t>(A.column_indices()[k])]);
    }
    squares += r * r;
    right += static_cast<long double>(b[static_cast<std::size_t>(i)]) * b[static_cast<std::size_t>(i)];
  }
  return {static_cast<double>(std::sqrt(squares)), static_cast<double>(std::sqrt(right))};
}

/// Norm of the means of b over the parts without ground: the least residual.
template <class T>
double least_residual(const std::vector<GraphPart>& parts, const std::vector<int>& sums) {
  double squares = 0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (parts[p].ground == 0) squares += std::pow(sums[p], 2) / parts[p].graph.vertices;
  }
  return std::sqrt(squares);
}

/// A method, and its options.
struct TestedMethod {
  std::string name;
  Options options;
};

template <class T>
struct MethodAnswer {
  Report report;
  std::vector<T> x;
};
template <class T>
MethodAnswer<T> solve_serially(const TestedMethod& method, const Csr<T>& A, const std::vector<T>& b) {
  Options options = method.options;
  options.set("max_iterations", 400);  // rounding may keep a weakly grounded system from converging
  Solver<T> solver = make_solver<T>(method.name, Device::serial(), options);
  MethodAnswer<T> answer{solver.setup(A), std::vector<T>(b.size(), T{0})};
  if (answer.report.ready()) answer.report = solver.solve(b, answer.x);
  return answer;
}

/// Expects the outcome that the integers imply. A weakly grounded system may also be left unsolved, but not
/// called inconsistent.
template <class T>
void expect_outcome(const TestedMethod& method, std::vector<GraphPart> parts, const std::vector<int>& sums,
                    double sign, std::uint64_t seed) {
  for (GraphPart& part : parts) part = stored_part<T>(part);
  std::string name = method.name + (sign < 0 ? ", negative" : "");
  bool is_weak = false;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    name += ", " + parts[p].graph.name + " ground " + std::to_string(parts[p].ground) + " sum " +
            std::to_string(sums[p]);
    is_weak = is_weak || (parts[p].ground > 0 && parts[p].ground < 1e-3);
  }
  SCOPED_TRACE(name);
  const Csr<T> A = matrix_of_parts<T>(parts, sign);
  const std::vector<T> b = rhs_of_parts<T>(parts, sums, seed);
  const auto [report, x] = solve_serially(method, A, b);
  const double tolerance = std::is_same_v<T, double> ? 1e-8 : 1e-5;
  const auto [residual, right] = residual_and_rhs(A, b, x);
  const double least = least_residual<T>(parts, sums);
  if (least > 0) {
    EXPECT_EQ(report.status, Status::inconsistent) << report.message;
    if (!is_weak) {
      EXPECT_NEAR(residual, least, 10 * tolerance * right);
    }
    return;
  }
  EXPECT_NE(report.status, Status::inconsistent) << report.message;
  if (!is_weak) {
    EXPECT_EQ(report.status, Status::converged) << report.message;
  }
  const bool is_limited =
      !report.warnings.empty() && report.warnings.back().find("rounding") != std::string::npos;
  if (report.solved() && !is_limited) {
    double largest = 0;
    for (const T value : x) largest = std::max(largest, std::abs(static_cast<double>(value)));
    // The solver evaluates A x with rounding errors.
    EXPECT_LE(residual, 1.01 * tolerance * right + 50 * std::numeric_limits<T>::epsilon() * largest);
  }
}

/// Expects the outcomes of one part, and of three of which some are grounded, for several grounds and sums.
template <class T>
void expect_outcomes(const TestedMethod& method, const std::vector<double>& signs) {
  const std::vector<double> grounds = std::is_same_v<T, double>
                                          ? std::vector<double>{0, 0.5, 0x1p-20, 0x1p-35, 0x1p-50}
                                          : std::vector<double>{0, 0.5, 0x1p-12, 0x1p-19};
  std::uint64_t seed = 1;
  for (const double sign : signs) {
    for (const IntegerGraph& graph : {integer_path(60), integer_grid(12, 9), integer_random(80, 3)}) {
      for (const double ground : grounds) {
        const std::vector<GraphPart> one = {{graph, ground, graph.vertices / 3}};
        const std::vector<GraphPart> three = {
            {integer_path(33), 0, 0}, {graph, ground, graph.vertices - 1}, {integer_grid(5, 5), 0.5, 7}};
        for (const int sum : {0, 1, -40}) {
          expect_outcome<T>(method, one, {sum}, sign, ++seed);
          expect_outcome<T>(method, three, {0, sum, 5}, sign, ++seed);
        }
        expect_outcome<T>(method, three, {3, 0, 5}, sign, ++seed);
      }
    }
  }
}

}  // namespace echelon::test
