// SPDX-License-Identifier: BSD-3-Clause
#include "computation.hpp"

#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace echelon::python {

namespace {

// A signal handler has no other state than globals. Only the main thread writes them.
std::atomic<std::atomic<bool>*> innermost = nullptr;
struct sigaction pythons_action = {};

extern "C" void echelon_on_interrupt(int signal) {
  const int saved_errno = errno;
  if (std::atomic<bool>* flag = innermost.load()) flag->store(true, std::memory_order_relaxed);
  pythons_action.sa_handler(signal);
  errno = saved_errno;
}

bool is_main_thread() {
  return gettid() == getpid();
}

/// Whether Ctrl-C raises KeyboardInterrupt. A program with another handler may not want to stop.
bool raises_keyboard_interrupt() {
  const nb::module_ signal = nb::module_::import_("signal");
  return signal.attr("getsignal")(SIGINT).is(signal.attr("default_int_handler"));
}

}  // namespace

SharedObject::SharedObject(nb::object object) {
  if (object.is_none()) return;
  object_ = std::shared_ptr<const nb::object>(new nb::object(std::move(object)), [](const nb::object* held) {
    const nb::gil_scoped_acquire lock;
    delete held;
  });
}

InterruptGuard::InterruptGuard(bool long_enough)
    : active_(long_enough && is_main_thread() && raises_keyboard_interrupt()) {
  if (!active_) return;
  outer_ = innermost.exchange(&flag_);
  if (outer_ != nullptr) return;  // a computation in a callback of another: the handler is in place
  struct sigaction action = {};
  action.sa_handler = echelon_on_interrupt;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGINT, nullptr, &pythons_action);
  sigaction(SIGINT, &action, nullptr);
}

InterruptGuard::~InterruptGuard() {
  if (!active_) return;
  if (outer_ == nullptr) sigaction(SIGINT, &pythons_action, nullptr);
  if (outer_ != nullptr && flag_) outer_->store(true);
  innermost = outer_;
}

void InterruptGuard::check() const {
  if (active_ && flag_ && PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace echelon::python
