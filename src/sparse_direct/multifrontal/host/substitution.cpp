// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/multifrontal/host/substitution.hpp"

#include "sparse_direct/multifrontal/host/kernels.hpp"

#include <algorithm>
#include <cstdint>

namespace echelon::sparse_direct {

namespace {

template <class T>
class Substitution {
 public:
  Substitution(const MultifrontalFactors<T>& factors, int columns, T* x, T* w)
      : factors_(factors), columns_(columns), x_(x), w_(w) {}

  /// Substitutes from the leaves to the roots: the kernel also subtracts from the rows below.
  void forward(const TriangleKernels<T>& triangle, const std::int32_t* numbers) {
    if (columns_ == 1) return triangle.vector(factors_, x_, w_);
    for (const FrontRecord& record : factors_.fronts) {
      gather(record, numbers);
      triangle.in_front(factors_.front(record), columns_, w_);
      scatter_pivots(record);
      const std::int64_t below = record.size - record.eliminated;
      const T* from = w_ + static_cast<std::int64_t>(record.eliminated) * columns_;
      for (std::int64_t i = 0; i < below; ++i, from += columns_) {
        std::copy_n(from, columns_, row(numbers[record.below + i]));
      }
    }
  }

  /// Substitutes from the roots to the leaves: the kernel only reads the rows below.
  void backward(const TriangleKernels<T>& triangle, const std::int32_t* numbers) {
    if (columns_ == 1) return triangle.vector(factors_, x_, w_);
    for (auto record = factors_.fronts.rbegin(); record != factors_.fronts.rend(); ++record) {
      gather(*record, numbers);
      triangle.in_front(factors_.front(*record), columns_, w_);
      scatter_pivots(*record);
    }
  }

 private:
  [[nodiscard]] T* row(std::int64_t number) const { return x_ + number * columns_; }

  void gather(const FrontRecord& record, const std::int32_t* numbers) const {
    T* to = std::copy_n(row(record.first_pivot), static_cast<std::int64_t>(record.eliminated) * columns_, w_);
    const std::int64_t below = record.size - record.eliminated;
    for (std::int64_t i = 0; i < below; ++i) to = std::copy_n(row(numbers[record.below + i]), columns_, to);
  }
  void scatter_pivots(const FrontRecord& record) const {
    std::copy_n(w_, static_cast<std::int64_t>(record.eliminated) * columns_, row(record.first_pivot));
  }

  const MultifrontalFactors<T>& factors_;
  std::int64_t columns_;
  T* x_;
  T* w_;
};

/// Computes X = D^-1 X for pivots of order one and two.
template <class T>
void divide_by_pivots(const MultifrontalFactors<T>& factors, int columns, T* x) {
  for (const FrontRecord& record : factors.fronts) {
    const T* d = factors.front(record).behind;
    for (int p = 0; p < record.eliminated; ++p) {
      T* row = x + (static_cast<std::int64_t>(record.first_pivot) + p) * columns;
      if (d[2 * p + 1] == 0) {
        for (int c = 0; c < columns; ++c) row[c] /= d[2 * p];
        continue;
      }
      // Elements are scaled by the off-diagonal one, which is the largest of the three up to the pivot
      // threshold.
      const T off_diagonal = d[2 * p + 1];
      const T first = d[2 * p] / off_diagonal;
      const T second = d[2 * p + 2] / off_diagonal;
      const T determinant = first * second - 1;
      for (int c = 0; c < columns; ++c) {
        const T b1 = row[c] / off_diagonal;
        const T b2 = row[columns + c] / off_diagonal;
        row[c] = (second * b1 - b2) / determinant;
        row[columns + c] = (first * b2 - b1) / determinant;
      }
      ++p;
    }
  }
}

}  // namespace

template <class T>
void substitute(const MultifrontalFactors<T>& factors, bool transposed, int columns, T* x, T* scratch) {
  const FrontKernels<T>& kernels = front_kernels<T>();
  Substitution<T> substitution(factors, columns, x, scratch);
  const std::int32_t* rows = factors.row_numbers.data();
  switch (factors.kind) {
    case FactorKind::cholesky:
      substitution.forward(kernels.lower, rows);
      substitution.backward(kernels.lower_transposed, rows);
      return;
    case FactorKind::ldlt:
      substitution.forward(kernels.unit_lower, rows);
      divide_by_pivots(factors, columns, x);
      std::fill(x + factors.facts.rank * columns, x + factors.n * columns, T{0});
      substitution.backward(kernels.unit_lower_transposed, rows);
      return;
    case FactorKind::lu: {
      const std::int32_t* column_numbers = factors.column_numbers.data();
      if (transposed) {
        substitution.forward(kernels.upper_transposed, column_numbers);
      } else {
        substitution.forward(kernels.unit_lower, rows);
      }
      std::fill(x + factors.facts.rank * columns, x + factors.n * columns, T{0});
      if (transposed) {
        substitution.backward(kernels.unit_lower_transposed, rows);
      } else {
        substitution.backward(kernels.upper, column_numbers);
      }
      return;
    }
  }
}

template void substitute(const MultifrontalFactors<float>&, bool, int, float*, float*);
template void substitute(const MultifrontalFactors<double>&, bool, int, double*, double*);

}  // namespace echelon::sparse_direct
