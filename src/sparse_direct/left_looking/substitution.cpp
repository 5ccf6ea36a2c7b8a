// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/left_looking/substitution.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace echelon::sparse_direct {

namespace {

/// Row of X with `Most` columns if `Fixed`, otherwise with at most that many.
template <class T, int Most, bool Fixed>
class SolutionRow {
 public:
  SolutionRow(const T* from, int columns) : columns_(columns) {
    for (int c = 0; c < count(); ++c) value_[c] = from[c];
  }
  [[nodiscard]] bool is_zero() const {
    bool zero = true;
    for (int c = 0; c < count(); ++c) zero = zero && value_[c] == T{0};
    return zero;
  }
  void subtract(T factor, const T* from) {
    for (int c = 0; c < count(); ++c) value_[c] -= factor * from[c];
  }
  void multiply(T factor) {
    for (int c = 0; c < count(); ++c) value_[c] *= factor;
  }
  void subtract_multiple_from(T factor, T* to) const {
    for (int c = 0; c < count(); ++c) to[c] -= factor * value_[c];
  }
  void store(T* to) const {
    for (int c = 0; c < count(); ++c) to[c] = value_[c];
  }

 private:
  [[nodiscard]] int count() const { return Fixed ? Most : columns_; }
  int columns_;
  std::array<T, Most> value_;
};

/// Row k of P A Q is a column of the factored matrix, B = L U for each diagonal block: sums over the entries
/// of a column solve with the transposes of L and U, multiples of a column with L and U themselves. Rows that
/// are zero are passed over: up to the first other one of a block in sums, and all of them in multiples.
template <class T, int Most, bool Fixed>
class LeftLookingSubstitution {
  using RowOfX = SolutionRow<T, Most, Fixed>;

 public:
  LeftLookingSubstitution(const LeftLookingFactors<T>& factors, int columns, T* x)
      : f_(factors), columns_(columns), x_(x), is_coupled_(factors.coupling.size() > 0) {}

  void solve() {
    for (std::size_t b = f_.block_begin.size() - 1; b-- > 0;) {
      const std::int32_t begin = f_.block_begin[b];
      const std::int32_t end = f_.block_begin[b + 1];
      std::int32_t first = begin;
      while (first < end && !f_.is_coupled(first) && RowOfX(at(first), columns_).is_zero()) ++first;
      if (first == end) continue;
      // Sorted by their lengths, all rows take less time than most of them in the order of the pivots.
      if (f_.schedule && first - begin < (end - begin) / 4) {
        for (std::int32_t k = begin; k < end; ++k) solve_forward(f_.schedule->forward[k]);
      } else {
        for (std::int32_t k = first; k < end; ++k) solve_forward(sum_of(f_.upper, k));
      }
      if (f_.schedule) {
        for (std::int32_t k = begin; k < end; ++k) solve_back(f_.schedule->backward[k]);
      } else {
        for (std::int32_t k = end; k-- > begin;) solve_back(sum_of(f_.lower, k));
      }
    }
  }

  void solve_transposed() {
    for (std::size_t b = 0; b + 1 < f_.block_begin.size(); ++b) {
      const std::int32_t begin = f_.block_begin[b];
      const std::int32_t end = f_.block_begin[b + 1];
      for (std::int32_t k = begin; k < end; ++k) {
        const RowOfX row(at(k), columns_);
        if (!row.is_zero()) subtract_multiples(f_.lower, k, row);
      }
      for (std::int32_t k = end; k-- > begin;) {
        RowOfX row(at(k), columns_);
        if (row.is_zero()) continue;
        row.multiply(f_.reciprocal[k]);
        row.store(at(k));
        subtract_multiples(f_.upper, k, row);
        subtract_multiples(f_.coupling, k, row);
      }
    }
  }

 private:
  using Sum = EliminationSchedule::Sum;
  static Sum sum_of(const SparseVectors<T>& vectors, std::int32_t k) {
    return {k, static_cast<std::int32_t>(vectors.begin[k + 1] - vectors.begin[k]), vectors.begin[k]};
  }
  void solve_forward(const Sum& sum) {
    RowOfX row(at(sum.row), columns_);
    if (is_coupled_) subtract_terms(f_.coupling, sum_of(f_.coupling, sum.row), row);
    subtract_terms(f_.upper, sum, row);
    row.multiply(f_.reciprocal[sum.row]);
    row.store(at(sum.row));
  }
  void solve_back(const Sum& sum) {
    RowOfX row(at(sum.row), columns_);
    subtract_terms(f_.lower, sum, row);
    row.store(at(sum.row));
  }

  [[nodiscard]] T* at(std::int64_t k) const { return x_ + k * (Fixed ? Most : columns_); }

  void subtract_terms(const SparseVectors<T>& vectors, const Sum& sum, RowOfX& row) const {
    const T* const value = vectors.value.data() + sum.first;
    const std::int32_t* const index = vectors.index.data() + sum.first;
    for (std::int32_t p = 0; p < sum.length; ++p) row.subtract(value[p], at(index[p]));
  }
  void subtract_multiples(const SparseVectors<T>& vectors, std::int32_t k, const RowOfX& row) const {
    for (std::int64_t p = vectors.begin[k]; p < vectors.begin[k + 1]; ++p) {
      row.subtract_multiple_from(vectors.value[p], at(vectors.index[p]));
    }
  }

  const LeftLookingFactors<T>& f_;
  int columns_;
  T* x_;
  bool is_coupled_;
};

template <int Most, bool Fixed, class T>
void substitute_columns(const LeftLookingFactors<T>& factors, bool transposed, int columns, T* x) {
  LeftLookingSubstitution<T, Most, Fixed> substitution(factors, columns, x);
  if (transposed) {
    substitution.solve_transposed();
  } else {
    substitution.solve();
  }
}

}  // namespace

template <class T>
void substitute(const LeftLookingFactors<T>& factors, bool transposed, int columns, T* x) {
  if (columns == 1) {
    substitute_columns<1, true>(factors, transposed, columns, x);
  } else if (columns == 16) {
    substitute_columns<16, true>(factors, transposed, columns, x);
  } else {
    substitute_columns<16, false>(factors, transposed, columns, x);
  }
}

template void substitute(const LeftLookingFactors<float>&, bool, int, float*);
template void substitute(const LeftLookingFactors<double>&, bool, int, double*);

}  // namespace echelon::sparse_direct
