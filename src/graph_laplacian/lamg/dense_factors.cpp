// SPDX-License-Identifier: BSD-3-Clause
#include "graph_laplacian/lamg/dense_factors.hpp"

namespace echelon::lamg {

template <class T>
DenseLaplacianFactors<T>::DenseLaplacianFactors(const Graph<T>& graph)
    : n_(static_cast<std::size_t>(graph.n)), ratios_(n_ * n_), inverse_(n_) {
  for (std::int32_t i = 0; i < graph.n; ++i) {
    for (std::int32_t k = graph.middle[i]; k < graph.offsets[i + 1]; ++k) {
      ratios_[static_cast<std::size_t>(i) * n_ + static_cast<std::size_t>(graph.neighbours[k])] =
          graph.weights[k];
    }
  }
  for (std::size_t k = 0; k < n_; ++k) {
    T* row = ratios_.data() + k * n_;
    T pivot = 0;
    for (std::size_t i = k + 1; i < n_; ++i) pivot += row[i];
    if (!(pivot > 0)) {
      ++components_;
      continue;
    }
    inverse_[k] = 1 / pivot;
    for (std::size_t i = k + 1; i < n_; ++i) {
      const T ratio = row[i] * inverse_[k];
      if (ratio == 0) continue;
      T* other = ratios_.data() + i * n_;
      for (std::size_t j = i + 1; j < n_; ++j) other[j] += ratio * row[j];
    }
    for (std::size_t i = k + 1; i < n_; ++i) row[i] *= inverse_[k];
  }
}

template <class T>
void DenseLaplacianFactors<T>::solve(T* x) const {
  for (std::size_t k = 0; k < n_; ++k) {
    const T* row = ratios_.data() + k * n_;
    const T value = x[k];
    for (std::size_t i = k + 1; i < n_; ++i) x[i] += row[i] * value;
  }
  for (std::size_t k = n_; k-- > 0;) {
    const T* row = ratios_.data() + k * n_;
    T sum = inverse_[k] * x[k];
    for (std::size_t i = k + 1; i < n_; ++i) sum += row[i] * x[i];
    x[k] = sum;
  }
}

template class DenseLaplacianFactors<float>;
template class DenseLaplacianFactors<double>;

}  // namespace echelon::lamg
