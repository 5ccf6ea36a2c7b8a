// SPDX-License-Identifier: BSD-3-Clause
/// Workspaces of an elimination: backends and memory that outlive one call.
#pragma once

#include "linalg/blas/float_products.hpp"
#include "support/setup_control.hpp"

#include <echelon/array.hpp>
#include <echelon/device.hpp>

#include <type_traits>

namespace echelon {

/// Memory of the panel steps: `rows` holds W, and `columns` a packed copy of G where its columns are not
/// adjacent. For panels of b columns in an m by n matrix: b n and b m elements.
template <class T>
struct PanelWorkspace {
  Array<T> rows;
  Array<T> columns;
};

/// Small results of queued work that the host reads as soon as they are complete, without waiting for work
/// that was queued after them: in the host's memory on the host, in pinned memory with CUDA (workspace.cuh),
/// and in the device's memory elsewhere.
template <class B>
class PinnedResult {
 public:
  static constexpr std::size_t capacity = 512;  ///< bytes

  explicit PinnedResult(const Device& device) : backend_(device), memory_(device, capacity) {}
  /// The object that queued work writes.
  template <class V>
  [[nodiscard]] V* at() {
    static_assert(sizeof(V) <= capacity && std::is_trivially_copyable_v<V>);
    return reinterpret_cast<V*>(memory_.data());
  }
  /// Marks the end of the work that writes the result.
  void record() {}
  /// Waits for the work that was queued before record().
  void wait() {}
  /// The object, or a part of it, for the host, which has waited.
  template <class V>
  [[nodiscard]] V value(const V* at) {
    return backend_.read(at);
  }

 private:
  B backend_;
  Array<unsigned char> memory_;
};

/// Backend and result memory that successive eliminations share; for one thread at a time.
template <class B>
struct EliminationWorkspace {
  explicit EliminationWorkspace(const Device& device) : backend(device), pinned(device) {}
  B backend;
  PinnedResult<B> pinned;
  FloatProducts products = FloatProducts::in_float;
  SetupControl control = {};  ///< checked between panels on the host
};

}  // namespace echelon
