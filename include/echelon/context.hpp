// SPDX-License-Identifier: BSD-3-Clause
/// Scratch memory and library handles that operations use in addition to their operands.
#pragma once

#include <echelon/device.hpp>
#include <echelon/export.h>

#include <memory>

namespace echelon {

// For code inside the library: src/linalg/context.hpp.
class ContextState;
struct ContextAccess;

/// Device on which operations run, and the resources that they keep from call to call: scratch memory, and on
/// a GPU the cuBLAS handle. Resources are created on first use, so that on a GPU a repeated operation with
/// the same context neither allocates nor waits for an allocation. Not thread-safe: concurrent threads need a
/// context each.
class ECHELON_API Context {
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
