// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace echelon::tool {

/// Starts the program again with OMP_WAIT_POLICY=passive if other processes are running and the user has not
/// chosen a policy. Returns otherwise, and when the program cannot be started again.
///
/// OpenMP's threads spin by default while they wait. On a busy machine spinning threads take the processors
/// from the threads that they wait for: 100 Jacobi steps take ten times as long as on one thread, but half as
/// long if waiting threads sleep. The policy is read before main() begins, hence the new start, which costs
/// milliseconds. On an idle machine spinning is kept, since it makes short parallel loops faster.
void set_wait_policy(char** argv);

}  // namespace echelon::tool
