// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/ordering/own_signals.hpp"

#include "backend/device/memory_limits.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

namespace echelon::sparse_direct {

namespace {

// The state of the thread sanitizer cannot be used by two processes: with it, f is called in this one.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ECHELON_THREAD_SANITIZER
#endif
#endif
#ifdef ECHELON_THREAD_SANITIZER
constexpr bool in_this_process = true;
#else
constexpr bool in_this_process = false;
#endif

constexpr std::size_t stack_bytes = std::size_t{16} << 20;
constexpr std::size_t guard_bytes = std::size_t{64} << 10;
constexpr int exit_returned = 0;
constexpr int exit_raised = 1;
constexpr std::array raised_signals = {SIGABRT, SIGTERM};

/// Blocks the signals that have a handler in the calling thread for the lifetime of the object. Signals whose
/// default action ends the process still end it at once.
class HandlersWait {
 public:
  HandlersWait() {
    sigset_t handled;
    sigemptyset(&handled);
    for (int number = 1; number <= SIGRTMAX; ++number) {
      struct sigaction action = {};
      if (::sigaction(number, nullptr, &action) != 0) continue;
      if (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN) sigaddset(&handled, number);
    }
    pthread_sigmask(SIG_BLOCK, &handled, &caller_);
  }
  HandlersWait(const HandlersWait&) = delete;
  HandlersWait& operator=(const HandlersWait&) = delete;
  ~HandlersWait() { pthread_sigmask(SIG_SETMASK, &caller_, nullptr); }

 private:
  sigset_t caller_{};
};

extern "C" void echelon_on_raised_signal(int /*signal*/) {
  ::_exit(exit_raised);
}

/// Leaves the new process only the signals that the call raises. A process group of its own keeps away those
/// that a terminal or `timeout` sends to the caller's group.
void separate_signals() {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // NOLINT(*-vararg): ends with the caller
  struct sigaction action = {};
  action.sa_handler = echelon_on_raised_signal;
  sigset_t blocked;
  sigfillset(&blocked);
  for (const int number : raised_signals) {
    ::sigaction(number, &action, nullptr);
    sigdelset(&blocked, number);
  }
  pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
}

int run_in_new_process(void* f) {
  separate_signals();
  const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);  // NOLINT(*-vararg)
  if (null >= 0) ::dup2(null, STDERR_FILENO);
  (*static_cast<const std::function<void()>*>(f))();
  ::_exit(exit_returned);
}

}  // namespace

SharedMemory::SharedMemory(std::size_t bytes)
    : bytes_(std::max<std::size_t>(bytes, 1)),
      data_(::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
  if (data_ == MAP_FAILED) throw host_out_of_memory(bytes);
}

SharedMemory::~SharedMemory() {
  ::munmap(data_, bytes_);
}

CallEnd call_with_own_signals(const std::function<void()>& f) {
  if (in_this_process) {
    f();
    return CallEnd::returned;
  }
  const SharedMemory stack(stack_bytes);
  if (::mprotect(stack.data(), guard_bytes, PROT_NONE) != 0) throw host_out_of_memory(stack_bytes);
  const HandlersWait wait;
  void* argument = const_cast<std::function<void()>*>(&f);  // NOLINT(*-const-cast): the type of clone()
  const pid_t process =  // CLONE_VFORK returns when the new process has ended
      ::clone(run_in_new_process, static_cast<char*>(stack.data()) + stack_bytes,  // NOLINT(*-vararg)
              CLONE_VM | CLONE_VFORK, argument);
  if (process < 0) throw host_out_of_memory(stack_bytes);
  int status = 0;
  while (::waitpid(process, &status, __WCLONE) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status)) return CallEnd::killed;
  return WEXITSTATUS(status) == exit_raised ? CallEnd::raised : CallEnd::returned;
}

}  // namespace echelon::sparse_direct
