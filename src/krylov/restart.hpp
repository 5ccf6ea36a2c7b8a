// SPDX-License-Identifier: BSD-3-Clause
/// The length of a GMRES cycle that fits into memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace echelon {

/// The largest cycle of at most `restart` steps, and at least one, whose basis and a few other vectors take
/// no more than 80 % of the memory available; a flexible GMRES keeps two vectors a step.
inline std::int64_t affordable_restart(std::int64_t restart, std::size_t vector_bytes, bool flexible,
                                       std::size_t available_bytes) {
  constexpr std::int64_t other_vectors = 6;
  if (vector_bytes == 0) return restart;
  const auto vectors = static_cast<std::int64_t>(0.8 * static_cast<double>(available_bytes) /
                                                 static_cast<double>(vector_bytes));
  return std::clamp<std::int64_t>((vectors - other_vectors) / (flexible ? 2 : 1), 1, restart);
}

}  // namespace echelon
