// SPDX-License-Identifier: BSD-3-Clause
#include "domain_decomposition/bddc/preconditioner/scaling.hpp"

#include "linalg/blas/blas.hpp"
#include "linalg/blas/lapack.hpp"

#include <algorithm>
#include <utility>

namespace echelon::bddc {

void LocalWeights::apply(bool transposed, const double* x, double* y) const {
  for (std::size_t i = 0; i < diagonal.size(); ++i) y[i] = diagonal[i] * x[i];
  for (const Block& block : blocks) {
    const std::int64_t size = std::ssize(block.places);
    for (std::int64_t i = 0; i < size; ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < size; ++j) {
        sum += (transposed ? block.matrix(j, i) : block.matrix(i, j)) * x[block.places[j]];
      }
      y[block.places[i]] = sum;
    }
  }
}

std::size_t LocalWeights::bytes() const {
  std::size_t bytes = diagonal.capacity() * sizeof(double);
  for (const Block& block : blocks) {
    bytes += block.matrix.bytes() + block.places.capacity() * sizeof(std::int32_t);
  }
  return bytes;
}

std::vector<Dense<double>> deluxe_blocks(std::vector<Dense<double>> blocks) {
  constexpr double smallest_pivot = 1e-12;  // of the largest
  Dense<double> sum = blocks.front();
  const std::int64_t size = sum.rows();
  for (std::size_t s = 1; s < blocks.size(); ++s) {
    for (std::int64_t k = 0; k < size * size; ++k) sum[k] += blocks[s][k];
  }
  const int n = blas::dimension(size);
  const blas::Threads one(Device::serial(), size);
  if (lapack::potrf(n, sum.data(), n) > 0) return {};
  double least = sum(0, 0);
  double largest = sum(0, 0);
  for (std::int64_t i = 0; i < size; ++i) {
    least = std::min(least, sum(i, i));
    largest = std::max(largest, sum(i, i));
  }
  if (!(least * least > smallest_pivot * largest * largest)) return {};
  for (Dense<double>& block : blocks) {
    blas::trsm(CblasLower, CblasNoTrans, CblasNonUnit, n, n, sum.data(), n, block.data(), n);
    blas::trsm(CblasLower, CblasTrans, CblasNonUnit, n, n, sum.data(), n, block.data(), n);
  }
  return blocks;
}

}  // namespace echelon::bddc
