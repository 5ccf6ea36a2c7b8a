// SPDX-License-Identifier: BSD-3-Clause
/// Kron reductions: elimination of vertices of a graph of conductors. The eliminated vertex k leaves weights
/// w_ik w_kj / sum_l w_kl between its neighbours i and j, which are added to those that are there. Only sums,
/// products and quotients of positive numbers occur, so that every weight has a small relative error, of
/// about one machine epsilon for each elimination at most, however far weights lie apart.
///
/// F. Doerfler, F. Bullo, Kron reduction of graphs with applications to electrical networks, IEEE Trans.
/// Circuits Syst. I 60 (2013). W. Grassmann, M. Taksar, D. Heyman, Regenerative analysis and steady state
/// distributions for Markov chains, Oper. Res. 33 (1985).
#pragma once

#include "graph_laplacian/analysis/weighted_graph.hpp"

#include <echelon/cancellation.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>

namespace echelon::graph {

using ReducedGraph = std::variant<SparseGraph, DenseGraph>;

/// Limits of eliminations that several threads share. Once a limit is met, they end early and leave unusable
/// graphs.
class EliminationBudget {
 public:
  /// Weights that one graph may have.
  static constexpr std::size_t most_weights = std::size_t{1} << 26;

  EliminationBudget(std::int64_t operations, CancellationToken cancel)
      : left_(operations), cancel_(std::move(cancel)) {}
  /// Counts operations.
  void spend(std::int64_t operations) {
    if ((left_ -= operations) < 0 || cancel_.stop_requested()) exhausted_ = true;
  }
  /// Counts the weights of a graph.
  void hold(std::size_t weights) {
    if (weights > most_weights) exhausted_ = true;
  }
  void exhaust() { exhausted_ = true; }
  [[nodiscard]] bool exhausted() const { return exhausted_; }

 private:
  std::atomic<std::int64_t> left_;
  std::atomic<bool> exhausted_ = false;
  CancellationToken cancel_;
};

/// Eliminates all vertices but those in `kept`, ascending. The result is dense where that is about as small.
ReducedGraph reduce_to(const ReducedGraph& graph, std::span<const std::int32_t> kept,
                       EliminationBudget& budget);

}  // namespace echelon::graph
