// SPDX-License-Identifier: BSD-3-Clause
/// The arrays of a Csr in memory that the caller owns.
#pragma once

#include "backend/api_boundary.hpp"

#include <echelon/array.hpp>
#include <echelon/error.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace echelon {

inline void check_array(const void* data, std::int64_t size) {
  if (data != nullptr || size <= 0) return;
  throw InvalidMatrix("an array of " + std::to_string(size) + " elements is given by a null pointer");
}

/// Borrows const elements as the mutable array that Csr keeps; a view only hands out a const Csr.
template <class V>
Array<V> borrow(const Device& device, const V* data, std::int64_t size) {
  check_array(data, size);
  return Array<V>::borrow(device, const_cast<V*>(data), size);
}

/// A copy of 32-bit offsets; those of a GPU come by way of the host.
inline Array<std::int64_t> widen(const Device& device, const std::int32_t* row_offsets, std::int64_t size) {
  check_array(row_offsets, size);
  return at_api_boundary([&]() -> Array<std::int64_t> {
    std::vector<std::int32_t> narrow(static_cast<std::size_t>(size));
    memory_detail::copy(Device::serial(), narrow.data(), device, row_offsets,
                        narrow.size() * sizeof(std::int32_t));
    const std::vector<std::int64_t> wide(narrow.begin(), narrow.end());
    return {device, std::span<const std::int64_t>(wide)};
  });
}

}  // namespace echelon
