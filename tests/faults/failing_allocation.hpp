// SPDX-License-Identifier: BSD-3-Clause
/// malloc and its relatives with one failure on demand, in this program and the libraries that it loads.
#pragma once

namespace echelon::faults {

/// Counts allocations from here on, and lets number `k` (from 0) fail; none if k < 0. Allocations of OpenMP's
/// run time and of the dynamic linker always succeed, since these end the process otherwise.
void fail_allocation(long k);
/// Lets all allocations succeed. Returns the number of those since fail_allocation().
long stop_failing();

}  // namespace echelon::faults
