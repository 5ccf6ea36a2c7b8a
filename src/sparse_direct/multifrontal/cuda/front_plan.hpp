// SPDX-License-Identifier: BSD-3-Clause
/// Memory layout and order of work of a multifrontal factorisation on a GPU.
///
/// Fronts are processed by levels of the assembly tree, from the deepest to the roots: all children of a
/// front lie one level below it, so update matrices live for two levels only, at alternating ends of one
/// stack.
#pragma once

#include "sparse_direct/multifrontal/fronts/front_layout.hpp"
#include "support/uninitialized_vector.hpp"

#include <echelon/annotate.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace echelon::sparse_direct::gpu {

/// A front: a dense matrix of order `rows` whose first `pivots` rows and columns are eliminated. Its parts
/// are column-major:
///   panel      rows x pivots: L, and for LU, U on and above the diagonal
///   row panel  (rows - pivots) x pivots: the transpose of U right of the pivots; only for FactorKind::lu
///   update     (rows - pivots) squared: the Schur complement, added to the parent; a lower triangle in
///              symmetric factorisations
struct Front {
  std::int32_t pivots = 0;
  std::int32_t rows = 0;
  std::int32_t first = 0;        ///< first pivot's column of the permuted matrix
  std::int32_t child_begin = 0;  ///< in FrontLayout::children
  std::int32_t child_end = 0;
  std::int32_t spare = 0;      ///< the first spare pivot, of factors with a D; without any, `pivots`
  std::int64_t panel = 0;      ///< offset in the factor
  std::int64_t row_panel = 0;  ///< offset in the factor
  std::int64_t update = 0;     ///< offset in the stack
  std::int64_t border = 0;     ///< offset in SymbolicFactor::rows and in FrontLayout::position_in_parent
  std::int64_t inverse = 0;    ///< offset of the inverses of its diagonal blocks, if it has any
  std::int64_t vector = 0;     ///< offset of its `rows` elements in the vector of a solve
  std::int64_t counters = 0;   ///< offset of its FrontCounters in those of a solve
  std::int64_t parent_counters = 0;
  std::int32_t awaited_contributions = 0;  ///< tasks of the children, forward
  std::int32_t awaited_solutions = 0;      ///< tasks of the parent, backward
  std::int64_t grandparent_counters = 0;
  std::int32_t awaited_grandparent = 0;  ///< tasks of the parent's parent, backward
  std::int32_t border_in_parent = 0;  ///< rows of the border that are pivots of the parent, which come first
  std::int64_t work = 0;  ///< offset of its working memory in that of a level, for factors with a D
  std::int32_t parent = -1;
  std::int32_t level = 0;
  std::int32_t awaited_children = 0;    ///< small children, which signal that they are factored
  std::int32_t awaited_assemblies = 0;  ///< fronts of the level before, if one kernel factors both levels
};

/// Fronts of one level by size: [small_begin[c], small_begin[c + 1]) of FrontPlan::order fit class c of
/// `small_orders`, the large ones follow, with their pivots descending.
struct FrontLevel {
  std::vector<std::int32_t> small_begin;
  std::int32_t large_begin = 0;
  std::int32_t large_end = 0;
  std::int32_t inverted_begin = 0;  ///< fronts from here on have inverses of their diagonal blocks
  std::int64_t update_begin = 0;    ///< of the level's update matrices in the stack
  std::int64_t update_end = 0;
};

/// Consecutive levels [begin, end). If there are several, they have small fronts only, and one kernel factors
/// them.
struct LevelRun {
  std::int32_t begin = 0;
  std::int32_t end = 0;
};

/// Largest orders of fronts that one thread block factors in shared memory, one for each size class.
inline constexpr std::int32_t small_orders[] = {32, 64, 96, 160};
inline constexpr std::int32_t small_classes = 4;
/// Fronts of at least this size class are substituted for by a thread block each, with inverses of their
/// diagonal blocks, in levels that have at most `most_inverted_small` of them, two for each multiprocessor of
/// an H200: there the latency of a front counts, and otherwise the number of fronts at the same time.
inline constexpr std::int32_t inverted_class = 2;
inline constexpr std::int32_t most_inverted_small = 264;
/// Orders of the diagonal blocks whose inverses are kept: each block is one dependent step of
/// a substitution, and fronts with many pivots have larger blocks to need fewer steps.
inline constexpr std::int32_t smallest_inverse_order = 128;
inline constexpr std::int32_t largest_inverse_order = 512;

/// Division of the pivots of a large front into blocks. The inverse of each is a dense matrix by rows, full
/// blocks first.
struct InverseBlocks {
  std::int32_t pivots;
  std::int32_t order;  ///< of all blocks but the last

  ECHELON_ANYWHERE constexpr explicit InverseBlocks(std::int32_t pivots_)
      : pivots(pivots_),
        order(pivots_ <= 512    ? smallest_inverse_order
              : pivots_ <= 2048 ? 256
                                : largest_inverse_order) {}

  [[nodiscard]] ECHELON_ANYWHERE constexpr std::int32_t count() const { return (pivots + order - 1) / order; }
  [[nodiscard]] ECHELON_ANYWHERE constexpr std::int32_t width(std::int32_t block) const {
    return pivots - block * order < order ? pivots - block * order : order;
  }
  /// Number of elements before the inverse of a block.
  [[nodiscard]] ECHELON_ANYWHERE constexpr std::int64_t offset(std::int32_t block) const {
    return std::int64_t{block} * order * order;
  }
  /// Number of elements of all inverses.
  [[nodiscard]] ECHELON_ANYWHERE constexpr std::int64_t entries() const {
    const std::int64_t last = pivots % order;
    return offset(pivots / order) + last * last;
  }
};

/// Part of a substitution that one thread block performs. A task waits only for earlier tasks of its list, so
/// that blocks which take tasks in order cannot deadlock.
struct SubstitutionTask {
  enum Kind : std::int32_t {
    small_fronts,  ///< `count` small fronts, one for each warp; `part` is their class
    whole_front,   ///< a front with inverses and few pivots and rows
    gather,        ///< the children's contributions to chunk `part` of a large front
    pivot_rows,    ///< tile `part` of a large front's pivots
    border_rows,   ///< tile `part` of a large front's border, forward only
  };
  Kind kind = small_fronts;
  std::int32_t place = 0;  ///< the (first) front, in FrontPlan::order
  std::int32_t part = 0;
  std::int32_t count = 0;
};

/// Counters of a front in a solve, by which its tasks signal that they have finished; all are zero at the
/// beginning. A front that is divided into tiles has four additional words for each inverted block: a bit for
/// each tile of the block, forward and backward, whose right-hand side or whose solution is ready.
struct FrontCounters {
  static constexpr std::int64_t contributions = 0;  ///< finished tasks that add to this front, forward
  static constexpr std::int64_t solved = 1;         ///< finished tasks of its pivots, backward
  static constexpr std::int64_t whole = 2;          ///< counters of a front without tiles
  static constexpr std::int64_t gathered = 2;       ///< chunks
  static constexpr std::int64_t blocks = 3;
  static constexpr std::int64_t of_block = 4;
};

/// Most pivots and rows of a front with inverses for which one task substitutes; larger fronts have one task
/// for each tile.
inline constexpr std::int32_t most_whole_pivots = smallest_inverse_order;
inline constexpr std::int32_t most_whole_rows = 1024;
inline constexpr std::int64_t most_whole_entries = 32768;
/// Rows of a chunk of `gather`, of a tile of pivots, and of a tile of the border.
inline constexpr std::int32_t gathered_rows = 256;
inline constexpr std::int32_t pivot_tile_rows = 32;
inline constexpr std::int32_t border_tile_rows = 64;
/// Number of small fronts of a task.
inline constexpr std::int32_t small_fronts_together = 8;

/// True if one task substitutes for a front with inverses.
ECHELON_ANYWHERE constexpr bool is_whole(const Front& front) {
  return front.pivots <= most_whole_pivots && front.rows <= most_whole_rows &&
         std::int64_t{front.rows} * front.pivots <= most_whole_entries;
}

/// Elements of the vector of a solve that the forward substitution adds to each of its elements: those of the
/// children's borders, child by child.
struct ContributionSources {
  UninitializedVector<std::int32_t> begin;  ///< of each element, and the end
  UninitializedVector<std::int32_t> elements;
};

struct FrontPlan {
  /// Roots have the positions of their rows in a border of the plan.
  FrontLayout layout;
  /// First rows, from 0 at the first of these, of the borders that the rows at the end consist of, and their
  /// number. Matrices that are factored together have one each, in which their roots have their rows.
  std::vector<std::int32_t> borders;
  std::int64_t border_entries = 0;  ///< of the Schur complements of all borders
  std::vector<Front> fronts;        ///< in the order of the supernodes
  std::vector<std::int32_t> order;  ///< fronts by level, deepest first
  std::vector<FrontLevel> levels;
  std::vector<LevelRun> runs;  ///< of all levels
  std::int64_t factor_entries = 0;
  std::int64_t stack_entries = 0;
  std::int64_t vector_entries = 0;
  std::int64_t inverse_entries = 0;
  std::vector<SubstitutionTask> forward;   ///< tasks of a forward substitution, children first
  std::vector<SubstitutionTask> backward;  ///< tasks of a backward substitution, parents first
  std::int64_t counters = 0;               ///< of a solve, for each right-hand side
  ContributionSources sources;
  std::int64_t work_entries = 0;

  [[nodiscard]] FactorKind kind() const { return layout.kind; }
  [[nodiscard]] std::int64_t n() const { return layout.tree.n; }
  /// Number of rows at the end that are pivots of no front.
  [[nodiscard]] std::int64_t border() const { return layout.tree.border(); }
};

/// The symbolic factorisation of a matrix with a border without the front of that, so that its children are
/// roots. They have rows below their pivots, and their update matrices are left on the stack.
[[nodiscard]] SymbolicFactor without_border_front(SymbolicFactor symbolic);

/// The symbolic factorisation of several matrices, which are the diagonal blocks of one: their interiors come
/// first, in order, and then their borders, without the fronts of these. Throws InvalidMatrix for more rows
/// than the numbers of rows can count.
struct JoinedSymbolic {
  SymbolicFactor symbolic;
  std::vector<std::int32_t> borders;  ///< FrontPlan::borders
};
[[nodiscard]] JoinedSymbolic join(std::span<const SymbolicFactor* const> parts);

/// Plans a factorisation. `spare`: number of spare pivots among the pivots of each supernode; empty: none.
/// `borders`: FrontPlan::borders; empty: the rows at the end are one border.
[[nodiscard]] FrontPlan plan_fronts(FrontLayout layout, std::int64_t element_size,
                                    std::span<const std::int32_t> spare = {},
                                    std::span<const std::int32_t> borders = {});

/// Offset in the factor of each stored element of a square CSR matrix on the host; -1 for an element above
/// the diagonal in symmetric factorisations, and for one in the border's rows and columns. Places of rows and
/// of columns are those in the layout's permutations, see places_in().
[[nodiscard]] UninitializedVector<std::int64_t> element_offsets(const FrontPlan& plan,
                                                                std::span<const std::int64_t> row_offsets,
                                                                std::span<const std::int32_t> columns,
                                                                std::span<const std::int32_t> row_places,
                                                                std::span<const std::int32_t> column_places);

}  // namespace echelon::sparse_direct::gpu
