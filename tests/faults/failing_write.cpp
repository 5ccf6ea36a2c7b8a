// SPDX-License-Identifier: BSD-3-Clause
/// Loaded by LD_PRELOAD: the write() number WRITE_NUMBER (from 0) to a file other than the standard streams
/// fails with the error number WRITE_ERROR, or, if that is absent, the process gets the signal WRITE_SIGNAL.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
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
    const int error = number_of("WRITE_ERROR");
    if (error < 0) std::raise(number_of("WRITE_SIGNAL"));
    errno = error;
    return -1;
  }
  return syscall(SYS_write, descriptor, bytes, size);
}
