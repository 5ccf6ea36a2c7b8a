// SPDX-License-Identifier: BSD-3-Clause
// A sparse matrix times several vectors on the host.
#include "backend/host/host.hpp"
#include "linalg/spmv/multiply.hpp"
#include "linalg/spmv/row_partition.hpp"

#include <support/scalar_list.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace echelon {

namespace {

/// Columns per pass over the matrix.
constexpr std::int64_t widest_batch = 16;

/// Rows of a tile, which stays in the caches while it is multiplied with all columns of a batch.
constexpr std::int64_t tile_rows = 128;

/// Columns of a view from some column on; `few` of them are multiplied at a time, as many as fit into
/// registers.
template <class T, bool by_column>
struct HostColumns {
  static constexpr std::int64_t few = by_column ? 2 : 8;
  T* data;
  std::int64_t leading;
  T& operator()(std::int64_t i, std::int64_t c) const {
    return by_column ? data[i + c * leading] : data[i * leading + c];
  }
  [[nodiscard]] HostColumns from(std::int64_t c) const {
    return {data + c * (by_column ? leading : 1), leading};
  }
};

/// Rows [begin, end) of Y = alpha A X + beta Y for `width` columns, summed in the order of the product with
/// one vector.
template <int width, class T, class X, class Y>
void multiply_rows(std::int64_t begin, std::int64_t end, T alpha, const Csr<T>& A, X x, T beta, Y y) {
  const std::int64_t* __restrict row_offsets = A.row_offsets().data();
  const std::int32_t* __restrict column_indices = A.column_indices().data();
  const T* __restrict values = A.values().data();
  std::int64_t k = begin < end ? row_offsets[begin] : 0;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t row_end = row_offsets[i + 1];
    prefetch_ahead(values, column_indices, k, row_end);
    T sums[width] = {};
    for (; k < row_end; ++k) {
      const T value = values[k];
      const std::int64_t column = column_indices[k];
      for (int c = 0; c < width; ++c) sums[c] += value * x(column, c);
    }
    for (int c = 0; c < width; ++c) {
      y(i, c) = beta == T{0} ? alpha * sums[c] : alpha * sums[c] + beta * y(i, c);
    }
  }
}

/// multiply_rows for `width` columns.
template <class T, class X, class Y, std::size_t... widths>
auto rows_kernel(std::int64_t width, std::index_sequence<widths...>) {
  using Kernel = void (*)(std::int64_t, std::int64_t, T, const Csr<T>&, X, T, Y);
  static constexpr std::array<Kernel, sizeof...(widths)> kernels = {
      &multiply_rows<static_cast<int>(widths) + 1, T, X, Y>...};
  return kernels[static_cast<std::size_t>(width - 1)];
}

/// Rows [begin, end) for `width` columns, tile by tile.
template <class T, class X, class Y>
void multiply_tiles(std::int64_t begin, std::int64_t end, std::int64_t width, T alpha, const Csr<T>& A, X x,
                    T beta, Y y) {
  for (std::int64_t row = begin; row < end; row += tile_rows) {
    for (std::int64_t c = 0; c < width; c += X::few) {
      const auto kernel =
          rows_kernel<T, X, Y>(std::min(X::few, width - c), std::make_index_sequence<X::few>());
      kernel(row, std::min(row + tile_rows, end), alpha, A, x.from(c), beta, y.from(c));
    }
  }
}

template <class B, class T, class X, class Y>
void multiply_batch(B& backend, std::int64_t width, T alpha, const Csr<T>& A, X x, T beta, Y y) {
  backend.parallel(A.nonzeros() * width > parallel_threshold, [&](int part, int parts) {
    multiply_tiles(part_begin(A, part, parts), part_begin(A, part + 1, parts), width, alpha, A, x, beta, y);
  });
}

/// Calls f with the columns from `first` on.
template <class T, class F>
void with_columns(const DenseView<T>& view, std::int64_t first, F&& f) {
  if (view.layout() == Layout::column_major) {
    f(HostColumns<T, true>{view.data() + first * view.leading(), view.leading()});
  } else {
    f(HostColumns<T, false>{view.data() + first, view.leading()});
  }
}

template <class B, class T>
void multiply_batches(B& backend, T alpha, const Csr<T>& A, DenseView<const T> X, T beta, DenseView<T> Y) {
  for (std::int64_t first = 0; first < X.columns(); first += widest_batch) {
    const std::int64_t width = std::min(widest_batch, X.columns() - first);
    with_columns(X, first, [&](auto x) {
      with_columns(Y, first, [&](auto y) { multiply_batch(backend, width, alpha, A, x, beta, y); });
    });
  }
}

}  // namespace

template <class T>
void multiply_several(Host& backend, T alpha, const Csr<T>& A, DenseView<const T> X, T beta, DenseView<T> Y) {
  multiply_batches(backend, alpha, A, X, beta, Y);
}

#define ECHELON_INSTANTIATE(T) \
  template void multiply_several(Host&, T, const Csr<T>&, DenseView<const T>, T, DenseView<T>);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
