// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/linalg.hpp"

#include "backend/side.hpp"
#include "backend/store.hpp"
#include "linalg/multiply.hpp"
#include "linalg/vector_functors.hpp"

#include <cmath>
#include <string>

namespace echelon {

namespace {

/// y += alpha x.
template <class T>
struct Axpy {
  T alpha;
  const T* x;
  T* y;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { y[i] += alpha * x[i]; }
};

}  // namespace

template <class Side, class T>
void multiply_on(T alpha, const MatrixRef<T>& A, DenseView<const T> X, T beta, DenseView<T> Y) {
  on_backend(A.device(), [&]<class B>() {
    B backend(A.device());
    for (std::int64_t j = 0; j < X.columns; ++j) multiply(backend, alpha, A, X.column(j), beta, Y.column(j));
  });
}

template <class Side, class T>
void axpy_on(T alpha, DenseView<const T> x, DenseView<T> y) {
  on_backend(x.device, [&]<class B>() { B(x.device).for_each(x.rows, Axpy<T>{alpha, x.data, y.data}); });
}

template <class Side, class T>
double dot_on(DenseView<const T> x, DenseView<const T> y) {
  return on_backend(x.device, [&]<class B>() {
    B backend(x.device);
    Array<Sum> result(x.device, 1);
    backend.reduce(x.rows, Product<T>{x.data, y.data}, Store<Sum>{result.data()});
    return backend.read(result.data()).value;
  });
}

template void multiply_on<ThisSide>(float, const MatrixRef<float>&, DenseView<const float>, float,
                                    DenseView<float>);
template void multiply_on<ThisSide>(double, const MatrixRef<double>&, DenseView<const double>, double,
                                    DenseView<double>);
template void axpy_on<ThisSide>(float, DenseView<const float>, DenseView<float>);
template void axpy_on<ThisSide>(double, DenseView<const double>, DenseView<double>);
template double dot_on<ThisSide>(DenseView<const float>, DenseView<const float>);
template double dot_on<ThisSide>(DenseView<const double>, DenseView<const double>);

}  // namespace echelon
