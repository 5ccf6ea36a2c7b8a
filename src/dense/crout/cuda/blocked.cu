// SPDX-License-Identifier: BSD-3-Clause
#include "dense/crout/cuda/blocked.cuh"
#include "dense/crout/cuda/trsm.cuh"
#include "linalg/spmv/multiply.hpp"

#include <algorithm>

namespace echelon::crout {

namespace {

struct KeepRows {
  std::int64_t* pivots;
  ECHELON_ANYWHERE void operator()(std::int64_t j) const { pivots[j] = j; }
};

constexpr int exchange_columns = 8;  ///< of a block
constexpr int most_touched = 2 * static_cast<int>(widest_section);

/// Exchanges rows j and pivots[j] for j = first, ..., first + count - 1, all at once, in the columns of A
/// except [first, first + count). A thread moves one of the rows that are named: it follows the row through
/// the exchanges to its destination.
template <class T>
__global__ void __launch_bounds__(most_touched)
    exchange_rows(DenseView<T> A, std::int64_t first, int count, const std::int64_t* pivots) {
  __shared__ std::int64_t rows[widest_section];
  const int t = static_cast<int>(threadIdx.x);
  if (t < count) rows[t] = pivots[first + t];
  __syncthreads();
  std::int64_t from = t < count ? first + t : t < 2 * count ? rows[t - count] : -1;
  for (int p = 0; t >= count && p < min(t - count, count); ++p) {
    if (rows[p] == from) from = -1;  // another thread has the row
  }
  if (t >= count && from < first + count) from = -1;
  std::int64_t to = from;
  for (int p = 0; p < count; ++p) {
    to = to == rows[p] ? first + p : to == first + p ? rows[p] : to;
  }
  const std::int64_t begin = std::int64_t{blockIdx.x} * exchange_columns;
  T moved[exchange_columns];
#pragma unroll
  for (int c = 0; c < exchange_columns; ++c) {
    const std::int64_t column = begin + c < first ? begin + c : begin + c + count;
    moved[c] = from >= 0 && column < A.columns() ? A.data()[column * A.leading() + from] : T{0};
  }
  __syncthreads();
#pragma unroll
  for (int c = 0; c < exchange_columns; ++c) {
    const std::int64_t column = begin + c < first ? begin + c : begin + c + count;
    if (from >= 0 && column < A.columns()) A.data()[column * A.leading() + to] = moved[c];
  }
}

template <class T>
class SectionRecursion {
 public:
  SectionRecursion(Cuda& backend, DenseView<T> A, const BlockedSettings& settings, std::int64_t* pivots,
                   SectionWorkspace<T>& workspace, const std::stop_token& cancel)
      : backend_(backend),
        A_(A),
        settings_(settings),
        pivots_(pivots),
        workspace_(workspace),
        cancel_(cancel) {}

  /// Columns [first, last); false if cancelled.
  bool factor(std::int64_t first, std::int64_t last) {
    const std::int64_t size = settings_.section_size;
    if (last - first <= size) return factor_leaf(first, last);
    const std::int64_t sections = (last - first + size - 1) / size;
    const std::int64_t middle = first + (sections + 1) / 2 * size;
    if (!factor(first, middle)) return false;
    check(trsm(backend_.blas(), CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, middle - first,
               last - middle, A_.data() + first * (A_.leading() + 1), A_.leading(),
               A_.data() + middle * A_.leading() + first, A_.leading()));
    gemm<T>(backend_, T{-1}, block(middle, first, A_.rows() - middle, middle - first),
            block(first, middle, middle - first, last - middle), T{1},
            block(middle, middle, A_.rows() - middle, last - middle));
    return factor(middle, last);
  }

 private:
  bool factor_leaf(std::int64_t first, std::int64_t last) {
    constexpr std::int64_t columns_between_waits = 512;
    if (first / columns_between_waits != last / columns_between_waits) {
      backend_.synchronize();
      if (cancel_.stop_requested()) return false;
    }
    factor_section<T>(backend_, A_, first, last, settings_.iterated, settings_.tolerance, pivots_,
                      workspace_);
    const std::int64_t columns = A_.columns() - (last - first);
    if (columns == 0) return true;
    exchange_rows<<<static_cast<unsigned>((columns + exchange_columns - 1) / exchange_columns), most_touched,
                    0, stream()>>>(A_, first, static_cast<int>(last - first), pivots_);
    check(cudaGetLastError());
    return true;
  }

  [[nodiscard]] DenseView<T> block(std::int64_t i, std::int64_t j, std::int64_t rows,
                                   std::int64_t columns) const {
    return {A_.data() + j * A_.leading() + i, rows, columns, A_.leading(), A_.device()};
  }

  Cuda& backend_;
  DenseView<T> A_;
  BlockedSettings settings_;
  std::int64_t* pivots_;
  SectionWorkspace<T>& workspace_;
  const std::stop_token& cancel_;
};

}  // namespace

template <class T>
bool factor_in_sections(Cuda& backend, DenseView<T> A, const BlockedSettings& settings, std::int64_t* pivots,
                        SectionWorkspace<T>& workspace, const std::stop_token& cancel) {
  const CurrentDevice current(backend.device().id());
  backend.for_each(A.columns(), KeepRows{pivots});
  return SectionRecursion<T>(backend, A, settings, pivots, workspace, cancel).factor(0, A.columns());
}

template bool factor_in_sections(Cuda&, DenseView<float>, const BlockedSettings&, std::int64_t*,
                                 SectionWorkspace<float>&, const std::stop_token&);
template bool factor_in_sections(Cuda&, DenseView<double>, const BlockedSettings&, std::int64_t*,
                                 SectionWorkspace<double>&, const std::stop_token&);

}  // namespace echelon::crout
