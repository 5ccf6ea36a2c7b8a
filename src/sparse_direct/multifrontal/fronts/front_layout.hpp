// SPDX-License-Identifier: BSD-3-Clause
/// Index lists of a numeric factorisation on any device, computed once for a pattern.
#pragma once

#include "sparse_direct/multifrontal/fronts/collecting_fronts.hpp"
#include "sparse_direct/multifrontal/fronts/factor_kind.hpp"
#include "sparse_direct/symbolic/symbolic_factor.hpp"
#include "support/uninitialized_vector.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace echelon::sparse_direct {

/// The assembly tree with the children of each front, and the positions of their update matrices. A position
/// in a front counts its pivots first, then its rows. Sizes are those of a factorisation that delays no
/// pivot.
struct FrontLayout {
  SymbolicFactor tree;
  FactorKind kind = FactorKind::cholesky;
  /// Row of A that is row k in the new numbering; the columns are numbered by tree.permutation.
  std::vector<std::int32_t> row_permutation;
  /// Position in the parent's front of each entry of tree.rows; 0 in roots.
  UninitializedVector<std::int32_t> position_in_parent;
  std::vector<std::int32_t> child_begin;  ///< S + 1 offsets into children
  std::vector<std::int32_t> children;     ///< of each supernode, ascending

  [[nodiscard]] bool symmetric() const { return is_symmetric(kind); }
  [[nodiscard]] std::span<const std::int32_t> children_of(std::int64_t s) const {
    return std::span(children).subspan(static_cast<std::size_t>(child_begin[s]),
                                       static_cast<std::size_t>(child_begin[s + 1] - child_begin[s]));
  }
  [[nodiscard]] std::span<const std::int32_t> positions_of(std::int64_t s) const {
    return std::span<const std::int32_t>(position_in_parent)
        .subspan(static_cast<std::size_t>(tree.row_begin[s]), static_cast<std::size_t>(below(s)));
  }
  /// True for a front that adds the update matrices of its children as they are made.
  [[nodiscard]] bool collects(std::int64_t s) const { return is_collecting(tree, s); }
  /// Number of fronts that collect nothing.
  [[nodiscard]] std::int64_t supernodes() const;
  /// Number of rows of a front below its pivots.
  [[nodiscard]] std::int64_t below(std::int64_t s) const { return tree.row_begin[s + 1] - tree.row_begin[s]; }
  /// Elements of the factors, of L and U one diagonal, and flops of the factorisation.
  [[nodiscard]] std::int64_t factor_entries() const;
  [[nodiscard]] double factor_flops() const;
  [[nodiscard]] std::size_t bytes() const;
};

/// Lays out a factorisation with the assembly tree `tree`. For FactorKind::lu that is the tree of
/// P A + (P A)^T: row k of P A is row row_permutation[k] of A; an empty permutation is the identity. O(n +
/// rows) time with the logarithms of the distances between neighbouring positions, on `threads` threads.
[[nodiscard]] FrontLayout lay_out(SymbolicFactor tree, FactorKind kind,
                                  std::span<const std::int32_t> row_permutation = {}, int threads = 1);

/// Place of each of n rows or columns in a permutation of these, which may have additional entries of -1.
[[nodiscard]] std::vector<std::int32_t> places_in(std::span<const std::int32_t> permutation, std::int64_t n);

/// Part of the front that stores an element of A.
enum class FrontPart {
  none,     ///< of the strict upper triangle in a symmetric factorisation
  columns,  ///< the fully summed columns
  rows,     ///< the fully summed rows to the right of these; of lu alone
};

/// Rule by which elements of A are assigned to fronts, in the new numbering. Elements in the rows and columns
/// of a border are in its columns.
class ElementRule {
 public:
  explicit ElementRule(const FrontLayout& layout);
  [[nodiscard]] FrontPart part(std::int32_t row, std::int32_t column) const {
    if (symmetric_) return column <= row ? FrontPart::columns : FrontPart::none;
    return supernode_[column] <= supernode_[row] ? FrontPart::columns : FrontPart::rows;
  }
  /// Supernode with the pivot k; the number of supernodes for a row of a border.
  [[nodiscard]] std::int32_t supernode(std::int32_t k) const { return supernode_[k]; }

 private:
  bool symmetric_;
  std::vector<std::int32_t> supernode_;
};

}  // namespace echelon::sparse_direct
