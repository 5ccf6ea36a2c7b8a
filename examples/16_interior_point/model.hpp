// SPDX-License-Identifier: BSD-3-Clause
/// Quadratic programs min q^T x^2 / 2 + c^T x, A x = b, x >= 0 by a primal-dual interior-point method.
#pragma once

#include <echelon/echelon.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

struct QuadraticProgram {
  echelon::Csr<double> A;  ///< m by n, of full rank
  std::vector<double> b, c, q;
};

/// Flows of least cost through a network: n arcs join m + 1 nodes, one of whose equations is left out.
inline QuadraticProgram make_network_flow(std::int32_t m, std::int32_t n, unsigned seed = 1) {
  std::mt19937_64 random(seed);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  QuadraticProgram program;
  std::vector<echelon::Triplet<double>> elements;
  program.b.resize(static_cast<std::size_t>(m));
  for (std::int32_t arc = 0; arc < n; ++arc) {
    // The first arcs join all nodes; the others lead to a node nearby, or anywhere.
    const auto from = arc < m ? arc : static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(m + 1));
    const auto reach = static_cast<std::uint64_t>(arc % 10 == 0 ? m : 30);
    std::int32_t to =
        arc < m ? arc + 1
                : static_cast<std::int32_t>((static_cast<std::uint64_t>(from) + 1 + random() % reach) %
                                            static_cast<std::uint64_t>(m + 1));
    if (to == from) to = (from + 1) % (m + 1);
    const double flow = arc < m || random() % 3 == 0 ? uniform() : 0;  // a feasible one
    for (const auto& [node, sign] : {std::pair(from, 1.0), std::pair(to, -1.0)}) {
      if (node == m) continue;
      elements.push_back({node, arc, sign});
      program.b[static_cast<std::size_t>(node)] += sign * flow;
    }
    program.c.push_back(uniform());
    program.q.push_back(0.01 + 0.1 * uniform());
  }
  program.A = echelon::Csr<double>::from_triplets(m, n, elements);
  return program;
}

/// Mehrotra's predictor-corrector method. Each iteration has one matrix,
///
///   K = (-Q - X^-1 Z   A^T)
///       (    A          0 ),
///
/// whose pattern never changes, and two right-hand sides, the second of which depends on the solution of the
/// first.
class InteriorPoint {
 public:
  explicit InteriorPoint(QuadraticProgram program) : program_(std::move(program)) {
    n_ = program_.A.columns();
    m_ = program_.A.rows();
    x_.assign(static_cast<std::size_t>(n_), 1.0);
    z_ = x_;
    y_.assign(static_cast<std::size_t>(m_), 0.0);
    rhs_.resize(x_.size() + y_.size());
    make_pattern();
  }

  [[nodiscard]] const echelon::Csr<double>& matrix() const { return matrix_; }
  /// Right-hand side of the step that prepare() or correct() has chosen.
  [[nodiscard]] std::span<const double> right_hand_side() const { return rhs_; }
  /// Mean of x_i z_i, which is zero at the solution.
  [[nodiscard]] double gap() const { return gap_of(0, 0, {}, {}); }
  /// Largest violation of the equations and of the dual equations.
  [[nodiscard]] double infeasibility() const {
    double largest = 0;
    for (const double value : primal_) largest = std::max(largest, std::abs(value));
    for (const double value : dual_) largest = std::max(largest, std::abs(value));
    return largest;
  }
  [[nodiscard]] double objective() const {
    double sum = 0;
    for (std::size_t i = 0; i < x_.size(); ++i) sum += (program_.c[i] + 0.5 * program_.q[i] * x_[i]) * x_[i];
    return sum;
  }

  /// Computes residuals, the matrix, and the right-hand side of the predictor.
  void prepare() {
    double* values = matrix_.values().data();
    for (std::size_t i = 0; i < x_.size(); ++i) values[diagonal_[i]] = -program_.q[i] - z_[i] / x_[i];
    primal_ = program_.b;
    dual_.resize(x_.size());
    for (std::size_t i = 0; i < x_.size(); ++i) dual_[i] = program_.c[i] + program_.q[i] * x_[i] - z_[i];
    const auto& A = program_.A;
    for (std::int64_t r = 0; r < m_; ++r) {
      for (std::int64_t k = A.row_offsets()[r]; k < A.row_offsets()[r + 1]; ++k) {
        const auto i = static_cast<std::size_t>(A.column_indices()[k]);
        primal_[static_cast<std::size_t>(r)] -= A.values()[k] * x_[i];
        dual_[i] -= A.values()[k] * y_[static_cast<std::size_t>(r)];
      }
    }
    complementarity_.resize(x_.size());
    for (std::size_t i = 0; i < x_.size(); ++i) complementarity_[i] = -x_[i] * z_[i];
    set_right_hand_side();
  }

  /// Chooses the right-hand side of the corrector by the step of the predictor.
  void correct(std::span<const double> predictor) {
    const std::vector<double> dz = step_of_z(predictor);
    const auto dx = predictor.first(x_.size());
    const double before = gap();
    const double after = gap_of(longest(x_, dx), longest(z_, dz), dx, dz);
    const double target = before * std::pow(after / before, 3);
    for (std::size_t i = 0; i < x_.size(); ++i) complementarity_[i] = target - x_[i] * z_[i] - dx[i] * dz[i];
    set_right_hand_side();
  }

  /// Takes the step as far as x and z stay positive.
  void advance(std::span<const double> step) {
    const std::vector<double> dz = step_of_z(step);
    const auto dx = step.first(x_.size());
    const double primal = std::min(1.0, 0.995 * longest(x_, dx));
    const double dual = std::min(1.0, 0.995 * longest(z_, dz));
    for (std::size_t i = 0; i < x_.size(); ++i) {
      x_[i] += primal * dx[i];
      z_[i] += dual * dz[i];
    }
    for (std::size_t r = 0; r < y_.size(); ++r) y_[r] += dual * step[x_.size() + r];
  }

 private:
  /// Largest factor with which v + factor dv is not negative, at most 10.
  static double longest(const std::vector<double>& v, std::span<const double> dv) {
    double factor = 10;
    for (std::size_t i = 0; i < v.size(); ++i) {
      if (dv[i] < 0) factor = std::min(factor, -v[i] / dv[i]);
    }
    return factor;
  }
  [[nodiscard]] double gap_of(double primal, double dual, std::span<const double> dx,
                              std::span<const double> dz) const {
    double sum = 0;
    for (std::size_t i = 0; i < x_.size(); ++i) {
      const double x = x_[i] + (dx.empty() ? 0 : std::min(1.0, primal) * dx[i]);
      const double z = z_[i] + (dz.empty() ? 0 : std::min(1.0, dual) * dz[i]);
      sum += x * z;
    }
    return sum / static_cast<double>(x_.size());
  }
  [[nodiscard]] std::vector<double> step_of_z(std::span<const double> step) const {
    std::vector<double> dz(x_.size());
    for (std::size_t i = 0; i < x_.size(); ++i) dz[i] = (complementarity_[i] - z_[i] * step[i]) / x_[i];
    return dz;
  }
  void set_right_hand_side() {
    for (std::size_t i = 0; i < x_.size(); ++i) rhs_[i] = dual_[i] - complementarity_[i] / x_[i];
    std::copy(primal_.begin(), primal_.end(), rhs_.begin() + static_cast<std::ptrdiff_t>(x_.size()));
  }

  void make_pattern() {
    std::vector<echelon::Triplet<double>> elements;
    const auto n = static_cast<std::int32_t>(n_);
    for (std::int32_t i = 0; i < n; ++i) elements.push_back({i, i, -1.0});
    const auto& A = program_.A;
    for (std::int32_t r = 0; r < static_cast<std::int32_t>(m_); ++r) {
      elements.push_back({n + r, n + r, 0.0});
      for (std::int64_t k = A.row_offsets()[r]; k < A.row_offsets()[r + 1]; ++k) {
        elements.push_back({n + r, A.column_indices()[k], A.values()[k]});
        elements.push_back({A.column_indices()[k], n + r, A.values()[k]});
      }
    }
    matrix_ = echelon::Csr<double>::from_triplets(n_ + m_, n_ + m_, elements);
    for (std::int64_t i = 0; i < n_; ++i) diagonal_.push_back(matrix_.row_offsets()[i]);
  }

  QuadraticProgram program_;
  std::int64_t n_ = 0, m_ = 0;
  std::vector<double> x_, y_, z_;
  std::vector<double> primal_, dual_, complementarity_, rhs_;
  echelon::Csr<double> matrix_;
  std::vector<std::int64_t>
      diagonal_;  // places of the first n diagonal elements, the first ones of their rows
};
