// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/operations.hpp"

#include "backend/target.hpp"
#include "linalg/context.hpp"
#include "linalg/spmv/multiply.hpp"

#include <support/scalar_list.hpp>

#include <algorithm>

namespace echelon {

namespace {

template <class T>
bool is_contiguous_vector(const DenseView<T>& x) {
  return x.columns() == 1 && (x.layout() == Layout::column_major || x.leading() == 1);
}

}  // namespace

template <class Target, class T>
void multiply_on(Context& context, T alpha, const MatrixRef<T>& A, DenseView<const T> X, T beta,
                 DenseView<T> Y) {
  on_backend(context.device(), [&]<class B>() {
    B& backend = state_of<B>(context).backend;
    if (is_contiguous_vector(X) && is_contiguous_vector(Y)) {
      multiply(backend, alpha, A, X.data(), beta, Y.data());
    } else if (A.is_sparse()) {
      multiply_several(backend, alpha, *A.csr(), X, beta, Y);
    } else {
      gemm(backend, alpha, A.dense(), X, beta, Y);
    }
  });
}

template <class Target, class T>
void multiply_transposed_on(Context& context, T alpha, const Csr<T>& A, DenseView<const T> X, T beta,
                            DenseView<T> Y) {
  on_backend(context.device(),
             [&]<class B>() { multiply_transposed(state_of<B>(context).backend, alpha, A, X, beta, Y); });
}

template <class Target, class T>
void gemm_on(Context& context, T alpha, DenseView<const T> A, DenseView<const T> B, T beta, DenseView<T> C) {
  on_backend(context.device(),
             [&]<class Backend>() { gemm(state_of<Backend>(context).backend, alpha, A, B, beta, C); });
}

#define ECHELON_INSTANTIATE(T)                                                                        \
  template void multiply_on<ThisTarget>(Context&, T, const MatrixRef<T>&, DenseView<const T>, T,      \
                                        DenseView<T>);                                                \
  template void multiply_transposed_on<ThisTarget>(Context&, T, const Csr<T>&, DenseView<const T>, T, \
                                                   DenseView<T>);                                     \
  template void gemm_on<ThisTarget>(Context&, T, DenseView<const T>, DenseView<const T>, T, DenseView<T>);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
