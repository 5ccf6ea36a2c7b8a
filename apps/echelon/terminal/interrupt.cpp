// SPDX-License-Identifier: BSD-3-Clause
#include "terminal/interrupt.hpp"

#include "terminal/terminal.hpp"

#include <semaphore.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>

namespace echelon::tool {

namespace {

constexpr std::array signals = {SIGINT, SIGTERM};

// Globals, since a signal handler has no other state. Blocking the signals and waiting for them with sigwait
// is not possible: some BLAS libraries start threads that do not block them before main.
sem_t watcher_semaphore;
std::atomic<bool> stop_requested = false;

extern "C" void echelon_on_signal(int /*signal*/) {
  const int saved_errno = errno;
  stop_requested = true;
  for (const int number : signals) std::signal(number, SIG_DFL);  // the second signal ends the process
  sem_post(&watcher_semaphore);
  errno = saved_errno;
}

}  // namespace

Interrupt::Interrupt(bool quiet) {
  stop_requested = false;
  sem_init(&watcher_semaphore, 0, 0);
  watcher_ = std::thread([stop = stop_, quiet]() mutable {
    while (sem_wait(&watcher_semaphore) != 0 && errno == EINTR) {
    }
    if (!stop_requested) return;  // woken by the destructor
    stop.request_stop();
    if (!quiet) print_note("stopping at the next check; a second signal ends the process at once");
  });
  struct sigaction action = {};
  action.sa_handler = echelon_on_signal;
  action.sa_flags = SA_RESTART;
  for (const int number : signals) sigaction(number, &action, nullptr);
}

Interrupt::~Interrupt() {
  for (const int number : signals) std::signal(number, SIG_DFL);
  sem_post(&watcher_semaphore);
  watcher_.join();
  sem_destroy(&watcher_semaphore);
}

}  // namespace echelon::tool
