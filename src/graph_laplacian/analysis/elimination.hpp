// SPDX-License-Identifier: BSD-3-Clause
/// Effective resistances by elimination.
#pragma once

#include <echelon/graph/analysis.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace echelon::graph {

/// Resistances of pairs of different vertices, each pair in one component, with relative errors of at most
/// about one machine epsilon for each vertex, whatever the weights. The vertices of no pair are eliminated by
/// a Kron reduction; then the pairs are halved, and each half is treated in the same way, down to a single
/// pair, which an edge of weight 1 / R joins. For all edges of a graph that nested dissection orders well the
/// time is a few factorisations; of a dense one, O(n^3). In parallel on the threads of the device, or on all
/// if it is a GPU, with the same result for any number. Empty when cancelled, or when more than `operations`
/// or the memory of EliminationBudget would be needed.
std::optional<std::vector<double>> resistances_by_elimination(const Csr<double>& L,
                                                              std::span<const Pair> pairs,
                                                              const SolveSettings& settings,
                                                              std::int64_t operations);

/// Operations after which an elimination that replaces `solves` solves should be given up: roughly as many as
/// these take.
std::int64_t elimination_limit(const Csr<double>& L, std::int64_t solves);

/// Report of resistances that an elimination gave.
Report elimination_report(double seconds);

}  // namespace echelon::graph
