// SPDX-License-Identifier: BSD-3-Clause
// Matrices with many dense rows: their factorisations need memory and time like their factors.
#include "sparse_direct/multifrontal/fronts/collecting_fronts.hpp"
#include "sparse_direct/symbolic/symbolic_factor.hpp"
#include "support/patterns.hpp"
#include "support/sparse_direct/process_memory.hpp"
#include "support/sparse_systems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>
#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace echelon {
namespace {

using test::csr_of;
using test::Elements;
using test::SparseSystem;
using test::statistic;

/// [[D, A], [A^T, S]] with a dense A of n by m whose elements are zero with the probability 1 - density.
struct DenseRows {
  std::int32_t n = 0;
  std::int32_t m = 0;
  double density = 1;
  double diagonal = 1;  ///< of D
  double corner = 0;    ///< of a diagonal S; none if zero
  int zeros = 0;        ///< leading elements of D that are missing
};

SparseSystem system_of(const DenseRows& shape) {
  SparseSystem s{"dense rows", shape.n + shape.m, {}};
  std::mt19937 random(11);
  std::normal_distribution<double> value;
  std::uniform_real_distribution<double> chance(0, 1);
  for (std::int32_t i = 0; i < shape.n; ++i) {
    if (i >= shape.zeros) s.elements.push_back({i, i, shape.diagonal});
    for (std::int32_t j = 0; j < shape.m; ++j) {
      if (shape.density < 1 && chance(random) >= shape.density) continue;
      const double v = value(random);
      s.elements.push_back({i, shape.n + j, v});
      s.elements.push_back({shape.n + j, i, v});
    }
  }
  for (std::int32_t j = 0; j < shape.m && shape.corner != 0; ++j)
    s.elements.push_back({shape.n + j, shape.n + j, shape.corner});
  return s;
}

/// Shapes with which fronts are collected: with merged leaves, and with leaves that differ.
const DenseRows merged{.n = 1200, .m = 60};
const DenseRows sparse{.n = 1200, .m = 70, .density = 0.3};

/// Relative error of x against LAPACK's solution of the dense system.
double error_against_lapack(const SparseSystem& system, std::vector<double> b, const std::vector<double>& x) {
  const auto n = static_cast<std::size_t>(system.n);
  std::vector<double> a(n * n, 0);
  for (const auto& e : system.elements)
    a[static_cast<std::size_t>(e.row) + n * static_cast<std::size_t>(e.column)] += e.value;
  std::vector<lapack_int> pivots(n);
  const auto order = static_cast<lapack_int>(n);
  EXPECT_EQ(LAPACKE_dgesv(LAPACK_COL_MAJOR, order, 1, a.data(), order, pivots.data(), b.data(), order), 0);
  double error = 0;
  double size = 0;
  for (std::size_t i = 0; i < n; ++i) {
    error = std::max(error, std::abs(x[i] - b[i]));
    size = std::max(size, std::abs(b[i]));
  }
  return error / size;
}

std::vector<double> solution(const char* method, const Device& device, const SparseSystem& system,
                             Report& report) {
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  Solver<double> solver = make_solver<double>(method, device);
  report = solver.factor(A);
  const std::vector<double> b = test::random_vector<double>(system.n, 3);
  std::vector<double> x(b.size());
  if (report.ready()) report = solver.solve(b, x);
  return x;
}

TEST(DenseRowsFactorization, AgreesWithLapack) {
  struct Case {
    const char* method;
    DenseRows shape;
  };
  const std::vector<Case> cases = {
      {"sparse-ldlt", merged},
      {"sparse-lu", merged},
      {"sparse-ldlt", sparse},
      {"sparse-lu", sparse},
      {"sparse-cholesky", {.n = 1200, .m = 60, .diagonal = 200, .corner = 200}},
      // Zeros on the diagonal of A: their pivots are delayed, or paired with dense rows.
      {"sparse-ldlt", {.n = 1200, .m = 70, .density = 0.3, .zeros = 40}},
      {"sparse-lu", {.n = 1200, .m = 70, .density = 0.3, .zeros = 40}},
  };
  for (const auto& [method, shape] : cases) {
    SCOPED_TRACE(std::string(method) + " " + std::to_string(shape.n) + " zeros " +
                 std::to_string(shape.zeros));
    const SparseSystem system = system_of(shape);
    Report report;
    const std::vector<double> x = solution(method, Device::openmp(2), system, report);
    EXPECT_EQ(report.status, Status::direct) << report.message;
    EXPECT_LT(error_against_lapack(system, test::random_vector<double>(system.n, 3), x), 1e-10);
  }
}

TEST(DenseRowsFactorization, Threads_GiveTheSameBits) {
  for (const DenseRows& shape :
       {merged, sparse, DenseRows{.n = 1200, .m = 70, .density = 0.3, .zeros = 40}}) {
    const SparseSystem system = system_of(shape);
    for (const char* method : {"sparse-ldlt", "sparse-lu"}) {
      Report report;
      const std::vector<double> expected = solution(method, Device::serial(), system, report);
      for (const int threads : {2, 3, 7})
        EXPECT_EQ(solution(method, Device::openmp(threads), system, report), expected) << method << threads;
    }
  }
}

TEST(DenseRowsFactorization, DelayedPivots_PassCollectingFronts) {
  const SparseSystem regular = system_of(sparse);
  SparseSystem system = regular;
  for (auto& e : system.elements) {
    if (e.row == e.column && e.row < 30) e.value = 0;
  }
  for (const char* method : {"sparse-ldlt", "sparse-lu"}) {
    SCOPED_TRACE(method);
    Solver<double> solver = make_solver<double>(method, Device::openmp(2));
    const Csr<double> A0 = csr_of<double>(regular.n, regular.elements);
    ASSERT_TRUE(solver.factor(A0).ready());
    const Csr<double> A = csr_of<double>(system.n, system.elements);
    const Report set_up = solver.update_values(A);
    ASSERT_TRUE(set_up.ready()) << set_up.message;
    EXPECT_GE(statistic(set_up, "delayed_pivots"), 30);
    const std::vector<double> b = test::random_vector<double>(system.n, 3);
    std::vector<double> x(b.size());
    EXPECT_EQ(solver.solve(b, x).status, Status::direct);
    EXPECT_LT(error_against_lapack(system, b, x), 1e-10);
  }
}

TEST(DenseRowsFactorization, Inertia_CountsDenseRowsAsNegative) {
  for (const DenseRows& shape : {merged, sparse}) {
    Report report;
    (void)solution("sparse-ldlt", Device::openmp(2), system_of(shape), report);
    EXPECT_EQ(statistic(report, "positive_eigenvalues"), shape.n);
    EXPECT_EQ(statistic(report, "negative_eigenvalues"), shape.m);
  }
}

TEST(DenseRowsFactorization, FailedPivots_FirstIsReported) {
  SparseSystem system = system_of({.n = 1200, .m = 60, .diagonal = 200, .corner = 200});
  for (auto& e : system.elements) {
    if (e.row == e.column && (e.row == 700 || e.row == 1100)) e.value = -1;
  }
  Report serial;
  (void)solution("sparse-cholesky", Device::serial(), system, serial);
  EXPECT_EQ(serial.status, Status::not_spd);
  ASSERT_TRUE(serial.row.has_value());
  EXPECT_TRUE(serial.row == 700 || serial.row == 1100) << *serial.row;
  Report report;
  (void)solution("sparse-cholesky", Device::openmp(3), system, report);
  EXPECT_EQ(report.row, serial.row);
}

void expect_memory_of_the_factor(const char* method, const Device& device, const SparseSystem& system) {
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  Solver<double> solver = make_solver<double>(method, device);
  if (!test::reset_peak()) GTEST_SKIP() << "the largest size of a process cannot be measured";
  const double before = test::process_bytes("VmRSS");
  const Report report = solver.factor(A);
  ASSERT_TRUE(report.ready()) << report.message;
  const double taken = test::process_bytes("VmHWM") - before;
  EXPECT_LT(taken, 3 * statistic(report, "factor_bytes")) << method << " " << system.n;
  EXPECT_LT(statistic(report, "predicted_bytes"), 3 * statistic(report, "factor_bytes"));
}

TEST(DenseRowsFactorization, Memory_AtMostThreeTimesTheFactor) {
  if (test::allocates_for_a_sanitizer()) GTEST_SKIP() << "the address sanitizer takes memory of its own";
  const DenseRows large{.n = 10'000, .m = 200};
  const DenseRows wide{.n = 4000, .m = 300, .density = 0.9};
  for (const DenseRows& shape : {large, wide}) {
    DenseRows definite = shape;
    definite.diagonal = definite.corner = 1000;
    const SparseSystem indefinite_system = system_of(shape);
    const SparseSystem definite_system = system_of(definite);
    for (const Device& device : {Device::serial(), Device::openmp(2)}) {
      expect_memory_of_the_factor("sparse-ldlt", device, indefinite_system);
      expect_memory_of_the_factor("sparse-lu", device, indefinite_system);
      expect_memory_of_the_factor("sparse-cholesky", device, definite_system);
    }
  }
}

}  // namespace

namespace sparse_direct {
namespace {

/// Each of n rows is connected to some of the m rows after them, which are connected to each other.
PatternStorage dense_rows_pattern(std::int32_t n, std::int32_t m, double density) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> chance(0, 1);
  std::vector<Edge> edges;
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t j = 0; j < m; ++j) {
      if (chance(random) < density) edges.emplace_back(i, n + j);
    }
  }
  for (std::int32_t j = 0; j < m; ++j) {
    for (std::int32_t k = 0; k < j; ++k) edges.emplace_back(n + j, n + k);
  }
  return pattern_of_edges(n + m, std::move(edges));
}

SymbolicFactor analyzed(const PatternStorage& pattern) {
  return analyze_symmetric(pattern.view(), {.ordering = {.ordering = Ordering::natural}});
}

TEST(MergedLeaves, EqualRows_AreFewSupernodes) {
  constexpr std::int32_t n = 2000;
  constexpr std::int32_t m = 200;
  const SymbolicFactor factor = analyzed(dense_rows_pattern(n, m, 1));
  EXPECT_LT(factor.supernodes(), n / 20);
  EXPECT_EQ(factor.factor_entries, n * (m + 1) + m * (m + 1) / 2);
  EXPECT_LT(static_cast<double>(factor.stored_entries), 1.15 * static_cast<double>(factor.factor_entries));
}

TEST(MergedLeaves, DifferentRows_StayApart) {
  const SymbolicFactor factor = analyzed(dense_rows_pattern(2000, 100, 0.3));
  EXPECT_GT(factor.supernodes(), 1500);
  EXPECT_LT(static_cast<double>(factor.stored_entries), 1.15 * static_cast<double>(factor.factor_entries));
}

TEST(CollectingFronts, Rows_IncludeThoseOfChildren) {
  const auto entries = [](std::int64_t pivots, std::int64_t rows) { return pivots * (pivots + rows); };
  for (const double density : {0.3, 1.0}) {
    const SymbolicFactor before = analyzed(dense_rows_pattern(4000, 100, density));
    const SymbolicFactor after = with_collecting_fronts(before, entries);
    ASSERT_GT(after.supernodes(), before.supernodes());
    EXPECT_EQ(after.permutation, before.permutation);
    std::int64_t pivots = 0;
    std::int64_t collecting = 0;
    for (std::int32_t s = 0; s < after.supernodes(); ++s) {
      pivots += after.pivots(s);
      collecting += after.pivots(s) == 0 ? 1 : 0;
      const std::int32_t p = after.parent[s];
      if (p < 0) continue;
      ASSERT_GT(p, s);
      std::vector<std::int32_t> front(static_cast<std::size_t>(after.pivots(p)));
      std::iota(front.begin(), front.end(), after.supernode_begin[p]);
      front.insert(front.end(), after.rows_of(p).begin(), after.rows_of(p).end());
      const auto rows = after.rows_of(s);
      EXPECT_TRUE(std::ranges::includes(front, rows)) << s;
    }
    EXPECT_EQ(pivots, after.n);
    EXPECT_EQ(after.supernodes() - collecting, before.supernodes());
  }
}

TEST(CollectingFronts, Mesh_HasNone) {
  const auto entries = [](std::int64_t pivots, std::int64_t rows) { return pivots * (pivots + rows); };
  const SymbolicFactor before = analyze_symmetric(grid_pattern(150, 150).view());
  EXPECT_EQ(with_collecting_fronts(before, entries).supernodes(), before.supernodes());
}

}  // namespace
}  // namespace sparse_direct
}  // namespace echelon
