// SPDX-License-Identifier: BSD-3-Clause
#include "multigrid/galerkin.hpp"

#include "backend/store.hpp"
#include "backend/target.hpp"
#include "linalg/vector/functors.hpp"
#include "matrix/row_blocks.hpp"
#include "matrix/rows.hpp"

#include <echelon/matrix/transform.hpp>

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace echelon::multigrid {

namespace {

struct GalerkinRowBound {
  const std::int64_t* row_offsets;
  const std::int32_t* columns;
  const std::int64_t* p_offsets;
  std::int64_t coarse_rows;
  ECHELON_ANYWHERE Sum operator()(std::int64_t i) const {
    const std::int64_t own = p_offsets[i + 1] - p_offsets[i];
    if (own == 0) return {};
    std::int64_t reached = 0;
    for (std::int64_t k = row_offsets[i]; k < row_offsets[i + 1]; ++k) {
      reached += p_offsets[columns[k] + 1] - p_offsets[columns[k]];
    }
    return {static_cast<double>(own) * static_cast<double>(reached < coarse_rows ? reached : coarse_rows)};
  }
};

struct ClearedRows {
  std::int64_t count = 0;
  friend ECHELON_ANYWHERE ClearedRows combine(ClearedRows a, ClearedRows b) { return {a.count + b.count}; }
};

/// Marks the rows of C that are rounding errors.
template <class T>
struct MarkRounding {
  SparseRows<T> R;
  SparseRows<T> A;
  SparseRows<T> C;
  const Largest* largest_of_A;
  double tolerance;
  std::uint8_t* cleared;
  ECHELON_ANYWHERE ClearedRows operator()(std::int64_t i) const {
    double largest = 0;
    for (std::int64_t k = C.begin(i); k < C.end(i); ++k) {
      const double size = magnitude(C.values[k]);
      if (!(size <= largest)) largest = size;
    }
    cleared[i] = 0;
    double squares = 0;
    for (std::int64_t k = R.begin(i); k < R.end(i); ++k) {
      squares += squared_magnitude(R.values[k]);
    }
    // Diagonal elements of A are looked up for doubtful rows only.
    if (largest > tolerance * squares * largest_of_A->value) return {};
    double scale = 0;
    for (std::int64_t k = R.begin(i); k < R.end(i); ++k) {
      scale += squared_magnitude(R.values[k]) * magnitude(A.at(R.column(k), R.column(k)));
    }
    const bool clear = largest <= tolerance * scale && largest > 0;
    cleared[i] = clear ? 1 : 0;
    return {clear ? 1 : 0};
  }
};

template <class T>
struct ClearMarked {
  const std::int64_t* row_offsets;
  const std::int32_t* columns;
  const std::uint8_t* cleared;
  T* values;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    for (std::int64_t k = row_offsets[i]; k < row_offsets[i + 1]; ++k) {
      if (cleared[i] != 0 || cleared[columns[k]] != 0) values[k] = T{0};
    }
  }
};

/// values[k] = k: numbers the values of P, so that a transposition shows where each of them goes.
struct NumberValues {
  double* values;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const { values[k] = static_cast<double>(k); }
};
struct ReadNumbers {
  const double* values;
  std::uint32_t* places;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    places[k] = static_cast<std::uint32_t>(values[k]);
  }
};

}  // namespace

template <class Target, class T>
double galerkin_bound(const Csr<T>& A, const Csr<T>& P) {
  return on_backend(A.device(), [&]<class B>() {
    B backend(A.device());
    Array<Sum> found(A.device(), 1);
    backend.reduce(A.rows(),
                   GalerkinRowBound{A.row_offsets().data(), A.column_indices().data(), P.row_offsets().data(),
                                    P.columns()},
                   Store<Sum>{found.data()});
    const auto n = static_cast<double>(P.columns());
    return std::min(backend.read(found.data()).value, n * n);
  });
}

template <class Target, class T>
void clear_rounding(const Csr<T>& R, const Csr<T>& A, Csr<T>& C, const std::optional<double>& known) {
  constexpr double tolerance = 64 * static_cast<double>(std::numeric_limits<Real<T>>::epsilon());
  on_backend(A.device(), [&]<class B>() {
    B backend(A.device());
    const std::int64_t n = C.rows();
    Array<std::uint8_t> cleared(A.device(), n);
    Array<ClearedRows> found(A.device(), 1);
    Array<Largest> largest(A.device(), 1);
    if (known) {
      backend.write(Largest{*known}, largest.data());
    } else {
      backend.reduce(A.nonzeros(), LargestMagnitude<const T*>{A.values().data()},
                     Store<Largest>{largest.data()});
    }
    backend.reduce(n,
                   MarkRounding<T>{SparseRows<T>(R), SparseRows<T>(A), SparseRows<T>(C), largest.data(),
                                   tolerance, cleared.data()},
                   Store<ClearedRows>{found.data()});
    if (backend.read(found.data()).count == 0) return;
    backend.for_each(n, ClearMarked<T>{C.row_offsets().data(), C.column_indices().data(), cleared.data(),
                                       C.values().data()});
  });
}

template <class Target, class T>
Array<std::uint32_t> transposition(const Csr<T>& P) {
  return on_backend(P.device(), [&]<class B>() {
    B backend(P.device());
    Array<double> numbers(P.device(), P.nonzeros());
    backend.for_each(P.nonzeros(), NumberValues{numbers.data()});
    const Csr<double> transposed = transpose(CsrAccess::with_pattern_of(P, std::move(numbers)));
    Array<std::uint32_t> places(P.device(), P.nonzeros());
    backend.for_each(P.nonzeros(), ReadNumbers{transposed.values().data(), places.data()});
    return places;
  });
}

template <class Target, class T>
void transpose_values(const Csr<T>& P, const Array<std::uint32_t>& places, Csr<T>& R) {
  on_backend(P.device(), [&]<class B>() {
    B backend(P.device());
    backend.for_each(P.nonzeros(), GatherElement{places.data(), P.values().data(), R.values().data()});
  });
}

#define ECHELON_INSTANTIATE(T)                                                                     \
  template Array<std::uint32_t> transposition<ThisTarget>(const Csr<T>&);                          \
  template void transpose_values<ThisTarget>(const Csr<T>&, const Array<std::uint32_t>&, Csr<T>&); \
  template void clear_rounding<ThisTarget>(const Csr<T>&, const Csr<T>&, Csr<T>&,                  \
                                           const std::optional<double>&);                          \
  template double galerkin_bound<ThisTarget>(const Csr<T>&, const Csr<T>&);
ECHELON_FOR_EACH_SCALAR_OF_HOST(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::multigrid
