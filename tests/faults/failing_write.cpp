// SPDX-License-Identifier: BSD-3-Clause
/// Loaded by LD_PRELOAD: the write() number WRITE_NUMBER (from 0) to a file other than the standard streams
/// fails with the error number WRITE_ERROR.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

namespace {

int number_of(const char* variable) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::atoi(text) : -1;
}

}  // namespace

extern "C" ssize_t write(int descriptor, const void* bytes, size_t size) {
  static std::atomic<int> writes = 0;
  if (descriptor > STDERR_FILENO && writes++ == number_of("WRITE_NUMBER")) {
    errno = number_of("WRITE_ERROR");
    return -1;
  }
  return syscall(SYS_write, descriptor, bytes, size);
}
