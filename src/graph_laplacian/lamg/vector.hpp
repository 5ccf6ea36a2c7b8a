// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/array.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon::lamg {

/// Allocates as Array does, in pages of 2 MiB where these pay: scattered accesses to pages of 4 KiB spend
/// much of their time on address translation.
template <class T>
struct ArrayAllocator {
  using value_type = T;
  ArrayAllocator() = default;
  template <class U>
  ArrayAllocator(const ArrayAllocator<U>& /*other*/) {}  // NOLINT(google-explicit-constructor)
  T* allocate(std::size_t count) {
    return static_cast<T*>(memory_detail::allocate(Device::serial(), count * sizeof(T)));
  }
  void deallocate(T* elements, std::size_t /*count*/) noexcept {
    memory_detail::deallocate(Device::serial(), elements);
  }
  friend bool operator==(const ArrayAllocator&, const ArrayAllocator&) { return true; }
};

/// std::vector in the memory of arrays.
template <class T>
using Vector = std::vector<T, ArrayAllocator<T>>;

/// A vertex as an index of a Vector.
constexpr std::size_t index(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

}  // namespace echelon::lamg
