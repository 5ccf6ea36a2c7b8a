// SPDX-License-Identifier: BSD-3-Clause
// Scaling on the device. QR, the last resort where LU fails, is the host's, of a copy.
#include "backend/host/host.hpp"
#include "backend/target.hpp"
#include "dense/factorization/qr.hpp"
#include "dense/factorization/scaling_steps.hpp"

#include <echelon/array.hpp>
#include <echelon/device.hpp>
#include <echelon/matrix/dense.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon::lu {

template <class T>
ScaledNorms scale(OpenCl& backend, DenseView<T> A, bool equilibrated, Scales<T>& scales) {
  return scale_in_steps(backend, A, equilibrated, magnitudes::LineLoops<OpenCl, T>{backend}, scales);
}

namespace {

/// Elements that are contiguous in the device's memory, on the host.
template <class V>
std::vector<V> host_elements(OpenCl& backend, const V* source, std::int64_t count) {
  std::vector<V> values(static_cast<std::size_t>(count));
  opencl::read(backend.device().id(), values.data(), source, values.size() * sizeof(V));
  return values;
}
template <class V>
void put_elements(OpenCl& backend, const std::vector<V>& values, V* target) {
  opencl::write(backend.device().id(), target, values.data(), values.size() * sizeof(V));
}

/// Elements from the first to the last of a view, those between columns included.
template <class T>
std::int64_t extent(const DenseView<T>& A) {
  return A.rows() == 0 || A.columns() == 0 ? 0 : (A.columns() - 1) * A.leading() + A.rows();
}

}  // namespace

template <class T>
bool factor_qr(OpenCl& backend, DenseView<T> A, T* tau, const SetupControl& control) {
  Host host{Device()};
  std::vector<T> elements = host_elements<T>(backend, A.data(), extent(A));
  std::vector<T> factors_of_reflections(static_cast<std::size_t>(A.rows()));
  const DenseView<T> copy(elements.data(), A.rows(), A.columns(), A.leading());
  if (!factor_qr<T>(host, copy, factors_of_reflections.data(), control)) return false;
  put_elements(backend, elements, A.data());
  put_elements(backend, factors_of_reflections, tau);
  return true;
}

template <class T>
void substitute_qr(OpenCl& backend, bool transposed, DenseView<const T> factors, const T* tau,
                   DenseView<T> X) {
  Host host{Device()};
  const std::vector<T> copied = host_elements<T>(backend, factors.data(), extent(factors));
  const std::vector<T> copied_tau = host_elements<T>(backend, tau, factors.rows());
  std::vector<T> elements = host_elements<T>(backend, X.data(), extent(X));
  substitute_qr<T>(host, transposed, {copied.data(), factors.rows(), factors.columns(), factors.leading()},
                   copied_tau.data(), {elements.data(), X.rows(), X.columns(), X.leading()});
  put_elements(backend, elements, X.data());
}

#define ECHELON_INSTANTIATE(T)                                             \
  template ScaledNorms scale(OpenCl&, DenseView<T>, bool, Scales<T>&);     \
  template bool factor_qr(OpenCl&, DenseView<T>, T*, const SetupControl&); \
  template void substitute_qr(OpenCl&, bool, DenseView<const T>, const T*, DenseView<T>);
ECHELON_INSTANTIATE(float)
ECHELON_INSTANTIATE(double)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::lu
