// SPDX-License-Identifier: BSD-3-Clause
/// Index lists and offsets of a numeric factorisation, computed once for a pattern.
#pragma once

#include "sparse_direct/multifrontal/fronts/collecting_fronts.hpp"
#include "sparse_direct/symbolic/symbolic_factor.hpp"

#include <echelon/matrix/csr.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace echelon::sparse_direct {

/// Places in the CSR arrays of A; 32 bits each where they suffice.
class ElementSources {
 public:
  void resize(std::int64_t count, std::int64_t nonzeros);
  void set(std::int64_t k, std::int64_t source);
  [[nodiscard]] std::int64_t operator[](std::int64_t k) const {
    return wide_.empty() ? narrow_[static_cast<std::size_t>(k)] : wide_[static_cast<std::size_t>(k)];
  }
  [[nodiscard]] std::size_t bytes() const;

 private:
  std::vector<std::uint32_t> narrow_;
  std::vector<std::int64_t> wide_;
};

/// Elements of A for one part of the fronts: element k is values[source[k]] and belongs to line j (a pivot
/// column or a pivot row, in the new numbering) for k in [begin[j], begin[j + 1]), at `place[k]` of the front
/// that eliminates line j.
struct ElementMap {
  std::vector<std::int64_t> begin;  // n + 1
  ElementSources source;
  std::vector<std::int32_t> place;
};

enum class FactorKind {
  cholesky,  ///< A = L L^T
  ldlt,      ///< A = L D L^T with pivots of order one and two
  lu,        ///< A = L U
};

/// The flat arrays of a numeric factorisation. A position in a front counts its pivots first, then its rows.
/// Sizes are those of a factorisation that delays no pivot.
struct FrontLayout {
  SymbolicFactor tree;  ///< with_collecting_fronts
  FactorKind kind = FactorKind::cholesky;
  /// Row of A that is row k in the new numbering; the columns are numbered by tree.permutation.
  std::vector<std::int32_t> row_permutation;
  /// Position in the parent's front of each entry of tree.rows.
  std::vector<std::int32_t> position_in_parent;
  std::vector<std::int32_t> child_begin;  ///< S + 1 offsets into children
  std::vector<std::int32_t> children;     ///< of each supernode, ascending
  /// Elements of columns: those of the lower triangle when symmetric, else those in a pivot column of their
  /// front; places are positions of rows. Elements in the rows and columns of a border are in its columns,
  /// and their places are rows of the permuted matrix.
  ElementMap columns;
  /// Unsymmetric: elements right of the pivot columns; places count from the first row below the pivots.
  ElementMap rows;
  std::vector<std::int64_t> panel_begin;  ///< S + 1 offsets of the factors of each front
  std::int32_t largest_front = 0;

  [[nodiscard]] bool symmetric() const { return kind != FactorKind::lu; }
  [[nodiscard]] std::span<const std::int32_t> children_of(std::int64_t s) const {
    return std::span(children).subspan(static_cast<std::size_t>(child_begin[s]),
                                       static_cast<std::size_t>(child_begin[s + 1] - child_begin[s]));
  }
  [[nodiscard]] std::span<const std::int32_t> positions_of(std::int64_t s) const {
    return std::span(position_in_parent)
        .subspan(static_cast<std::size_t>(tree.row_begin[s]),
                 static_cast<std::size_t>(tree.row_begin[s + 1] - tree.row_begin[s]));
  }
  /// True for a front that adds the update matrices of its children as they are made.
  [[nodiscard]] bool collects(std::int64_t s) const { return is_collecting(tree, s); }
  /// Number of fronts that collect nothing.
  [[nodiscard]] std::int64_t supernodes() const;
  /// Number of rows of a front below its pivots.
  [[nodiscard]] std::int64_t below(std::int64_t s) const { return tree.row_begin[s + 1] - tree.row_begin[s]; }
  /// Number of elements of the factors of a front with `pivots` pivots.
  [[nodiscard]] std::int64_t panel_entries(std::int64_t pivots, std::int64_t rows_below) const;
  [[nodiscard]] std::size_t bytes() const;
};

/// Lays out a factorisation of a square matrix on the host with the pattern that `tree` was made for. For
/// FactorKind::lu that is the pattern of P A + (P A)^T: row k of P A is row row_permutation[k] of A; an empty
/// permutation is the identity. Collecting fronts are inserted. O(n + nonzeros + rows) time.
template <class T>
[[nodiscard]] FrontLayout lay_out(SymbolicFactor tree, FactorKind kind, const Csr<T>& a,
                                  std::span<const std::int32_t> row_permutation = {});

}  // namespace echelon::sparse_direct
