// SPDX-License-Identifier: BSD-3-Clause
// The entries that libFuzzer calls, for every function of targets.hpp: the program's name is fuzz_ and the
// function's.
#include "fuzz/targets.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

const echelon::fuzz::Target* chosen = nullptr;

}  // namespace

extern "C" {

// An array of the library's that is too large must end in OutOfMemory; any other allocation of that size is a
// defect. Little more than libFuzzer itself needs, so that sound files of many empty rows cost little time.
const char* __asan_default_options() {  // NOLINT(bugprone-reserved-identifier)
  return "allocator_may_return_null=1:max_allocation_size_mb=40";
}

// NOLINTNEXTLINE(readability-identifier-naming)
int LLVMFuzzerInitialize(const int* /*count*/, char*** arguments) {
  const std::string_view program = **arguments;
  for (const echelon::fuzz::Target& target : echelon::fuzz::targets) {
    if (program.ends_with(std::string("fuzz_") + target.name)) chosen = &target;
  }
  if (chosen != nullptr) return 0;
  std::fprintf(stderr, "call this program by the name fuzz_TARGET\n");
  std::exit(2);
}

// NOLINTNEXTLINE(readability-identifier-naming)
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen->run({reinterpret_cast<const char*>(data), size});
  return 0;
}

}  // extern "C"
