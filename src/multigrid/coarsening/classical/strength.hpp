// SPDX-License-Identifier: BSD-3-Clause
/// Strength of connection for classical coarsening.
///
/// Row i depends strongly on column j != i if -sgn(a_ii) a_ij > threshold max_{k != i} -sgn(a_ii) a_ik > 0:
/// elements with the sign of the diagonal are never strong. A row whose sum exceeds max_row_sum |a_ii| in
/// magnitude depends on no other row, since relaxation alone reduces its error.
#pragma once

#include "backend/atomic.hpp"
#include "backend/store.hpp"
#include "backend/target.hpp"
#include "matrix/rows.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/csr.hpp>

#include <cmath>
#include <cstdint>

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

/// Marks the strong elements of a row and counts them for their columns. `count_atomically` is needed if
/// other rows are marked concurrently.
template <class T>
struct MarkStrong {
  SparseRows<T> a;
  double threshold;
  double max_row_sum;
  bool count_atomically;
  std::uint8_t* strong;
  std::uint8_t* is_isolated;
  std::int32_t* influences;

  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    double diagonal = 0;
    double sum = 0;
    double least = 0;
    double greatest = 0;
    for (std::int64_t k = a.begin(i); k < a.end(i); ++k) {
      const auto value = static_cast<double>(a.values[k]);
      sum += value;
      if (a.column(k) == i) {
        diagonal = value;
      } else {
        least = value < least ? value : least;
        greatest = value > greatest ? value : greatest;
      }
    }
    const double sign = diagonal > 0 ? -1 : diagonal < 0 ? 1 : 0;
    const bool is_dominant = std::fabs(sum) > max_row_sum * std::fabs(diagonal);
    const double largest = is_dominant ? 0 : diagonal > 0 ? -least : diagonal < 0 ? greatest : 0;
    bool depends = false;
    for (std::int64_t k = a.begin(i); k < a.end(i); ++k) {
      const bool is_strong =
          largest > 0 && a.column(k) != i && sign * static_cast<double>(a.values[k]) > threshold * largest;
      strong[k] = is_strong ? 1 : 0;
      if (is_strong) count(influences + a.column(k));
      depends = depends || is_strong;
    }
    is_isolated[i] = depends ? 0 : 1;
  }

 private:
  ECHELON_ANYWHERE void count(std::int32_t* target) const {
    if (count_atomically) {
      atomic_add(target, 1);
    } else {
      ++*target;
    }
  }
};

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

/// Finds the strong dependences of the square matrix A. Reads A once and writes one byte per stored element.
/// Synchronises for the two sums.
template <class B, class T>
Strength find_strength(B& backend, const Csr<T>& A, double threshold, double max_row_sum) {
  const std::int64_t n = A.rows();
  const Device& device = backend.device();
  Strength strength{Array<std::uint8_t>(device, A.nonzeros()), Array<std::uint8_t>(device, n),
                    Array<std::int32_t>(device, n)};
  backend.fill(n, std::int32_t{0}, strength.influences.data());
  backend.for_each(
      n, MarkStrong<T>{SparseRows<T>(A), threshold, max_row_sum, runs_concurrently(backend),
                       strength.strong.data(), strength.is_isolated.data(), strength.influences.data()});
  Array<DependenceSum> total(device, 1);
  backend.reduce(n, SumDependences{strength.influences.data(), strength.is_isolated.data()},
                 Store<DependenceSum>{total.data()});
  const DependenceSum sum = backend.read(total.data());
  strength.dependences = sum.dependences;
  strength.dependent_rows = sum.rows;
  return strength;
}

}  // namespace echelon::multigrid::classical
