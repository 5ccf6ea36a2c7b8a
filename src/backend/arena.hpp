// SPDX-License-Identifier: BSD-3-Clause
/// Temporary arrays in one allocation.
#pragma once

#include <echelon/array.hpp>
#include <echelon/device.hpp>

#include <cstdint>

namespace echelon {

/// Memory for temporary arrays of known sizes: allocating and freeing one on a GPU takes about as long as a
/// kernel of a few thousand threads.
class Arena {
 public:
  /// Bytes of `count` elements, to be added up for all arrays of an arena.
  template <class T>
  [[nodiscard]] static std::int64_t bytes(std::int64_t count) {
    return (count * static_cast<std::int64_t>(sizeof(T)) + alignment - 1) / alignment * alignment;
  }
  Arena() = default;
  Arena(const Device& device, std::int64_t bytes) : memory_(device, bytes) {}

  /// The next `count` elements, uninitialised. The arena has to be large enough and to outlive them.
  template <class T>
  [[nodiscard]] T* take(std::int64_t count) {
    auto* const begin = memory_.data() + used_;
    used_ += bytes<T>(count);
    return reinterpret_cast<T*>(begin);
  }

 private:
  static constexpr std::int64_t alignment = 64;
  Array<unsigned char> memory_;
  std::int64_t used_ = 0;
};

}  // namespace echelon
