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
  void divide(T divisor) {
    for (int c = 0; c < count(); ++c) value_[c] /= divisor;
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
      : f_(factors), columns_(columns), x_(x) {}

  void solve() {
    for (std::size_t b = f_.block_begin.size() - 1; b-- > 0;) {
      const std::int32_t begin = f_.block_begin[b];
      const std::int32_t end = f_.block_begin[b + 1];
      bool is_reached = false;
      for (std::int32_t k = begin; k < end; ++k) {
        RowOfX row(at(k), columns_);
        subtract_terms(f_.coupling, k, row);
        is_reached = is_reached || !row.is_zero();
        if (is_reached) {
          subtract_terms(f_.upper, k, row);
          row.divide(f_.pivot[k]);
        }
        row.store(at(k));
      }
      if (!is_reached) continue;
      for (std::int32_t k = end; k-- > begin;) {
        RowOfX row(at(k), columns_);
        subtract_terms(f_.lower, k, row);
        row.store(at(k));
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
        row.divide(f_.pivot[k]);
        row.store(at(k));
        subtract_multiples(f_.upper, k, row);
        subtract_multiples(f_.coupling, k, row);
      }
    }
  }

 private:
  [[nodiscard]] T* at(std::int64_t k) const { return x_ + k * (Fixed ? Most : columns_); }

  void subtract_terms(const SparseVectors<T>& vectors, std::int32_t k, RowOfX& row) const {
    for (std::int64_t p = vectors.begin[k]; p < vectors.begin[k + 1]; ++p) {
      row.subtract(vectors.value[p], at(vectors.index[p]));
    }
  }
  void subtract_multiples(const SparseVectors<T>& vectors, std::int32_t k, const RowOfX& row) const {
    for (std::int64_t p = vectors.begin[k]; p < vectors.begin[k + 1]; ++p) {
      row.subtract_multiple_from(vectors.value[p], at(vectors.index[p]));
    }
  }

  const LeftLookingFactors<T>& f_;
  int columns_;
  T* x_;
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
