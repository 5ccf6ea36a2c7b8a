// SPDX-License-Identifier: BSD-3-Clause
#include "matrix/row_blocks.hpp"

namespace echelon {

RowBlocks make_row_blocks(std::int64_t /*rows*/, std::int64_t /*nonzeros*/,
                          const Array<std::int64_t>& row_offsets) {
  require(row_offsets.device());  // throws NotBuilt: no device but the host exists in this build
  return {};
}

RowStencils find_row_stencils(std::int64_t /*rows*/, const Array<std::int64_t>& row_offsets,
                              const Array<std::int32_t>& /*column_indices*/,
                              const Array<std::int64_t>& /*starts*/) {
  require(row_offsets.device());  // throws NotBuilt, too
  return {};
}

std::vector<RowBlocks> make_row_blocks(const Device& device, std::span<const RowPattern> /*patterns*/) {
  require(device);
  return {};
}

}  // namespace echelon
