// SPDX-License-Identifier: BSD-3-Clause
#include "faults/case.hpp"

#include <echelon/banded.hpp>
#include <echelon/batched.hpp>
#include <echelon/domain_decomposition/schur_complement.hpp>
#include <echelon/graph/analysis.hpp>
#include <echelon/matrix/structure.hpp>
#include <echelon/rank_modulo.hpp>
#include <echelon/rref.hpp>
#include <echelon/sparse_direct.hpp>
#include <echelon/sweep.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <vector>

namespace echelon::faults {

namespace {

End right_if(bool right) {
  return right ? End::right : End::wrong;
}

/// End of a computation with a report: out of memory if its status says so.
End end_of(const Report& report, bool right) {
  return report.status == Status::out_of_memory ? End::out_of_memory : right_if(report.solved() && right);
}

bool near(double value, double expected) {
  return std::abs(value - expected) <= 1e-6 * std::max(1.0, std::abs(expected));
}

bool all_near(const Dense<double>& values, double expected) {
  return std::all_of(values.data(), values.data() + values.rows() * values.columns(),
                     [=](double value) { return near(value, expected); });
}

/// A matrix of equal elements. Unlike a std::vector, it reports a failed allocation as the library does.
Dense<double> filled(std::int64_t rows, std::int64_t columns, double value) {
  Dense<double> a(Device(), rows, columns);
  std::fill_n(a.data(), rows * columns, value);
  return a;
}

/// The tridiagonal matrix with -1 beside `diagonal`; at both ends of the diagonal stands `end`.
Csr<double> tridiagonal(std::int32_t n, double diagonal, double end) {
  std::vector<Triplet<double>> triplets;
  for (std::int32_t i = 0; i < n; ++i) {
    triplets.push_back({i, i, i == 0 || i == n - 1 ? end : diagonal});
    if (i + 1 < n) triplets.insert(triplets.end(), {{i, i + 1, -1}, {i + 1, i, -1}});
  }
  return Csr<double>::from_triplets(n, n, triplets);
}

/// The Laplacian of a path: the resistance between vertices i and j is |i - j|.
Csr<double> path(std::int32_t n) {
  return tridiagonal(n, 2, 1);
}

/// The matrix 2 I + 1 1^T of order n, whose inverse is (I - 1 1^T / (n + 2)) / 2.
Dense<double> shifted_ones(std::int64_t n) {
  Dense<double> a = filled(n, n, 1);
  for (std::int64_t i = 0; i < n; ++i) a(i, i) = 3;
  return a;
}

bool is_inverse_of_shifted_ones(const double* a, std::int64_t n) {
  for (std::int64_t k = 0; k < n * n; ++k) {
    const double unit = k % n == k / n ? 1 : 0;
    if (!near(a[k], (unit - 1 / static_cast<double>(n + 2)) / 2)) return false;
  }
  return true;
}

std::vector<Case> graph_cases() {
  constexpr std::int32_t n = 200;
  const Csr<double> L = path(n);
  std::vector<Case> all;
  all.push_back({"graph-components", [L] {
                   const auto ungrounded = graph::ungrounded_components(L);
                   return right_if(graph::components(L).count == 1 && ungrounded.size() == 1 &&
                                   ungrounded.front().size() == n);
                 }});
  all.push_back({"graph-resistances", [L] {
                   constexpr std::array<graph::Pair, 3> pairs = {{{0, n - 1}, {3, 10}, {7, 7}}};
                   const graph::Resistances found = graph::resistances(L, pairs);
                   return end_of(found.report, near(found.values[0], n - 1) && near(found.values[1], 7) &&
                                                   found.values[2] == 0);
                 }});
  all.push_back({"graph-edges", [L] {
                   const graph::EdgeResistances found = graph::edge_resistances(L);
                   const bool right = std::all_of(found.edges.begin(), found.edges.end(),
                                                  [](const auto& edge) { return near(edge.resistance, 1); });
                   return end_of(found.report, right && found.edges.size() == n - 1);
                 }});
  all.push_back({"graph-potentials", [L] {
                   Dense<double> b = filled(n, 1, 0);
                   b(0, 0) = 1;
                   b(n - 1, 0) = -1;
                   const graph::Potentials found = graph::potentials(L, b.view());
                   return end_of(found.report, near(found.x(0, 0) - found.x(n - 1, 0), n - 1));
                 }});
  all.push_back({"graph-fiedler", [L = path(40)] {
                   const graph::Eigenpairs found = graph::fiedler(L);
                   if (found.status == Status::out_of_memory) return End::out_of_memory;
                   return right_if(found.status == Status::converged &&
                                   near(found.values.at(0), 2 - 2 * std::cos(std::numbers::pi / 40)));
                 }});
  return all;
}

/// Solves with A = tridiagonal(n, 3, 2), whose rows sum to 1, for x = 1, by the Schur complement of some
/// rows.
End solve_by_schur_complement(MatrixRef<double> A) {
  const std::int64_t n = A.rows();
  const std::array<std::int32_t, 3> interface = {0, 7, static_cast<std::int32_t>(n - 1)};
  const SchurComplement<double> S(A, interface);
  if (S.report().status == Status::out_of_memory) return End::out_of_memory;
  if (!S.ready()) return End::wrong;
  const Dense<double> ones = filled(n, 1, 1);
  Dense<double> x(Device(), n, 1);
  const Report report = S.solve(ones, x);
  if (report.status == Status::out_of_memory) return End::out_of_memory;
  if (!report.solved() || !all_near(x, 1)) return End::wrong;
  Dense<double> g(Device(), 3, 1);
  S.reduce(ones, g);
  S.expand(filled(3, 1, 1), ones, x);
  return right_if(all_near(x, 1) && near(g(0, 0), S.matrix()(0, 0) + S.matrix()(0, 1) + S.matrix()(0, 2)));
}

std::vector<Case> schur_cases() {
  const Csr<double> A = tridiagonal(60, 3, 2);
  return {{"schur-sparse", [A] { return solve_by_schur_complement(A); }},
          {"schur-dense", [A = to_dense<double>(A)] { return solve_by_schur_complement(A); }}};
}

bool all_direct(const Array<BatchOutcome>& outcomes) {
  return std::all_of(outcomes.data(), outcomes.data() + outcomes.size(),
                     [](const BatchOutcome& outcome) { return outcome.status == Status::direct; });
}

End invert_and_solve_batches() {
  constexpr std::int64_t n = 7;
  constexpr std::int64_t count = 20;
  Dense<double> a(Device(), n * n, count);
  const Dense<double> one = shifted_ones(n);
  for (std::int64_t k = 0; k < count; ++k) std::copy_n(one.data(), n * n, a.data() + k * n * n);
  Dense<double> b = filled(n, count, n + 2);  // the solutions are 1
  const DenseBatch<double> A(a.data(), n, n, count, Device());
  const DenseBatch<double> B(b.data(), n, 1, count, Device());
  bool right = all_direct(solve_batch<double>({a.data(), n, n, count, Device()}, B)) && all_near(b, 1);
  for (const auto kind : {BatchFactorization::lu, BatchFactorization::cholesky}) {
    Dense<double> factored = a;
    std::fill_n(b.data(), n * count, n + 2.0);
    const BatchFactors<double> factors({factored.data(), n, n, count, Device()}, kind);
    factors.solve(B);
    right = right && all_direct(factors.outcomes()) && all_near(b, 1);
  }
  right = right && all_direct(invert_batch(A));
  for (std::int64_t k = 0; k < count; ++k) {
    right = right && is_inverse_of_shifted_ones(a.data() + k * n * n, n);
  }
  return right_if(right);
}

End solve_bands() {
  constexpr std::int64_t n = 3000;
  Dense<double> a = filled(3, n, -1);
  for (std::int64_t j = 0; j < n; ++j) a(1, j) = j == 0 || j == n - 1 ? 2 : 3;
  Dense<double> b = filled(n, 1, 1);
  const BandBatch<const double> A(a.data(), n, 1, 1, 3, Device());
  const DenseBatch<double> B(b.data(), n, 1, 1, Device());
  bool right = all_direct(solve_band(A, B)) && all_near(b, 1);
  std::fill_n(b.data(), n, 1.0);
  BandFactorization<double> factorization;
  right = right && all_direct(factorization.factor(A));
  factorization.solve(B);
  return right_if(right && all_near(b, 1));
}

/// Reduces a 60-by-80 matrix of rank 40, its rows i and i + 40 equal, and inverts one of order 40.
End reduce_rows() {
  constexpr std::int64_t rows = 60;
  constexpr std::int64_t columns = 80;
  constexpr std::int64_t rank = 40;
  Dense<double> A(Device(), rows, columns);
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t i = 0; i < rows; ++i) A(i, j) = j % rank == i % rank ? 3 : 1;
  }
  const RowReduction<double> reduction;
  const EchelonForm<double> form = reduction.reduce(MatrixRef<double>(A));
  const Dense<double> kernel = null_space(form);
  bool right = form.facts.rank == rank && kernel.columns() == columns - rank;
  const GeneralSolution<double> solution = reduction.solve(A, filled(rows, 1, 1));
  if (solution.report.status == Status::out_of_memory) return End::out_of_memory;
  const double sum = std::accumulate(solution.X.data(), solution.X.data() + columns, 0.0);
  right = right && solution.report.solved() && near(sum, double{rank} / (rank + 2));
  Dense<double> square = shifted_ones(rank);
  const Report report = reduction.invert(square);
  if (report.status == Status::out_of_memory) return End::out_of_memory;
  return right_if(right && is_inverse_of_shifted_ones(square.data(), rank));
}

/// Facts about the pattern of the Laplacian of a path.
End analyze_pattern(const Csr<double>& L) {
  const std::int64_t n = L.rows();
  const Structure structure = analyze_structure<double>(L);
  bool right = structure.symmetric_values && structural_rank<double>(L) == n;
  right = right && block_triangular_form(L).blocks() == 1;
  right =
      right && fill_reducing_ordering(L).size() == n && fill_reducing_ordering(L, Ordering::amd).size() == n;
  right = right && predict_factor(L, Ordering::natural).entries == 2 * n - 1;
  right = right && factor_pattern(L, Ordering::natural).prediction.entries == 2 * n - 1;
  return right_if(right && rank_modulo<double>(L, 2130365093) == n - 1);
}

/// A forward sweep solves with a lower triangle.
End sweep_triangle(const Csr<double>& A) {
  const std::int64_t n = A.rows();
  Dense<double> x = filled(n, 1, 0);
  GaussSeidelSweep<double> sweep;
  static_cast<void>(sweep.sweep(A, filled(n, 1, 1), x));
  return right_if(all_near(x, 1) && analyze_dependencies<double>(A).forward.levels == n);
}

/// The matrix with 2 on the diagonal and -1 below it, but for the first row, which has 1.
Csr<double> lower_bidiagonal(std::int32_t n) {
  std::vector<Triplet<double>> triplets = {{0, 0, 1}};
  for (std::int32_t i = 1; i < n; ++i) triplets.insert(triplets.end(), {{i, i - 1, -1}, {i, i, 2}});
  return Csr<double>::from_triplets(n, n, triplets);
}

}  // namespace

std::vector<Case> entry_point_cases() {
  std::vector<Case> all = graph_cases();
  for (Case& c : schur_cases()) all.push_back(std::move(c));
  all.push_back({"batches", invert_and_solve_batches});
  all.push_back({"bands", solve_bands});
  all.push_back({"row-reduction", reduce_rows});
  all.push_back({"pattern", [L = path(300)] { return analyze_pattern(L); }});
  all.push_back({"sweep", [A = lower_bidiagonal(300)] { return sweep_triangle(A); }});
  return all;
}

}  // namespace echelon::faults
