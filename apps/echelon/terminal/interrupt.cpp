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

// A handler has nothing but globals. A handler and a semaphore rather than blocked signals and sigwait: some
// BLAS libraries start their threads, with every signal open, before main.
sem_t wake_watcher;
std::atomic<bool> stop_asked = false;

extern "C" void echelon_on_signal(int /*signal*/) {
  const int saved_errno = errno;
  stop_asked = true;
  for (const int each : signals) std::signal(each, SIG_DFL);  // the next one ends the process
  sem_post(&wake_watcher);
  errno = saved_errno;
}

}  // namespace

Interrupt::Interrupt(bool quiet) {
  stop_asked = false;
  sem_init(&wake_watcher, 0, 0);
  watcher_ = std::thread([stop = stop_, quiet]() mutable {
    while (sem_wait(&wake_watcher) != 0 && errno == EINTR) {
    }
    if (!stop_asked) return;  // woken by the destructor
    stop.request_stop();
    if (!quiet) print_note("stopping as soon as the method allows; a second signal ends at once");
  });
  struct sigaction action = {};
  action.sa_handler = echelon_on_signal;
  action.sa_flags = SA_RESTART;
  for (const int each : signals) sigaction(each, &action, nullptr);
}

Interrupt::~Interrupt() {
  for (const int each : signals) std::signal(each, SIG_DFL);
  sem_post(&wake_watcher);
  watcher_.join();
  sem_destroy(&wake_watcher);
}

}  // namespace echelon::tool
