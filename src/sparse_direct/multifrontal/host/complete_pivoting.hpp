// SPDX-License-Identifier: BSD-3-Clause
/// Complete pivoting for the remainder of a root front after threshold pivoting, which decides the rank of
/// the matrix.
#pragma once

#include "sparse_direct/multifrontal/host/assembly.hpp"
#include "support/scalar.hpp"

#include <echelon/cancellation.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <utility>

namespace echelon::sparse_direct {

namespace complete_pivoting_detail {

/// Subtracts the products of pivots [first, last) from the update matrix of an unsymmetric front.
template <class T>
void subtract_products(const FrontMemory<T>& front, std::int64_t first, std::int64_t last) {
  const std::int64_t below = front.below();
  for (std::int64_t j = 0; j < below; ++j) {
    T* column = front.update + j * below;
    for (std::int64_t p = first; p < last; ++p) {
      const T* l = front.lower + front.pivots + p * front.size;
      const T u = front.upper[j + p * below];
      for (std::int64_t i = 0; i < below; ++i) column[i] -= l[i] * u;
    }
  }
}

}  // namespace complete_pivoting_detail

/// Largest magnitude among the fully summed rows and columns after the eliminated ones; of the lower triangle
/// if `symmetric`.
template <class T>
double largest_remaining(const FrontMemory<T>& front, std::int64_t eliminated, bool symmetric) {
  double largest = 0;
  for (std::int64_t j = eliminated; j < front.pivots; ++j) {
    for (std::int64_t i = symmetric ? j : eliminated; i < front.pivots; ++i)
      largest = std::max(largest, magnitude(front.lower[i + j * front.size]));
  }
  return largest;
}

/// Eliminates the remaining fully summed columns of an unsymmetric root, with the largest remaining element
/// in fully summed rows as pivot, while that is larger than `smallest`. Returns the total number of
/// eliminated pivots. Rows below the pivots are those of a border, whose multipliers have no bound. Ends
/// early, with results to be discarded, when `cancel` asks to stop.
template <class T>
std::int64_t eliminate_completely(const FrontMemory<T>& front, std::int64_t eliminated, Real<T> smallest,
                                  const CancellationToken& cancel) {
  const std::int64_t n = front.pivots;
  const std::int64_t size = front.size;
  const std::int64_t below = front.below();
  const auto at = [&](std::int64_t i, std::int64_t j) -> T& { return front.lower[i + j * size]; };
  const auto right = [&](std::int64_t i) { return front.upper + i * below; };  // row i after the pivots
  std::int64_t p = eliminated;
  for (; p < n && !cancel.stop_requested(); ++p) {
    std::int64_t row = p;
    std::int64_t column = p;
    for (std::int64_t j = p; j < n; ++j) {
      for (std::int64_t i = p; i < n; ++i) {
        if (std::abs(at(i, j)) > std::abs(at(row, column))) row = i, column = j;
      }
    }
    if (!(std::abs(at(row, column)) > smallest)) break;
    std::swap_ranges(&at(0, p), &at(0, p) + size, &at(0, column));
    std::swap(front.column_ids[p], front.column_ids[column]);
    for (std::int64_t j = 0; j < n; ++j) std::swap(at(p, j), at(row, j));
    if (row != p) std::swap_ranges(right(p), right(p) + below, right(row));
    std::swap(front.row_ids[p], front.row_ids[row]);
    for (std::int64_t i = p + 1; i < size; ++i) at(i, p) /= at(p, p);
    for (std::int64_t j = p + 1; j < n; ++j) {
      for (std::int64_t i = p + 1; i < size; ++i) at(i, j) -= at(i, p) * at(p, j);
    }
    for (std::int64_t i = p + 1; i < n; ++i) {
      for (std::int64_t j = 0; j < below; ++j) right(i)[j] -= at(i, p) * right(p)[j];
    }
  }
  complete_pivoting_detail::subtract_products(front, eliminated, p);
  return p;
}

namespace complete_pivoting_detail {

/// Root front of a symmetric or Hermitian matrix, of which the lower triangle is stored. Rows below are those
/// of a border.
template <class T>
class SymmetricRoot {
 public:
  SymmetricRoot(const FrontMemory<T>& front, T* diagonal, const CancellationToken& cancel)
      : n_(front.pivots),
        size_(front.size),
        a_(front.lower),
        update_(front.update),
        d_(diagonal),
        ids_(front.column_ids),
        mirror_(front.mirror),
        cancel_(cancel) {}

  /// Eliminates from pivot `first` on. Returns the total number of eliminated pivots.
  std::int64_t eliminate(std::int64_t first, Real<T> smallest) {
    const std::int64_t last = eliminate_pivots(first, smallest);
    subtract_products(first, last);
    return last;
  }

 private:
  std::int64_t eliminate_pivots(std::int64_t p, Real<T> smallest) {
    while (p < n_ && !cancel_.stop_requested()) {
      const auto [diagonal, row, column] = find_largest(p);
      const Real<T> on_diagonal = std::abs(at(diagonal, diagonal));
      const Real<T> off_diagonal = row == column ? Real<T>{0} : std::abs(at(row, column));
      if (!(std::max(on_diagonal, off_diagonal) > smallest)) return p;
      const Real<T> balance = (1 + std::sqrt(Real<T>{17})) / 8;  // bounds growth equally for both orders
      if (on_diagonal >= balance * off_diagonal) {
        exchange(p, diagonal);
        eliminate_single(p);
        p += 1;
      } else {
        exchange(p, column);
        exchange(p + 1, row);
        eliminate_pair(p);
        p += 2;
      }
    }
    return p;
  }

  /// Subtracts the products of pivots [first, last) from the update matrix.
  void subtract_products(std::int64_t first, std::int64_t last) const {
    const std::int64_t below = size_ - n_;
    for (std::int64_t j = 0; j < below; ++j) {
      T* column = update_ + j * below - n_;
      for (std::int64_t p = first; p < last; ++p) {
        T v = at(n_ + j, p) * d_[2 * p];
        if (d_[2 * p + 1] != T{0}) v += at(n_ + j, p + 1) * d_[2 * p + 1];
        if (p > first && d_[2 * p - 1] != T{0}) v += at(n_ + j, p - 1) * mirror_(d_[2 * p - 1]);
        v = mirror_(v);
        for (std::int64_t i = n_ + j; i < size_; ++i) column[i] -= at(i, p) * v;
      }
    }
  }

  struct Largest {
    std::int64_t diagonal, row, column;
  };
  [[nodiscard]] T& at(std::int64_t i, std::int64_t j) const { return a_[i + j * size_]; }

  /// Largest element on the diagonal, and largest below it, from row and column p on.
  [[nodiscard]] Largest find_largest(std::int64_t p) const {
    Largest largest{p, p, p};
    Real<T> below = -1;
    for (std::int64_t j = p; j < n_; ++j) {
      if (std::abs(at(j, j)) > std::abs(at(largest.diagonal, largest.diagonal))) largest.diagonal = j;
      for (std::int64_t i = j + 1; i < n_; ++i) {
        if (std::abs(at(i, j)) > below) below = std::abs(at(i, j)), largest.row = i, largest.column = j;
      }
    }
    return largest;
  }

  void exchange(std::int64_t i, std::int64_t j) const {
    if (i == j) return;
    for (std::int64_t k = 0; k < i; ++k) std::swap(at(i, k), at(j, k));
    std::swap(at(i, i), at(j, j));
    for (std::int64_t k = i + 1; k < j; ++k) {
      const T below = std::exchange(at(k, i), mirror_(at(j, k)));
      at(j, k) = mirror_(below);
    }
    at(j, i) = mirror_(at(j, i));
    for (std::int64_t k = j + 1; k < size_; ++k) std::swap(at(k, i), at(k, j));
    std::swap(ids_[i], ids_[j]);
  }

  void eliminate_single(std::int64_t p) const {
    const T pivot = mirror_.on_diagonal(at(p, p));
    d_[2 * p] = pivot, d_[2 * p + 1] = 0;
    for (std::int64_t j = p + 1; j < n_; ++j) {
      const T l = mirror_(at(j, p)) / pivot;
      for (std::int64_t i = j; i < size_; ++i) at(i, j) -= at(i, p) * l;
    }
    for (std::int64_t i = p + 1; i < size_; ++i) at(i, p) /= pivot;
  }

  /// Eliminates a pivot of order two, whose off-diagonal element is its largest.
  void eliminate_pair(std::int64_t p) const {
    const T a11 = mirror_.on_diagonal(at(p, p));
    const T a21 = at(p + 1, p);
    const T a22 = mirror_.on_diagonal(at(p + 1, p + 1));
    const T phase = mirror_.conjugates ? a21 / mirror_(a21) : T{1};
    const T first = a11 / a21;
    const T second = a22 / mirror_(a21);
    const T determinant = first * second - T{1};
    d_[2 * p] = a11, d_[2 * p + 1] = a21, d_[2 * p + 2] = a22, d_[2 * p + 3] = 0;
    at(p + 1, p) = 0;
    // (x, y) times the inverse of the pivot.
    const auto divided = [&](T x, T y) {
      y *= phase;
      return std::pair((second * x - y) / determinant / a21, (first * y - x) / determinant / a21);
    };
    for (std::int64_t j = p + 2; j < n_; ++j) {
      const auto [l1, l2] = divided(at(j, p), at(j, p + 1));
      const T u1 = mirror_(l1);
      const T u2 = mirror_(l2);
      for (std::int64_t i = j; i < size_; ++i) at(i, j) -= at(i, p) * u1 + at(i, p + 1) * u2;
    }
    for (std::int64_t i = p + 2; i < size_; ++i)
      std::tie(at(i, p), at(i, p + 1)) = divided(at(i, p), at(i, p + 1));
  }

  std::int64_t n_;
  std::int64_t size_;
  T* a_;
  T* update_;
  T* d_;
  std::int32_t* ids_;
  TriangleMirror mirror_;
  const CancellationToken& cancel_;
};

}  // namespace complete_pivoting_detail

/// Symmetric counterpart of eliminate_completely, with D in `diagonal` as SymmetricFront has it. J. Bunch,
/// B. Parlett, Direct methods for solving symmetric indefinite systems of linear equations, SIAM J. Numer.
/// Anal. 8 (1971).
template <class T>
std::int64_t eliminate_completely(const FrontMemory<T>& front, T* diagonal, std::int64_t eliminated,
                                  Real<T> smallest, const CancellationToken& cancel) {
  return complete_pivoting_detail::SymmetricRoot<T>(front, diagonal, cancel).eliminate(eliminated, smallest);
}

}  // namespace echelon::sparse_direct
