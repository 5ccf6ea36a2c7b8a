// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <vector>

namespace echelon {

/// Bytes of the elements of a vector.
template <class V, class Allocator>
[[nodiscard]] std::size_t bytes_of(const std::vector<V, Allocator>& v) {
  return v.size() * sizeof(V);
}

}  // namespace echelon
