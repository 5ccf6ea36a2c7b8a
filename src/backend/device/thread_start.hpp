// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace echelon {

/// Largest number of threads of a device.
inline constexpr int most_threads = 4096;

/// Number of threads, at most `wanted`, that a parallel region can have here. OpenMP's run time ends the
/// process when it cannot start a thread: a number that has not been asked for is therefore tried once. 1 in
/// the child of a fork() within a parallel region.
///
/// With a limit on the address space or private memory, OpenBLAS waits forever for its buffers, 128 MiB for
/// each thread that calls it. They are allocated here, once; the number of threads is at most that of the
/// buffers. Throws OutOfMemory if there is no memory for one.
[[nodiscard]] int startable_threads(int wanted);

}  // namespace echelon
