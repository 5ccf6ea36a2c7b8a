// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "support/first_exception.hpp"

#include <omp.h>

#include <cstdint>

namespace echelon::bddc {

/// Calls f(s) for s = 0, ..., count - 1 on up to `threads` threads, each s on one thread. Rethrows the first
/// exception after all calls have ended.
template <class F>
void for_subdomains(int threads, std::int64_t count, const F& f) {
  FirstException exception;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) if (threads > 1 && count > 1)
  for (std::int64_t s = 0; s < count; ++s) {
    exception.catch_from([&] { f(s); });
  }
  exception.rethrow();
}

}  // namespace echelon::bddc
