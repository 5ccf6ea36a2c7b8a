// SPDX-License-Identifier: BSD-3-Clause
/// Sizes of windows on a GPU. They are constants, so that a matrix is divided in the same way on every model.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace echelon::banded {

/// Shared memory of a block of an H100 or H200, minus the part that the kernel needs for other data than its
/// window.
inline constexpr std::size_t most_shared_bytes = std::size_t{226} * 1024;

/// Columns that are eliminated at once in a window in global memory, which consists of tiles of as many
/// columns.
inline constexpr int tile_columns = 32;

/// Most slots of windows that are eliminated 32 columns at a time, in which each thread of a block has one
/// slot.
inline constexpr std::int64_t most_panel_slots = 1024;

/// Number of threads of a block that works in a window of `elements` elements: 24 to 48 elements each, if
/// possible.
[[nodiscard]] inline unsigned threads_for_window(std::int64_t elements) {
  const auto threads = static_cast<std::uint64_t>(std::clamp<std::int64_t>(elements / 24, 32, 1024));
  return static_cast<unsigned>(std::bit_floor(threads));
}

}  // namespace echelon::banded
