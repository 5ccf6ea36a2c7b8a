// SPDX-License-Identifier: BSD-3-Clause
// The transpose of a sparse matrix times vectors on the host.
#include "backend/openmp/openmp.hpp"
#include "backend/serial/serial.hpp"
#include "linalg/row_partition.hpp"
#include "linalg/spmv/multiply.hpp"
#include "linalg/vector/functors.hpp"

#include <echelon/array.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

namespace echelon {

namespace {

/// Consecutive rows, and room for what they contribute to the columns that they use.
template <class T>
struct Share {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t first_column = 0;
  std::int64_t last_column = -1;
  T* sums = nullptr;  // of columns first_column to last_column
};

/// Shares of equally much work. Their number depends on A alone, so that the order of every sum does, too.
template <class T>
std::vector<Share<T>> make_shares(int threads, const Csr<T>& A) {
  constexpr std::int64_t most = 16;
  const int count = static_cast<int>(std::clamp<std::int64_t>(A.nonzeros() / worth_sharing, 1, most));
  std::vector<Share<T>> shares(static_cast<std::size_t>(count));
  const std::int64_t* offsets = A.row_offsets().data();
  const std::int32_t* columns = A.column_indices().data();
#pragma omp parallel for num_threads(threads) schedule(static, 1) if (count > 1)
  for (int s = 0; s < count; ++s) {
    Share<T> share{share_begin(A, s, count), share_begin(A, s + 1, count)};
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      if (offsets[i] == offsets[i + 1]) continue;
      first = std::min<std::int64_t>(first, columns[offsets[i]]);
      share.last_column = std::max<std::int64_t>(share.last_column, columns[offsets[i + 1] - 1]);
    }
    share.first_column = share.last_column < 0 ? 0 : first;
    shares[static_cast<std::size_t>(s)] = share;
  }
  return shares;
}

template <class T>
Array<T> give_room(std::vector<Share<T>>& shares) {
  std::int64_t size = 0;
  for (const Share<T>& share : shares) size += share.last_column + 1 - share.first_column;
  Array<T> room(Device::serial(), size);
  T* next = room.data();
  for (Share<T>& share : shares) {
    share.sums = next;
    next += share.last_column + 1 - share.first_column;
  }
  return room;
}

/// The share's sums of a_ij x_i over its rows.
template <class T>
void scatter(const Share<T>& share, const Csr<T>& A, const Strided<const T>& x) {
  const std::int64_t* __restrict row_offsets = A.row_offsets().data();
  const std::int32_t* __restrict column_indices = A.column_indices().data();
  const T* __restrict values = A.values().data();
  std::fill_n(share.sums, share.last_column + 1 - share.first_column, T{0});
  T* __restrict sums = share.sums - share.first_column;
  for (std::int64_t i = share.begin; i < share.end; ++i) {
    prefetch_ahead(values, column_indices, row_offsets[i], row_offsets[i + 1]);
    const T factor = x[i];
    for (std::int64_t k = row_offsets[i]; k < row_offsets[i + 1]; ++k) {
      sums[column_indices[k]] += values[k] * factor;
    }
  }
}

constexpr std::int64_t columns_at_once = 1024;

/// y_j = alpha (sum of the shares' sums, in order) + beta y_j for j in [begin, end).
template <class T>
void gather(std::int64_t begin, std::int64_t end, const std::vector<Share<T>>& shares, T alpha, T beta,
            const Strided<T>& y) {
  std::array<T, columns_at_once> sums{};
  for (const Share<T>& share : shares) {
    const std::int64_t last = std::min(end, share.last_column + 1);
    for (std::int64_t j = std::max(begin, share.first_column); j < last; ++j) {
      sums[static_cast<std::size_t>(j - begin)] += share.sums[j - share.first_column];
    }
  }
  for (std::int64_t j = begin; j < end; ++j) {
    const T sum = alpha * sums[static_cast<std::size_t>(j - begin)];
    y[j] = beta == 0 ? sum : sum + beta * y[j];
  }
}

template <class T>
Strided<T> column(const DenseView<T>& view, std::int64_t j) {
  if (view.layout() == Layout::column_major) return {view.data() + j * view.leading(), 1};
  return {view.data() + j, view.leading()};
}

template <class T>
void multiply_shares(int threads, T alpha, const Csr<T>& A, DenseView<const T> X, T beta, DenseView<T> Y) {
  std::vector<Share<T>> shares = make_shares(threads, A);
  const Array<T> room = give_room(shares);
  const auto count = static_cast<int>(shares.size());
  for (std::int64_t c = 0; c < X.columns(); ++c) {
    const Strided<const T> x = column(X, c);
    const Strided<T> y = column(Y, c);
#pragma omp parallel num_threads(threads) if (count > 1)
    {
#pragma omp for schedule(static, 1)
      for (int s = 0; s < count; ++s) scatter(shares[static_cast<std::size_t>(s)], A, x);
#pragma omp for schedule(static)
      for (std::int64_t begin = 0; begin < A.columns(); begin += columns_at_once) {
        gather(begin, std::min(begin + columns_at_once, A.columns()), shares, alpha, beta, y);
      }
    }
  }
}

}  // namespace

template <class T>
void multiply_transposed(Serial& /*backend*/, T alpha, const Csr<T>& A, DenseView<const T> X, T beta,
                         DenseView<T> Y) {
  multiply_shares(1, alpha, A, X, beta, Y);
}

template <class T>
void multiply_transposed(OpenMp& backend, T alpha, const Csr<T>& A, DenseView<const T> X, T beta,
                         DenseView<T> Y) {
  multiply_shares(backend.threads(), alpha, A, X, beta, Y);
}

template void multiply_transposed(Serial&, float, const Csr<float>&, DenseView<const float>, float,
                                  DenseView<float>);
template void multiply_transposed(Serial&, double, const Csr<double>&, DenseView<const double>, double,
                                  DenseView<double>);
template void multiply_transposed(OpenMp&, float, const Csr<float>&, DenseView<const float>, float,
                                  DenseView<float>);
template void multiply_transposed(OpenMp&, double, const Csr<double>&, DenseView<const double>, double,
                                  DenseView<double>);

}  // namespace echelon
