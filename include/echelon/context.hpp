// SPDX-License-Identifier: BSD-3-Clause
/// Scratch memory and library handles that operations use besides their operands.
#pragma once

#include <echelon/device.hpp>

#include <memory>

namespace echelon {

// For code inside the library: src/linalg/context.hpp.
class ContextState;
struct ContextAccess;

/// Where operations run, and what they keep from call to call: scratch memory, and on a GPU cuBLAS's handle.
/// Everything is made when it is first needed, so that on a GPU an operation that is repeated with the same
/// context neither allocates nor, for that reason, waits. Used by one thread at a time; threads that work
/// side by side have one each.
class Context {
 public:
  /// Throws NotBuilt, NoDevice.
  explicit Context(const Device& device);
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;
  ~Context();

  [[nodiscard]] const Device& device() const { return device_; }

 private:
  friend struct ContextAccess;

  Device device_;
  std::unique_ptr<ContextState> state_;
};

}  // namespace echelon
