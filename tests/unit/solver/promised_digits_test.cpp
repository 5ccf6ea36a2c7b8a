// SPDX-License-Identifier: BSD-3-Clause
/// Digits that reports promise for weakly grounded networks and scaled systems, beside those that x has.
#include "support/big_float.hpp"
#include "support/problems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace echelon::test {
namespace {

__extension__ using Quad = __float128;  // 34 digits

/// The solution of A x = b by refinement with residuals and x in 34 digits, as long as corrections shrink to
/// at most half; empty unless they become negligible.
std::vector<Quad> refined_solution(const Csr<double>& A, const std::vector<double>& b) {
  auto solver = make_solver<double>("sparse-lu", Device());
  if (!solver.setup(A).reciprocal_condition) return {};
  std::vector<Quad> x(b.size(), 0);
  std::vector<double> r(b.size());
  std::vector<double> d(b.size());
  double before = 0;
  for (int step = 0; step < 200; ++step) {
    double size = 0;
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      Quad sum = b[static_cast<std::size_t>(i)];
      for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k)
        sum -= static_cast<Quad>(A.values()[k]) * x[static_cast<std::size_t>(A.column_indices()[k])];
      r[static_cast<std::size_t>(i)] = static_cast<double>(sum);
      size = std::max(size, std::abs(static_cast<double>(x[static_cast<std::size_t>(i)])));
    }
    (void)solver.solve(r, d, {.measure_error = false});
    double correction = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] += static_cast<Quad>(d[i]);
      correction = std::max(correction, std::abs(d[i]));
    }
    if (correction <= 1e-20 * size) return x;
    if (step > 0 && !(correction <= before / 2)) return {};
    before = correction;
  }
  return {};
}

/// -log10 of max |x - x*| / max |x*|.
double true_digits(const Dense<double>& x, const std::vector<Quad>& exact) {
  double error = 0;
  double size = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    error = std::max(error, std::abs(static_cast<double>(static_cast<Quad>(x.data()[i]) - exact[i])));
    size = std::max(size, std::abs(static_cast<double>(exact[i])));
  }
  return error > 0 ? -std::log10(error / size) : 16;
}

/// A network with conductances between nodes, and from nodes to the ground.
class Network {
 public:
  explicit Network(std::int32_t nodes) : diagonal_(static_cast<std::size_t>(nodes), 0) {}
  void connect(std::int32_t i, std::int32_t j, double conductance) {
    elements_.push_back({i, j, -conductance});
    elements_.push_back({j, i, -conductance});
    diagonal_[static_cast<std::size_t>(i)] += conductance;
    diagonal_[static_cast<std::size_t>(j)] += conductance;
  }
  void ground(std::int32_t i, double conductance) { diagonal_[static_cast<std::size_t>(i)] += conductance; }
  [[nodiscard]] Csr<double> matrix() const {
    std::vector<Triplet<double>> all = elements_;
    const auto n = static_cast<std::int32_t>(diagonal_.size());
    for (std::int32_t i = 0; i < n; ++i) all.push_back({i, i, diagonal_[static_cast<std::size_t>(i)]});
    return Csr<double>::from_triplets(n, n, all);
  }

 private:
  std::vector<Triplet<double>> elements_;
  std::vector<double> diagonal_;
};

/// A time step of a reservoir with three layers of n by n cells. The middle layer pinches out: its thickness
/// falls to 10^-pinch, so that conductances between layers grow to 10^pinch. The accumulation that grounds
/// the network, `accumulation` times the thickness, drowns in the rounding errors of the diagonal.
Csr<double> reservoir(std::int32_t n, double pinch, double accumulation, unsigned seed) {
  std::mt19937 random(seed);
  const auto uniform = [&] { return static_cast<double>(random()) / 4294967296.0; };
  const auto cells = static_cast<std::size_t>(3 * n * n);
  std::vector<double> thickness(cells, 1);
  std::vector<double> permeability(cells);
  for (double& k : permeability) k = std::pow(10.0, 3 * uniform() - 1.5);
  for (std::size_t c = cells / 3; c < 2 * cells / 3; ++c) thickness[c] = std::pow(10.0, -pinch * uniform());
  const auto cell = [&](std::int32_t i, std::int32_t j, std::int32_t layer) {
    return (layer * n + i) * n + j;
  };
  Network network(3 * n * n);
  const auto join = [&](std::int32_t a, std::int32_t b, bool vertical) {
    const auto resistance = [&](std::int32_t c) {
      const auto at = static_cast<std::size_t>(c);
      return vertical ? thickness[at] / permeability[at] : 1 / (permeability[at] * thickness[at]);
    };
    network.connect(
        a, b, vertical ? 1 / std::min(resistance(a), resistance(b)) : 2 / (resistance(a) + resistance(b)));
  };
  for (std::int32_t layer = 0; layer < 3; ++layer) {
    for (std::int32_t i = 0; i < n; ++i) {
      for (std::int32_t j = 0; j < n; ++j) {
        if (i + 1 < n) join(cell(i, j, layer), cell(i + 1, j, layer), false);
        if (j + 1 < n) join(cell(i, j, layer), cell(i, j + 1, layer), false);
        if (layer + 1 < 3) join(cell(i, j, layer), cell(i, j, layer + 1), true);
        network.ground(cell(i, j, layer),
                       accumulation * thickness[static_cast<std::size_t>(cell(i, j, layer))]);
      }
    }
  }
  return network.matrix();
}

/// A grid with one node that is grounded.
Csr<double> grounded_grid(std::int32_t n, double conductance) {
  Network network(n * n);
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t j = 0; j < n; ++j) {
      if (i + 1 < n) network.connect(i * n + j, (i + 1) * n + j, 1);
      if (j + 1 < n) network.connect(i * n + j, i * n + j + 1, 1);
    }
  }
  network.ground(0, conductance);
  return network.matrix();
}

using MethodWithOptions = std::pair<std::string, Options>;
const std::vector<MethodWithOptions> iterations = {
    {"auto", {}}, {"cg", {{"preconditioner", "ic0"}}}, {"cg", {{"preconditioner", "amg"}}}, {"amg", {}},
    {"lamg", {}}, {"approximate-cholesky", {}}};
const std::vector<MethodWithOptions> others = {
    {"minres", {}}, {"sparse-cholesky", {}}, {"sparse-ldlt", {}}, {"sparse-lu", {}}};

/// Solves for a source at the first node, with or without a sink at the last one. Returns how many of the
/// methods promised digits.
int expect_no_false_digits(const Csr<double>& A, bool balanced,
                           const std::vector<MethodWithOptions>& methods) {
  std::vector<double> b(static_cast<std::size_t>(A.rows()), 0);
  b.front() = 1;
  if (balanced) b.back() = -1;
  const std::vector<Quad> exact = refined_solution(A, b);
  EXPECT_FALSE(exact.empty());
  if (exact.empty()) return 0;
  int promised = 0;
  for (const auto& [method, parameters] : methods) {
    const Solution<double> found = solve(A, b, {.method = method, .parameters = parameters});
    const int digits = found.report.solved() ? found.report.expected_digits().value_or(0) : 0;
    promised += digits > 0 ? 1 : 0;
    EXPECT_LE(digits, true_digits(found.x, exact) + 1) << found.report;
  }
  return promised;
}

TEST(PromisedDigits, ReservoirStepWithPinchOuts_AreThere) {
  int promised = 0;
  int solves = 0;
  unsigned seed = 0;
  for (const auto& [pinch, accumulation] : {std::pair(6.0, 1e-3), {6.0, 1e-6}, {8.0, 1e-3}, {8.0, 1e-5}}) {
    for (const bool balanced : {true, false}) {
      SCOPED_TRACE(std::to_string(pinch) + " " + std::to_string(accumulation) +
                   (balanced ? " balanced" : ""));
      const Csr<double> A = reservoir(8, pinch, accumulation, ++seed);
      for (const auto* methods : {&iterations, &others}) {
        promised += expect_no_false_digits(A, balanced, *methods);
        solves += static_cast<int>(methods->size());
      }
    }
  }
  EXPECT_GE(2 * promised, solves) << "silence is no success";
}

/// Conductances and accumulation over 15 decades, and too many cells for a direct method that measures the
/// error of an iterative one.
TEST(PromisedDigits, LargeReservoirStepWithPinchOuts_AreThere) {
  const std::vector<MethodWithOptions> methods = {{"auto", {}}, {"approximate-cholesky", {}}};
  (void)expect_no_false_digits(reservoir(90, 8, 1e-7, 5), true, methods);
}

TEST(PromisedDigits, LargeWeaklyGroundedGrid_AreThere) {
  for (const int exponent : {-20, -33}) {
    SCOPED_TRACE(exponent);
    (void)expect_no_false_digits(grounded_grid(180, std::ldexp(1.0, exponent)), exponent == -33, iterations);
  }
}

TEST(PromisedDigits, WeaklyGroundedGrid_AreThere) {
  int promised = 0;
  for (const std::int32_t n : {20, 40}) {
    for (const int exponent : {-10, -20, -27, -33}) {
      for (const bool balanced : {true, false}) {
        SCOPED_TRACE(std::to_string(n) + " 2^" + std::to_string(exponent) + (balanced ? " balanced" : ""));
        const Csr<double> A = grounded_grid(n, std::ldexp(1.0, exponent));
        promised += expect_no_false_digits(A, balanced, iterations);
        promised += expect_no_false_digits(A, balanced, others);
      }
    }
  }
  EXPECT_GE(promised, 40);
}

/// A random matrix whose rows and columns are scaled over +-decades.
std::vector<double> scaled_matrix(std::mt19937& random, std::size_t n, double decades) {
  std::uniform_real_distribution<double> element(-1, 1);
  std::uniform_real_distribution<double> exponent(-decades, decades);
  std::vector<double> A(n * n);
  for (double& a : A) a = element(random);
  for (const bool by_row : {true, false}) {
    for (std::size_t k = 0; k < n; ++k) {
      const double factor = std::pow(10.0, exponent(random));
      for (std::size_t l = 0; l < n; ++l) A[by_row ? k * n + l : l * n + k] *= factor;
    }
  }
  return A;
}

/// Where columns differ in size, the largest element of x may be a small one of the scaled unknowns.
template <class T>
void expect_digits_of_scaled_systems(double decades) {
  std::mt19937 random(7);
  for (int round = 0; round < 150; ++round) {
    const std::size_t n = 2 + static_cast<std::size_t>(round % 7);
    std::vector<double> elements = scaled_matrix(random, n, decades);
    Dense<T> A(Device(), static_cast<std::int64_t>(n), static_cast<std::int64_t>(n));
    std::vector<double> b(n, 0);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        const auto rounded = static_cast<T>(elements[i * n + j]);
        A(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)) = rounded;
        elements[i * n + j] = static_cast<double>(rounded);
        b[i] += elements[i * n + j] * static_cast<double>(1 + (i + j) % 5);
      }
      b[i] = static_cast<double>(static_cast<T>(b[i]));
    }
    const std::vector<BigFloat> exact = solve_exactly(elements, b);
    ASSERT_FALSE(exact.empty());
    for (const std::string method :
         {"auto", "lu", "qr", "sparse-qr", "augmented", "gauss-jordan", "gauss-jordan-striped", "crout",
          "sparse-lu", "banded-lu", "mapped-echelon"}) {
      const auto [x, report] = solve<T>(A, std::vector<T>(b.begin(), b.end()), {.method = method});
      if (!report.solved() || !report.error_estimate) continue;
      BigFloat error;
      BigFloat size;
      for (std::size_t i = 0; i < n; ++i) {
        const BigFloat difference = (BigFloat(static_cast<double>(x.data()[i])) - exact[i]).magnitude();
        if (error < difference) error = difference;
        if (size < exact[i].magnitude()) size = exact[i].magnitude();
      }
      EXPECT_LE((error / size).to_double(), 10 * *report.error_estimate)
          << method << ", round " << round << ": " << report;
    }
  }
}

TEST(PromisedDigits, ScaledRowsAndColumns_AreThere) {
  for (const double decades : {3, 9, 15}) {
    expect_digits_of_scaled_systems<float>(decades);
    expect_digits_of_scaled_systems<double>(decades);
  }
  expect_digits_of_scaled_systems<double>(100);
}

}  // namespace
}  // namespace echelon::test
