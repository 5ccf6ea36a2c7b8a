// SPDX-License-Identifier: BSD-3-Clause
/// Loops with much work in each step.
#pragma once

#include <cstdint>

namespace echelon {

/// Calls f(0), ..., f(n-1) in parallel; each call has enough work for a thread of its own.
template <class B, class F>
void for_each_tile(B& backend, std::int64_t n, const F& f) {
  if constexpr (requires { backend.parallel(true, [](int, int) {}); }) {
    backend.parallel(n > 1, [&](int part, int parts) {
      for (std::int64_t i = n * part / parts; i < n * (part + 1) / parts; ++i) f(i);
    });
  } else {
    backend.for_each(n, f);
  }
}

}  // namespace echelon
