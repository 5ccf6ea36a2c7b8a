// SPDX-License-Identifier: BSD-3-Clause
// The entry that libFuzzer calls. ECHELON_FUZZ_TARGET is the function of targets.hpp that this program is
// for.
#include "fuzz/targets.hpp"

#include <cstddef>
#include <cstdint>

extern "C" {

// An array of the library's that is too large must end in OutOfMemory; any other allocation of that size is a
// defect. Little more than libFuzzer itself needs, so that sound files of many empty rows cost little time.
const char* __asan_default_options() {  // NOLINT(bugprone-reserved-identifier)
  return "allocator_may_return_null=1:max_allocation_size_mb=40";
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                           std::size_t size) {  // NOLINT(readability-identifier-naming)
  echelon::fuzz::ECHELON_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}

}  // extern "C"
