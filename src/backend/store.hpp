// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/annotate.hpp>

namespace echelon {

/// Writes the result of a reduction to the backend's memory.
template <class V>
struct Store {
  V* target;
  ECHELON_ANYWHERE void operator()(V value) const { *target = value; }
};

}  // namespace echelon
