// SPDX-License-Identifier: BSD-3-Clause
/// Strength of connection for classical coarsening.
///
/// Row i depends strongly on column j != i if -sgn(a_ii) a_ij > threshold max_{k != i} -sgn(a_ii) a_ik > 0:
/// elements with the sign of the diagonal are never strong. A row whose sum exceeds max_row_sum |a_ii| in
/// magnitude depends on no other row, since relaxation alone reduces its error.
#pragma once

#include "backend/store.hpp"
#include "backend/target.hpp"
#include "matrix/rows.hpp"
#include "multigrid/coarsening/classical/mark_strong.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/csr.hpp>

#include <cstdint>

#ifdef __CUDACC__
#include "multigrid/coarsening/classical/mark_strong.cuh"
#endif

namespace echelon::multigrid::classical {

/// A directed graph: node i depends on the nodes neighbours[k], k in [offsets[i], offsets[i+1]), for which
/// strong[k] is not zero, or on all of them if `strong` is null.
struct DependenceView {
  const std::int64_t* offsets;
  const std::int32_t* neighbours;
  const std::uint8_t* strong;
  /// True if edge k is a dependence.
  ECHELON_ANYWHERE bool depends(std::int64_t k) const { return strong == nullptr || strong[k] != 0; }
};

/// Strong dependences of the rows of a matrix, one byte per stored element.
struct Strength {
  Array<std::uint8_t> strong;       ///< for each stored element
  Array<std::uint8_t> is_isolated;  ///< for each row: 1 if it depends on no other
  Array<std::int32_t> influences;   ///< for each row: the number of rows that depend on it
  std::int64_t dependences = 0;     ///< number of strong elements
  std::int64_t dependent_rows = 0;  ///< number of rows that are not isolated

  template <class T>
  [[nodiscard]] DependenceView view(const Csr<T>& A) const {
    return {A.row_offsets().data(), A.column_indices().data(), strong.data()};
  }
};

/// Marks the strong elements of n rows.
template <class B, class T>
void mark_rows(B& backend, std::int64_t n, std::int64_t /*elements*/, const MarkStrong<T>& mark) {
  backend.for_each(n, mark);
}

/// Sum of the numbers of dependences, and of rows that have any.
struct DependenceSum {
  std::int64_t dependences = 0;
  std::int64_t rows = 0;
  friend ECHELON_ANYWHERE DependenceSum combine(DependenceSum a, DependenceSum b) {
    return {a.dependences + b.dependences, a.rows + b.rows};
  }
};
struct SumDependences {
  const std::int32_t* influences;
  const std::uint8_t* is_isolated;
  ECHELON_ANYWHERE DependenceSum operator()(std::int64_t i) const {
    return {influences[i], is_isolated[i] != 0 ? 0 : 1};
  }
};

/// True if functors of a loop of `backend` may run at the same time.
template <class B>
bool runs_concurrently(const B& backend) {
  return !backend.device().on_host() || backend.device().threads() > 1;
}

/// Finds the strong dependences of the square matrix A, without their sums. Reads A once and writes one byte
/// per stored element.
template <class B, class T>
Strength mark_strength(B& backend, const Csr<T>& A, double threshold, double max_row_sum) {
  const std::int64_t n = A.rows();
  const Device& device = backend.device();
  Strength strength{Array<std::uint8_t>(device, A.nonzeros()), Array<std::uint8_t>(device, n),
                    Array<std::int32_t>(device, n)};
  backend.fill(n, std::int32_t{0}, strength.influences.data());
  mark_rows(backend, n, A.nonzeros(),
            MarkStrong<T>{SparseRows<T>(A), threshold, max_row_sum, runs_concurrently(backend),
                          strength.strong.data(), strength.is_isolated.data(), strength.influences.data()});
  return strength;
}

/// Finds the strong dependences of the square matrix A and their sums, for which it synchronises.
template <class B, class T>
Strength find_strength(B& backend, const Csr<T>& A, double threshold, double max_row_sum) {
  Strength strength = mark_strength(backend, A, threshold, max_row_sum);
  Array<DependenceSum> total(backend.device(), 1);
  backend.reduce(A.rows(), SumDependences{strength.influences.data(), strength.is_isolated.data()},
                 Store<DependenceSum>{total.data()});
  const DependenceSum sum = backend.read(total.data());
  strength.dependences = sum.dependences;
  strength.dependent_rows = sum.rows;
  return strength;
}

}  // namespace echelon::multigrid::classical
