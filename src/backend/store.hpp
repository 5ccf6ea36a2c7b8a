// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/annotate.hpp>

#include <cstdint>

namespace echelon {

/// Writes the result of a reduction to the backend's memory.
template <class V>
struct Store {
  V* target;
  ECHELON_ANYWHERE void operator()(V value) const { *target = value; }
};

/// Sets target[i] = i.
template <class I>
struct Iota {
  I* target;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { target[i] = static_cast<I>(i); }
};
template <class I>
Iota(I*) -> Iota<I>;

/// Copies to[k] = from[indices[k]].
template <class T, class Index>
struct GatherElement {
  const Index* indices;
  const T* from;
  T* to;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const { to[k] = from[indices[k]]; }
};
template <class T, class Index>
GatherElement(const Index*, const T*, T*) -> GatherElement<T, Index>;

}  // namespace echelon
