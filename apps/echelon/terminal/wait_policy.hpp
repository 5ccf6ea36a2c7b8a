// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace echelon::tool {

/// Starts the program again with OMP_WAIT_POLICY=passive if other processes are running and the user has not
/// chosen a policy. Returns otherwise, and when the program cannot be started again.
///
/// OpenMP's threads wait spinning by default. On a busy machine that takes the processors from the threads
/// that they wait for, and 100 Jacobi steps take ten times as long as on one thread; waiting asleep they take
/// half as long. The policy is read before main() begins, hence the new start, which costs milliseconds. On
/// an idle machine spinning is kept: it makes short parallel loops faster.
void set_wait_policy(char** argv);

}  // namespace echelon::tool
