// SPDX-License-Identifier: BSD-3-Clause
// The transpose of a sparse matrix times vectors on the host.
#include "backend/host/host.hpp"
#include "linalg/spmv/multiply.hpp"
#include "linalg/spmv/row_partition.hpp"
#include "linalg/vector/functors.hpp"

#include <echelon/array.hpp>

#include <support/scalar_list.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

namespace echelon {

namespace {

/// A part of the rows, and the sums that it contributes to the columns between its first and its last.
template <class T>
struct PartialColumnSums {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t first_column = 0;
  std::int64_t last_column = -1;
  T* sums = nullptr;  // of columns first_column to last_column
};

/// Calls f(0), ..., f(n - 1), each about the same work, on several threads if that is worth it.
template <class B, class F>
void for_each_of(B& backend, bool worth_threads, std::int64_t n, const F& f) {
  backend.parallel(worth_threads, [&](int part, int parts) {
    for (std::int64_t k = n * part / parts; k < n * (part + 1) / parts; ++k) f(k);
  });
}

/// Parts of about equal work. Their number depends on A alone, so that the order of every sum does not depend
/// on the number of threads.
template <class B, class T>
std::vector<PartialColumnSums<T>> make_parts(B& backend, const Csr<T>& A) {
  constexpr std::int64_t max_parts = 16;
  const int count =
      static_cast<int>(std::clamp<std::int64_t>(A.nonzeros() / parallel_threshold, 1, max_parts));
  std::vector<PartialColumnSums<T>> parts(static_cast<std::size_t>(count));
  const std::int64_t* offsets = A.row_offsets().data();
  const std::int32_t* columns = A.column_indices().data();
  for_each_of(backend, count > 1, count, [&](std::int64_t s) {
    const int number = static_cast<int>(s);
    PartialColumnSums<T> part{part_begin(A, number, count), part_begin(A, number + 1, count)};
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    for (std::int64_t i = part.begin; i < part.end; ++i) {
      if (offsets[i] == offsets[i + 1]) continue;
      first = std::min<std::int64_t>(first, columns[offsets[i]]);
      part.last_column = std::max<std::int64_t>(part.last_column, columns[offsets[i + 1] - 1]);
    }
    part.first_column = part.last_column < 0 ? 0 : first;
    parts[static_cast<std::size_t>(s)] = part;
  });
  return parts;
}

template <class T>
Array<T> allocate_sums(std::vector<PartialColumnSums<T>>& parts) {
  std::int64_t size = 0;
  for (const PartialColumnSums<T>& part : parts) size += part.last_column + 1 - part.first_column;
  Array<T> sums(Device::serial(), size);
  T* next = sums.data();
  for (PartialColumnSums<T>& part : parts) {
    part.sums = next;
    next += part.last_column + 1 - part.first_column;
  }
  return sums;
}

/// Sums a_ij x_i over the rows of a part.
template <class T>
void scatter(const PartialColumnSums<T>& part, const Csr<T>& A, const Strided<const T>& x) {
  const std::int64_t* __restrict row_offsets = A.row_offsets().data();
  const std::int32_t* __restrict column_indices = A.column_indices().data();
  const T* __restrict values = A.values().data();
  std::fill_n(part.sums, part.last_column + 1 - part.first_column, T{0});
  T* __restrict sums = part.sums - part.first_column;
  for (std::int64_t i = part.begin; i < part.end; ++i) {
    prefetch_ahead(values, column_indices, row_offsets[i], row_offsets[i + 1]);
    const T factor = x[i];
    for (std::int64_t k = row_offsets[i]; k < row_offsets[i + 1]; ++k) {
      sums[column_indices[k]] += values[k] * factor;
    }
  }
}

constexpr std::int64_t gathered_columns = 1024;

/// y_j = alpha (sum of the parts' sums, in order) + beta y_j for j in [begin, end).
template <class T>
void gather(std::int64_t begin, std::int64_t end, const std::vector<PartialColumnSums<T>>& parts, T alpha,
            T beta, const Strided<T>& y) {
  std::array<T, gathered_columns> sums{};
  for (const PartialColumnSums<T>& part : parts) {
    const std::int64_t last = std::min(end, part.last_column + 1);
    for (std::int64_t j = std::max(begin, part.first_column); j < last; ++j) {
      sums[static_cast<std::size_t>(j - begin)] += part.sums[j - part.first_column];
    }
  }
  for (std::int64_t j = begin; j < end; ++j) {
    const T sum = alpha * sums[static_cast<std::size_t>(j - begin)];
    y[j] = beta == T{0} ? sum : sum + beta * y[j];
  }
}

template <class T>
Strided<T> column(const DenseView<T>& view, std::int64_t j) {
  if (view.layout() == Layout::column_major) return {view.data() + j * view.leading(), 1};
  return {view.data() + j, view.leading()};
}

template <class B, class T>
void multiply_parts(B& backend, T alpha, const Csr<T>& A, DenseView<const T> X, T beta, DenseView<T> Y) {
  std::vector<PartialColumnSums<T>> parts = make_parts(backend, A);
  const Array<T> sums = allocate_sums(parts);
  const auto count = static_cast<std::int64_t>(parts.size());
  const std::int64_t blocks = (A.columns() + gathered_columns - 1) / gathered_columns;
  for (std::int64_t c = 0; c < X.columns(); ++c) {
    const Strided<const T> x = column(X, c);
    const Strided<T> y = column(Y, c);
    for_each_of(backend, count > 1, count,
                [&](std::int64_t s) { scatter(parts[static_cast<std::size_t>(s)], A, x); });
    for_each_of(backend, count > 1, blocks, [&](std::int64_t block) {
      const std::int64_t begin = block * gathered_columns;
      gather(begin, std::min(begin + gathered_columns, A.columns()), parts, alpha, beta, y);
    });
  }
}

}  // namespace

template <class T>
void multiply_transposed(Host& backend, T alpha, const Csr<T>& A, DenseView<const T> X, T beta,
                         DenseView<T> Y) {
  multiply_parts(backend, alpha, A, X, beta, Y);
}

#define ECHELON_INSTANTIATE(T) \
  template void multiply_transposed(Host&, T, const Csr<T>&, DenseView<const T>, T, DenseView<T>);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
