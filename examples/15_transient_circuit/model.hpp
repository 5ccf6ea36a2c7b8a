// SPDX-License-Identifier: BSD-3-Clause
/// A circuit in time: a mesh of resistors and capacitors with diodes and amplifiers, driven by a sine
/// voltage.
#pragma once

#include <echelon/echelon.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <random>
#include <span>
#include <vector>

/// Modified nodal analysis with backward Euler steps; Newton's method in each of them. Unknown are the
/// voltages of the nodes and the current of the source, whose row has a zero on the diagonal.
class Circuit {
 public:
  /// A mesh of `side` by `side` nodes.
  explicit Circuit(std::int32_t side, unsigned seed = 1) : nodes_(side * side) {
    std::mt19937_64 random(seed);
    const auto node = [&] {
      return static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(nodes_));
    };
    for (std::int32_t i = 0; i < nodes_; ++i) {
      if (i % side + 1 < side) resistors_.push_back({i, i + 1});
      if (i + side < nodes_) resistors_.push_back({i, i + side});
      if (i % 7 == 3) diodes_.push_back(i);
      if (i % 50 == 0) amplifiers_.push_back({i, node()});
    }
    voltage_.resize(static_cast<std::size_t>(nodes_) + 1);
    before_ = residual_ = voltage_;
    make_pattern();
    evaluate();
  }

  [[nodiscard]] const echelon::Csr<double>& matrix() const { return matrix_; }
  [[nodiscard]] std::span<const double> residual() const { return residual_; }
  [[nodiscard]] double largest_residual() const {
    double largest = 0;
    for (const double value : residual_) largest = std::max(largest, std::abs(value));
    return largest;
  }
  [[nodiscard]] double time() const { return time_; }
  /// The voltage of the node in the middle.
  [[nodiscard]] double output() const { return voltage_[static_cast<std::size_t>(nodes_ / 2)]; }

  /// Starts the next step in time.
  void begin_step() {
    before_ = voltage_;
    time_ += step;
    evaluate();
  }
  /// Adds a Newton correction, limited so that no diode is driven far beyond its range.
  void advance(std::span<const double> correction) {
    double largest = 0;
    for (const std::int32_t i : diodes_)
      largest = std::max(largest, std::abs(correction[static_cast<std::size_t>(i)]));
    const double factor = std::min(1.0, 0.2 / std::max(largest, 1e-300));
    for (std::size_t i = 0; i < voltage_.size(); ++i) voltage_[i] += factor * correction[i];
    evaluate();
  }

 private:
  static constexpr double step = 1e-6;         // s
  static constexpr double conductance = 1e-3;  // of a resistor, S
  static constexpr double capacitance = 1e-9;  // of each node to the ground, F
  static constexpr double transconductance = 2e-4;
  static constexpr double saturation = 1e-12;  // of a diode, A
  static constexpr double thermal = 0.026;     // V

  struct Branch {
    std::int32_t from, to;
  };

  /// Adds to the matrix at (row, column), or notes the position in a first pass.
  template <class Add>
  void stamp(const Add& add) const {
    for (const auto& [i, j] : resistors_) {
      add(i, i, conductance);
      add(j, j, conductance);
      add(i, j, -conductance);
      add(j, i, -conductance);
    }
    for (std::int32_t i = 0; i < nodes_; ++i) add(i, i, capacitance / step);
    for (const std::int32_t i : diodes_)
      add(i, i, saturation / thermal * std::exp(voltage_[at(i)] / thermal));
    for (const auto& [i, control] : amplifiers_) add(i, control, transconductance);
    add(0, nodes_, 1.0);
    add(nodes_, 0, 1.0);
    add(nodes_, nodes_, 0.0);
  }

  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

  void make_pattern() {
    std::vector<echelon::Triplet<double>> elements;
    stamp([&](std::int32_t row, std::int32_t column, double value) {
      elements.push_back({row, column, value});
    });
    matrix_ = echelon::Csr<double>::from_triplets(nodes_ + 1, nodes_ + 1, elements);
    const auto* columns = matrix_.column_indices().data();
    for (const auto& [row, column, value] : elements) {
      const auto* const begin = columns + matrix_.row_offsets()[row];
      places_.push_back(std::lower_bound(begin, columns + matrix_.row_offsets()[row + 1], column) - columns);
    }
  }

  /// Computes the matrix, and the residual of Kirchhoff's equations with the sign of a right-hand side.
  void evaluate() {
    double* values = matrix_.values().data();
    std::fill_n(values, matrix_.nonzeros(), 0.0);
    std::size_t k = 0;
    stamp([&](std::int32_t, std::int32_t, double value) { values[places_[k++]] += value; });
    std::fill(residual_.begin(), residual_.end(), 0.0);
    for (const auto& [i, j] : resistors_) {
      const double current = conductance * (voltage_[at(i)] - voltage_[at(j)]);
      residual_[at(i)] -= current;
      residual_[at(j)] += current;
    }
    for (std::int32_t i = 0; i < nodes_; ++i)
      residual_[at(i)] -= capacitance / step * (voltage_[at(i)] - before_[at(i)]);
    for (const std::int32_t i : diodes_)
      residual_[at(i)] -= saturation * std::expm1(voltage_[at(i)] / thermal);
    for (const auto& [i, control] : amplifiers_) residual_[at(i)] -= transconductance * voltage_[at(control)];
    residual_[0] -= voltage_[at(nodes_)];
    residual_[at(nodes_)] -= voltage_[0] - std::sin(2 * std::numbers::pi * 1e4 * time_);
  }

  std::int32_t nodes_;
  std::vector<Branch> resistors_;
  std::vector<std::int32_t> diodes_;  // from these nodes to the ground
  std::vector<Branch> amplifiers_;    // current out of the first node, by the voltage of the second
  std::vector<double> voltage_, before_, residual_;
  double time_ = 0;
  echelon::Csr<double> matrix_;
  std::vector<std::int64_t> places_;  // of the stamps in the values of the matrix
};
