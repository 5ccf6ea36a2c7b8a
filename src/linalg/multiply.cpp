// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/multiply.hpp"

#include "backend/openmp/openmp.hpp"
#include "backend/serial/serial.hpp"
#include "linalg/blas.hpp"

#include <algorithm>
#include <vector>

namespace echelon {

namespace {

/// Products of fewer elements stay on the calling thread: waking a team can cost more than they do.
constexpr std::int64_t worth_sharing = 100'000;

/// How far ahead of their use values and columns are asked for, in nonzeros. Hardware prefetchers stop at
/// the end of a page and fall behind a row loop; asking about 2 KiB ahead nearly halves the time of a
/// product.
constexpr std::int64_t prefetch_distance = 256;

/// Rows [begin, end) of y = alpha A x + beta y.
template <class T>
void multiply_rows(std::int64_t begin, std::int64_t end, T alpha, const Csr<T>& A, const T* __restrict x,
                   T beta, T* __restrict y) {
  const std::int64_t* __restrict row_offsets = A.row_offsets().data();
  const std::int32_t* __restrict column_indices = A.column_indices().data();
  const T* __restrict values = A.values().data();
  std::int64_t k = begin < end ? row_offsets[begin] : 0;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t row_end = row_offsets[i + 1];
    constexpr std::int64_t line = 64 / sizeof(T);
    for (std::int64_t ahead = k; ahead < row_end; ahead += line) {
      __builtin_prefetch(values + ahead + prefetch_distance);
      __builtin_prefetch(column_indices + ahead + prefetch_distance);
    }
    T sum = 0;
    for (; k < row_end; ++k) sum += values[k] * x[column_indices[k]];
    y[i] = beta == 0 ? alpha * sum : alpha * sum + beta * y[i];
  }
}

/// The first row of share `part` of `parts`, when nonzeros and rows are shared out evenly.
template <class T>
std::int64_t share_begin(const Csr<T>& A, int part, int parts) {
  const std::int64_t* offsets = A.row_offsets().data();
  const std::int64_t work = A.nonzeros() + A.rows();
  const std::int64_t target = static_cast<std::int64_t>(static_cast<double>(work) * part / parts);
  std::int64_t low = 0;
  std::int64_t high = A.rows();
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (offsets[middle] + middle < target) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return part == parts ? A.rows() : low;
}

/// Rows that one call of BLAS takes. Cutting there, whatever the number of threads, keeps the bits the same.
constexpr std::int64_t row_block = 1024;

/// y = alpha M x + beta y for column-major M (rows by columns).
template <class T>
void multiply_columns(int threads, T alpha, const DenseView<const T>& M, const T* x, T beta, T* y) {
  const std::int64_t blocks = (M.rows + row_block - 1) / row_block;
#pragma omp parallel for num_threads(threads) schedule(static) if (M.rows * M.columns > worth_sharing)
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t begin = block * row_block;
    const std::int64_t rows = std::min(row_block, M.rows - begin);
    blas::gemv(CblasNoTrans, blas::dimension(rows), blas::dimension(M.columns), alpha, M.data + begin,
               blas::dimension(M.leading), x, beta, y + begin);
  }
}

/// y = alpha M^T x + beta y for column-major M: the blocks' shares are added in their order.
template <class T>
void multiply_columns_transposed(int threads, T alpha, const DenseView<const T>& M, const T* x, T beta,
                                 T* y) {
  const std::int64_t blocks = (M.rows + row_block - 1) / row_block;
  std::vector<T> shares(static_cast<std::size_t>(blocks * M.columns));
#pragma omp parallel for num_threads(threads) schedule(static) if (M.rows * M.columns > worth_sharing)
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t begin = block * row_block;
    const std::int64_t rows = std::min(row_block, M.rows - begin);
    blas::gemv(CblasTrans, blas::dimension(rows), blas::dimension(M.columns), alpha, M.data + begin,
               blas::dimension(M.leading), x + begin, T{0}, shares.data() + block * M.columns);
  }
  for (std::int64_t j = 0; j < M.columns; ++j) {
    T sum = 0;
    for (std::int64_t block = 0; block < blocks; ++block) {
      sum += shares[static_cast<std::size_t>(block * M.columns + j)];
    }
    y[j] = beta == 0 ? sum : sum + beta * y[j];
  }
}

template <class T>
void multiply_dense(const Device& device, bool transposed, T alpha, const DenseView<const T>& A, const T* x,
                    T beta, T* y) {
  const std::int64_t outputs = transposed ? A.columns : A.rows;
  if (A.rows == 0 || A.columns == 0) {
    for (std::int64_t i = 0; i < outputs; ++i) y[i] = beta == 0 ? T{0} : beta * y[i];
    return;
  }
  // A row-major matrix is the transpose of a column-major one.
  const bool by_column = A.layout == Layout::column_major;
  const DenseView<const T> M(A.data, by_column ? A.rows : A.columns, by_column ? A.columns : A.rows,
                             A.leading);
  const blas::Threads one_per_call(Device::serial(), 1);
  if (transposed == by_column) {
    multiply_columns_transposed(device.threads(), alpha, M, x, beta, y);
  } else {
    multiply_columns(device.threads(), alpha, M, x, beta, y);
  }
}

}  // namespace

template <class T>
void multiply(Serial& backend, T alpha, const MatrixRef<T>& A, const T* x, T beta, T* y) {
  if (A.is_sparse()) {
    multiply_rows(0, A.rows(), alpha, *A.csr(), x, beta, y);
  } else {
    multiply_dense(backend.device(), false, alpha, A.dense(), x, beta, y);
  }
}

template <class T>
void multiply(OpenMp& backend, T alpha, const MatrixRef<T>& A, const T* x, T beta, T* y) {
  if (!A.is_sparse()) {
    multiply_dense(backend.device(), false, alpha, A.dense(), x, beta, y);
    return;
  }
  const Csr<T>& csr = *A.csr();
  const int parts = backend.threads();
#pragma omp parallel for num_threads(parts) schedule(static, 1) if (csr.nonzeros() > worth_sharing)
  for (int part = 0; part < parts; ++part) {
    multiply_rows(share_begin(csr, part, parts), share_begin(csr, part + 1, parts), alpha, csr, x, beta, y);
  }
}

template <class T>
void multiply_transposed(Serial& backend, T alpha, const DenseView<const T>& V, const T* x, T beta, T* y) {
  multiply_dense(backend.device(), true, alpha, V, x, beta, y);
}

template <class T>
void multiply_transposed(OpenMp& backend, T alpha, const DenseView<const T>& V, const T* x, T beta, T* y) {
  multiply_dense(backend.device(), true, alpha, V, x, beta, y);
}

template void multiply(Serial&, float, const MatrixRef<float>&, const float*, float, float*);
template void multiply(Serial&, double, const MatrixRef<double>&, const double*, double, double*);
template void multiply(OpenMp&, float, const MatrixRef<float>&, const float*, float, float*);
template void multiply(OpenMp&, double, const MatrixRef<double>&, const double*, double, double*);
template void multiply_transposed(Serial&, float, const DenseView<const float>&, const float*, float, float*);
template void multiply_transposed(Serial&, double, const DenseView<const double>&, const double*, double,
                                  double*);
template void multiply_transposed(OpenMp&, float, const DenseView<const float>&, const float*, float, float*);
template void multiply_transposed(OpenMp&, double, const DenseView<const double>&, const double*, double,
                                  double*);

}  // namespace echelon
