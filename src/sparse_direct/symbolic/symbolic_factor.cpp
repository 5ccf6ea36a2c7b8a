// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/symbolic/symbolic_factor.hpp"

#include "sparse_direct/ordering/row_groups.hpp"
#include "sparse_direct/symbolic/tree.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
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
/// entries of row k of A up to that of k; since k ascends, so do the rows of each front.
void find_rows(const Pattern& permuted, SymbolicFactor& factor) {
  std::vector<std::int32_t> supernode_of(static_cast<std::size_t>(factor.n));
  for (std::int32_t s = 0; s < factor.supernodes(); ++s) {
    for (std::int32_t k = factor.supernode_begin[s]; k < factor.supernode_begin[s + 1]; ++k)
      supernode_of[k] = s;
  }
  std::vector<std::int64_t> next(factor.row_begin.begin(), factor.row_begin.end());
  std::vector<std::int32_t> last_row(factor.parent.size(), -1);
  factor.rows.resize(static_cast<std::size_t>(factor.row_begin.back()));
  for (std::int32_t k = 0; k < factor.n; ++k) {
    const std::int32_t end = supernode_of[k];
    for (const std::int32_t i : permuted.row(k)) {
      if (i > k) continue;
      for (std::int32_t s = supernode_of[i]; s < end && last_row[s] != k; s = factor.parent[s]) {
        last_row[s] = k;
        factor.rows[next[s]++] = k;
      }
    }
  }
}

/// True where a factorisation has few flops per entry, or L has few entries: CHOLMOD's rule, with a smaller
/// limit since this dissection is faster than METIS.
bool has_little_fill(const Pattern& a, const EliminationForest& forest) {
  const auto entries = static_cast<double>(forest.factor_entries);
  const double lower_triangle = static_cast<double>(a.entries() + a.n) / 2;
  return forest.flops < 200 * entries || entries < 5 * lower_triangle;
}

/// Dissection takes about the time of 12,000 flops on one core for a row, and of 4000 for an entry, and saves
/// half of the flops of minimum degree where it is good. It is tried where it may save its own time.
bool pays_for_dissection(const Pattern& a, const EliminationForest& forest) {
  return forest.flops > 20'000.0 * static_cast<double>(a.n) + 6'000.0 * static_cast<double>(a.entries());
}

/// METIS takes about the time of 60,000 flops on one core for a row, and saves a fifth of the flops of
/// dissection at most.
bool pays_for_metis(const Pattern& a, const EliminationForest& forest) {
  return forest.flops > 300'000.0 * static_cast<double>(a.n) &&
         a.entries() <= std::numeric_limits<std::int32_t>::max();
}

/// The ordering with the fewest predicted flops of those that are worth their time. On the host, minimum
/// degree comes first, which is the fastest. On a GPU, flops take less time than an ordering, and low trees
/// matter: dissection comes first for large meshes, and the other one where the fill leaves a doubt.
OrderedForest best_forest(const Pattern& a, const OrderingOptions& options) {
  const auto forest_of = [&](Ordering ordering) {
    const bool known = ordering == Ordering::amd && !options.minimum_degree.empty();
    return OrderedForest{
        known ? elimination_forest(a, options.minimum_degree)
              : elimination_forest(a, order(a, {.ordering = ordering, .threads = options.threads})),
        std::string(to_string(ordering))};
  };
  const bool dissection_first = options.for_gpu && is_large_mesh(a);
  OrderedForest best = forest_of(dissection_first ? Ordering::dissection : Ordering::amd);
  const auto try_ordering = [&](Ordering ordering) {
    OrderedForest other = forest_of(ordering);
    if (other.forest.flops < best.forest.flops) best = std::move(other);
  };
  if (options.for_gpu) {
    const bool in_doubt = dissection_first == has_little_fill(a, best.forest);
    if (in_doubt) try_ordering(dissection_first ? Ordering::amd : Ordering::dissection);
    return best;
  }
  if (pays_for_dissection(a, best.forest)) try_ordering(Ordering::dissection);
  if (pays_for_metis(a, best.forest)) try_ordering(Ordering::metis);
  return best;
}

SymbolicFactor factor_of(const Pattern& a, const OrderedForest& ordered, const AmalgamationLimits& limits) {
  const EliminationForest& forest = ordered.forest;
  const SupernodeForest supernodes =
      amalgamated(fundamental_supernodes(forest.parent, forest.counts), limits);
  const StackOrder stack = smallest_stack_order(supernodes);

  SymbolicFactor factor;
  factor.n = a.n;
  factor.ordering = ordered.ordering;
  factor.factor_entries = forest.factor_entries;
  factor.flops = forest.flops;
  factor.stored_entries = supernodes.stored_entries;
  factor.stack_peak_entries = stack.peak_entries;
  number_supernodes(supernodes, stack.order, forest.permutation, factor);
  find_rows(permuted_pattern(a, factor.permutation).view(), factor);
  return factor;
}

/// Orders the pairs of rows as if each was one row, and keeps each in one supernode.
SymbolicFactor analyze_pairs(const Pattern& a, const AnalysisOptions& options) {
  const RowGroups groups = pairs(options.partner);
  const PatternStorage merged = merged_pattern(a, groups);
  if (!options.ordering.permutation.empty()) {
    return factor_of(merged.view(), ordered_forest(merged.view(), options.ordering), options.amalgamation);
  }
  const PatternStorage compressed = compressed_pattern(a, groups);
  const OrderedForest of_groups = ordered_forest(compressed.view(), options.ordering);
  const std::vector<std::int32_t> order_of_rows = expanded_ordering(groups, of_groups.forest.permutation);
  return factor_of(merged.view(), {elimination_forest(merged.view(), order_of_rows), of_groups.ordering},
                   options.amalgamation);
}

}  // namespace

bool is_large_mesh(const Pattern& a) {
  constexpr std::int64_t large = 50'000;
  std::int64_t longest = 0;
  for (std::int64_t i = 0; i < a.n; ++i) longest = std::max(longest, a.row_begin[i + 1] - a.row_begin[i]);
  return a.n >= large && a.entries() >= 4 * a.n && longest * a.n <= 5 * a.entries();
}

OrderedForest ordered_forest(const Pattern& a, const OrderingOptions& options) {
  if (!options.permutation.empty()) return {elimination_forest(a, order(a, options)), "given"};
  if (options.ordering == Ordering::automatic) return best_forest(a, options);
  return {elimination_forest(a, order(a, options)), std::string(to_string(options.ordering))};
}

SymbolicFactor analyze_symmetric(const Pattern& a, const AnalysisOptions& options) {
  if (!options.partner.empty()) return analyze_pairs(a, options);
  return factor_of(a, ordered_forest(a, options.ordering), options.amalgamation);
}

}  // namespace echelon::sparse_direct
