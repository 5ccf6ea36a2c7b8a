// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "backend/dispatch.hpp"

#include <echelon/array.hpp>

#include <cstdint>

namespace echelon {

/// For each element of a target array, the elements of a source array whose sum it is: those at
/// indices[offsets[k]], ..., indices[offsets[k + 1] - 1], or the one at indices[k] if there are no offsets.
struct GatherMap {
  Array<std::int64_t> offsets;
  Array<std::int64_t> indices;
  [[nodiscard]] std::size_t bytes() const { return offsets.bytes() + indices.bytes(); }
};

template <class Target, class T>
void gather_on(const Device& device, const GatherMap& map, const T* from, std::int64_t count, T* to);

/// Computes the `count` elements of `to`; the terms of a sum are added in their order. Does not wait.
template <class T>
void gather(const Device& device, const GatherMap& map, const T* from, std::int64_t count, T* to) {
  on_target<targets_of<T>>(device,
                           [&]<class Target>() { gather_on<Target, T>(device, map, from, count, to); });
}

}  // namespace echelon
