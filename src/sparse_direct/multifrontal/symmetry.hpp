// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/device.hpp>
#include <echelon/matrix/csr.hpp>

#include <cstdint>
#include <optional>

namespace echelon::sparse_direct {

/// Position in a matrix, counted from 0.
struct Place {
  std::int64_t row = 0;
  std::int64_t column = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

/// Whether a square matrix on the host, whose rows ascend, stores a_ji wherever it stores a_ij. O(n +
/// nonzeros) time.
template <class T>
[[nodiscard]] bool has_symmetric_pattern(const Csr<T>& a);

/// First row i, and in it the first column j < i, where a_ij and a_ji differ by more than rounding errors;
/// empty if A is symmetric. A is square and on the host, and its rows ascend. One pass in O(n + nonzeros), or
/// on many threads of `host` a search in row j for each element a_ij below the diagonal.
template <class T>
[[nodiscard]] std::optional<Place> find_asymmetry(const Csr<T>& a, const Device& host);

}  // namespace echelon::sparse_direct
