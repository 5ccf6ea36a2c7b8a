// SPDX-License-Identifier: BSD-3-Clause
/// Operands of a factorisation on a GPU.
#pragma once

#include <cstddef>
#include <cstdint>

namespace echelon::sparse_direct {

/// Matrix that a solve is for: the user's, or the one with scaled rows and columns, which was factored.
enum class Equilibrated : bool { no, yes };

/// Device memory that a factorisation takes, in bytes.
struct DeviceFactorMemory {
  std::size_t factor = 0;  ///< kept
  std::size_t stack = 0;   ///< during the factorisation, with working memory
  std::size_t maps = 0;    ///< kept: places of elements, relative indices, pivots
  [[nodiscard]] std::size_t total() const { return factor + stack + maps; }
};

/// A square CSR matrix of the pattern that was analysed, in device memory.
template <class T>
struct DeviceElements {
  const std::int64_t* row_offsets;
  const std::int32_t* columns;
  const T* values;
};

}  // namespace echelon::sparse_direct
