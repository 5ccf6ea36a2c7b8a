// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "backend/loop_sequence.hpp"

#include <cstdint>

namespace echelon::affinity_multigrid {

/// Backends that divide loops over parts of an array among the host's threads.
template <class B>
concept HostBackend = requires(B& backend) {
  backend.parallel(true, [](int /*part*/, int /*parts*/) {});
};

/// Backend::for_each for a loop body that reads the row of a vertex, or computes hashes: takes 10 to 50 ns,
/// so that threads pay for fewer vertices than in loops over the elements of vectors.
ECHELON_LOOPS_ANYWHERE
template <class B, class F>
ECHELON_ANYWHERE void for_each_costly(B& backend, std::int64_t n, F f) {
  if constexpr (HostBackend<B>) {
    constexpr std::int64_t worth_threads = 1000;
    backend.parallel(n > worth_threads, [n, &f](int part, int parts) {
      F own = f;
      const std::int64_t end = n * (part + 1) / parts;
      for (std::int64_t i = n * part / parts; i < end; ++i) own(i);
    });
  } else {
    backend.for_each(n, f);
  }
}

}  // namespace echelon::affinity_multigrid
