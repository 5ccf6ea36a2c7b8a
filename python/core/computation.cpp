// SPDX-License-Identifier: BSD-3-Clause
#include "computation.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <iterator>
#include <thread>
#include <vector>

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

// What the end of the interpreter has to know.
std::atomic<pid_t> ending_thread = 0;  // the one that ends the interpreter
std::atomic<int> outside = 0;          // threads in an Unlocked
std::atomic<int> returning = 0;        // threads among these that take the lock
thread_local bool is_outside = false;
std::vector<std::atomic<bool>*> flags_of_computations;  // protected by Python's lock

/// Whether the interpreter ends by another thread than this one.
bool is_over() {
  const pid_t ending = ending_thread;
  return ending != 0 && ending != gettid();
}

/// The end of a thread that would return to an interpreter that ends.
[[noreturn]] void stay_outside() {
  --outside;
  while (true) pause();
}

/// Announces that this thread takes the lock, unless the interpreter ends.
void begin_return() {
  ++returning;
  if (is_over()) {
    --returning;
    stay_outside();
  }
}

void end_return() {
  --returning;
  is_outside = false;
}

/// A child of a fork has one thread.
void forget_other_threads() {
  outside = is_outside ? 1 : 0;
  returning = 0;
}

}  // namespace

Unlocked::Unlocked() : state_(PyEval_SaveThread()) {
  ++outside;
  is_outside = true;
  if (is_over()) stay_outside();
}

Unlocked::~Unlocked() {
  begin_return();
  PyEval_RestoreThread(state_);
  end_return();
  --outside;
}

Locked::Locked() : outside_(is_outside) {
  if (outside_) begin_return();
  state_ = PyGILState_Ensure();
  if (outside_) end_return();
}

Locked::~Locked() {
  PyGILState_Release(state_);
  is_outside = outside_;
}

namespace {

void end_computations() {
  constexpr auto longest = std::chrono::seconds(5);
  ending_thread = gettid();
  for (std::atomic<bool>* const flag : flags_of_computations) *flag = true;
  const Unlocked unlocked;
  const auto begin = std::chrono::steady_clock::now();
  while ((outside > 1 || returning > 0) && std::chrono::steady_clock::now() - begin < longest)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace

void bind_interpreter_end(nb::module_& module) {
  module.def("end_computations", end_computations);
  nb::module_::import_("atexit").attr("register")(module.attr("end_computations"));
  pthread_atfork(nullptr, nullptr, forget_other_threads);
}

SharedObject::SharedObject(nb::object object) {
  if (object.is_none()) return;
  object_ = std::shared_ptr<const nb::object>(new nb::object(std::move(object)), [](const nb::object* held) {
    const Locked lock;
    delete held;
  });
}

InterruptGuard::InterruptGuard(bool long_enough)
    : active_(long_enough && is_main_thread() && raises_keyboard_interrupt()) {
  flags_of_computations.push_back(&flag_);
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
  const auto own = std::find(flags_of_computations.rbegin(), flags_of_computations.rend(), &flag_);
  flags_of_computations.erase(std::next(own).base());
  if (!active_) return;
  if (outer_ == nullptr) sigaction(SIGINT, &pythons_action, nullptr);
  if (outer_ != nullptr && flag_) outer_->store(true);
  innermost = outer_;
}

void InterruptGuard::check() const {
  if (active_ && flag_ && PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace echelon::python
