// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "support/first_exception.hpp"

#include <atomic>
#include <cstdint>

namespace echelon::graph_laplacian {

/// Calls f(k) for k = 0, ..., count - 1 on all threads of a host backend, the next k on the thread that is
/// free first. Rethrows the first exception of f.
template <class B, class F>
void for_nodes(B& backend, std::int32_t count, const F& f) {
  std::atomic<std::int32_t> next = 0;
  FirstException exception;
  backend.parallel(count > 1, [&](int /*part*/, int /*parts*/) {
    exception.catch_from([&] {
      for (std::int32_t k = next++; k < count; k = next++) f(k);
    });
  });
  exception.rethrow();
}

}  // namespace echelon::graph_laplacian
