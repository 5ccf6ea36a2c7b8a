// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace echelon::test {

/// Rows, columns and rank of a matrix.
struct Shape {
  std::int64_t m, n, rank;
};

}  // namespace echelon::test
