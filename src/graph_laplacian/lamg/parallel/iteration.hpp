// SPDX-License-Identifier: BSD-3-Clause
/// Flexible conjugate gradients with cycles of a hierarchy, after exact eliminations.
#pragma once

#include "backend/arena.hpp"
#include "backend/columns.hpp"
#include "graph_laplacian/lamg/engine.hpp"
#include "graph_laplacian/lamg/parallel/local_order.hpp"
#include "graph_laplacian/lamg/parallel/preconditioner.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace echelon::lamg::parallel {

/// Scalars of the iteration, in the backend's memory.
struct FlexibleState {
  double curvature = 0;  ///< (p, A p)
  double alpha = 0;
  double beta = 0;
  double rho = 0;           ///< (r, M r), if M is a diagonal matrix
  double tolerance = 0;     ///< on the norm of the residual
  bool is_running = false;  ///< whether steps change the iterate
};
/// 2-norms of the residuals of some columns after some steps, in the backend's memory.
struct ResidualNorms {
  static constexpr double none = -1;  ///< in place of a step that came after the last one
  static constexpr std::size_t capacity = usual_columns;
  double at[capacity][most_steps] = {};
};
struct BeginIteration {
  double tolerance;
  FlexibleState* state;
  ECHELON_ANYWHERE void operator()(std::int64_t /*only*/) const {
    state->tolerance = tolerance;
    state->is_running = true;
  }
};
template <class T>
struct FillVector {
  T value;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { x[i] = value; }
};
template <class T>
struct CopyVector {
  const T* from;
  T* to;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { to[i] = from[i]; }
};
/// beta = -(z, A p) / (p, A p), which makes the new direction conjugate to the last one although M varies.
struct StoreBeta {
  FlexibleState* state;
  ECHELON_ANYWHERE void operator()(Sum product) const {
    state->beta = state->curvature > 0 ? -product.value / state->curvature : 0;
  }
};
template <class T, class Z>
struct NextDirection {
  const FlexibleState* state;
  Z z;
  T* p;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { p[i] = z[i] + static_cast<T>(state->beta) * p[i]; }
};
struct StoreStepLength {
  FlexibleState* state;
  ECHELON_ANYWHERE void operator()(TwoSums sums) const {
    state->curvature = sums.second;
    state->alpha = sums.second > 0 ? sums.first / sums.second : 0;
  }
};
/// x += alpha p, r -= alpha v; contributes to (r, r).
template <class T>
struct TakeStep {
  const FlexibleState* state;
  const T* p;
  const T* v;
  T* x;
  T* r;
  ECHELON_ANYWHERE Sum operator()(std::int64_t i) const {
    if (!state->is_running) return {};
    const T alpha = static_cast<T>(state->alpha);
    x[i] += alpha * p[i];
    r[i] -= alpha * v[i];
    return {static_cast<double>(r[i]) * static_cast<double>(r[i])};
  }
};
/// Stores the norm after a step, and ends the iteration at one within the tolerance or not finite.
struct StoreResidualNorm {
  FlexibleState* state;
  double* norm;
  ECHELON_ANYWHERE void operator()(Sum squares) const {
    constexpr double largest = 1.7e308;
    *norm = state->is_running ? std::sqrt(squares.value) : ResidualNorms::none;
    state->is_running = *norm > state->tolerance && *norm <= largest;
  }
};

/// First direction for a diagonal M: p = z for z = M r; contributes to (r, z).
template <class T>
struct FirstScaledDirection {
  ScaledElement<T> z;
  T* p;
  ECHELON_ANYWHERE Sum operator()(std::int64_t i) const {
    const T own = z[i];
    p[i] = own;
    return {static_cast<double>(z.r[i]) * static_cast<double>(own)};
  }
};
struct StoreRho {
  FlexibleState* state;
  ECHELON_ANYWHERE void operator()(Sum product) const { state->rho = product.value; }
};
struct StoreScaledStepLength {
  FlexibleState* state;
  ECHELON_ANYWHERE void operator()(Sum product) const {
    state->alpha = product.value > 0 ? state->rho / product.value : 0;
  }
};
/// TakeStep that contributes to (r, r) and, for a diagonal M, (r, M r).
template <class T>
struct TakeScaledStep {
  TakeStep<T> step;
  const T* inverse;
  ECHELON_ANYWHERE TwoSums operator()(std::int64_t i) const {
    const Sum square = step(i);
    if (!step.state->is_running) return {};
    const T r = step.r[i];
    return {square.value, static_cast<double>(r) * static_cast<double>(rounded_product(inverse[i], r))};
  }
};
/// StoreResidualNorm, and beta for the next direction (Fletcher, Reeves).
struct StoreScaledResidual {
  StoreResidualNorm norm;
  ECHELON_ANYWHERE void operator()(TwoSums sums) const {
    FlexibleState* const state = norm.state;
    if (state->is_running) {
      state->beta = state->rho > 0 ? sums.second / state->rho : 0;
      state->rho = sums.second;
    }
    norm({sums.first});
  }
};
struct StoreNorm {
  double* norm;
  ECHELON_ANYWHERE void operator()(Sum squares) const { *norm = std::sqrt(squares.value); }
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

/// Solver for the Laplacian of a graph. Where conjugate gradients with the diagonal are predicted to converge
/// fast, as on graphs of small diameter, they do all the work. Otherwise vertices with few neighbours are
/// eliminated in working precision, once for each right-hand side, and the iteration for their Schur
/// complement is preconditioned by cycles (Notay, Flexible conjugate gradients, SIAM J. Sci. Comput. 22,
/// 2000).
template <class B, class T>
class ParallelSolver {
 public:
  struct Vectors final : Workspace {
    const T* given = nullptr;  ///< right-hand side before the first elimination, the caller's
    std::vector<Array<T>> b;   ///< right-hand side before each further elimination
    Arena memory;              ///< of the vectors in the next line
    Array<T> r, x, z, p, v;
    Array<FlexibleState> state;
    Array<ResidualNorms> norms;        ///< of this column and those that follow
    std::shared_ptr<Workspace> cycle;  ///< one for all columns that are solved together
    bool shares_cycle = false;         ///< that of the first column
    bool begun = false;                ///< whether p and v hold a direction
    [[nodiscard]] std::size_t bytes() const override {
      std::size_t bytes = r.bytes() + x.bytes() + z.bytes() + p.bytes() + v.bytes();
      if (!shares_cycle) bytes += cycle->bytes();
      for (const Array<T>& level : b) bytes += level.bytes();
      return bytes;
    }
  };

  /// Sets up for the Laplacian L, which has to outlive the solver. Takes the aggregates of `previous`, unless
  /// it is null: the solver for a graph with the same edges and other weights, which is then of no further
  /// use. Waits.
  ParallelSolver(B& backend, const Csr<T>& L, const HierarchyOptions& options,
                 const CancellationToken& cancel, ParallelSolver* previous = nullptr)
      : L_(&L) {
    if (options.jacobi_iterations > 0 && (previous == nullptr || previous->diagonal_suffices_)) {
      preconditioner_ = std::make_unique<DiagonalPreconditioner<B, T>>(backend, L);
      diagonal_suffices_ = predicted_iterations(backend) <= static_cast<double>(options.jacobi_iterations);
      if (diagonal_suffices_) return;
    }
    eliminate_finest(backend, options, cancel);
    preconditioner_ = make_preconditioner(backend, matrix(), options, cancel,
                                          previous != nullptr ? previous->preconditioner_.get() : nullptr);
  }

  [[nodiscard]] std::int64_t vertices() const { return L_->rows(); }
  /// Matrix of the iteration: the Schur complement that the eliminations leave.
  [[nodiscard]] const Csr<T>& matrix() const { return stages_.empty() ? *L_ : reduced_; }
  [[nodiscard]] const std::vector<EliminationStage<T>>& stages() const { return stages_; }
  [[nodiscard]] const Preconditioner<B, T>& preconditioner() const { return *preconditioner_; }
  [[nodiscard]] std::size_t bytes() const {
    std::size_t bytes = reduced_.bytes() + preconditioner_->bytes();
    for (const EliminationStage<T>& stage : stages_) bytes += stage.bytes();
    return bytes;
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_vectors(const Device& device) const {
    auto vectors = std::make_unique<Vectors>();
    Vectors& v = *vectors;
    for (std::size_t s = 1; s < stages_.size(); ++s) v.b.emplace_back(device, stages_[s].rows());
    const std::int64_t n = matrix().rows();
    v.memory = Arena(device, 5 * Arena::bytes<T>(n));
    for (Array<T>* vector : {&v.r, &v.x, &v.z, &v.p, &v.v}) {
      *vector = Array<T>::borrow(device, v.memory.template take<T>(n), n);
    }
    v.state = Array<FlexibleState>(device, 1);
    v.norms = Array<ResidualNorms>(device, 1);
    v.cycle = preconditioner_->make_workspace();
    return vectors;
  }

  /// Begins from x = 0 for right-hand sides whose sums are zero on each component, and which finish() reads
  /// again.
  void start(B& backend, std::span<const StartedColumn<T>> columns) const {
    restrict_to(backend, columns);
    for_each_column(backend, matrix().rows(), columns, [](const StartedColumn<T>& column) {
      return FillVector<T>{T{0}, own(column).x.data()};
    });
    for_each_column(backend, 1, columns, [](const StartedColumn<T>& column) {
      return BeginIteration{column.tolerance, own(column).state.data()};
    });
    for (const StartedColumn<T>& column : columns) own(column).begun = false;
  }

  /// Takes `steps` steps, or as many as it takes to the end, for each of at most `most_columns` right-hand
  /// sides, with the bits that each has alone, and writes the 2-norms of their residuals. Equations of
  /// eliminated vertices contribute nothing, since they are satisfied exactly. Waits.
  void step(B& backend, std::span<Vectors* const> columns, std::int64_t steps,
            std::span<StepNorms> norms) const {
    if (matrix().rows() == 0) {
      for (StepNorms& own : norms) own = {.count = 1};
      return;
    }
    for (std::int64_t s = 0; s < steps; ++s) queue_step(backend, columns, s);
    for (std::size_t first = 0; first < columns.size(); first += ResidualNorms::capacity) {
      const ResidualNorms found = backend.read(columns[first]->norms.data());
      const std::size_t end = std::min(first + ResidualNorms::capacity, columns.size());
      for (std::size_t c = first; c < end; ++c) {
        norms[c].count = 0;
        const double* const own = found.at[c - first];
        for (std::int64_t s = 0; s < steps && own[s] != ResidualNorms::none; ++s) {
          norms[c].at[static_cast<std::size_t>(norms[c].count++)] = own[s];
        }
      }
    }
  }

  /// Writes the iterates for all vertices, eliminated ones included.
  void finish(B& backend, std::span<const FinishedColumn<T>> columns) const {
    prolong(backend, columns, &Vectors::x);
  }

  /// Computes z = M r for all vertices, by the eliminations and one cycle, for each column and its vectors.
  void apply(B& backend, std::span<Vectors* const> vectors, const MultiVector<const T>& r,
             const MultiVector<T>& z) const {
    std::array<StartedColumn<T>, most_columns> right{};
    std::array<FinishedColumn<T>, most_columns> left{};
    for (std::size_t c = 0; c < vectors.size(); ++c) {
      right[c] = {vectors[c], r[static_cast<int>(c)], 0};
      left[c] = {vectors[c], z[static_cast<int>(c)]};
    }
    restrict_to(backend, {right.data(), vectors.size()});
    if (matrix().rows() > 0) precondition(backend, vectors);
    prolong(backend, {left.data(), vectors.size()}, &Vectors::z);
  }

 private:
  template <class Column>
  static Vectors& own(const Column& column) {
    return static_cast<Vectors&>(*column.vectors);
  }

  /// Where norm s of column c is stored.
  static double* norm_of(std::span<Vectors* const> columns, std::size_t c, std::int64_t s) {
    const std::size_t place = c % ResidualNorms::capacity;
    return columns[c - place]->norms.data()->at[place] + s;
  }

  /// Queues a step, after which norm s of each column is stored.
  void queue_step(B& backend, std::span<Vectors* const> columns, std::int64_t s) const {
    const std::int64_t n = matrix().rows();
    if (const T* const diagonal = preconditioner_->diagonal()) {
      queue_scaled_step(backend, columns, s, diagonal);
      return;
    }
    precondition(backend, columns);
    set_directions(backend, columns);
    multiply_directions(backend, columns);
    using multigrid::TwoProducts;
    std::size_t column = 0;
    reduce_columns(
        backend, n, columns,
        [](Vectors* v) {
          return TwoProducts<T>{v->p.data(), v->r.data(), v->v.data()};
        },
        [](Vectors* v) { return StoreStepLength{v->state.data()}; });
    reduce_columns(
        backend, n, columns, [](Vectors* v) { return take_step(*v); },
        [&](Vectors* v) {
          return StoreResidualNorm{v->state.data(), norm_of(columns, column++, s)};
        });
  }

  /// Queues a step for the fixed, diagonal M, whose application is part of the other loops.
  void queue_scaled_step(B& backend, std::span<Vectors* const> columns, std::int64_t s,
                         const T* diagonal) const {
    const std::int64_t n = matrix().rows();
    const Begun begun(columns);
    const auto z = [diagonal](Vectors* v) { return ScaledElement<T>{diagonal, v->r.data()}; };
    reduce_columns(
        backend, n, begun.first(),
        [&](Vectors* v) {
          return FirstScaledDirection<T>{z(v), v->p.data()};
        },
        [](Vectors* v) { return StoreRho{v->state.data()}; });
    for_each_column(backend, n, begun.others(), [&](Vectors* v) {
      return NextDirection<T, ScaledElement<T>>{v->state.data(), z(v), v->p.data()};
    });
    multiply_directions(backend, columns);
    std::size_t column = 0;
    reduce_columns(
        backend, n, columns,
        [](Vectors* v) {
          return Product<T>{v->p.data(), v->v.data()};
        },
        [](Vectors* v) { return StoreScaledStepLength{v->state.data()}; });
    reduce_columns(
        backend, n, columns,
        [&](Vectors* v) {
          return TakeScaledStep<T>{take_step(*v), diagonal};
        },
        [&](Vectors* v) {
          return StoreScaledResidual{{v->state.data(), norm_of(columns, column++, s)}};
        });
  }

  static TakeStep<T> take_step(Vectors& v) {
    return {v.state.data(), v.p.data(), v.v.data(), v.x.data(), v.r.data()};
  }
  /// v = A p.
  void multiply_directions(B& backend, std::span<Vectors* const> columns) const {
    for_column_products(backend, matrix(), columns, [](Vectors* v) {
      return VectorProduct{static_cast<const T*>(v->p.data()), PutElement<T>{v->v.data()}};
    });
  }

  /// z = M r.
  void precondition(B& backend, std::span<Vectors* const> columns) const {
    MultiVector<const T> r(matrix().rows());
    MultiVector<T> z(matrix().rows());
    for (Vectors* v : columns) {
      r.add(v->r.data());
      z.add(v->z.data());
    }
    preconditioner_->apply(backend, *columns.front()->cycle, r, z);
  }

  /// Columns in their first step, which is noted, and those that have a direction already.
  class Begun {
   public:
    explicit Begun(std::span<Vectors* const> columns) {
      for (Vectors* v : columns) (v->begun ? others_[other_count_++] : first_[first_count_++]) = v;
      for (Vectors* v : first()) v->begun = true;
    }
    [[nodiscard]] std::span<Vectors* const> first() const { return {first_.data(), first_count_}; }
    [[nodiscard]] std::span<Vectors* const> others() const { return {others_.data(), other_count_}; }

   private:
    std::array<Vectors*, most_columns> first_{};
    std::array<Vectors*, most_columns> others_{};
    std::size_t first_count_ = 0;
    std::size_t other_count_ = 0;
  };

  /// Makes p the next direction.
  void set_directions(B& backend, std::span<Vectors* const> columns) const {
    const std::int64_t n = matrix().rows();
    const Begun begun(columns);
    for_each_column(backend, n, begun.first(), [](Vectors* v) {
      return CopyVector<T>{v->z.data(), v->p.data()};
    });
    reduce_columns(
        backend, n, begun.others(),
        [](Vectors* v) {
          return Product<T>{v->z.data(), v->v.data()};
        },
        [](Vectors* v) { return StoreBeta{v->state.data()}; });
    for_each_column(backend, n, begun.others(), [](Vectors* v) {
      return NextDirection<T, const T*>{v->state.data(), v->z.data(), v->p.data()};
    });
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
    const std::int64_t n = L_->rows();
    const std::unique_ptr<Workspace> workspace = make_vectors(backend.device());
    auto& v = static_cast<Vectors&>(*workspace);
    write_random_flow(backend, v.p.data());
    backend.reduce(n, Product<T>{v.p.data(), v.p.data()}, StoreNorm{v.norms.data()->at[0]});
    const double before = backend.read(v.norms.data()).at[0][0];
    const StartedColumn<T> only{&v, v.p.data(), reduction * before};
    start(backend, {&only, 1});
    Vectors* const columns[] = {&v};
    StepNorms norms;
    double middle = before;
    double norm = before;
    for (std::int64_t s = third; s <= steps; s += third) {
      middle = norm;
      step(backend, columns, third, {&norms, 1});
      norm = norms.at[static_cast<std::size_t>(norms.count - 1)];
      if (norm <= reduction * before) return static_cast<double>(s - third + norms.count);
      if (norms.count < third) break;                      // not finite
      const double rate = norm / norms.at[third / 2 - 1];  // in half a third
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

  void eliminate_finest(B& backend, const HierarchyOptions& options, const CancellationToken& cancel) {
    while (stages_.size() < finest_rounds && matrix().rows() > 0 && !cancel.stop_requested()) {
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
  void restrict_to(B& backend, std::span<const StartedColumn<T>> columns) const {
    if (stages_.empty()) {
      for_each_column(backend, L_->rows(), columns, [](const StartedColumn<T>& column) {
        return CopyVector<T>{column.b, own(column).r.data()};
      });
      return;
    }
    const EliminationStage<T>& first = stages_.front();
    for_column_products(backend, *L_, columns, [&](const StartedColumn<T>& column) {
      Vectors& v = own(column);
      v.given = column.b;
      return VectorProduct{ScaledElement<T>{first.inverse.data(), column.b},
                           PutReduced<T>{first.number.data(), column.b, eliminated(v, 1)}};
    });
    for (std::size_t s = 1; s < stages_.size(); ++s) {
      for_column_products(backend, stages_[s].R, columns, [&](const StartedColumn<T>& column) {
        Vectors& v = own(column);
        return VectorProduct{static_cast<const T*>(eliminated(v, s)), PutElement<T>{eliminated(v, s + 1)}};
      });
    }
  }

  /// Completes solutions, from `reduced` for the remaining vertices; the iterates of the stages overwrite the
  /// vectors' b.
  void prolong(B& backend, std::span<const FinishedColumn<T>> columns, Array<T> Vectors::*reduced) const {
    if (stages_.empty()) {
      for_each_column(backend, L_->rows(), columns, [&](const FinishedColumn<T>& column) {
        return CopyVector<T>{(own(column).*reduced).data(), column.x};
      });
      return;
    }
    const auto solution = [&](Vectors& v, std::size_t s) -> const T* {
      return s < stages_.size() ? v.b[s - 1].data() : (v.*reduced).data();
    };
    for (std::size_t s = stages_.size() - 1; s > 0; --s) {
      const EliminationStage<T>& stage = stages_[s];
      for_column_products(backend, stage.P, columns, [&](const FinishedColumn<T>& column) {
        T* const b = own(column).b[s - 1].data();
        return VectorProduct{solution(own(column), s + 1),
                             multigrid::CompleteElimination<T>{stage.inverse.data(), b, b}};
      });
    }
    const EliminationStage<T>& first = stages_.front();
    for_column_products(backend, *L_, columns, [&](const FinishedColumn<T>& column) {
      Vectors& v = own(column);
      const KeptElement<T> kept{first.number.data(), solution(v, 1)};
      return VectorProduct{kept, CompleteVertex<T>{kept, first.inverse.data(), v.given, column.x}};
    });
  }

  const Csr<T>* L_;
  bool diagonal_suffices_ = false;  ///< no levels were made
  Csr<T> reduced_;
  std::vector<EliminationStage<T>> stages_;
  std::unique_ptr<Preconditioner<B, T>> preconditioner_;
};

}  // namespace echelon::lamg::parallel
