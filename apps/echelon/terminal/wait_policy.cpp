// SPDX-License-Identifier: BSD-3-Clause
#include "terminal/wait_policy.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>

namespace echelon::tool {

namespace {

/// Number of threads of all processes that run or are ready to run, this one included: the fourth field of
/// /proc/loadavg, "0.41 0.30 0.25 2/312 4711". 1 if the file cannot be read.
int running_threads() {
  std::ifstream file("/proc/loadavg");
  std::array<double, 3> averages{};
  int running = 1;
  for (double& average : averages) file >> average;
  return file >> running ? running : 1;
}

bool policy_is_chosen() {
  constexpr std::array variables = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"};
  return std::any_of(variables.begin(), variables.end(),
                     [](const char* name) { return std::getenv(name) != nullptr; });
}

}  // namespace

void set_wait_policy(char** argv) {
  if (policy_is_chosen() || running_threads() <= 1) return;
  if (setenv("OMP_WAIT_POLICY", "passive", 0) == 0) execv("/proc/self/exe", argv);
}

}  // namespace echelon::tool
