// SPDX-License-Identifier: BSD-3-Clause
/// Multigrid cycles over a hierarchy.
#pragma once

#include "backend/arena.hpp"
#include "backend/columns.hpp"
#include "backend/recording.hpp"
#include "backend/store.hpp"
#include "linalg/vector/functors.hpp"
#include "linalg/vector/multi_vector.hpp"
#include "multigrid/coarse_solvers/coarse_solver.hpp"
#include "multigrid/hierarchy.hpp"
#include "multigrid/smoothers/smoother.hpp"
#include "solver/nested_solver.hpp"

#include <echelon/methods/amg.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

namespace echelon::multigrid {

/// Scalars of the inner iteration of a K-cycle, in the backend's memory.
struct KrylovState {
  double alpha = 0;  ///< (c, b)
  double rho = 0;    ///< (c, A c)
  double gamma = 0;  ///< (d, A c)
  double first = 0;  ///< coefficient of c in x; `second` is that of d
  double second = 0;
};

struct StoreFirstStep {
  KrylovState* state;
  ECHELON_ANYWHERE void operator()(TwoSums sums) const {
    state->alpha = sums.first;
    state->rho = sums.second;
    state->first = sums.second > 0 ? sums.first / sums.second : 1;
    state->second = 0;
  }
};
struct StoreGamma {
  KrylovState* state;
  ECHELON_ANYWHERE void operator()(Sum d_v) const { state->gamma = d_v.value; }
};
/// Computes the coefficients with which x = first c + second d minimises the error in the norm of A over both
/// directions.
struct StoreSecondStep {
  KrylovState* state;
  ECHELON_ANYWHERE void operator()(TwoSums sums) const {
    if (!(state->rho > 0)) return;
    const double rho = sums.second - state->gamma * state->gamma / state->rho;
    if (!(rho > 0)) return;
    state->second = sums.first / rho;
    state->first -= state->gamma * state->second / state->rho;
  }
};
/// r = b - (alpha / rho) v.
template <class T>
struct FirstResidual {
  const KrylovState* state;
  const T* b;
  const T* v;
  T* r;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    r[i] = b[i] - static_cast<T>(state->first) * v[i];
  }
};
/// x = first x + second d.
template <class T>
struct CombineSteps {
  const KrylovState* state;
  const T* d;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    x[i] = static_cast<T>(state->first) * x[i] + static_cast<T>(state->second) * d[i];
  }
};

/// Epilogue of a product with P: to = x + P e.
template <class T>
struct AddProduct {
  const T* x;
  T* to;
  ECHELON_ANYWHERE void operator()(std::int64_t i, T sum) const { to[i] = x[i] + sum; }
};

/// to = x + P e, where P has the element 1 in column `aggregates[i]` of row i, and no others.
template <class T>
struct AddAggregate {
  const std::int32_t* aggregates;
  const T* e;
  const T* x;
  T* to;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { to[i] = x[i] + e[aggregates[i]]; }
};

/// Epilogue of a product with P on a level of exact elimination: x = P e + inverse * b.
template <class T>
struct CompleteElimination {
  const T* inverse;
  const T* b;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i, T sum) const { x[i] = sum + inverse[i] * b[i]; }
};

/// Applies cycles from x = 0: x = M b. M is linear, and symmetric for V- and W-cycles if A is; an F-cycle is
/// linear but not symmetric, a K-cycle not linear. Several vectors are treated together: every product reads
/// its matrix once for all of them. Read-only after set-up; queues its work without waiting.
template <class B, class T>
class Cycle {
  /// Vectors of a level.
  struct Vectors {
    MultiVector<T> b, x, r;
    MultiVector<T> c, v, d;  // of the inner iteration of a K-cycle
    std::unique_ptr<Workspace> smoother;
    Array<KrylovState> krylov;  // of each column
    [[nodiscard]] std::size_t bytes() const {
      std::size_t bytes = smoother ? smoother->bytes() : 0;
      for (const MultiVector<T>* vectors : {&b, &x, &r, &c, &v, &d}) {
        bytes += static_cast<std::size_t>(vectors->columns() * vectors->rows()) * sizeof(T);
      }
      return bytes;
    }
  };

 public:
  struct Scratch final : Workspace {
    [[nodiscard]] std::size_t bytes() const override {
      std::size_t bytes = 0;
      for (const Vectors& level : levels) bytes += level.bytes();
      return bytes;
    }
    int columns = 0;  ///< for which there is memory
    Arena memory;     ///< of the levels' vectors
    std::vector<Vectors> levels;
    std::optional<Recording<B>> recording;  ///< of work on these vectors
  };

  struct Level {
    const HierarchyLevel<T>* matrices;
    std::unique_ptr<Smoother<B, T>> smoother;  ///< null on the coarsest level and those of eliminations
  };

  /// `krylov_levels` is the number of levels below the finest, those of eliminations not counted, that a
  /// K-cycle solves by two steps of a Krylov method. Coarser levels, which it would visit 2^l times, are
  /// treated by a V-cycle. Levels of eliminations are for V- and K-cycles only, K-cycles for real numbers.
  Cycle(CycleKind kind, std::vector<Level> levels, std::unique_ptr<CoarseSolver<B, T>> coarse,
        int krylov_levels = 3)
      : kind_(kind),
        levels_(std::move(levels)),
        iterates_(levels_.size()),
        coarse_(std::move(coarse)),
        is_recordable_(coarse_->is_recordable()) {
    int below = 0;
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      const Level& level = levels_[l];
      is_recordable_ = is_recordable_ && (!level.smoother || level.smoother->is_recordable());
      if (level.matrices->is_elimination()) continue;
      iterates_[l] = kind == CycleKind::k && below > 0 && below <= krylov_levels && !is_coarsest(l);
      ++below;
    }
  }

  [[nodiscard]] const CoarseSolver<B, T>& coarse_solver() const { return *coarse_; }
  [[nodiscard]] std::size_t bytes() const {
    std::size_t bytes = coarse_->bytes();
    for (const Level& level : levels_) bytes += level.smoother ? level.smoother->bytes() : 0;
    return bytes;
  }
  [[nodiscard]] const Csr<T>& level_matrix(std::size_t l) const { return *levels_[l].matrices->A; }
  [[nodiscard]] std::size_t level_bytes(std::size_t l) const {
    if (is_coarsest(l)) return coarse_->bytes();
    return levels_[l].smoother ? levels_[l].smoother->bytes() : 0;
  }

  /// Makes scratch memory for one column; apply() makes room for more.
  [[nodiscard]] std::unique_ptr<Scratch> make_scratch(const Device& device) const {
    auto scratch = std::make_unique<Scratch>();
    make_room(*scratch, device, 1);
    return scratch;
  }

  /// x = M b for each column, with the bits that it has alone. Fastest on a GPU if the columns are those of
  /// the previous call, whose recording is replayed.
  void apply(B& backend, Scratch& scratch, const MultiVector<const T>& b, const MultiVector<T>& x) const {
    if (x.columns() == 0) return;
    if (x.columns() > scratch.columns) make_room(scratch, backend.device(), x.columns());
    const auto queue = [&] { visit(backend, scratch, b, x, 0, kind_, true); };
    if (!is_recordable_) {
      queue();
      return;
    }
    RecordedAddresses addresses{};
    static_assert(std::tuple_size_v<RecordedAddresses> >= 2 * most_columns);
    for (int c = 0; c < x.columns(); ++c) {
      const auto place = 2 * static_cast<std::size_t>(c);
      addresses[place] = b[c];
      addresses[place + 1] = x[c];
    }
    scratch.recording->run(backend, addresses, queue);
  }

 private:
  /// Allocates the vectors of all levels for this many columns.
  void make_room(Scratch& scratch, const Device& device, int columns) const {
    scratch.columns = 0;
    scratch.levels.clear();
    scratch.memory = Arena();
    std::int64_t bytes = 0;
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      bytes += columns * vectors_of(l) * Arena::bytes<T>(levels_[l].matrices->rows());
    }
    scratch.memory = Arena(device, bytes);
    scratch.recording.emplace();
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      const auto take = [&, n = levels_[l].matrices->rows()] {
        MultiVector<T> vectors(n);
        for (int c = 0; c < columns; ++c) vectors.add(scratch.memory.template take<T>(n));
        return vectors;
      };
      Vectors vectors;
      if (!levels_[l].matrices->is_elimination()) {
        vectors.r = take();
        vectors.smoother =
            is_coarsest(l) ? coarse_->make_workspace(columns) : levels_[l].smoother->make_workspace(columns);
      }
      if (l > 0) {
        vectors.b = take();
        vectors.x = take();
      }
      if (iterates_[l]) {
        vectors.c = take();
        vectors.v = take();
        vectors.d = take();
        vectors.krylov = Array<KrylovState>(device, columns);
      }
      scratch.levels.push_back(std::move(vectors));
    }
    scratch.columns = columns;
  }

  [[nodiscard]] bool is_coarsest(std::size_t l) const { return l + 1 == levels_.size(); }

  /// Number of vectors of level l in scratch memory.
  [[nodiscard]] std::int64_t vectors_of(std::size_t l) const {
    return (levels_[l].matrices->is_elimination() ? 0 : 1) + (l > 0 ? 2 : 0) + (iterates_[l] ? 3 : 0);
  }

  /// Applies one cycle on level l. If `zero`, the cycle begins from x = 0 and does not read x.
  void visit(B& backend, Scratch& scratch, const MultiVector<const T>& b, const MultiVector<T>& x,
             std::size_t l, CycleKind kind, bool zero) const {
    const Level& level = levels_[l];
    if (level.matrices->is_elimination()) {
      eliminate(backend, scratch, b, x, l, kind);
      return;
    }
    const int columns = x.columns();
    Vectors& own = scratch.levels[l];
    const SmootherArguments<B, T> arguments{backend, own.smoother.get(), b, x, own.r.first(columns)};
    if (is_coarsest(l)) {
      coarse_->solve(arguments);
      return;
    }
    if (zero) {
      level.smoother->start_with_residual(arguments);
    } else {
      level.smoother->pre_smooth(arguments);
      form_residuals(*level.matrices->A, arguments);
    }
    multiply_each(backend, level.matrices->R, arguments.r, scratch.levels[l + 1].b);
    descend(backend, scratch, columns, l + 1, kind);
    correct(backend, scratch, x, l);
    level.smoother->post_smooth(arguments);
  }

  /// y = M x for the columns of x.
  static void multiply_each(B& backend, const Csr<T>& M, const MultiVector<const T>& x,
                            const MultiVector<T>& y) {
    for_column_products(backend, M, x.columns(), [&](int c) {
      return VectorProduct{x[c], PutElement<T>{y[c]}};
    });
  }

  /// Adds P e to the iterates, for the e of the next level; the results are where post_smooth() takes them
  /// from. On a GPU a product serves several columns best.
  void correct(B& backend, Scratch& scratch, const MultiVector<T>& x, std::size_t l) const {
    const HierarchyLevel<T>& level = *levels_[l].matrices;
    const MultiVector<T>& e = scratch.levels[l + 1].x;
    const MultiVector<T>& corrected = levels_[l].smoother->takes_iterate_from_r() ? scratch.levels[l].r : x;
    if (level.is_aggregation && backend.device().on_host()) {
      const std::int32_t* const aggregates = level.P.column_indices().data();
      for_each_column(backend, level.rows(), x.columns(), [&](int c) {
        return AddAggregate<T>{aggregates, e[c], x[c], corrected[c]};
      });
      return;
    }
    for_column_products(backend, level.P, x.columns(), [&](int c) {
      return VectorProduct{static_cast<const T*>(e[c]), AddProduct<T>{x[c], corrected[c]}};
    });
  }

  /// Eliminates unknowns exactly, solves approximately for the others, and completes x.
  void eliminate(B& backend, Scratch& scratch, const MultiVector<const T>& b, const MultiVector<T>& x,
                 std::size_t l, CycleKind kind) const {
    const HierarchyLevel<T>& level = *levels_[l].matrices;
    const Vectors& next = scratch.levels[l + 1];
    multiply_each(backend, level.R, b, next.b);
    descend(backend, scratch, x.columns(), l + 1, kind);
    for_column_products(backend, level.P, x.columns(), [&](int c) {
      return VectorProduct{static_cast<const T*>(next.x[c]),
                           CompleteElimination<T>{level.eliminated.data(), b[c], x[c]}};
    });
  }

  /// Solves approximately on coarse level l, for the right-hand sides in its first columns.
  void descend(B& backend, Scratch& scratch, int columns, std::size_t l, CycleKind kind) const {
    if constexpr (!is_complex<T>) {
      if (iterates_[l]) return iterate(backend, scratch, columns, l);
    }
    const MultiVector<const T> b = scratch.levels[l].b.first(columns);
    const MultiVector<T> x = scratch.levels[l].x.first(columns);
    const bool eliminates = levels_[l].matrices->is_elimination();
    const CycleKind first = kind == CycleKind::k && !eliminates ? CycleKind::v : kind;
    visit(backend, scratch, b, x, l, first, true);
    if (is_coarsest(l) || eliminates) return;
    if (kind == CycleKind::w) visit(backend, scratch, b, x, l, CycleKind::w, false);
    if (kind == CycleKind::f) visit(backend, scratch, b, x, l, CycleKind::v, false);
  }

  /// Takes two steps of flexible conjugate gradients, preconditioned by the cycle (Notay, Vassilevski,
  /// Recursive Krylov-based multigrid cycles, Numer. Linear Algebra Appl. 15, 2008). The scalars stay on the
  /// device.
  void iterate(B& backend, Scratch& scratch, int columns, std::size_t l) const {
    Vectors& own = scratch.levels[l];
    const Csr<T>& A = *levels_[l].matrices->A;
    const std::int64_t n = A.rows();
    const MultiVector<const T> b = own.b.first(columns);
    const MultiVector<T> x = own.x.first(columns);
    const MultiVector<T> c = own.c.first(columns);
    const MultiVector<T> d = own.d.first(columns);
    const MultiVector<T>& v = own.v;
    KrylovState* const state = own.krylov.data();
    visit(backend, scratch, b, x, l, CycleKind::k, true);
    multiply_each(backend, A, x, v);
    reduce_columns(
        backend, n, columns,
        [&](int j) {
          return TwoProducts<T>{x[j], b[j], v[j]};
        },
        [&](int j) { return StoreFirstStep{state + j}; });
    for_each_column(backend, n, columns, [&](int j) {
      return FirstResidual<T>{state + j, b[j], v[j], c[j]};
    });
    visit(backend, scratch, c, d, l, CycleKind::k, true);
    reduce_columns(
        backend, n, columns,
        [&](int j) {
          return Product<T>{d[j], v[j]};
        },
        [&](int j) { return StoreGamma{state + j}; });
    multiply_each(backend, A, d, v);
    reduce_columns(
        backend, n, columns,
        [&](int j) {
          return TwoProducts<T>{d[j], c[j], v[j]};
        },
        [&](int j) { return StoreSecondStep{state + j}; });
    for_each_column(backend, n, columns, [&](int j) { return CombineSteps<T>{state + j, d[j], x[j]}; });
  }

  CycleKind kind_;
  std::vector<Level> levels_;
  std::vector<bool> iterates_;  // levels solved by two steps of a Krylov method
  std::unique_ptr<CoarseSolver<B, T>> coarse_;
  bool is_recordable_;
};

}  // namespace echelon::multigrid
