// SPDX-License-Identifier: BSD-3-Clause
/// Numbering of rows and columns of a band matrix.
#pragma once

#include "sparse_direct/banded/assemble.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/csr.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon::banded {

/// Row and column i of the band is row and column order[i] of A; empty: A's own numbering.
struct BandOrder {
  Array<std::int32_t> order;    ///< in the memory of the device that works on the band
  Array<std::int32_t> inverse;  ///< inverse[order[i]] = i
  std::vector<std::int32_t> host_order;

  /// Computes the order for a square A on the host; the band is on `device`.
  template <class T>
  [[nodiscard]] static BandOrder reverse_cuthill_mckee(const Csr<T>& A, const Device& device);

  [[nodiscard]] bool natural() const { return host_order.empty(); }

  /// Row or column of A for row or column i of the band.
  [[nodiscard]] std::int64_t original(std::int64_t i) const {
    return natural() ? i : host_order[static_cast<std::size_t>(i)];
  }
  /// Replaces row or column numbers of the band by those of A, in ascending order.
  void number_originally(std::vector<std::int64_t>& numbers) const;
  [[nodiscard]] std::size_t bytes() const { return order.bytes() + inverse.bytes(); }
};

/// View of A in the order of the band; refers to both.
template <class T>
[[nodiscard]] OrderedMatrix<T> ordered(const Csr<T>& A, const BandOrder& order) {
  return {A.row_offsets().data(), A.column_indices().data(), A.values().data(), order.order.data(),
          order.inverse.data()};
}

}  // namespace echelon::banded
