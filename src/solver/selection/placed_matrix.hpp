// SPDX-License-Identifier: BSD-3-Clause
/// Operands in the memory of the devices that methods run on.
#pragma once

#include "matrix/assign.hpp"
#include "support/stopwatch.hpp"

#include <echelon/device.hpp>
#include <echelon/error.hpp>
#include <echelon/matrix/dense.hpp>
#include <echelon/matrix/matrix.hpp>
#include <echelon/matrix/scalar.hpp>

#include <fmt/format.h>

#include <list>
#include <mutex>
#include <utility>

namespace echelon {

/// Packed copy of the view's elements, on the view's device.
template <class T>
Dense<T> packed(DenseView<const T> view) {
  Dense<T> copy(view.device(), view.rows(), view.columns());
  assign<T>(view, copy);
  return copy;
}

/// The view, or a copy of it in the memory of the device.
template <class T>
DenseView<const T> placed_on(const Device& device, DenseView<const T> view, Dense<T>& copy) {
  if (same_memory(device, view.device())) return view;
  return copy = packed(view).to(device);
}

/// A matrix, and its copies in other memories: one for each, made when it is first asked for.
template <class T>
class PlacedMatrix {
 public:
  explicit PlacedMatrix(const MatrixRef<T>& A) : A_(A) {}

  [[nodiscard]] const MatrixRef<T>& given() const { return A_; }
  /// A in the memory of the device. Adds the time of a transfer to `seconds`. Several threads may call it.
  MatrixRef<T> on(const Device& device, double& seconds) {
    if (same_memory(device, A_.device())) return A_;
    if (A_.is_operator() && !A_.is_stencil()) {
      throw DeviceMismatch(fmt::format("the operator A works on {} and cannot be moved to {}",
                                       A_.device().name(), device.name()));
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    if constexpr (!is_complex<T>) {
      if (A_.is_stencil()) return stencil_on(device, seconds);
    }
    for (const auto& [place, copy] : copies_) {
      if (same_memory(place, device)) return MatrixRef<T>(copy);
    }
    const Stopwatch stopwatch;
    Matrix<T> copy;
    if (A_.is_sparse()) {
      copy = A_.csr()->to(device);
    } else {
      copy = packed(A_.dense()).to(device);
    }
    const auto& added = copies_.emplace_back(device, std::move(copy));
    seconds += stopwatch.seconds();
    return MatrixRef<T>(added.second);
  }

 private:
  MatrixRef<T> stencil_on(const Device& device, double& seconds) {
    for (const Stencil<T>& copy : stencils_) {
      if (same_memory(copy.device(), device)) return MatrixRef<T>(copy);
    }
    const Stopwatch stopwatch;
    const Stencil<T>& added = stencils_.emplace_back(A_.stencil()->to(device));
    seconds += stopwatch.seconds();
    return MatrixRef<T>(added);
  }

  MatrixRef<T> A_;
  std::mutex mutex_;
  std::list<Stencil<T>> stencils_;                  // likewise
  std::list<std::pair<Device, Matrix<T>>> copies_;  // whose places do not change
};

}  // namespace echelon
