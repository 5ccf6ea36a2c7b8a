// SPDX-License-Identifier: BSD-3-Clause
#include "dense/factorization/magnitudes.cuh"
#include "dense/factorization/scaling.hpp"
#include "dense/factorization/scaling_steps.hpp"

#include <support/scalar_list.hpp>

namespace echelon::lu {

namespace {

/// Counterpart of magnitudes::LineLoops, with a block for each column.
template <class T>
struct LineKernels {
  Cuda& backend;
  void row_maxima(DenseView<const T> A, double* largest) const {
    magnitudes::row_maxima<T>(backend, A, largest);
  }
  void column_maxima(DenseView<const T> A, const T* row_scale, double* largest) const {
    magnitudes::for_columns<Largest>(backend.device(), A.columns(),
                                     magnitudes::MagnitudeOfScaledRows<T>{A, row_scale}, largest);
  }
  void column_sums(DenseView<const T> A, double* sums) const {
    magnitudes::for_columns<Sum>(backend.device(), A.columns(), magnitudes::MatrixMagnitude<T>{A}, sums);
  }
};

}  // namespace

template <class T>
ScaledNorms scale(Cuda& backend, DenseView<T> A, bool equilibrated, Scales<T>& scales) {
  return scale_in_steps(backend, A, equilibrated, LineKernels<T>{backend}, scales);
}

#define ECHELON_INSTANTIATE(T) template ScaledNorms scale(Cuda&, DenseView<T>, bool, Scales<T>&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::lu
