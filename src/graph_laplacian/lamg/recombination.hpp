// SPDX-License-Identifier: BSD-3-Clause
/// Recombination of iterates: the affine combination with the smallest residual.
#pragma once

#include "graph_laplacian/lamg/vector.hpp"

#include <cstddef>
#include <cstdint>

namespace echelon::lamg {

/// Residual and increment of a vertex, side by side, since sweeps need both of each neighbour.
template <class T>
struct Cell {
  T residual;
  T step;
};

/// The last few iterates of a level with their residuals.
template <class T>
class Recombination {
 public:
  static constexpr std::size_t max_capacity = 4;

  Recombination() = default;
  Recombination(std::int32_t n, std::size_t capacity)
      : n_(static_cast<std::size_t>(n)), capacity_(capacity), x_(n_ * capacity), r_(n_ * capacity) {}

  void clear() { size_ = 0; }
  /// Saves a copy of an iterate; overwrites the oldest one if `capacity` is reached.
  void save(const T* x, const Cell<T>* cells);
  /// Replaces x and its residual by the affine combination of x and the saved iterates that has the smallest
  /// residual. Needs no product with the matrix.
  void minimise(T* x, Cell<T>* cells) const;

  [[nodiscard]] std::size_t bytes() const { return sizeof(T) * (x_.size() + r_.size()); }

 private:
  std::size_t n_ = 0;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
  std::size_t next_ = 0;
  Vector<T> x_;  ///< interleaved iterates: element i of iterate k is x_[i * capacity + k]
  Vector<T> r_;
};

extern template class Recombination<float>;
extern template class Recombination<double>;

}  // namespace echelon::lamg
