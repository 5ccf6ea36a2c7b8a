// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>

namespace echelon::graph_laplacian {

/// Calls f(k) for k = 0, ..., count - 1 on all threads of a host backend, the next k on the thread that is
/// free first. Rethrows the first exception of f.
template <class B, class F>
void for_nodes(B& backend, std::int32_t count, const F& f) {
  std::atomic<std::int32_t> next = 0;
  std::exception_ptr error;
  std::mutex mutex;
  backend.parallel(count > 1, [&](int /*part*/, int /*parts*/) {
    try {
      for (std::int32_t k = next++; k < count; k = next++) f(k);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      if (!error) error = std::current_exception();
    }
  });
  if (error) std::rethrow_exception(error);
}

}  // namespace echelon::graph_laplacian
