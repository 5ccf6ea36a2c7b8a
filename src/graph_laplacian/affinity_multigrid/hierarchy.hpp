// SPDX-License-Identifier: BSD-3-Clause
/// Levels made by parallel eliminations and aggregations by affinity, for multigrid's cycles.
#pragma once

#include "graph_laplacian/affinity_multigrid/aggregation.hpp"
#include "graph_laplacian/affinity_multigrid/coarsest.hpp"
#include "graph_laplacian/affinity_multigrid/contraction.hpp"
#include "graph_laplacian/affinity_multigrid/inverse.hpp"
#include "matrix/row_blocks.hpp"
#include "multigrid/cycle.hpp"
#include "multigrid/estimates/spectral_radius.hpp"
#include "multigrid/smoothers/chebyshev.hpp"
#include "multigrid/smoothers/jacobi.hpp"
#include "support/setup_control.hpp"
#include "support/stopwatch.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace echelon::affinity_multigrid {

/// Numbers of vertices up to which the inverse is cheaper than another level. On a GPU a small level costs
/// half a millisecond of set-up, and up to a tenth of a millisecond of each cycle.
inline constexpr std::int64_t coarse_size_of_host = 150;
inline constexpr std::int64_t coarse_size_of_gpu = 1000;

struct HierarchyOptions {
  AggregationThresholds aggregation;
  std::int64_t coarse_size = coarse_size_of_host;
  /// Least numbers of vertices of the first and the second level that are solved by steps of a Krylov method.
  /// On a GPU these double the time of all coarser levels, which is that of launches.
  std::int64_t first_krylov_size = 0;
  std::int64_t second_krylov_size = 0;
  /// Number of vertices of the finest level from which on the first level is solved so whatever its size: all
  /// coarser levels take a small part of the cycle.
  std::int64_t large_finest_size = 0;
  std::size_t max_levels = 100;
  int test_sweeps = 6;
  /// Smallest part of the vertices whose elimination pays.
  double least_elimination = 0.15;
  /// Predicted number of iterations of conjugate gradients with the diagonal up to which no levels are made.
  std::int64_t jacobi_iterations = 100;
};

/// Levels of a hierarchy, the inverse diagonals of its smoothers, and its statistics.
template <class B, class T>
class ParallelHierarchy {
 public:
  /// Coarsens the graph with the Laplacian `finest`. Takes the aggregates of `previous`, unless it is null:
  /// the hierarchy of a graph with the same edges and other weights, which is then of no further use. Ends
  /// early once a stop is requested. Reports by nonzeros that are left. Waits.
  ParallelHierarchy(B& backend, Csr<T> finest, const HierarchyOptions& options, const SetupControl& control,
                    ParallelHierarchy* previous = nullptr)
      : options_(options), previous_(previous) {
    levels_.emplace_back();
    levels_.back().own = std::move(finest);
    diagonals_.emplace_back();
    const auto nonzeros = [this] {
      return static_cast<double>(std::max<std::int64_t>(levels_.back().own.nonzeros(), 1));
    };
    const double all = nonzeros();
    while (!control.stops_at(1 - nonzeros() / all) && add_level(backend)) {
    }
    nonzeros_.push_back(levels_.back().own.nonzeros());
    for (auto& level : levels_) level.A = &level.own;
    previous_ = nullptr;
  }

  [[nodiscard]] const std::vector<multigrid::HierarchyLevel<T>>& levels() const { return levels_; }
  [[nodiscard]] const std::string& end() const { return end_; }
  /// Nonzeros of a level's matrix, which is not kept after an elimination.
  [[nodiscard]] std::int64_t nonzeros(std::size_t l) const { return nonzeros_[l]; }
  [[nodiscard]] std::size_t bytes() const {
    std::size_t bytes = 0;
    for (const auto& level : levels_) bytes += level.bytes();
    return bytes;
  }

  /// Makes the cycle; the hierarchy has to outlive it and not move. Uses up the diagonals: call it once.
  std::unique_ptr<multigrid::Cycle<B, T>> make_cycle(B& backend) {
    using Cycle = multigrid::Cycle<B, T>;
    prepare_products(backend.device());
    std::vector<typename Cycle::Level> smoothed;
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      smoothed.push_back({&levels_[l], nullptr});
      if (l + 1 == levels_.size() || levels_[l].is_elimination()) continue;
      smoothed.back().smoother = make_smoother(backend, l);
    }
    return std::make_unique<Cycle>(CycleKind::k, std::move(smoothed), make_coarse_solver(backend),
                                   krylov_levels());
  }

 private:
  /// Ratio of aggregates to vertices above which another level does not pay.
  static constexpr double stalled_ratio = 0.9;
  static constexpr std::int64_t smoother_degree = 2;
  static constexpr std::int64_t coarse_degree = 4;

  bool end(std::string why) {
    end_ = std::move(why);
    return false;
  }

  /// Partitions the rows of all matrices of the cycle for products on a GPU.
  void prepare_products(const Device& device) const {
    std::vector<const Csr<T>*> matrices;
    for (std::size_t l = 0; l + 1 < levels_.size(); ++l) {
      for (const Csr<T>* matrix : {&levels_[l].own, &levels_[l].P, &levels_[l].R}) matrices.push_back(matrix);
    }
    CsrAccess::prepare_row_blocks(device, matrices);
  }

  /// Number of levels solved by two steps of a Krylov method. With one, grids take 13 to 16 iterations in
  /// place of 10 or 11; three save none.
  [[nodiscard]] int krylov_levels() const {
    std::vector<std::int64_t> rows;  // of levels with smoothers, and of the coarsest
    for (const auto& level : levels_) {
      if (!level.is_elimination()) rows.push_back(level.rows());
    }
    const auto has = [&](std::size_t l, std::int64_t least) { return l < rows.size() && rows[l] >= least; };
    if (!has(1, options_.first_krylov_size) && !has(0, options_.large_finest_size)) return 0;
    return has(2, options_.second_krylov_size) ? 2 : 1;
  }

  /// Makes the smoother of a level that is not the coarsest: damped Jacobi, the polynomial of degree 1, on
  /// the host, whose time is that of products, and degree 2 on a GPU, whose time is that of launches.
  std::unique_ptr<multigrid::Smoother<B, T>> make_smoother(B& backend, std::size_t l) {
    if (!backend.device().on_host()) return make_chebyshev(l, smoother_degree);
    constexpr T damping{0.75};
    Array<T> scale = std::move(diagonals_[l]);
    backend.for_each(scale.size(), multigrid::Multiply<T>{damping, scale.data()});
    return std::make_unique<multigrid::JacobiSmoother<B, T>>(levels_[l].own, std::move(scale), 1);
  }

  std::unique_ptr<multigrid::Smoother<B, T>> make_chebyshev(std::size_t l, std::int64_t degree) {
    constexpr double radius = 2;  // bound of the eigenvalues of D^-1 L, attained for bipartite graphs
    return std::make_unique<multigrid::ChebyshevSmoother<B, T>>(levels_[l].own, std::move(diagonals_[l]),
                                                                degree, radius);
  }

  std::unique_ptr<multigrid::CoarseSolver<B, T>> make_coarse_solver(B& backend) {
    const Csr<T>& A = levels_.back().own;
    if (A.rows() <= std::max(options_.coarse_size, multigrid::largest_inverse)) {
      return std::make_unique<multigrid::InverseSolver<B, T>>(coarsest_inverse(backend, A));
    }
    invert_diagonal(backend);
    return std::make_unique<multigrid::SmoothingSolver<B, T>>(
        make_chebyshev(levels_.size() - 1, coarse_degree));
  }

  void invert_diagonal(B& backend) {
    const Csr<T>& A = levels_.back().own;
    diagonals_.back() = Array<T>(backend.device(), A.rows());
    affinity_multigrid::invert_diagonal(backend, A, diagonals_.back().data());
  }

  bool add_level(B& backend) {
    const Stopwatch stopwatch;
    multigrid::HierarchyLevel<T>& level = levels_.back();
    const std::int64_t n = level.own.rows();
    if (n == 0) return end("elimination left no vertex");
    if (n <= options_.coarse_size) return end("the level is small");
    if (levels_.size() >= options_.max_levels) return end("the number of levels is limited");
    const std::int64_t nonzeros = level.own.nonzeros();
    Csr<T> coarse;
    if (!eliminate_some(backend, coarse) && !aggregate_vertices(backend, coarse)) return false;
    nonzeros_.push_back(nonzeros);
    levels_.back().seconds = stopwatch.seconds();
    levels_.emplace_back();
    levels_.back().own = std::move(coarse);
    diagonals_.emplace_back();
    return true;
  }

  bool eliminate_some(B& backend, Csr<T>& coarse) {
    if (levels_.size() == 1) return false;  // done in working precision
    multigrid::HierarchyLevel<T>& level = levels_.back();
    EliminationStage<T> stage;
    const EliminationOptions elimination{
        .round = levels_.size(), .least = options_.least_elimination, .with_transpose = true};
    if (!eliminate(backend, level.own, elimination, stage, coarse)) return false;
    level.P = std::move(stage.P);
    level.R = std::move(stage.R);
    level.eliminated = std::move(stage.inverse);
    level.own = Csr<T>();
    return true;
  }

  bool aggregate_vertices(B& backend, Csr<T>& coarse) {
    multigrid::HierarchyLevel<T>& level = levels_.back();
    const Csr<T>& A = level.own;
    invert_diagonal(backend);
    const T* inverse = diagonals_.back().data();
    const Array<std::int32_t> rows = rows_of_elements(backend, A);
    if (take_previous_transfers(level)) {
      coarse = contract(backend, A, rows.data(), level.P.column_indices().data(), level.R);
      return true;
    }
    ParallelAggregates aggregates;
    {
      const Array<TestValues> x =
          make_test_vectors(backend, A, inverse, options_.test_sweeps, levels_.size());
      aggregates = aggregate(backend, A, rows.data(), inverse, x.data(), options_.aggregation);
    }
    if (static_cast<double>(aggregates.count) > stalled_ratio * static_cast<double>(A.rows())) {
      return end("aggregation stalls");
    }
    level.is_aggregation = true;
    level.P = piecewise_constant<B, T>(backend, std::move(aggregates.of), aggregates.count);
    level.R = transposed_piecewise_constant(backend, level.P);
    coarse = contract(backend, A, rows.data(), level.P.column_indices().data(), level.R);
    return true;
  }

  /// Moves P and R from the previous hierarchy to the last level, if both levels have graphs of equal size.
  bool take_previous_transfers(multigrid::HierarchyLevel<T>& level) {
    const std::size_t l = levels_.size() - 1;
    if (previous_ == nullptr || l + 1 >= previous_->levels_.size()) return false;
    multigrid::HierarchyLevel<T>& old = previous_->levels_[l];
    if (old.own.rows() != level.own.rows() || old.own.nonzeros() != level.own.nonzeros()) return false;
    level.P = std::move(old.P);
    level.R = std::move(old.R);
    level.is_aggregation = true;
    return true;
  }

  HierarchyOptions options_;
  ParallelHierarchy* previous_;
  std::vector<multigrid::HierarchyLevel<T>> levels_;
  std::vector<Array<T>> diagonals_;  // reciprocals, of levels with smoothers
  std::vector<std::int64_t> nonzeros_;
  std::string end_;
};

}  // namespace echelon::affinity_multigrid
