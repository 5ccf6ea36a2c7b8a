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

/// Key of a matrix. O(n + nonzeros) time, about a nanosecond each.
template <class T>
[[nodiscard]] PatternKey pattern_key(const Csr<T>& a) {
  const auto scrambled = [](std::int64_t place, std::int64_t value) {
    return hash_bits((static_cast<std::uint64_t>(place) + 1) * golden_ratio_64 ^
                     static_cast<std::uint64_t>(value));
  };
  std::uint64_t hash = 0;
  for (std::int64_t i = 0; i <= a.rows() && a.row_offsets().size() > 0; ++i)
    hash += scrambled(~i, a.row_offsets()[i]);
  for (std::int64_t k = 0; k < a.nonzeros(); ++k) hash += scrambled(k, a.column_indices()[k]);
  return {a.rows(), a.nonzeros(), hash};
}

}  // namespace echelon::sparse_direct
