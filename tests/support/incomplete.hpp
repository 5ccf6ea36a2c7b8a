// SPDX-License-Identifier: BSD-3-Clause
/// Matrices and oracles for tests of incomplete factorisations.
#pragma once

#include "solver/implementation.hpp"

#include <echelon/echelon.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace echelon::test {

/// z = M^-1 r, as Krylov methods call it, with r and z on the host. The method has been set up.
template <class T>
Dense<T> precondition(const Solver<T>& method, const Dense<T>& r) {
  const Dense<T> r_there = r.to(method.device());
  Dense<T> z(method.device(), r.rows(), 1);
  const SolverImplementation<T>& implementation = SolverAccess<T>::implementation(method);
  implementation.apply(*implementation.make_workspace(), {r_there.data(), r.rows()}, {z.data(), z.rows()});
  return z.to(Device());
}

/// Seven points on a cube with a variable diagonal, for large cubes quicker than from triplets. Symmetric, or
/// with unequal neighbours.
template <class T>
Csr<T> seven_point_cube(std::int64_t side, bool symmetric) {
  const double skew = symmetric ? 0 : 0.1;
  const std::int64_t n = side * side * side;
  std::vector<std::int64_t> offsets = {0};
  std::vector<std::int32_t> columns;
  std::vector<T> values;
  for (std::int64_t row = 0; row < n; ++row) {
    const std::int64_t x = row % side;
    const std::int64_t y = row / side % side;
    const std::int64_t z = row / (side * side);
    const auto add = [&](bool inside, std::int64_t column, double value) {
      if (!inside) return;
      columns.push_back(static_cast<std::int32_t>(column));
      values.push_back(static_cast<T>(value));
    };
    add(z > 0, row - side * side, -1);
    add(y > 0, row - side, -1 - skew);
    add(x > 0, row - 1, -1 + skew);
    add(true, row, 6.1 + 0.1 * static_cast<double>(row % 3));
    add(x + 1 < side, row + 1, -1 - 2 * skew);
    add(y + 1 < side, row + side, -1 + 2 * skew);
    add(z + 1 < side, row + side * side, -1);
    offsets.push_back(static_cast<std::int64_t>(columns.size()));
  }
  return Csr<T>(n, n, Array<std::int64_t>(Device(), offsets), Array<std::int32_t>(Device(), columns),
                Array<T>(Device(), values));
}

template <class T>
Csr<T> small_matrix(std::int64_t n, const std::vector<Triplet<T>>& elements) {
  return Csr<T>::from_triplets(n, n, elements);
}

/// Symmetric positive definite, but the fourth pivot of IC(0) is -5: D. S. Kershaw, J. Comput. Phys. 26
/// (1978).
template <class T>
Csr<T> kershaw() {
  return small_matrix<T>(4, {{0, 0, 3},
                             {0, 1, -2},
                             {0, 3, 2},
                             {1, 0, -2},
                             {1, 1, 3},
                             {1, 2, -2},
                             {2, 1, -2},
                             {2, 2, 3},
                             {2, 3, -2},
                             {3, 0, 2},
                             {3, 2, -2},
                             {3, 3, 3}});
}

/// A square matrix in extended precision with a mask for its pattern.
class MaskedMatrix {
 public:
  template <class T>
  explicit MaskedMatrix(const Csr<T>& a)
      : n_(static_cast<std::size_t>(a.rows())), values_(n_ * n_), stored_(n_ * n_) {
    for (std::int64_t i = 0; i < a.rows(); ++i) {
      for (std::int64_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) {
        const auto row = static_cast<std::size_t>(i);
        const auto column = static_cast<std::size_t>(a.column_indices()[k]);
        at(row, column) = a.values()[k];
        stored_[row * n_ + column] = true;
      }
    }
  }
  [[nodiscard]] std::size_t size() const { return n_; }
  [[nodiscard]] long double& at(std::size_t i, std::size_t j) { return values_[i * n_ + j]; }
  [[nodiscard]] long double at(std::size_t i, std::size_t j) const { return values_[i * n_ + j]; }
  [[nodiscard]] bool stored(std::size_t i, std::size_t j) const { return stored_[i * n_ + j]; }

  /// Gaussian elimination as the textbooks state it, without the elements that are not stored.
  void eliminate() {
    for (std::size_t k = 0; k < n_; ++k) {
      for (std::size_t i = k + 1; i < n_; ++i) {
        if (!stored(i, k)) continue;
        at(i, k) /= at(k, k);
        for (std::size_t j = k + 1; j < n_; ++j) {
          if (stored(i, j)) at(i, j) -= at(i, k) * at(k, j);
        }
      }
    }
  }

  /// After eliminate(): the definition of ILU(0), max |(L U - A)_ij| on the pattern, relative to max |a_ij|.
  [[nodiscard]] double defect(const MaskedMatrix& a) const {
    long double worst = 0;
    long double largest = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = 0; j < n_; ++j) {
        if (!stored(i, j)) continue;
        long double sum = i <= j ? at(i, j) : 0;
        for (std::size_t k = 0; k < std::min(i, j + 1); ++k) sum += at(i, k) * at(k, j);
        worst = std::max(worst, std::abs(sum - a.at(i, j)));
        largest = std::max(largest, std::abs(a.at(i, j)));
      }
    }
    return static_cast<double>(worst / largest);
  }

  /// After eliminate(): U^-1 L^-1 r.
  template <class T>
  [[nodiscard]] std::vector<long double> solve(const Dense<T>& r) const {
    std::vector<long double> z(n_);
    for (std::size_t i = 0; i < n_; ++i) {
      z[i] = r[static_cast<std::int64_t>(i)];
      for (std::size_t j = 0; j < i; ++j) z[i] -= at(i, j) * z[j];
    }
    for (std::size_t i = n_; i-- > 0;) {
      for (std::size_t j = i + 1; j < n_; ++j) z[i] -= at(i, j) * z[j];
      z[i] /= at(i, i);
    }
    return z;
  }

 private:
  std::size_t n_;
  std::vector<long double> values_;
  std::vector<bool> stored_;
};

}  // namespace echelon::test
