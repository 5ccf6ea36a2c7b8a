// SPDX-License-Identifier: BSD-3-Clause
/// Memory and threads of products of dense matrices.
#pragma once

#include <echelon/array.hpp>
#include <echelon/cancellation.hpp>
#include <echelon/device.hpp>

namespace echelon::kernels {

template <class T>
struct PackBuffers;

/// Threads that compute parts of large products and assemblies.
template <class T>
class ProductThreads {
 public:
  using Work = void (*)(const void* product, int part, PackBuffers<T>&);
  /// Calls work(product, p, buffers) for p = 0, ..., parts - 1, on several threads with buffers of their own.
  virtual void run(int parts, Work work, const void* product) = 0;
  [[nodiscard]] virtual int count() const = 0;

 protected:
  ~ProductThreads() = default;
};

/// Memory for packed operands of large products, and what their computation depends on.
template <class T>
struct PackBuffers {
  static constexpr int terms = 256;
  static constexpr int rows = 192;
  static constexpr int columns = 512;
  static constexpr double worth_threads = 1e6;  ///< least number of multiplications, about 0.1 ms on one core
  Array<T> a, b;
  ProductThreads<T>* threads = nullptr;  ///< null: one thread computes all products
  /// Null, or asks to stop: products and eliminations then end early, and their results are to be discarded.
  const CancellationToken* cancel = nullptr;
  [[nodiscard]] bool is_cancelled() const { return cancel != nullptr && cancel->stop_requested(); }
  void allocate() {
    if (a.size() > 0) return;
    a = Array<T>(Device(), terms * rows);
    b = Array<T>(Device(), terms * columns);
  }
};

}  // namespace echelon::kernels
