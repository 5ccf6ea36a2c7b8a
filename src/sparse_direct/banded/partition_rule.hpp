// SPDX-License-Identifier: BSD-3-Clause
/// Number of partitions that a band matrix is divided into, and sizes of windows on a GPU. These are
/// constants, so that a matrix is divided in the same way on every model.
#pragma once

#include "sparse_direct/banded/plan.hpp"

#include <echelon/device.hpp>

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

/// A band matrix's shape, and how many there are.
struct BandShape {
  std::int64_t n = 0;
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  std::int64_t count = 1;

  [[nodiscard]] std::int64_t interface() const { return lower + upper; }
  friend bool operator==(const BandShape&, const BandShape&) = default;
};

/// Columns that the blocked kernel eliminates at once. The window of a partition has this many slots less one
/// in addition to the rows that a column can have, so that it holds all rows of a block of columns.
inline constexpr std::int32_t block_columns = 8;

/// Partition rule for the host. Two partitions, eliminated from the ends towards the middle, cost no more
/// than one: neither has a left interface. Further partitions cost up to four times as much per row, and pay
/// only with as many threads. Short matrices and batches are not divided: each thread has a whole matrix.
[[nodiscard]] inline PartitionRule host_partition_rule(const Device& device, const BandShape& shape) {
  PartitionRule rule;
  const bool narrow =
      shape.lower == shape.upper && shape.lower > 0 && shape.lower <= 2 && shape.n > shape.interface();
  rule.extra_slots = narrow ? 0 : block_columns - 1;
  rule.end_weight = shape.interface() <= 4 ? 2 : 3.5;
  const std::int64_t threads = std::max(device.threads(), 2);
  const bool undivided = shape.count > 1 || shape.n < 16 * (shape.interface() + 8);
  rule.partitions = undivided ? 1 : (threads > 3 ? threads : 2);
  return rule;
}

/// Least number of columns of interfaces that are eliminated 32 columns at a time. The window of such an
/// interface has two rows for each column.
inline constexpr std::int64_t least_wide_interface = 32;
inline constexpr std::int64_t most_wide_interface = most_panel_slots / 2;

/// Most rows of a wide partition for each column of an interface. Elements in the columns of its left
/// interface grow with the number of rows, and the backward error with them: for random elements and
/// interfaces of 128 columns, by a factor of 600 in 1000 rows and of 10,000 in 4000.
inline constexpr std::int64_t most_rows_per_column = 16;

/// Number of partitions of a wide band. The chains of dependent steps are shortest with 4 to 8 rows for each
/// column of an interface; a power of two avoids an additional level. The number is one if interfaces would
/// be too wide for panels.
[[nodiscard]] inline std::int64_t wide_partitions(const BandShape& shape, std::int64_t multiprocessors) {
  const std::int64_t k = shape.interface();
  if (k > most_wide_interface) return 1;
  const std::int64_t resident = multiprocessors * std::clamp<std::int64_t>(512 / (k + tile_columns), 1, 8);
  const std::int64_t wanted = std::max<std::int64_t>(
      1, std::min(resident, shape.n / (4 * k)) / std::max<std::int64_t>(shape.count, 1));
  const auto resident_at_once = std::bit_floor(static_cast<std::uint64_t>(wanted));
  const auto accurate = std::bit_ceil(static_cast<std::uint64_t>(shape.n / (most_rows_per_column * k)));
  return static_cast<std::int64_t>(std::max(resident_at_once, accurate));
}

/// Partition rule for GPUs: a partition for each block that can be resident on an H100 or H200. Interfaces
/// take a small part of the time if A has at least 12 rows for each of their columns. The number does not
/// depend on the model of the GPU.
[[nodiscard]] inline PartitionRule cuda_partition_rule(const BandShape& shape) {
  constexpr std::int64_t multiprocessors = 132;
  const std::int64_t k = shape.interface();
  PartitionRule rule;
  if (k >= least_wide_interface && shape.lower + tile_columns <= most_panel_slots) {
    rule.partitions = wide_partitions(shape, multiprocessors);
    rule.extra_slots = tile_columns - 1;
    return rule;
  }
  const auto window_bytes = static_cast<std::size_t>((k + 1) * (2 * k + 1) + k) * sizeof(double);
  const std::int64_t blocks =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(most_shared_bytes / window_bytes), 1, 32);
  const std::int64_t wanted =
      std::min(multiprocessors * blocks, shape.n / std::max<std::int64_t>(12 * k, 64));
  rule.partitions = std::max<std::int64_t>(1, wanted / std::max<std::int64_t>(shape.count, 1));
  return rule;
}

/// Partition rule for a device; `asked`: the number of partitions, or 0. The kernels for OpenCL, which take
/// one column at a time, divide a matrix as those for CUDA do.
[[nodiscard]] inline PartitionRule partition_rule(const Device& device, const BandShape& shape,
                                                  std::int64_t asked) {
  PartitionRule rule = device.on_host() ? host_partition_rule(device, shape) : cuda_partition_rule(shape);
  if (device.kind() == DeviceKind::opencl) rule.extra_slots = 0;
  if (asked > 0) rule.partitions = asked;
  return rule;
}

}  // namespace echelon::banded
