// SPDX-License-Identifier: BSD-3-Clause
/// A sparse matrix whose rows and columns are scaled where they differ widely.
#pragma once

#include "linalg/balancing_scale.hpp"
#include "linalg/line_scaling.hpp"
#include "linalg/vector/functors.hpp"
#include "solver/direct/scales.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/csr.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon::mapped {

namespace scaled_matrix_detail {

template <class T>
struct ScaleElement {
  const std::int32_t* row_of_element;
  const std::int32_t* columns;
  const T* row_scale;
  const T* column_scale;
  T* values;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    values[k] = scale_element(values[k], row_scale[row_of_element[k]], column_scale[columns[k]]);
  }
};

}  // namespace scaled_matrix_detail

/// R A C with powers of two R and C if rows or columns of A differ by more than `order_matters`, so that the
/// products of an elimination stay in the range of T; else A itself, which is referred to.
template <class B, class T>
class ScaledMatrix {
 public:
  void set(B& backend, const Csr<T>& A, bool may_scale) {
    given_ = &A;
    scaled_ = Csr<T>();
    scales_ = {};
    if (!may_scale || A.nonzeros() == 0) return;
    const SparseLines<B, T> lines(backend, A);
    LineScaling scaling = lines.scaling(backend);
    if (!scaling.is_wide()) return;
    scaling.scale_rows();
    scaling.fit();
    scaling.even_out_largest();
    scales_ = {Array<T>(A.device(), A.rows()), Array<T>(A.device(), A.columns())};
    scaling.set(scales_.rows.data(), scales_.columns.data());
    scaled_ = A;
    backend.for_each(A.nonzeros(), scaled_matrix_detail::ScaleElement<T>{
                                       lines.rows().data(), scaled_.column_indices().data(),
                                       scales_.rows.data(), scales_.columns.data(), scaled_.values().data()});
    backend.synchronize();
  }

  [[nodiscard]] const Csr<T>& given() const { return *given_; }
  [[nodiscard]] const Csr<T>& matrix() const { return is_scaled() ? scaled_ : *given_; }
  [[nodiscard]] bool is_scaled() const { return !scales_.empty(); }
  [[nodiscard]] const Scales<T>& scales() const { return scales_; }
  [[nodiscard]] std::size_t bytes() const { return scaled_.bytes() + scales_.bytes(); }

  /// R b, in `memory` if A is scaled. Queued.
  const T* scale_rhs(B& backend, const T* b, Array<T>& memory) const {
    if (!is_scaled()) return b;
    if (memory.size() != given_->rows()) memory = Array<T>(backend.device(), given_->rows());
    backend.for_each(given_->rows(), ScaleVector<T>{scales_.rows.data(), b, memory.data()});
    return memory.data();
  }
  /// x = C x. Queued.
  void unscale_solution(B& backend, T* x) const {
    if (is_scaled()) backend.for_each(given_->columns(), ScaleVector<T>{scales_.columns.data(), x, x});
  }

  /// Binary exponents of the scales of the rows; zeros if A is not scaled.
  [[nodiscard]] std::vector<int> row_exponents() const {
    std::vector<int> exponents(static_cast<std::size_t>(given_->rows()), 0);
    const std::vector<T> scales = scales_.rows.to_vector();
    for (std::size_t i = 0; i < scales.size(); ++i) exponents[i] = std::ilogb(scales[i]);
    return exponents;
  }

 private:
  const Csr<T>* given_ = nullptr;
  Csr<T> scaled_;
  Scales<T> scales_;
};

}  // namespace echelon::mapped
