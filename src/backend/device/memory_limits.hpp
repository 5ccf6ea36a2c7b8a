// SPDX-License-Identifier: BSD-3-Clause
/// Memory that the host has for this process.
#pragma once

#include <echelon/device.hpp>
#include <echelon/error.hpp>

#include <cstddef>
#include <string>

namespace echelon {

/// Memory of the host, and what limits it.
struct HostMemory {
  MemoryInfo info;
  std::string limit;  ///< the tightest limit, in words; empty if it is the machine's memory
};

/// Memory of the machine or, if they leave less, of the process's control groups (of version 1 and 2, and of
/// the groups around each) or of the limits on its address space and its private memory. The page cache of a
/// control group counts as available: it is evicted when memory is allocated. `root` is the folder of proc/
/// and sys/.
[[nodiscard]] HostMemory host_memory(const std::string& root = "");

/// Whether the process has a limit on its address space or its private memory, at which allocations fail.
[[nodiscard]] bool is_memory_of_process_limited();

/// The exception for a failed allocation of this many bytes (0 if unknown) on the host; names the limit.
[[nodiscard]] OutOfMemory host_out_of_memory(std::size_t bytes);

}  // namespace echelon
