// SPDX-License-Identifier: BSD-3-Clause
/// Power flow: the voltages of an AC grid by Newton's method, with a generator of grids.
#pragma once

#include <echelon/echelon.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

/// A grid: the admittance matrix Y, with the currents Y V, and the power S = V conj(Y V) that is fed in at
/// each bus.
struct Grid {
  echelon::Csr<double> conductance, susceptance;  ///< real and imaginary part of Y, with one pattern
  std::vector<std::complex<double>> power;
  std::vector<bool> generator;  ///< holds its voltage at 1; the angle of bus 0 is 0
};

/// A ring of `buses` with a line across to a bus at a distance of some hundred for every fifth one. Every
/// tenth bus is a generator, which feeds what the nine buses after it draw.
inline Grid make_grid(std::int32_t buses, unsigned seed = 1) {
  std::mt19937_64 random(seed);
  const auto uniform = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
  };
  std::vector<echelon::Triplet<double>> real, imaginary;
  const auto add_line = [&](std::int32_t i, std::int32_t j) {
    const std::complex<double> y = uniform(0.5, 2) / std::complex<double>(0.002, 0.02);
    for (const auto& [row, column, sign] :
         {std::tuple(i, i, 1.0), std::tuple(j, j, 1.0), std::tuple(i, j, -1.0), std::tuple(j, i, -1.0)}) {
      real.push_back({row, column, sign * y.real()});
      imaginary.push_back({row, column, sign * y.imag()});
    }
  };
  for (std::int32_t i = 0; i < buses; ++i) {
    add_line(i, (i + 1) % buses);
    const auto distance = static_cast<std::int32_t>(37 + random() % 100);
    if (i % 5 == 0) add_line(i, (i + distance) % buses);
  }
  Grid grid{echelon::Csr<double>::from_triplets(buses, buses, real),
            echelon::Csr<double>::from_triplets(buses, buses, imaginary),
            {},
            {}};
  grid.power.resize(static_cast<std::size_t>(buses));
  grid.generator.resize(grid.power.size());
  for (std::size_t i = 0; i < grid.power.size(); ++i) {
    grid.generator[i] = i % 10 == 0;
    if (grid.generator[i]) continue;
    grid.power[i] = -uniform(0, 1) * std::complex<double>(0.5, 0.2);
    grid.power[i - i % 10] -= grid.power[i].real();
  }
  return grid;
}

/// Newton's method for angles and magnitudes of the voltages: unknown are the angles at all buses but the
/// first, and the magnitudes at those without a generator.
class PowerFlow {
 public:
  explicit PowerFlow(Grid grid)
      : grid_(std::move(grid)), angle_(grid_.power.size(), 0.0), size_(angle_.size(), 1.0) {
    for (std::size_t i = 0; i < size_.size(); ++i) {
      angle_unknown_.push_back(i == 0 ? -1 : unknowns_++);
      size_unknown_.push_back(grid_.generator[i] ? -1 : unknowns_++);
    }
    mismatch_.resize(static_cast<std::size_t>(unknowns_));
    make_pattern();
  }

  [[nodiscard]] const echelon::Csr<double>& jacobian() const { return jacobian_; }
  /// Right-hand side of a step.
  [[nodiscard]] std::span<const double> mismatch() const { return mismatch_; }
  [[nodiscard]] double largest_mismatch() const {
    double largest = 0;
    for (const double value : mismatch_) largest = std::max(largest, std::abs(value));
    return largest;
  }
  [[nodiscard]] double smallest_voltage() const { return *std::min_element(size_.begin(), size_.end()); }

  /// Computes the mismatch and the Jacobian matrix for the present voltages.
  void evaluate() {
    double* value = jacobian_.values().data();
    for (std::size_t i = 0; i < size_.size(); ++i) {
      const std::complex<double> injected = power_at(i);
      if (angle_unknown_[i] >= 0) {
        mismatch_[at(angle_unknown_[i])] = grid_.power[i].real() - injected.real();
        value = add_row(i, injected, false, value);
      }
      if (size_unknown_[i] >= 0) {
        mismatch_[at(size_unknown_[i])] = grid_.power[i].imag() - injected.imag();
        value = add_row(i, injected, true, value);
      }
    }
  }

  /// Adds a Newton correction.
  void advance(std::span<const double> step) {
    for (std::size_t i = 0; i < size_.size(); ++i) {
      if (angle_unknown_[i] >= 0) angle_[i] += step[at(angle_unknown_[i])];
      if (size_unknown_[i] >= 0) size_[i] += step[at(size_unknown_[i])];
    }
  }

 private:
  static std::size_t at(std::int32_t unknown) { return static_cast<std::size_t>(unknown); }

  /// Calls f(j, g_ij, b_ij) for the elements of row i of Y.
  template <class F>
  void for_row(std::size_t i, const F& f) const {
    const auto& G = grid_.conductance;
    for (std::int64_t k = G.row_offsets()[static_cast<std::int64_t>(i)];
         k < G.row_offsets()[static_cast<std::int64_t>(i) + 1]; ++k)
      f(static_cast<std::size_t>(G.column_indices()[k]), G.values()[k], grid_.susceptance.values()[k]);
  }

  [[nodiscard]] std::complex<double> power_at(std::size_t i) const {
    std::complex<double> power;
    for_row(i, [&](std::size_t j, double g, double b) {
      const double angle = angle_[i] - angle_[j];
      power += size_[i] * size_[j] * std::complex(g, -b) * std::polar(1.0, angle);
    });
    return power;
  }

  /// The rows of active and reactive power have elements at the angles and magnitudes of the bus and its
  /// neighbours.
  void make_pattern() {
    std::vector<echelon::Triplet<double>> elements;
    for (std::size_t i = 0; i < size_.size(); ++i) {
      for (const std::int32_t row : {angle_unknown_[i], size_unknown_[i]}) {
        if (row < 0) continue;
        for_row(i, [&](std::size_t j, double, double) {
          if (angle_unknown_[j] >= 0) elements.push_back({row, angle_unknown_[j], 0.0});
          if (size_unknown_[j] >= 0) elements.push_back({row, size_unknown_[j], 0.0});
        });
      }
    }
    jacobian_ = echelon::Csr<double>::from_triplets(unknowns_, unknowns_, elements);
  }

  /// Writes the derivatives of the active or reactive power at bus i. Returns the place after them.
  double* add_row(std::size_t i, std::complex<double> injected, bool reactive, double* value) const {
    for_row(i, [&](std::size_t j, double g, double b) {
      // Derivatives of the complex power; its parts are the active and the reactive power.
      const std::complex<double> term = std::complex(g, -b) * std::polar(1.0, angle_[i] - angle_[j]);
      const std::complex<double> unit(0, 1);
      std::complex<double> by_angle = -unit * size_[i] * size_[j] * term;
      std::complex<double> by_size = size_[i] * term;
      if (i == j) {
        by_angle += unit * injected;
        by_size += injected / size_[i];
      }
      if (angle_unknown_[j] >= 0) *value++ = reactive ? by_angle.imag() : by_angle.real();
      if (size_unknown_[j] >= 0) *value++ = reactive ? by_size.imag() : by_size.real();
    });
    return value;
  }

  Grid grid_;
  std::vector<double> angle_, size_;
  std::vector<std::int32_t> angle_unknown_, size_unknown_;  // number of the unknown, or -1
  std::int32_t unknowns_ = 0;
  std::vector<double> mismatch_;
  echelon::Csr<double> jacobian_;
};
