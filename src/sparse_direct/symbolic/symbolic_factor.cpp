// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/symbolic/symbolic_factor.hpp"

#include "sparse_direct/ordering/bandwidth_bound.hpp"
#include "sparse_direct/pattern/chunks.hpp"
#include "sparse_direct/pattern/dense_rows.hpp"
#include "sparse_direct/pattern/row_groups.hpp"
#include "sparse_direct/symbolic/closed_ranges.hpp"
#include "sparse_direct/symbolic/leaves.hpp"
#include "sparse_direct/symbolic/tree.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

namespace {

/// Numbers supernodes and their columns in the order of elimination.
void number_supernodes(const SupernodeForest& supernodes, std::span<const std::int32_t> order,
                       std::span<const std::int32_t> permutation, SymbolicFactor& factor) {
  factor.parent = renumbered(supernodes.parent, order);
  factor.permutation.reserve(permutation.size());
  factor.supernode_begin.reserve(order.size() + 1);
  factor.row_begin.reserve(order.size() + 1);
  factor.supernode_begin.push_back(0);
  factor.row_begin.push_back(0);
  for (const std::int32_t s : order) {
    for (std::int32_t k = supernodes.begin[s]; k < supernodes.begin[s + 1]; ++k) {
      factor.permutation.push_back(permutation[supernodes.columns[k]]);
    }
    factor.supernode_begin.push_back(static_cast<std::int32_t>(factor.permutation.size()));
    factor.row_begin.push_back(factor.row_begin.back() + supernodes.update_size(s));
  }
}

/// Lists the rows of each front. Row k of L is nonzero in the supernodes on the paths from those of the
/// entries of row k of A up to that of k; when k ascends, so do the rows of each front. Threads share the
/// closed ranges of the tree, from which the paths then go on through its top.
class RowLists {
 public:
  RowLists(const Pattern& a, SymbolicFactor& factor, int threads)
      : a_(a),
        factor_(factor),
        threads_(threads),
        position_(inverse_permutation(factor.permutation, threads)),
        supernode_of_(static_cast<std::size_t>(factor.n)),
        next_(factor.row_begin.begin(), factor.row_begin.end()),
        last_row_(factor.parent.size(), -1) {
    for (std::int32_t s = 0; s < factor.supernodes(); ++s) {
      std::fill(supernode_of_.begin() + factor.supernode_begin[s],
                supernode_of_.begin() + factor.supernode_begin[s + 1], s);
    }
    // The rows of a border belong to the last supernode, which has no pivots.
    std::fill(supernode_of_.begin() + factor.interior(), supernode_of_.end(),
              static_cast<std::int32_t>(factor.supernodes() - 1));
  }

  void run() {
    factor_.rows.resize(static_cast<std::size_t>(factor_.row_begin.back()));
    const ForestPartition parts = partition(first_descendants(factor_.parent), threads_);
    const std::int64_t ranges = std::ssize(parts.ranges);
    std::vector<std::vector<Path>> paths(parts.ranges.size() + parts.top.size());
    for_each_task(std::ssize(paths), threads_, [&](std::int64_t k) {
      paths[k] = k < ranges ? list_in_range(parts.ranges[k]) : paths_of(parts.top[k - ranges]);
    });
    for (const Path& path : sorted(paths)) extend(path, supernode_of_[path.row]);
  }

 private:
  /// A path of supernodes that have a row. It begins with `supernode`, and ends before the row's.
  struct Path {
    std::int32_t row;
    std::int32_t supernode;
  };

  /// Adds the path's row to its supernodes before `end`, up to one that has the row; the rest of the path.
  Path extend(Path path, std::int32_t end) {
    std::int32_t s = path.supernode;
    for (; s < end; s = factor_.parent[s]) {
      if (last_row_[s] == path.row) return {path.row, -1};
      last_row_[s] = path.row;
      factor_.rows[next_[s]++] = path.row;
    }
    return {path.row, s};
  }

  /// Lists the rows of the fronts of a range, and returns the rest of the paths of later rows.
  std::vector<Path> list_in_range(const ClosedRange& range) {
    const std::int32_t end = factor_.supernode_begin[range.end];
    std::vector<Path> later;
    for (std::int32_t k = factor_.supernode_begin[range.begin]; k < end; ++k) {
      for (const std::int32_t j : a_.row(factor_.permutation[k])) {
        const std::int32_t i = position_[j];
        if (i >= end) {
          later.push_back({i, supernode_of_[k]});
        } else if (i < k) {
          extend({k, supernode_of_[i]}, supernode_of_[k]);
        }
      }
    }
    std::sort(later.begin(), later.end(), [](const Path& x, const Path& y) { return x.row < y.row; });
    std::vector<Path> rest;
    for (const Path& path : later) {
      const Path above = extend(path, std::min(range.end, supernode_of_[path.row]));
      if (above.supernode >= 0 && above.supernode < supernode_of_[path.row]) rest.push_back(above);
    }
    return rest;
  }

  /// The paths of later rows that begin with a supernode.
  [[nodiscard]] std::vector<Path> paths_of(std::int32_t s) const {
    std::vector<Path> paths;
    for (std::int32_t k = factor_.supernode_begin[s]; k < factor_.supernode_begin[s + 1]; ++k) {
      for (const std::int32_t j : a_.row(factor_.permutation[k])) {
        if (position_[j] >= factor_.supernode_begin[s + 1]) paths.push_back({position_[j], s});
      }
    }
    return paths;
  }

  /// All paths, by ascending rows.
  [[nodiscard]] std::vector<Path> sorted(const std::vector<std::vector<Path>>& lists) const {
    std::vector<std::int32_t> begin(static_cast<std::size_t>(factor_.n) + 1, 0);
    for (const auto& list : lists) {
      for (const Path& path : list) ++begin[path.row + 1];
    }
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    std::vector<Path> paths(static_cast<std::size_t>(begin.back()));
    for (const auto& list : lists) {
      for (const Path& path : list) paths[begin[path.row]++] = path;
    }
    return paths;
  }

  const Pattern& a_;
  SymbolicFactor& factor_;
  int threads_;
  std::vector<std::int32_t> position_;  // in the order of elimination
  std::vector<std::int32_t> supernode_of_;
  std::vector<std::int64_t> next_;  // free place in the rows of each front
  std::vector<std::int32_t> last_row_;
};

/// True where a factorisation has few flops per entry, or L has few entries: CHOLMOD's rule, with a smaller
/// limit since this dissection is faster than METIS.
bool has_little_fill(const Pattern& a, const EliminationForest& forest) {
  const auto entries = static_cast<double>(forest.factor_entries);
  const double lower_triangle = static_cast<double>(a.entries() + a.n) / 2;
  return forest.flops < 200 * entries || entries < 5 * lower_triangle;
}

/// True if METIS may save its own time. On one core it takes about the time of 250,000 flops for each row,
/// and saves a sixth of the flops of dissection on most meshes, a third on some.
bool pays_for_metis(const Pattern& a, const EliminationForest& forest) {
  return forest.flops > 1'500'000.0 * static_cast<double>(a.n) &&
         a.entries() <= std::numeric_limits<std::int32_t>::max();
}

/// True for meshes in three dimensions, where minimum degree needs several times the flops of dissection. The
/// number of steps that reaches a fixed number of rows is 14 to 25 there, and 70 or more in two dimensions.
bool is_three_dimensional(const Pattern& a) {
  constexpr std::int64_t rows = 20'000;
  constexpr std::int64_t most_steps = 40;
  return a.n >= rows && steps_to_meet(a, rows) <= most_steps;
}

/// Supernodes on the longest path from a leaf to a root, without those that amalgamation adds to others.
std::int64_t height(const EliminationForest& forest) {
  std::vector<std::int32_t> below(forest.parent.size(), 0);
  std::int32_t highest = 0;
  for (std::size_t j = 0; j < forest.parent.size(); ++j) {
    const std::int32_t own = below[j] + 1;
    highest = std::max(highest, own);
    if (forest.parent[j] < 0) continue;
    const auto parent = static_cast<std::size_t>(forest.parent[j]);
    const bool is_same_supernode = forest.counts[parent] + 1 == forest.counts[j];
    below[parent] = std::max(below[parent], is_same_supernode ? own - 1 : own);
  }
  return highest;
}

/// Cost of a factorisation on a GPU in microseconds, of which each level of the tree takes some.
constexpr double microseconds_of_level = 25;
double cost_on_gpu(const EliminationForest& forest) {
  constexpr double flops_per_microsecond = 1e6;
  return forest.flops / flops_per_microsecond + microseconds_of_level * static_cast<double>(height(forest));
}

/// Selects the ordering with the lowest predicted cost among those that are worth their time: on the host
/// that with the fewest flops, where minimum degree comes first, since it is the fastest, except for large
/// meshes in three dimensions. On a GPU, flops take less time than an ordering, and low trees matter:
/// dissection comes first for all large meshes. The other ordering is tried afterwards if the fill leaves a
/// doubt, or the tree is high.
OrderedForest best_forest(const Pattern& a, const OrderingOptions& options) {
  const auto forest_of = [&](Ordering ordering) {
    OrderingOptions of_kind = options;
    of_kind.ordering = ordering;
    return OrderedForest{elimination_forest(a, order(a, of_kind), options.threads),
                         std::string(to_string(ordering))};
  };
  const bool dissection_first =
      is_large_mesh(a) && (options.for_gpu || (options.minimum_degree.empty() && is_three_dimensional(a)));
  OrderedForest best = forest_of(dissection_first ? Ordering::dissection : Ordering::amd);
  const auto cost = [&](const EliminationForest& forest) {
    return options.for_gpu ? cost_on_gpu(forest) : forest.flops;
  };
  const auto try_ordering = [&](Ordering ordering) {
    OrderedForest other = forest_of(ordering);
    if (cost(other.forest) < cost(best.forest)) best = std::move(other);
  };
  if (options.for_gpu || dissection_first) {
    const bool is_too_high = options.for_gpu && !dissection_first &&
                             is_too_high_for_gpu(height(best.forest), a.n, options.factorizations);
    const bool in_doubt = is_too_high || dissection_first == has_little_fill(a, best.forest);
    if (in_doubt) try_ordering(dissection_first ? Ordering::amd : Ordering::dissection);
    if (options.for_gpu) return best;
  } else if (pays_for_dissection(a.n, a.entries(), best.forest.flops)) {
    try_ordering(Ordering::dissection);
  }
  if (pays_for_metis(a, best.forest)) try_ordering(Ordering::metis);
  return best;
}

/// The assembly tree of supernodes. `permutation` holds the rows of `a` by columns of the supernodes, and
/// then those of the border.
SymbolicFactor assembly_tree(const Pattern& a, const SupernodeForest& supernodes,
                             std::span<const std::int32_t> permutation, const AnalysisOptions& options) {
  const int threads = options.ordering.threads;
  const StackOrder stack = smallest_stack_order(supernodes);
  SymbolicFactor factor;
  factor.n = a.n;
  factor.stored_entries = supernodes.stored_entries;
  factor.stack_peak_entries = stack.peak_entries;
  number_supernodes(supernodes, stack.order, permutation, factor);
  factor.permutation.insert(factor.permutation.end(), permutation.begin() + factor.interior(),
                            permutation.end());
  RowLists(a, factor, threads).run();
  merge_leaves(options.amalgamation, factor);
  return factor;
}

SymbolicFactor factor_of(const Pattern& a, const OrderedForest& ordered, const AnalysisOptions& options) {
  test_for_stop(options.ordering.cancel);
  const int threads = options.ordering.threads;
  const EliminationForest& forest = ordered.forest;
  SymbolicFactor factor = assembly_tree(
      a, amalgamated(fundamental_supernodes(forest.parent, forest.counts), options.amalgamation, threads),
      forest.permutation, options);
  factor.ordering = ordered.ordering;
  factor.factor_entries = forest.factor_entries;
  factor.flops = forest.flops;
  return factor;
}

/// An ordering by which the rows of each pair are neighbours, and the word of how it was found.
struct PairOrdering {
  std::vector<std::int32_t> order;
  std::string ordering;
};
PairOrdering order_pairs(const Pattern& a, const RowGroups& groups, const OrderingOptions& options) {
  const PatternStorage compressed = compressed_pattern(a, groups);
  const OrderedForest of_groups = ordered_forest(compressed.view(), options);
  return {expanded_ordering(groups, of_groups.forest.permutation), of_groups.ordering};
}

/// Orders the pairs of rows as if each was one row, and keeps each in one supernode.
SymbolicFactor analyze_pairs(const Pattern& a, const AnalysisOptions& options) {
  const RowGroups groups = pairs(options.partner);
  const PatternStorage merged = merged_pattern(a, groups);
  if (!options.ordering.permutation.empty()) {
    return factor_of(merged.view(), ordered_forest(merged.view(), options.ordering), options);
  }
  const PairOrdering pair_ordering = order_pairs(a, groups, options.ordering);
  return factor_of(merged.view(),
                   {elimination_forest(merged.view(), pair_ordering.order, options.ordering.threads),
                    pair_ordering.ordering},
                   options);
}

/// Rows of a pattern that are not in the border, ascending.
std::vector<std::int32_t> rows_outside(const Pattern& a, std::span<const std::int32_t> border) {
  std::vector<bool> is_border(static_cast<std::size_t>(a.n), false);
  for (const std::int32_t row : border) is_border[static_cast<std::size_t>(row)] = true;
  std::vector<std::int32_t> rows;
  rows.reserve(static_cast<std::size_t>(a.n) - border.size());
  for (std::int32_t row = 0; row < a.n; ++row) {
    if (!is_border[static_cast<std::size_t>(row)]) rows.push_back(row);
  }
  return rows;
}

/// The pattern of P A P^T with one path through the rows after the first `interior` ones, so that in its
/// elimination tree they follow each other. Counts of the columns before them do not depend on it.
PatternStorage with_path_through_border(const Pattern& a, std::span<const std::int32_t> permutation,
                                        std::int64_t interior, int threads) {
  const PatternStorage permuted = permuted_pattern(a, permutation, threads);
  const Pattern pattern = permuted.view();
  UninitializedVector<std::int64_t> row_begin(permuted.row_begin.size());
  UninitializedVector<std::int32_t> columns(
      pattern.columns.size() + 2 * static_cast<std::size_t>(std::max<std::int64_t>(a.n - interior - 1, 0)));
  std::int64_t at = 0;
  for (std::int64_t k = 0; k < a.n; ++k) {
    row_begin[k] = at;
    if (k > interior) columns[at++] = static_cast<std::int32_t>(k - 1);
    for (const std::int32_t j : pattern.row(k)) {
      if (k < interior || j < interior) columns[at++] = j;
    }
    if (k >= interior && k + 1 < a.n) columns[at++] = static_cast<std::int32_t>(k + 1);
  }
  if (!row_begin.empty()) row_begin[a.n] = at;
  columns.resize(static_cast<std::size_t>(at));
  return {std::move(row_begin), std::move(columns)};
}

/// Adds to the columns of L the entries in the rows of the border, which come after the permuted rows of the
/// forest.
void count_border_rows(const Pattern& a, std::span<const std::int32_t> permutation, EliminationForest& forest,
                       int threads) {
  const std::int64_t interior = std::ssize(forest.permutation);
  const PatternStorage bordered = with_path_through_border(a, permutation, interior, threads);
  const std::vector<std::int32_t> parent = elimination_tree(bordered.view(), threads);
  const std::vector<std::int32_t> counts = column_counts(bordered.view(), parent, postorder(parent), threads);
  forest.counts.assign(counts.begin(), counts.begin() + interior);
  forest.factor_entries = 0;
  forest.flops = 0;
  for (const std::int32_t count : forest.counts) {
    forest.factor_entries += count;
    forest.flops += static_cast<double>(count) * count;
  }
}

/// Adds a root without pivots, whose front consists of the rows of the border, above all other supernodes.
void add_border_front(std::int64_t border, SupernodeForest& supernodes) {
  const auto root = static_cast<std::int32_t>(supernodes.size());
  for (std::int32_t& parent : supernodes.parent) {
    if (parent < 0) parent = root;
  }
  supernodes.begin.push_back(supernodes.begin.back());
  supernodes.parent.push_back(-1);
  supernodes.front_size.push_back(static_cast<std::int32_t>(border));
}

/// Orders the rows outside of a border, in which pairs stay neighbours; `groups` are those of all rows.
OrderedForest order_interior(const Pattern& a, std::span<const std::int32_t> interior,
                             const AnalysisOptions& options) {
  const PatternStorage inner = induced_pattern(a, interior);
  if (options.partner.empty()) return ordered_forest(inner.view(), options.ordering);
  std::vector<std::int32_t> number(static_cast<std::size_t>(a.n), -1);
  for (std::size_t k = 0; k < interior.size(); ++k)
    number[static_cast<std::size_t>(interior[k])] = static_cast<std::int32_t>(k);
  std::vector<std::int32_t> partner;
  partner.reserve(interior.size());
  for (const std::int32_t row : interior)
    partner.push_back(number[static_cast<std::size_t>(options.partner[static_cast<std::size_t>(row)])]);
  PairOrdering ordered = order_pairs(inner.view(), pairs(partner), options.ordering);
  return {elimination_forest(inner.view(), ordered.order, options.ordering.threads),
          std::move(ordered.ordering)};
}

}  // namespace

bool is_large_mesh(const Pattern& a) {
  constexpr std::int64_t large = 50'000;
  std::int64_t longest = 0;
  for (std::int64_t i = 0; i < a.n; ++i) longest = std::max(longest, a.row_begin[i + 1] - a.row_begin[i]);
  return a.n >= large && a.entries() >= 4 * a.n && longest * a.n <= 5 * a.entries();
}

bool is_too_high_for_gpu(std::int64_t height, std::int64_t n, std::int64_t factorizations) {
  const auto rows = static_cast<double>(std::max<std::int64_t>(n, 1));
  const double microseconds_of_ordering = 2000 + 0.5 * rows;
  const double excess = static_cast<double>(height) - std::log2(rows);
  return excess * microseconds_of_level * static_cast<double>(factorizations) > microseconds_of_ordering;
}

bool pays_for_dissection(std::int64_t n, std::int64_t entries, double flops) {
  return flops > 20'000.0 * static_cast<double>(n) + 6'000.0 * static_cast<double>(entries);
}

OrderedForest ordered_forest(const Pattern& a, const OrderingOptions& options) {
  if (!options.permutation.empty())
    return {elimination_forest(a, order(a, options), options.threads), "given"};
  if (options.ordering == Ordering::automatic) return best_forest(a, options);
  return {elimination_forest(a, order(a, options), options.threads),
          std::string(to_string(options.ordering))};
}

SymbolicFactor analyze_symmetric(const Pattern& a, const AnalysisOptions& options) {
  if (!options.partner.empty()) return analyze_pairs(a, options);
  return factor_of(a, ordered_forest(a, options.ordering), options);
}

SymbolicFactor analyze_bordered(const Pattern& a, std::span<const std::int32_t> border,
                                const AnalysisOptions& options) {
  const int threads = options.ordering.threads;
  const PatternStorage merged =
      options.partner.empty() ? PatternStorage{} : merged_pattern(a, pairs(options.partner));
  const Pattern pattern = options.partner.empty() ? a : merged.view();
  const std::vector<std::int32_t> interior = rows_outside(pattern, border);
  OrderedForest ordered = order_interior(pattern, interior, options);
  EliminationForest& forest = ordered.forest;
  std::vector<std::int32_t> permutation;
  permutation.reserve(static_cast<std::size_t>(a.n));
  for (const std::int32_t k : forest.permutation)
    permutation.push_back(interior[static_cast<std::size_t>(k)]);
  permutation.insert(permutation.end(), border.begin(), border.end());
  count_border_rows(pattern, permutation, forest, threads);
  SupernodeForest supernodes =
      amalgamated(fundamental_supernodes(forest.parent, forest.counts), options.amalgamation, threads);
  add_border_front(std::ssize(border), supernodes);
  SymbolicFactor factor = assembly_tree(pattern, supernodes, permutation, options);
  std::iota(factor.rows.end() - std::ssize(border), factor.rows.end(),
            static_cast<std::int32_t>(factor.interior()));
  factor.ordering = std::move(ordered.ordering);
  factor.factor_entries = forest.factor_entries;
  factor.flops = forest.flops;
  return factor;
}

}  // namespace echelon::sparse_direct
