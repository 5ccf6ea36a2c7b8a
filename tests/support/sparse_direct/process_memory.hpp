// SPDX-License-Identifier: BSD-3-Clause
/// The memory of this process, as Linux counts it.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

// Defined where the library is compiled with the address sanitizer, whose own memory counts.
extern "C" void __asan_init() __attribute__((weak));

namespace echelon::test {

inline bool allocates_for_a_sanitizer() {
  return __asan_init != nullptr;
}

/// A size in /proc/self/status, in bytes; 0 where there is none.
inline double process_bytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(name + ":", 0) != 0) continue;
    std::istringstream words(line.substr(name.size() + 1));
    double kilobytes = 0;
    words >> kilobytes;
    return 1024 * kilobytes;
  }
  return 0;
}

/// Forgets the largest size of the process so far; false where that is not possible.
inline bool reset_peak() {
  std::ofstream file("/proc/self/clear_refs");
  file << 5 << std::flush;
  return file.good();
}

}  // namespace echelon::test
