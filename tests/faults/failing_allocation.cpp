// SPDX-License-Identifier: BSD-3-Clause
#include "faults/failing_allocation.hpp"

#include <link.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

// The allocator of the GNU C library under names that no other allocator takes.
// NOLINTBEGIN(bugprone-reserved-identifier, cert-dcl37-c, cert-dcl51-cpp, readability-identifier-naming)
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* pointer, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
}
// NOLINTEND(bugprone-reserved-identifier, cert-dcl37-c, cert-dcl51-cpp, readability-identifier-naming)

namespace echelon::faults {

namespace {

std::atomic<bool> counts = false;
std::atomic<long> counted = 0;
std::atomic<long> failing = -1;
std::atomic<std::size_t> least = 0;  // bytes of an allocation that counts

/// Code of a library whose allocations succeed.
struct Code {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};
std::array<Code, 4> spared;

int find_spared(dl_phdr_info* info, std::size_t /*size*/, void* count) {
  auto& found = *static_cast<std::size_t*>(count);
  const bool is_spared = std::strstr(info->dlpi_name, "libgomp") != nullptr ||
                         std::strstr(info->dlpi_name, "libomp") != nullptr ||
                         std::strstr(info->dlpi_name, "ld-linux") != nullptr;
  for (int k = 0; is_spared && k < info->dlpi_phnum && found < spared.size(); ++k) {
    const auto& part = info->dlpi_phdr[k];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    const std::uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    spared.at(found++) = {begin, begin + part.p_memsz};
  }
  return 0;
}

bool fails(const void* caller, std::size_t bytes) {
  if (!counts || bytes < least) return false;
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  for (const Code& code : spared) {
    if (code.begin <= address && address < code.end) return false;
  }
  if (counted++ != failing) return false;
  errno = ENOMEM;
  return true;
}

}  // namespace

void fail_allocation(long k) {
  std::size_t found = 0;
  if (spared.front().end == 0) dl_iterate_phdr(find_spared, &found);
  failing = k;
  least = 0;
  counted = 0;
  counts = true;
}

void count_allocations(std::size_t bytes) {
  fail_allocation(-1);
  least = bytes;
}

long stop_failing() {
  counts = false;
  return counted;
}

}  // namespace echelon::faults

using echelon::faults::fails;

// NOLINTBEGIN(cppcoreguidelines-no-malloc, cppcoreguidelines-owning-memory)
extern "C" {
void* malloc(std::size_t bytes) {
  return fails(__builtin_return_address(0), bytes) ? nullptr : __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t size) {
  return fails(__builtin_return_address(0), count * size) ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* pointer, std::size_t bytes) {
  return fails(__builtin_return_address(0), bytes) ? nullptr : __libc_realloc(pointer, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) {
  return fails(__builtin_return_address(0), bytes) ? nullptr : __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return fails(__builtin_return_address(0), bytes) ? nullptr : __libc_memalign(alignment, bytes);
}
int posix_memalign(void** pointer, std::size_t alignment, std::size_t bytes) {
  void* const memory =
      fails(__builtin_return_address(0), bytes) ? nullptr : __libc_memalign(alignment, bytes);
  if (memory == nullptr) return ENOMEM;
  *pointer = memory;
  return 0;
}
}
// NOLINTEND(cppcoreguidelines-no-malloc, cppcoreguidelines-owning-memory)
