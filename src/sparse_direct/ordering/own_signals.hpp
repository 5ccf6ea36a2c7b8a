// SPDX-License-Identifier: BSD-3-Clause
/// Calls of C libraries that install signal handlers and report errors by signals.
#pragma once

#include <cstddef>
#include <functional>

namespace echelon::sparse_direct {

/// Memory that a call with signal handlers of its own writes its results to: zeros, until it is written.
class SharedMemory {
 public:
  /// Throws OutOfMemory.
  explicit SharedMemory(std::size_t bytes);
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();
  [[nodiscard]] void* data() const { return data_; }

 private:
  std::size_t bytes_;
  void* data_;
};

/// How a call with signal handlers of its own ended.
enum class CallEnd {
  returned,
  raised,  ///< it raised SIGABRT or SIGTERM without a handler of its own for them
  killed   ///< by another signal
};

/// Calls f, which may install signal handlers and raise SIGABRT and SIGTERM, and returns when f has.
///
/// Signal handlers belong to a process. f is therefore called in a process of its own that shares the memory
/// of this one, like the child of vfork(), with this difference: the system sends no SIGCHLD for it. The
/// calling thread waits meanwhile, and the process uses its thread-local variables. The caller's handlers are
/// never replaced, so that a signal sent to this process has the effect that it has at any other time; in the
/// calling thread, signals with a handler wait until f has returned, and other threads receive them at once.
/// f writes its results to SharedMemory, since valgrind gives the process a copy of all other memory. Output
/// of f to standard error is discarded. Blocks that f has not freed when it raises a signal are lost.
///
/// f must not throw. Throws OutOfMemory if there is no memory for a stack of 16 MiB or for another process.
CallEnd call_with_own_signals(const std::function<void()>& f);

}  // namespace echelon::sparse_direct
