// SPDX-License-Identifier: BSD-3-Clause
/// The system of the iteration: where conjugate gradients with the diagonal are predicted to converge fast,
/// as on graphs of small diameter, the Laplacian itself. Otherwise vertices with few neighbours are
/// eliminated in working precision, once for each right-hand side, and cycles of a hierarchy precondition the
/// iteration for their Schur complement.
#pragma once

#include "backend/arena.hpp"
#include "backend/columns.hpp"
#include "graph_laplacian/affinity_multigrid/local_order.hpp"
#include "graph_laplacian/affinity_multigrid/preconditioner.hpp"
#include "krylov/cg.hpp"
#include "linalg/vector/column_list.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace echelon::affinity_multigrid {

template <class T>
struct SetZero {
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { x[i] = T{0}; }
};
template <class T>
struct CopyVector {
  const T* from;
  T* to;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { to[i] = from[i]; }
};

/// A random vector in the range of a Laplacian: the net flow into each vertex if along each edge (i, j) flows
/// sqrt(w_ij) times a random number. Its covariance is a multiple of the Laplacian.
template <class T>
struct RandomFlow {
  LaplacianRows<T> A;
  const std::int32_t* rows;
  ECHELON_ANYWHERE Sum operator()(std::int64_t k) const {
    const std::int32_t i = rows[k];
    if (!A.is_edge(i, k)) return {};
    const std::int32_t j = A.columns[k];
    const auto low = static_cast<std::uint64_t>(i < j ? i : j);
    const auto high = static_cast<std::uint64_t>(i < j ? j : i);
    const std::uint64_t bits = hash_bits((low << 32U | high) + golden_ratio_64);
    const double flow = symmetric_number(bits);
    return {(i < j ? flow : -flow) * std::sqrt(-static_cast<double>(A.values[k]))};
  }
};
template <class T>
struct RoundSum {
  const Sum* sums;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { x[i] = static_cast<T>(sums[i].value); }
};

/// The system of one graph, and its preconditioner. Read-only after set-up.
template <class B, class T>
class ReducedSystem {
 public:
  struct Vectors {
    Vectors(const Device& device, std::int64_t n) : cg(device, n, true) {}
    [[nodiscard]] std::size_t bytes() const {
      std::size_t bytes = r.bytes() + u.bytes() + cg.bytes() + (shares_cycle ? 0 : cycle->bytes());
      for (const Array<T>& level : b) bytes += level.bytes();
      return bytes;
    }
    const T* given = nullptr;  ///< right-hand side before the first elimination, the caller's
    std::vector<Array<T>> b;   ///< right-hand side before each further elimination
    Array<T> r, u;             ///< residual and iterate of the system
    krylov::CgVectors<T> cg;
    std::shared_ptr<Workspace> cycle;  ///< of the preconditioner, for all columns together
    bool shares_cycle = false;         ///< it is that of another column
  };
  /// A right-hand side for all vertices, whose sum is zero on each component and which stays as it is until
  /// finish().
  struct GivenColumn {
    Vectors* vectors;
    IterationState* state;
    const T* given;
  };
  /// Memory for a solution for all vertices, which may be that of the right-hand side.
  struct SolvedColumn {
    Vectors* vectors;
    T* x;
  };

  /// Sets up for the Laplacian L, which has to outlive the system. Takes the aggregates of `previous`, unless
  /// it is null: the system of a graph with the same edges and other weights, which is then of no further
  /// use. Waits.
  ReducedSystem(B& backend, const Csr<T>& L, const HierarchyOptions& options, const SetupControl& control,
                ReducedSystem* previous = nullptr)
      : L_(&L) {
    if (options.jacobi_iterations > 0 && (previous == nullptr || previous->diagonal_suffices_)) {
      preconditioner_ = std::make_unique<DiagonalPreconditioner<B, T>>(backend, L);
      diagonal_suffices_ = predicted_iterations(backend) <= static_cast<double>(options.jacobi_iterations);
      if (diagonal_suffices_) return;
    }
    eliminate_finest(backend, options, control);
    preconditioner_ = make_preconditioner(backend, matrix(), options, control,
                                          previous != nullptr ? previous->preconditioner_.get() : nullptr);
  }

  [[nodiscard]] std::int64_t vertices() const { return L_->rows(); }
  /// Matrix of the iteration: the Schur complement that the eliminations leave.
  [[nodiscard]] const Csr<T>& matrix() const { return stages_.empty() ? *L_ : reduced_; }
  [[nodiscard]] const std::vector<EliminationStage<T>>& stages() const { return stages_; }
  [[nodiscard]] const AffinityPreconditioner<B, T>& preconditioner() const { return *preconditioner_; }
  [[nodiscard]] std::size_t bytes() const {
    std::size_t bytes = reduced_.bytes() + preconditioner_->bytes();
    for (const EliminationStage<T>& stage : stages_) bytes += stage.bytes();
    return bytes;
  }

  [[nodiscard]] std::unique_ptr<Vectors> make_vectors(const Device& device) const {
    const std::int64_t n = matrix().rows();
    auto vectors = std::make_unique<Vectors>(device, n);
    Vectors& v = *vectors;
    for (std::size_t s = 1; s < stages_.size(); ++s) v.b.emplace_back(device, stages_[s].rows());
    v.r = Array<T>(device, n);
    v.u = Array<T>(device, n);
    v.cycle = preconditioner_->make_workspace();
    return vectors;
  }

  /// Begins from u = 0.
  void start(B& backend, std::span<const GivenColumn> columns) const {
    restrict_to(backend, columns);
    for_each_column(backend, matrix().rows(), columns,
                    [](const GivenColumn& column) { return SetZero<T>{column.vectors->u.data()}; });
    krylov::start_cg(backend, matrix().rows(), cg_columns(columns).span(), traits());
  }
  /// Queues an iteration. Equations of eliminated vertices contribute nothing to the residual, since they are
  /// satisfied exactly.
  void step(B& backend, std::span<const GivenColumn> columns) const {
    using Column = krylov::CgColumn<T>;
    krylov::step_cg(
        backend, matrix().rows(), cg_columns(columns).span(), traits(),
        [&] {
          for_column_products(backend, matrix(), columns, [](const GivenColumn& column) {
            krylov::CgVectors<T>& cg = column.vectors->cg;
            return VectorProduct{static_cast<const T*>(cg.p.data()), PutElement<T>{cg.q.data()}};
          });
        },
        [&](auto use) {
          if (const T* const diagonal = preconditioner_->diagonal()) {
            use([diagonal](const Column& column) { return ScaledElement<T>{diagonal, column.r}; });
          } else {
            precondition(backend, columns);
            use([](const Column& column) { return static_cast<const T*>(column.own->z.data()); });
          }
        });
  }
  /// Writes the iterates for all vertices, eliminated ones included.
  void finish(B& backend, std::span<const SolvedColumn> columns) const {
    prolong(backend, columns, [](Vectors& v) -> const T* { return v.u.data(); });
  }

  /// Computes x = M^-1 given for all vertices, by the eliminations and one cycle.
  void apply(B& backend, std::span<const GivenColumn> columns, std::span<const SolvedColumn> solved) const {
    restrict_to(backend, columns);
    if (matrix().rows() > 0) precondition(backend, columns);
    prolong(backend, solved, [](Vectors& v) -> const T* { return v.cg.z.data(); });
  }

 private:
  /// The columns as those of the recurrence.
  static ColumnList<krylov::CgColumn<T>> cg_columns(std::span<const GivenColumn> columns) {
    return {columns.size(), [&](std::size_t c) {
              Vectors& v = *columns[c].vectors;
              return krylov::CgColumn<T>{columns[c].state, &v.cg, v.u.data(), v.r.data(), c};
            }};
  }

  [[nodiscard]] krylov::CgTraits traits() const {
    using krylov::Preconditioning;
    if (preconditioner_->diagonal() != nullptr) return {.preconditioning = Preconditioning::diagonal};
    return {.preconditioning = Preconditioning::any, .flexible = true};
  }

  /// z = M^-1 r.
  void precondition(B& backend, std::span<const GivenColumn> columns) const {
    MultiVector<const T> r(matrix().rows());
    MultiVector<T> z(matrix().rows());
    for (const GivenColumn& column : columns) {
      r.add(column.vectors->r.data());
      z.add(column.vectors->cg.z.data());
    }
    preconditioner_->apply(backend, *columns.front().vectors->cycle, r, z);
  }

  /// Largest number of rounds in which vertices of the finest graph are eliminated.
  static constexpr std::size_t finest_rounds = 30;

  /// Predicts the number of iterations to 1e-8 by some iterations for a random right-hand side: their mean
  /// rate in the last third is taken to last. Infinite if they have not reduced the residual by `trusted`,
  /// because some slow vectors, as those of a path of cliques, are not noticed before; ends early where
  /// twenty more iterations at the present rate would not do so. Waits.
  double predicted_iterations(B& backend) const {
    constexpr std::int64_t steps = 30;
    constexpr std::int64_t third = steps / 3;
    constexpr double reduction = 1e-8;
    constexpr double trusted = 1e-4;
    const std::unique_ptr<Vectors> vectors = make_vectors(backend.device());
    Array<T> flow(backend.device(), L_->rows());
    write_random_flow(backend, flow.data());
    Array<IterationState> array(backend.device(), 1);
    IterationState state;
    state.tolerance = -1;
    state.divergence = std::numeric_limits<double>::max();
    state.max_iterations = steps + 1;
    backend.write(state, array.data());
    const GivenColumn only{vectors.get(), array.data(), flow.data()};
    start(backend, {&only, 1});
    state = backend.read(array.data());
    const double before = state.initial;
    state.tolerance = reduction * before;
    backend.write(state, array.data());
    double middle = before;
    double norm = before;
    for (std::int64_t s = third; s <= steps; s += third) {
      middle = norm;
      for (std::int64_t k = 0; k < third; ++k) step(backend, {&only, 1});
      state = backend.read(array.data());
      norm = state.residual;
      if (state.phase == Phase::converged) return static_cast<double>(state.iteration);
      if (!state.running()) break;
      const double rate = norm / state.history[s - third + third / 2 - 1];  // in half a third
      const double hoped = s < steps ? norm * rate * rate * rate * rate : norm;
      if (!(hoped <= trusted * before)) break;
    }
    if (!(norm < middle && norm <= trusted * before)) return std::numeric_limits<double>::infinity();
    return steps + std::log(reduction * before / norm) / std::log(norm / middle) * third;
  }

  void write_random_flow(B& backend, T* x) const {
    const Array<std::int32_t> rows = rows_of_elements(backend, *L_);
    Array<Sum> sums(backend.device(), L_->rows());
    backend.segmented_reduce(L_->rows(), L_->row_offsets().data(),
                             RandomFlow<T>{LaplacianRows<T>(*L_), rows.data()}, sums.data());
    backend.for_each(L_->rows(), RoundSum<T>{sums.data(), x});
  }

  /// Order in which the vertices that the first elimination leaves are numbered; empty for the given one. On
  /// a GPU vectors stay in the L2 cache.
  Array<std::int32_t> order_of_finest(B& backend) const {
    if constexpr (HostBackend<B>) {
      if (is_scattered(backend, *L_)) return local_order(backend, *L_);
    }
    return {};
  }

  void eliminate_finest(B& backend, const HierarchyOptions& options, const SetupControl& control) {
    while (stages_.size() < finest_rounds && matrix().rows() > 0 && !control.stop_requested()) {
      EliminationStage<T> stage;
      Csr<T> coarse;
      const Array<std::int32_t> order = stages_.empty() ? order_of_finest(backend) : Array<std::int32_t>();
      const EliminationOptions elimination{
          .round = stages_.size(), .least = options.least_elimination, .with_transpose = !stages_.empty()};
      if (!eliminate(backend, matrix(), elimination, stage, coarse, order)) return;
      if (stages_.empty()) keep_numbers(backend, stage);  // L_ is kept
      stages_.push_back(std::move(stage));
      reduced_ = std::move(coarse);
    }
  }

  /// The right-hand side after s > 0 eliminations.
  T* eliminated(Vectors& v, std::size_t s) const {
    return s < stages_.size() ? v.b[s - 1].data() : v.r.data();
  }

  /// Eliminates in each b. The last right-hand sides are in r, those between the eliminations in the vectors'
  /// b, for prolong().
  void restrict_to(B& backend, std::span<const GivenColumn> columns) const {
    if (stages_.empty()) {
      for_each_column(backend, L_->rows(), columns, [](const GivenColumn& column) {
        return CopyVector<T>{column.given, column.vectors->r.data()};
      });
      return;
    }
    const EliminationStage<T>& first = stages_.front();
    for_column_products(backend, *L_, columns, [&](const GivenColumn& column) {
      Vectors& v = (*column.vectors);
      v.given = column.given;
      return VectorProduct{ScaledElement<T>{first.inverse.data(), column.given},
                           PutReduced<T>{first.number.data(), column.given, eliminated(v, 1)}};
    });
    for (std::size_t s = 1; s < stages_.size(); ++s) {
      for_column_products(backend, stages_[s].R, columns, [&](const GivenColumn& column) {
        Vectors& v = (*column.vectors);
        return VectorProduct{static_cast<const T*>(eliminated(v, s)), PutElement<T>{eliminated(v, s + 1)}};
      });
    }
  }

  /// Completes solutions, from `reduced` for the remaining vertices; the iterates of the stages overwrite the
  /// vectors' b.
  template <class Reduced>
  void prolong(B& backend, std::span<const SolvedColumn> columns, Reduced reduced) const {
    if (stages_.empty()) {
      for_each_column(backend, L_->rows(), columns, [&](const SolvedColumn& column) {
        return CopyVector<T>{reduced(*column.vectors), column.x};
      });
      return;
    }
    const auto solution = [&](Vectors& v, std::size_t s) -> const T* {
      return s < stages_.size() ? v.b[s - 1].data() : reduced(v);
    };
    for (std::size_t s = stages_.size() - 1; s > 0; --s) {
      const EliminationStage<T>& stage = stages_[s];
      for_column_products(backend, stage.P, columns, [&](const SolvedColumn& column) {
        T* const b = column.vectors->b[s - 1].data();
        return VectorProduct{solution((*column.vectors), s + 1),
                             multigrid::CompleteElimination<T>{stage.inverse.data(), b, b}};
      });
    }
    const EliminationStage<T>& first = stages_.front();
    for_column_products(backend, *L_, columns, [&](const SolvedColumn& column) {
      Vectors& v = (*column.vectors);
      const KeptElement<T> kept{first.number.data(), solution(v, 1)};
      return VectorProduct{kept, CompleteVertex<T>{kept, first.inverse.data(), v.given, column.x}};
    });
  }

  const Csr<T>* L_;
  bool diagonal_suffices_ = false;  ///< no levels were made
  Csr<T> reduced_;
  std::vector<EliminationStage<T>> stages_;
  std::unique_ptr<AffinityPreconditioner<B, T>> preconditioner_;
};

}  // namespace echelon::affinity_multigrid
