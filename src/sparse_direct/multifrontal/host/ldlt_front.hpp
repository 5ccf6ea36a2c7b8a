// SPDX-License-Identifier: BSD-3-Clause
/// Partial L D L^T or L D L^H factorisation of an indefinite front with threshold partial pivoting.
#pragma once

#include "sparse_direct/multifrontal/fronts/front.hpp"
#include "sparse_direct/multifrontal/host/dense_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

namespace ldlt_detail {

/// Number of columns among which a pivot and its partner are searched for at first.
inline constexpr int block = 16;
/// Columns of the update matrix for which L D is formed at once.
inline constexpr int chunk = 512;

/// Computes y = y - a x - b z; b and z may be null.
template <class Isa, class T>
void subtract_multiples(int rows, const T* a, T x, const T* b, T z, T* y) {
  using S = Simd<Isa, T>;
  const auto factor = S::broadcast(x);
  const auto second = S::broadcast(z);
  int i = 0;
  for (; i + S::width <= rows; i += S::width) {
    auto sum = S::multiply_subtract(S::load(a + i), factor, S::load(y + i));
    if (b != nullptr) sum = S::multiply_subtract(S::load(b + i), second, sum);
    S::store(y + i, sum);
  }
  if (i < rows) {
    const int rest = rows - i;
    auto sum = S::multiply_subtract(S::load(a + i, rest), factor, S::load(y + i, rest));
    if (b != nullptr) sum = S::multiply_subtract(S::load(b + i, rest), second, sum);
    S::store(y + i, sum, rest);
  }
}

template <class Isa, class T>
Real<T> largest_magnitude(int rows, const T* a) {
  using S = Simd<Isa, T>;
  auto largest = S::zero();
  int i = 0;
  for (; i + S::width <= rows; i += S::width) largest = S::max_magnitude(largest, S::load(a + i));
  if (i < rows) largest = S::max_magnitude(largest, S::load(a + i, rows - i));
  return S::largest(largest);
}

/// Inverse [[d11, d12], [d21, d22]] of a pivot of order two.
template <class T>
struct InversePair {
  T d11, d12, d21, d22;
};

/// The factorisation in progress of a front. Rows and columns of eliminated pivots come first.
template <class Isa, class T>
class LdltFront {
 public:
  LdltFront(PackBuffers<T>& buffers, std::vector<T>& scratch, const SymmetricFront<T>& front,
            const PivotThresholds<T>& thresholds)
      : buffers_(buffers),
        scratch_(scratch),
        front_(front),
        mirror_(front.mirror),
        thresholds_(thresholds),
        size_(front.size),
        columns_(front.pivots) {}

  FrontResult<T> factor() {
    int eliminated = eliminate(0, columns_);
    while (eliminated < columns_) {
      const int more = eliminate_block(eliminated, columns_);
      if (more == 0) break;
      eliminated += more;
    }
    while (eliminated < columns_ && thresholds_.perturbation > 0 && !buffers_.is_cancelled()) {
      perturb(eliminated);
      eliminate_single(eliminated++, columns_);
    }
    subtract_from_update(eliminated);
    return {eliminated, perturbed_, largest_};
  }

 private:
  [[nodiscard]] T* at(int i, int j) const { return front_.lower + i + static_cast<std::int64_t>(j) * size_; }
  [[nodiscard]] T element(int i, int j) const { return i >= j ? *at(i, j) : mirror_(*at(j, i)); }

  /// Eliminates columns [first, last), to which all pivots before have been applied, with pivots from `first`
  /// on. Returns how many; the columns that failed come last, with all pivots applied.
  int eliminate(int first, int last) {
    if (last - first <= block) return eliminate_block(first, last);
    const int middle = first + ((last - first) / 2 + narrow - 1) / narrow * narrow;
    const int left = eliminate(first, middle);
    if (buffers_.is_cancelled()) return left;
    const int failed = middle - first - left;
    apply(first, first + left, middle, last);
    const int active = last - failed;
    for (int k = 0; k < std::min(failed, last - middle); ++k) exchange(first + left + k, last - 1 - k, 0);
    const int right = eliminate(first + left, active);
    apply(first + left, first + left + right, active, last);
    return left + right;
  }

  /// Eliminates one pivot after the other; each is applied to all columns of the block at once.
  int eliminate_block(int first, int last) {
    exchanges_.clear();
    int done = first;
    int active = last;
    while (done < active && !buffers_.is_cancelled()) {
      const int order = select_pivot(done, active, first);
      if (order == 0) {
        --active;
        exchange_within(done, active, first);
      } else if (order == 1) {
        eliminate_single(done, last);
      } else {
        eliminate_pair(done, last);
      }
      done += order;
    }
    exchange_rows(0, first);
    return done - first;
  }

  /// Moves a pivot of order one or two, found among the columns [done, active), to `done`; returns its order,
  /// or 0 when column `done` can be part of none.
  int select_pivot(int done, int active, int first) {
    const Real<T> below = largest_magnitude<Isa>(size_ - active, at(active, done));
    int partner = done;
    Real<T> largest = 0;
    Real<T> second = below;
    for (int i = done + 1; i < active; ++i) {
      const Real<T> magnitude = pivot_size(*at(i, done));
      if (magnitude > largest) {
        second = std::max(second, largest);
        largest = magnitude;
        partner = i;
      } else {
        second = std::max(second, magnitude);
      }
    }
    const Real<T> in_column = std::max(largest, below);
    if (is_single_pivot(*at(done, done), in_column)) return 1;
    if (partner == done) return 0;
    const Real<T> in_partner = largest_in_column(partner, done);
    if (is_pair(done, partner, second, in_partner)) {
      exchange_within(done + 1, partner, first);
      return 2;
    }
    if (!is_single_pivot(*at(partner, partner), std::max(in_partner, largest))) return 0;
    exchange_within(done, partner, first);
    return 1;
  }

  /// The largest magnitude in a column outside its diagonal and outside row `done`, in rows from `done` on.
  [[nodiscard]] Real<T> largest_in_column(int column, int done) const {
    Real<T> largest = largest_magnitude<Isa>(size_ - column - 1, at(column + 1, column));
    for (int j = done + 1; j < column; ++j) largest = std::max(largest, pivot_size(*at(column, j)));
    return largest;
  }

  [[nodiscard]] bool is_single_pivot(T pivot, Real<T> in_column) const {
    const Real<T> magnitude = pivot_size(pivot);
    return magnitude > thresholds_.smallest && magnitude >= thresholds_.column * in_column &&
           std::isfinite(in_column);
  }

  /// True if the inverse of the pivot times the largest elements of its columns is at most 1 / threshold.
  /// Products are scaled so that the determinant neither overflows nor underflows; a determinant that is less
  /// than half of one of its products has lost its leading bits.
  [[nodiscard]] bool is_pair(int i, int j, Real<T> in_i, Real<T> in_j) const {
    const T a11 = *at(i, i);
    const T a21 = element(i, j);
    const T a22 = *at(j, j);
    const Real<T> largest = std::max({pivot_size(a11), pivot_size(a21), pivot_size(a22)});
    if (!(largest > 0) || !std::isfinite(in_i + in_j)) return false;
    const T diagonal = product(a11 / largest, a22);
    const T off_diagonal = product(a21 / largest, mirror_(a21));
    const T determinant = diagonal - off_diagonal;
    const Real<T> size = pivot_size(determinant);
    if (!(size >= std::max(pivot_size(diagonal), pivot_size(off_diagonal)) / 2)) return false;
    if (!(size > thresholds_.smallest)) return false;  // about the least singular value
    const InversePair<T> inverse = invert(a11, a21, a22);
    const Real<T> first = pivot_size(inverse.d11) * in_i + pivot_size(inverse.d21) * in_j;
    const Real<T> second = pivot_size(inverse.d21) * in_i + pivot_size(inverse.d22) * in_j;
    return thresholds_.column * std::max(first, second) <= 1;
  }

  [[nodiscard]] InversePair<T> invert(T a11, T a21, T a22) const {
    const Real<T> largest = std::max({pivot_size(a11), pivot_size(a21), pivot_size(a22)});
    const T determinant =
        mirror_.on_diagonal(product(a11 / largest, a22) - product(a21 / largest, mirror_(a21)));
    const T d21 = quotient(-(a21 / largest), determinant);
    return {quotient(a22 / largest, determinant), mirror_(d21), d21, quotient(a11 / largest, determinant)};
  }

  /// Replaces a pivot that satisfies no threshold.
  void perturb(int p) {
    const Real<T> in_column = largest_magnitude<Isa>(size_ - p - 1, at(p + 1, p));
    const Real<T> least = thresholds_.perturbation * std::max(Real<T>{1}, in_column);
    T& pivot = *at(p, p);
    pivot = mirror_.on_diagonal(pivot);
    if (pivot_size(pivot) < least) pivot = of_size(least, pivot);
    ++perturbed_;
  }

  void eliminate_single(int p, int last) {
    const T pivot = mirror_.on_diagonal(*at(p, p));
    largest_ = std::max(largest_, pivot_size(pivot));
    T* l = at(0, p);
    before_.clear();
    append_mirrored(l + p, l + last);
    front_.diagonal[2 * p] = pivot;
    front_.diagonal[2 * p + 1] = 0;
    for (int i = p + 1; i < size_; ++i) l[i] = quotient(l[i], pivot);
    for (int j = p + 1; j < last; ++j) {
      subtract_multiples<Isa>(size_ - j, l + j, before_[j - p], static_cast<const T*>(nullptr), T{0},
                              at(j, j));
    }
  }

  void eliminate_pair(int p, int last) {
    const T a11 = mirror_.on_diagonal(*at(p, p));
    const T a21 = *at(p + 1, p);
    const T a22 = mirror_.on_diagonal(*at(p + 1, p + 1));
    const InversePair<T> inverse = invert(a11, a21, a22);
    largest_ = std::max({largest_, pivot_size(a11), pivot_size(a21), pivot_size(a22)});
    T* l1 = at(0, p);
    T* l2 = at(0, p + 1);
    before_.clear();
    append_mirrored(l1 + p, l1 + last);
    append_mirrored(l2 + p, l2 + last);
    const T* first = before_.data();
    const T* second = first + (last - p);
    T* d = front_.diagonal + 2 * p;
    d[0] = a11, d[1] = a21, d[2] = a22, d[3] = 0;
    l1[p + 1] = 0;
    for (int i = p + 2; i < size_; ++i) {
      const T x = l1[i];
      const T y = l2[i];
      l1[i] = product(x, inverse.d11) + product(y, inverse.d21);
      l2[i] = product(x, inverse.d12) + product(y, inverse.d22);
    }
    for (int j = p + 2; j < last; ++j) {
      subtract_multiples<Isa>(size_ - j, l1 + j, first[j - p], l2 + j, second[j - p], at(j, j));
    }
  }

  /// Keeps elements of a pivot's column before their division: those of its row.
  void append_mirrored(const T* begin, const T* end) {
    before_.insert(before_.end(), begin, end);
    if (mirror_.conjugates)
      std::transform(before_.end() - (end - begin), before_.end(), before_.end() - (end - begin), mirror_);
  }

  /// Exchanges rows and columns i < j of the symmetric matrix; rows in columns from `first_column` on only.
  void exchange(int i, int j, int first_column) const {
    if (i == j) return;
    for (int k = first_column; k < i; ++k) std::swap(*at(i, k), *at(j, k));
    std::swap(*at(i, i), *at(j, j));
    for (int k = i + 1; k < j; ++k) {
      const T below = std::exchange(*at(k, i), mirror_(*at(j, k)));
      *at(j, k) = mirror_(below);
    }
    *at(j, i) = mirror_(*at(j, i));
    std::swap_ranges(at(j + 1, i), at(0, i) + size_, at(j + 1, j));
    std::swap(front_.ids[i], front_.ids[j]);
  }
  /// Exchanges within the block only; `exchange_rows` later does so in the columns before it.
  void exchange_within(int i, int j, int first) {
    if (i == j) return;
    exchange(i, j, first);
    exchanges_.emplace_back(i, j);
  }
  void exchange_rows(int begin, int end) const {
    if (exchanges_.empty()) return;
    for (int k = begin; k < end; ++k) {
      T* a = at(0, k);
      for (const auto& [i, j] : exchanges_) std::swap(a[i], a[j]);
    }
  }

  /// Computes V = L D, or its conjugate for a Hermitian front, for rows [begin, end) of L and pivots
  /// [first, last), column-major without padding: L V^T is to be subtracted.
  const T* scaled_rows(int first, int last, int begin, int end) const {
    multiply_by_pivots(first, last, begin, end);
    if (mirror_.conjugates) std::transform(scratch_.begin(), scratch_.end(), scratch_.begin(), mirror_);
    return scratch_.data();
  }

  void multiply_by_pivots(int first, int last, int begin, int end) const {
    const int rows = end - begin;
    scratch_.resize(static_cast<std::size_t>(rows) * (last - first));
    T* v = scratch_.data();
    for (int p = first; p < last; ++p, v += rows) {
      const T* d = front_.diagonal + 2 * p;
      const T* l = at(begin, p);
      if (d[1] == T{0}) {
        for (int i = 0; i < rows; ++i) v[i] = product(l[i], d[0]);
        continue;
      }
      const T* next = at(begin, p + 1);
      for (int i = 0; i < rows; ++i) {
        v[i] = product(l[i], d[0]) + product(next[i], d[1]);
        v[i + rows] = product(l[i], mirror_(d[1])) + product(next[i], d[2]);
      }
      ++p;
      v += rows;
    }
  }

  /// Applies pivots [first, last) to columns [begin, end).
  void apply(int first, int last, int begin, int end) {
    if (first == last || begin == end) return;
    const T* v = scaled_rows(first, last, begin, end);
    subtract_product<Isa>(buffers_, Part::lower, size_ - begin, end - begin, last - first, at(begin, first),
                          size_, transposed(v, end - begin), at(begin, begin), size_);
  }

  void subtract_from_update(int eliminated) {
    const int below = size_ - columns_;
    if (eliminated == 0) return;
    for (int j = 0; j < below && !buffers_.is_cancelled(); j += chunk) {
      const int count = std::min(chunk, below - j);
      const T* v = scaled_rows(0, eliminated, columns_ + j, columns_ + j + count);
      subtract_product<Isa>(buffers_, Part::lower, below - j, count, eliminated, at(columns_ + j, 0), size_,
                            transposed(v, count), front_.update + j + static_cast<std::int64_t>(j) * below,
                            below);
    }
  }

  PackBuffers<T>& buffers_;
  std::vector<T>& scratch_;
  const SymmetricFront<T>& front_;
  TriangleMirror mirror_;
  const PivotThresholds<T>& thresholds_;
  int size_;
  int columns_;
  std::vector<std::pair<int, int>> exchanges_;
  Real<T> largest_ = 0;  // in the pivots
  int perturbed_ = 0;
  std::vector<T> before_;  // pivot rows
};

}  // namespace ldlt_detail

/// Eliminates the leading columns of a symmetric or Hermitian front with pivots of order one and two, as far
/// as the thresholds allow. Rows and columns are exchanged so that those eliminated come first. On return the
/// columns of `lower` hold L (unit diagonal, not stored), and `diagonal` D; the remaining columns, and
/// `update`, hold the Schur complement. The tests are those of I. Duff, J. Reid (ACM Trans. Math. Softw. 9,
/// 1983): |l_ij| <= 1 / threshold.
template <class Isa, class T>
FrontResult<T> factor_ldlt_front(PackBuffers<T>& buffers, std::vector<T>& scratch,
                                 const SymmetricFront<T>& front, const PivotThresholds<T>& thresholds) {
  return ldlt_detail::LdltFront<Isa, T>(buffers, scratch, front, thresholds).factor();
}

}  // namespace echelon::sparse_direct
