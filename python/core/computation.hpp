// SPDX-License-Identifier: BSD-3-Clause
/// Computations that run without Python's lock, and what ends them early.
#pragma once

#include <echelon/cancellation.hpp>

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <utility>

namespace echelon::python {

namespace nb = nanobind;

/// Python's lock given up while this exists. When the interpreter ends, threads that come back for the lock
/// stay here, and CPython does not see them: before 3.14 it ends such a thread by unwinding its stack,
/// through functions of C++ that must not throw.
class Unlocked {
 public:
  Unlocked();
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

/// Python's lock taken while this exists, also by a thread that has it already.
class Locked {
 public:
  Locked();
  ~Locked();
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  bool outside_;  ///< whether the thread had given the lock up
  PyGILState_STATE state_;
};

/// Has the computations of other threads cancelled when the interpreter ends, which waits a few seconds for
/// them. From then on other threads neither begin a computation nor return from one.
void bind_interpreter_end(nb::module_& module);

/// A Python object, or none. Copies may be made and destroyed without Python's lock.
class SharedObject {
 public:
  SharedObject() = default;
  explicit SharedObject(nb::object object);

  explicit operator bool() const { return object_ != nullptr; }
  /// The object; None if there is none.
  [[nodiscard]] nb::object get() const { return object_ ? *object_ : nb::none(); }

 private:
  std::shared_ptr<const nb::object> object_;
};

/// Turns the end of the interpreter into a request to stop while it exists, and Ctrl-C for computations on
/// the main thread under Python's own handler of SIGINT. The handler of the process is replaced by one that
/// sets `flag` and calls the one before, so that no thread has to watch, and nothing has to be restarted
/// after a fork.
class InterruptGuard {
 public:
  explicit InterruptGuard(bool long_enough);
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  [[nodiscard]] std::atomic<bool>& flag() { return flag_; }
  /// Raises KeyboardInterrupt after Ctrl-C.
  void check() const;

 private:
  std::atomic<bool> flag_ = false;
  std::atomic<bool>* outer_ = nullptr;
  bool active_ = false;
};

/// Elements below which a computation ends sooner than a user can interrupt it.
inline constexpr std::int64_t interruptible_elements = 1000;

/// Calls f(flag) without Python's lock, where f tests `flag`, a std::atomic<bool>, from time to time.
template <class F>
auto compute(std::int64_t elements, const F& f) {
  InterruptGuard guard(elements >= interruptible_elements);
  auto result = [&] {
    const Unlocked unlocked;
    return f(guard.flag());
  }();
  guard.check();
  return result;
}

}  // namespace echelon::python
