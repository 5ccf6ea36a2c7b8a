// SPDX-License-Identifier: BSD-3-Clause
/// malloc and its relatives with one failure on demand, in this program and the libraries that it loads.
#pragma once

#include <cstddef>

namespace echelon::faults {

/// Counts allocations from here on, and lets number `k` (from 0) fail; none if k < 0. Allocations of OpenMP's
/// run time and of the dynamic linker always succeed, since these end the process otherwise.
void fail_allocation(long k);
/// Counts allocations of at least `bytes` from here on, none of which fails.
void count_allocations(std::size_t bytes);
/// Lets all allocations succeed. Returns the number of those since fail_allocation() or
/// count_allocations().
long stop_failing();

}  // namespace echelon::faults
