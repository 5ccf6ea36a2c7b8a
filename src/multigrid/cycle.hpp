// SPDX-License-Identifier: BSD-3-Clause
/// Multigrid cycles over a hierarchy.
#pragma once

#include "backend/arena.hpp"
#include "backend/columns.hpp"
#include "backend/recording.hpp"
#include "backend/store.hpp"
#include "linalg/vector/functors.hpp"
#include "multigrid/coarse_solvers/coarse_solver.hpp"
#include "multigrid/hierarchy.hpp"
#include "multigrid/smoothers/smoother.hpp"
#include "solver/nested_solver.hpp"

#include <echelon/methods/amg.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
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

/// Inner products (x, y) and (x, z), in one reduction.
template <class T>
struct TwoProducts {
  const T* x;
  const T* y;
  const T* z;
  ECHELON_ANYWHERE TwoSums operator()(std::int64_t i) const {
    const auto value = static_cast<double>(x[i]);
    return {value * static_cast<double>(y[i]), value * static_cast<double>(z[i])};
  }
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
  struct Vectors {
    Array<T> b, x, r;
    std::unique_ptr<Workspace> smoother;
    Array<T> c, v, d;  // vectors of the inner iteration of a K-cycle
    Array<KrylovState> krylov;
    [[nodiscard]] std::size_t bytes() const {
      return b.bytes() + x.bytes() + r.bytes() + c.bytes() + v.bytes() + d.bytes() +
             (smoother ? smoother->bytes() : 0);
    }
  };

 public:
  struct Scratch final : Workspace {
    [[nodiscard]] std::size_t bytes() const override {
      std::size_t bytes = 0;
      for (const Vectors& level : levels) bytes += level.bytes();
      return bytes;
    }
    Arena memory;  ///< of the levels' vectors
    std::vector<Vectors> levels;
    Recording<B> recording;
  };

  struct Level {
    const HierarchyLevel<T>* matrices;
    std::unique_ptr<Smoother<B, T>> smoother;  ///< null on the coarsest level and those of eliminations
  };

  /// `krylov_levels` is the number of levels below the finest, those of eliminations not counted, that a
  /// K-cycle solves by two steps of a Krylov method. Coarser levels, which it would visit 2^l times, are
  /// treated by a V-cycle. Levels of eliminations are for V- and K-cycles only.
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

  [[nodiscard]] std::unique_ptr<Scratch> make_scratch(const Device& device) const {
    auto scratch = std::make_unique<Scratch>();
    std::int64_t bytes = 0;
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      bytes += vectors_of(l) * Arena::bytes<T>(levels_[l].matrices->rows());
    }
    scratch->memory = Arena(device, bytes);
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      const auto vector = [&, n = levels_[l].matrices->rows()] {
        return Array<T>::borrow(device, scratch->memory.template take<T>(n), n);
      };
      Vectors vectors;
      if (!levels_[l].matrices->is_elimination()) {
        vectors.r = vector();
        vectors.smoother = is_coarsest(l) ? coarse_->make_workspace() : levels_[l].smoother->make_workspace();
      }
      if (l > 0) {
        vectors.b = vector();
        vectors.x = vector();
      }
      if (iterates_[l]) {
        vectors.c = vector();
        vectors.v = vector();
        vectors.d = vector();
        vectors.krylov = Array<KrylovState>(device, 1);
      }
      scratch->levels.push_back(std::move(vectors));
    }
    return scratch;
  }

  /// A vector b of the finest level, M b, and scratch memory.
  struct Column {
    Scratch* scratch;
    const T* b;
    T* x;
  };

  /// x = M b for at most `most_columns` columns, each with the bits that it has alone. Fastest on a GPU if
  /// the columns are those of the previous call, whose recording is replayed.
  void apply(B& backend, std::span<const Column> columns) const {
    const auto queue = [&] { visit(backend, columns, 0, kind_, true); };
    if (!is_recordable_) {
      queue();
      return;
    }
    RecordedAddresses addresses{};
    static_assert(std::tuple_size_v<RecordedAddresses> >= 2 * most_columns);
    static_assert(EachColumn<int>::capacity >= most_columns);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      addresses[2 * c] = columns[c].b;
      addresses[2 * c + 1] = columns[c].x;
    }
    columns.front().scratch->recording.run(backend, addresses, queue);
  }
  void apply(B& backend, Scratch& scratch, const T* b, T* x) const {
    const Column column{&scratch, b, x};
    apply(backend, {&column, 1});
  }

 private:
  /// Columns as the smoother of one level takes them.
  class LevelColumns {
   public:
    LevelColumns(std::span<const Column> columns, std::size_t l) {
      for (const Column& column : columns) {
        Vectors& own = column.scratch->levels[l];
        columns_[count_++] = {own.smoother.get(), column.b, column.x, own.r.data()};
      }
    }
    [[nodiscard]] std::span<const SmoothedColumn<T>> span() const { return {columns_.data(), count_}; }

   private:
    std::array<SmoothedColumn<T>, most_columns> columns_{};
    std::size_t count_ = 0;
  };

  /// The vectors of a coarse level in each column's scratch memory.
  class CoarseColumns {
   public:
    CoarseColumns(std::span<const Column> finer, std::size_t l) {
      for (const Column& column : finer) {
        Vectors& own = column.scratch->levels[l];
        columns_[count_++] = {column.scratch, own.b.data(), own.x.data()};
      }
    }
    [[nodiscard]] std::span<const Column> span() const { return {columns_.data(), count_}; }

   private:
    std::array<Column, most_columns> columns_{};
    std::size_t count_ = 0;
  };

  [[nodiscard]] bool is_coarsest(std::size_t l) const { return l + 1 == levels_.size(); }

  /// Number of vectors of level l in scratch memory.
  [[nodiscard]] std::int64_t vectors_of(std::size_t l) const {
    return (levels_[l].matrices->is_elimination() ? 0 : 1) + (l > 0 ? 2 : 0) + (iterates_[l] ? 3 : 0);
  }

  /// Applies one cycle on level l. If `zero`, the cycle begins from x = 0 and does not read x.
  void visit(B& backend, std::span<const Column> columns, std::size_t l, CycleKind kind, bool zero) const {
    const LevelColumns own(columns, l);
    const SmootherArguments<B, T> arguments{backend, own.span()};
    if (is_coarsest(l)) {
      coarse_->solve(arguments);
      return;
    }
    const Level& level = levels_[l];
    if (level.matrices->is_elimination()) {
      eliminate(backend, columns, l, kind);
      return;
    }
    if (zero) {
      level.smoother->start_with_residual(arguments);
    } else {
      level.smoother->pre_smooth(arguments);
      form_residuals(backend, *level.matrices->A, arguments.columns);
    }
    for_column_products(backend, level.matrices->R, columns, [&](const Column& column) {
      Vectors& next = column.scratch->levels[l + 1];
      return VectorProduct{static_cast<const T*>(column.scratch->levels[l].r.data()),
                           PutElement<T>{next.b.data()}};
    });
    descend(backend, columns, l + 1, kind);
    correct(backend, columns, l);
    level.smoother->post_smooth(arguments);
  }

  /// Adds P e to the iterates, for the e of the next level; the results are where post_smooth() takes them
  /// from. On a GPU a product serves several columns best.
  void correct(B& backend, std::span<const Column> columns, std::size_t l) const {
    const HierarchyLevel<T>& level = *levels_[l].matrices;
    const bool is_in_r = levels_[l].smoother->takes_iterate_from_r();
    const auto e = [l](const Column& column) -> const T* { return column.scratch->levels[l + 1].x.data(); };
    const auto corrected = [l, is_in_r](const Column& column) {
      return is_in_r ? column.scratch->levels[l].r.data() : column.x;
    };
    if (level.is_aggregation && backend.device().on_host()) {
      const std::int32_t* const aggregates = level.P.column_indices().data();
      for_each_column(backend, level.rows(), each_column(columns, [&](const Column& column) {
                        return AddAggregate<T>{aggregates, e(column), column.x, corrected(column)};
                      }));
      return;
    }
    for_column_products(backend, level.P, columns, [&](const Column& column) {
      return VectorProduct{e(column), AddProduct<T>{column.x, corrected(column)}};
    });
  }

  /// Eliminates unknowns exactly, solves approximately for the others, and completes x.
  void eliminate(B& backend, std::span<const Column> columns, std::size_t l, CycleKind kind) const {
    const HierarchyLevel<T>& level = *levels_[l].matrices;
    for_column_products(backend, level.R, columns, [&](const Column& column) {
      return VectorProduct{column.b, PutElement<T>{column.scratch->levels[l + 1].b.data()}};
    });
    descend(backend, columns, l + 1, kind);
    for_column_products(backend, level.P, columns, [&](const Column& column) {
      return VectorProduct{static_cast<const T*>(column.scratch->levels[l + 1].x.data()),
                           CompleteElimination<T>{level.eliminated.data(), column.b, column.x}};
    });
  }

  /// Solves approximately on coarse level l, for the right-hand sides in the columns' scratch vectors.
  void descend(B& backend, std::span<const Column> finer, std::size_t l, CycleKind kind) const {
    const CoarseColumns columns(finer, l);
    if (iterates_[l]) {
      iterate(backend, columns.span(), l);
      return;
    }
    const bool eliminates = levels_[l].matrices->is_elimination();
    const CycleKind first = kind == CycleKind::k && !eliminates ? CycleKind::v : kind;
    visit(backend, columns.span(), l, first, true);
    if (is_coarsest(l) || eliminates) return;
    if (kind == CycleKind::w) visit(backend, columns.span(), l, CycleKind::w, false);
    if (kind == CycleKind::f) visit(backend, columns.span(), l, CycleKind::v, false);
  }

  /// Takes two steps of flexible conjugate gradients, preconditioned by the cycle (Notay, Vassilevski,
  /// Recursive Krylov-based multigrid cycles, Numer. Linear Algebra Appl. 15, 2008). The scalars stay on the
  /// device.
  void iterate(B& backend, std::span<const Column> columns, std::size_t l) const {
    const std::int64_t n = levels_[l].matrices->A->rows();
    visit(backend, columns, l, CycleKind::k, true);
    multiply_level(backend, columns, l, [](Vectors& own) { return own.x.data(); });
    const auto each = [&](auto make) {
      return each_column(columns, [&](const Column& column) { return make(column.scratch->levels[l]); });
    };
    reduce_columns(backend, n, each([](Vectors& own) {
                     return TwoProducts<T>{own.x.data(), own.b.data(), own.v.data()};
                   }),
                   each([](Vectors& own) { return StoreFirstStep{own.krylov.data()}; }));
    for_each_column(backend, n, each([](Vectors& own) {
                      return FirstResidual<T>{own.krylov.data(), own.b.data(), own.v.data(), own.c.data()};
                    }));
    std::array<Column, most_columns> inner{};
    for (std::size_t c = 0; c < columns.size(); ++c) {
      Vectors& own = columns[c].scratch->levels[l];
      inner[c] = {columns[c].scratch, own.c.data(), own.d.data()};
    }
    visit(backend, {inner.data(), columns.size()}, l, CycleKind::k, true);
    reduce_columns(backend, n, each([](Vectors& own) {
                     return Product<T>{own.d.data(), own.v.data()};
                   }),
                   each([](Vectors& own) { return StoreGamma{own.krylov.data()}; }));
    multiply_level(backend, columns, l, [](Vectors& own) { return own.d.data(); });
    reduce_columns(backend, n, each([](Vectors& own) {
                     return TwoProducts<T>{own.d.data(), own.c.data(), own.v.data()};
                   }),
                   each([](Vectors& own) { return StoreSecondStep{own.krylov.data()}; }));
    for_each_column(backend, n, each([](Vectors& own) {
                      return CombineSteps<T>{own.krylov.data(), own.d.data(), own.x.data()};
                    }));
  }

  /// v = A x for the vector x(own) of each column.
  template <class X>
  void multiply_level(B& backend, std::span<const Column> columns, std::size_t l, X x) const {
    for_column_products(backend, *levels_[l].matrices->A, columns, [&](const Column& column) {
      Vectors& own = column.scratch->levels[l];
      return VectorProduct{static_cast<const T*>(x(own)), PutElement<T>{own.v.data()}};
    });
  }

  CycleKind kind_;
  std::vector<Level> levels_;
  std::vector<bool> iterates_;  // levels solved by two steps of a Krylov method
  std::unique_ptr<CoarseSolver<B, T>> coarse_;
  bool is_recordable_;
};

}  // namespace echelon::multigrid
