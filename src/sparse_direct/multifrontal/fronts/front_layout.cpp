// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/multifrontal/fronts/front_layout.hpp"

#include "support/vector_bytes.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

namespace {

void find_children(FrontLayout& layout) {
  const SymbolicFactor& tree = layout.tree;
  layout.child_begin.assign(tree.parent.size() + 2, 0);
  for (const std::int32_t p : tree.parent) {
    if (p >= 0) ++layout.child_begin[p + 2];
  }
  std::partial_sum(layout.child_begin.begin(), layout.child_begin.end(), layout.child_begin.begin());
  layout.children.resize(static_cast<std::size_t>(layout.child_begin.back()));
  for (std::int32_t s = 0; s < tree.supernodes(); ++s) {
    if (tree.parent[s] >= 0) layout.children[layout.child_begin[tree.parent[s] + 1]++] = s;
  }
  layout.child_begin.pop_back();
}

/// Position of the first of ascending rows that is not less than `row`; the search begins at `first`.
const std::int32_t* find_from(const std::int32_t* first, const std::int32_t* end, std::int32_t row) {
  std::ptrdiff_t step = 1;
  while (step < end - first && first[step] < row) {
    first += step;
    step *= 2;
  }
  return std::lower_bound(first, first + std::min(step + 1, end - first), row);
}

void find_positions(FrontLayout& layout, int threads) {
  const SymbolicFactor& tree = layout.tree;
  layout.position_in_parent.resize(tree.rows.size());
#pragma omp parallel for num_threads(threads) schedule(dynamic, 256) if (threads > 1)
  for (std::int64_t s = 0; s < tree.supernodes(); ++s) {
    const auto rows = tree.rows_of(s);
    std::int32_t* position = layout.position_in_parent.data() + tree.row_begin[s];
    const std::int32_t parent = tree.parent[s];
    if (parent < 0) {
      std::fill_n(position, rows.size(), 0);
      continue;
    }
    const std::int32_t first = tree.supernode_begin[parent];
    const std::int32_t pivots = tree.supernode_begin[parent + 1] - first;
    const std::int32_t* const parent_rows = tree.rows.data() + tree.row_begin[parent];
    const std::int32_t* const end = parent_rows + layout.below(parent);
    const std::int32_t* found = parent_rows;
    for (const std::int32_t row : rows) {
      if (row < first + pivots) {
        *position++ = row - first;
      } else {
        found = find_from(found, end, row);
        *position++ = pivots + static_cast<std::int32_t>(found - parent_rows);
      }
    }
  }
}

}  // namespace

std::size_t FrontLayout::bytes() const {
  return bytes_of(row_permutation) + bytes_of(tree.permutation) + bytes_of(tree.supernode_begin) +
         bytes_of(tree.parent) + bytes_of(tree.row_begin) + bytes_of(tree.rows) +
         bytes_of(position_in_parent) + bytes_of(child_begin) + bytes_of(children);
}

std::int64_t FrontLayout::supernodes() const {
  std::int64_t count = 0;
  for (std::int64_t s = 0; s < tree.supernodes(); ++s) count += collects(s) ? 0 : 1;
  return count;
}

std::int64_t FrontLayout::factor_entries() const {
  return symmetric() ? tree.factor_entries : 2 * tree.factor_entries - tree.interior();
}

double FrontLayout::factor_flops() const {
  return symmetric() ? tree.flops : 2 * tree.flops;
}

FrontLayout lay_out(SymbolicFactor tree, FactorKind kind, std::span<const std::int32_t> row_permutation,
                    int threads) {
  FrontLayout layout;
  layout.kind = kind;
  layout.tree = std::move(tree);
  layout.row_permutation = layout.tree.permutation;
  if (!row_permutation.empty()) {
    for (std::int32_t& row : layout.row_permutation) row = row_permutation[row];
  }
  find_children(layout);
  find_positions(layout, threads);
  return layout;
}

std::vector<std::int32_t> places_in(std::span<const std::int32_t> permutation, std::int64_t n) {
  std::vector<std::int32_t> places(static_cast<std::size_t>(n));
  for (std::size_t k = 0; k < permutation.size(); ++k) {
    if (permutation[k] >= 0) places[static_cast<std::size_t>(permutation[k])] = static_cast<std::int32_t>(k);
  }
  return places;
}

ElementRule::ElementRule(const FrontLayout& layout)
    : symmetric_(layout.symmetric()), supernode_(static_cast<std::size_t>(layout.tree.n)) {
  const SymbolicFactor& tree = layout.tree;
  for (std::int32_t s = 0; s < tree.supernodes(); ++s) {
    std::fill(supernode_.begin() + tree.supernode_begin[s], supernode_.begin() + tree.supernode_begin[s + 1],
              s);
  }
  std::fill(supernode_.begin() + tree.interior(), supernode_.end(),
            static_cast<std::int32_t>(tree.supernodes()));
}

}  // namespace echelon::sparse_direct
