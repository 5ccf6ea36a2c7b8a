// SPDX-License-Identifier: BSD-3-Clause
/// Layout of a factorisation on the host: panels of the fronts one after the other, and the elements of A by
/// the lines of these.
#pragma once

#include "sparse_direct/multifrontal/fronts/front_layout.hpp"

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

struct PanelLayout : FrontLayout {
  /// FrontPart::columns; places are positions of rows. Of elements in the rows and columns of a border, they
  /// are rows of the permuted matrix.
  ElementMap columns;
  /// FrontPart::rows; places count from the first row below the pivots.
  ElementMap rows;
  std::vector<std::int64_t> panel_begin;  ///< S + 1 offsets of the factors of each front
  std::int32_t largest_front = 0;

  /// Number of elements of the factors of a front with `pivots` pivots.
  [[nodiscard]] std::int64_t panel_entries(std::int64_t pivots, std::int64_t rows_below) const;
  [[nodiscard]] std::size_t bytes() const;
};

/// Lays out a factorisation of a square matrix on the host with the pattern that `tree` was made for; see
/// lay_out(). Collecting fronts are inserted. O(nonzeros) time in addition.
template <class T>
[[nodiscard]] PanelLayout lay_out_panels(SymbolicFactor tree, FactorKind kind, const Csr<T>& a,
                                         std::span<const std::int32_t> row_permutation = {}, int threads = 1);

}  // namespace echelon::sparse_direct
