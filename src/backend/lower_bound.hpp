// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/annotate.hpp>

#include <cstdint>

namespace echelon {

/// First k in [begin, end) with ascending[k] >= value, or end: std::lower_bound for host and GPU.
template <class V, class W>
ECHELON_ANYWHERE inline std::int64_t lower_bound(const V* ascending, std::int64_t begin, std::int64_t end,
                                                 W value) {
  while (begin < end) {
    const std::int64_t middle = begin + (end - begin) / 2;
    if (ascending[middle] < value) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

}  // namespace echelon
