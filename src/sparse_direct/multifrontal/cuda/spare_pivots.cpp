// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/multifrontal/cuda/spare_pivots.hpp"

#include "dense/tiles/indefinite_work.hpp"

#include <cstddef>
#include <utility>

namespace echelon::sparse_direct::gpu {

namespace {

/// Number of spare pivots. Fronts with a single block of pivots need none: they reject no column.
std::int32_t spare_pivots(std::int32_t pivots) {
  return pivots <= tiles::indefinite_width ? 0 : 16 + pivots / 16;
}

}  // namespace

SpareSymbolic add_spare_pivots(SymbolicFactor symbolic) {
  const std::size_t count = symbolic.parent.size();
  SpareSymbolic result{std::move(symbolic), std::vector<std::int32_t>(count)};
  SymbolicFactor& factor = result.symbolic;
  std::vector<std::int32_t> new_column(static_cast<std::size_t>(factor.n));
  std::vector<std::int32_t> permutation;
  permutation.reserve(static_cast<std::size_t>(factor.n));
  std::int32_t begin = 0;  // of the supernode, in the old numbering
  for (std::size_t s = 0; s < count; ++s) {
    const std::int32_t end = factor.supernode_begin[s + 1];
    result.spare[s] = spare_pivots(end - begin);
    factor.supernode_begin[s] = static_cast<std::int32_t>(permutation.size());
    for (std::int32_t j = begin; j < end; ++j) {
      new_column[static_cast<std::size_t>(j)] = static_cast<std::int32_t>(permutation.size());
      permutation.push_back(factor.permutation[static_cast<std::size_t>(j)]);
    }
    permutation.insert(permutation.end(), static_cast<std::size_t>(result.spare[s]), -1);
    begin = end;
  }
  if (count > 0) factor.supernode_begin[count] = static_cast<std::int32_t>(permutation.size());
  for (std::int64_t j = begin; j < factor.n; ++j) {  // the border
    new_column[static_cast<std::size_t>(j)] = static_cast<std::int32_t>(permutation.size());
    permutation.push_back(factor.permutation[static_cast<std::size_t>(j)]);
  }
  factor.n = std::ssize(permutation);
  factor.permutation = std::move(permutation);
  for (std::int32_t& row : factor.rows) row = new_column[static_cast<std::size_t>(row)];
  return result;
}

}  // namespace echelon::sparse_direct::gpu
