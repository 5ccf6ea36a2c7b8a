// SPDX-License-Identifier: BSD-3-Clause
/// Multigrid cycles over a hierarchy.
#pragma once

#include "backend/recording.hpp"
#include "backend/store.hpp"
#include "linalg/vector/functors.hpp"
#include "multigrid/coarse_solvers/coarse_solver.hpp"
#include "multigrid/hierarchy.hpp"
#include "multigrid/smoothers/smoother.hpp"

#include <echelon/methods/amg.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
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

/// Epilogue of a product with P on a level of exact elimination: x = P e + inverse * b.
template <class T>
struct CompleteElimination {
  const T* inverse;
  const T* b;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i, T sum) const { x[i] = sum + inverse[i] * b[i]; }
};

/// Applies cycles from x = 0: x = M b. M is linear, and symmetric for V- and W-cycles if A is; an F-cycle is
/// linear but not symmetric, a K-cycle not linear. Read-only after set-up; queues its work without waiting.
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
  [[nodiscard]] std::size_t level_bytes(std::size_t l) const {
    if (is_coarsest(l)) return coarse_->bytes();
    return levels_[l].smoother ? levels_[l].smoother->bytes() : 0;
  }

  [[nodiscard]] std::unique_ptr<Scratch> make_scratch(const Device& device) const {
    auto scratch = std::make_unique<Scratch>();
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      const std::int64_t n = levels_[l].matrices->rows();
      Vectors vectors;
      if (!levels_[l].matrices->is_elimination()) {
        vectors.r = Array<T>(device, n);
        vectors.smoother = is_coarsest(l) ? coarse_->make_workspace() : levels_[l].smoother->make_workspace();
      }
      if (l > 0) {
        vectors.b = Array<T>(device, n);
        vectors.x = Array<T>(device, n);
      }
      if (iterates_[l]) {
        vectors.c = Array<T>(device, n);
        vectors.v = Array<T>(device, n);
        vectors.d = Array<T>(device, n);
        vectors.krylov = Array<KrylovState>(device, 1);
      }
      scratch->levels.push_back(std::move(vectors));
    }
    return scratch;
  }

  /// x = M b. Fastest on a GPU if b and x are the vectors of the previous call, whose recording is replayed.
  void apply(B& backend, Scratch& scratch, const T* b, T* x) const {
    const auto queue = [&] { visit(backend, scratch, 0, kind_, true, b, x); };
    if (is_recordable_) {
      scratch.recording.run(backend, {b, x}, queue);
    } else {
      queue();
    }
  }

 private:
  [[nodiscard]] bool is_coarsest(std::size_t l) const { return l + 1 == levels_.size(); }
  /// Applies one cycle on level l. If `zero`, the cycle begins from x = 0 and does not read x.
  void visit(B& backend, Scratch& scratch, std::size_t l, CycleKind kind, bool zero, const T* b, T* x) const {
    Vectors& own = scratch.levels[l];
    const SmootherArguments<B, T> arguments{backend, own.smoother.get(), b, x, own.r.data()};
    if (is_coarsest(l)) {
      coarse_->solve(arguments);
      return;
    }
    const Level& level = levels_[l];
    if (level.matrices->is_elimination()) {
      eliminate(backend, scratch, l, kind, b, x);
      return;
    }
    if (zero) {
      level.smoother->start_with_residual(arguments);
    } else {
      level.smoother->pre_smooth(arguments);
      form_residual(backend, *level.matrices->A, b, x, own.r.data());
    }
    Vectors& next = scratch.levels[l + 1];
    multiply(backend, T{1}, MatrixRef<T>(level.matrices->R), own.r.data(), T{0}, next.b.data());
    descend(backend, scratch, l + 1, kind);
    T* const corrected = level.smoother->takes_iterate_from_r() ? own.r.data() : x;
    for_row_products(backend, level.matrices->P, static_cast<const T*>(next.x.data()),
                     AddProduct<T>{x, corrected});
    level.smoother->post_smooth(arguments);
  }

  /// Eliminates unknowns exactly, solves approximately for the others, and completes x.
  void eliminate(B& backend, Scratch& scratch, std::size_t l, CycleKind kind, const T* b, T* x) const {
    const HierarchyLevel<T>& level = *levels_[l].matrices;
    Vectors& next = scratch.levels[l + 1];
    multiply(backend, T{1}, MatrixRef<T>(level.R), b, T{0}, next.b.data());
    descend(backend, scratch, l + 1, kind);
    for_row_products(backend, level.P, static_cast<const T*>(next.x.data()),
                     CompleteElimination<T>{level.eliminated.data(), b, x});
  }

  /// Solves approximately on coarse level l, for the right-hand side in its scratch vectors.
  void descend(B& backend, Scratch& scratch, std::size_t l, CycleKind kind) const {
    Vectors& own = scratch.levels[l];
    if (iterates_[l]) {
      iterate(backend, scratch, l);
      return;
    }
    const bool eliminates = levels_[l].matrices->is_elimination();
    const CycleKind first = kind == CycleKind::k && !eliminates ? CycleKind::v : kind;
    visit(backend, scratch, l, first, true, own.b.data(), own.x.data());
    if (is_coarsest(l) || eliminates) return;
    if (kind == CycleKind::w) visit(backend, scratch, l, CycleKind::w, false, own.b.data(), own.x.data());
    if (kind == CycleKind::f) visit(backend, scratch, l, CycleKind::v, false, own.b.data(), own.x.data());
  }

  /// Takes two steps of flexible conjugate gradients, preconditioned by the cycle (Notay, Vassilevski,
  /// Recursive Krylov-based multigrid cycles, Numer. Linear Algebra Appl. 15, 2008). The scalars stay on the
  /// device.
  void iterate(B& backend, Scratch& scratch, std::size_t l) const {
    Vectors& own = scratch.levels[l];
    const Csr<T>& A = *levels_[l].matrices->A;
    const std::int64_t n = A.rows();
    KrylovState* state = own.krylov.data();
    T* const x = own.x.data();
    visit(backend, scratch, l, CycleKind::k, true, own.b.data(), x);
    multiply(backend, T{1}, MatrixRef<T>(A), x, T{0}, own.v.data());
    backend.reduce(n, TwoProducts<T>{x, own.b.data(), own.v.data()}, StoreFirstStep{state});
    backend.for_each(n, FirstResidual<T>{state, own.b.data(), own.v.data(), own.c.data()});
    visit(backend, scratch, l, CycleKind::k, true, own.c.data(), own.d.data());
    backend.reduce(n, Product<T>{own.d.data(), own.v.data()}, StoreGamma{state});
    multiply(backend, T{1}, MatrixRef<T>(A), own.d.data(), T{0}, own.v.data());
    backend.reduce(n, TwoProducts<T>{own.d.data(), own.c.data(), own.v.data()}, StoreSecondStep{state});
    backend.for_each(n, CombineSteps<T>{state, own.d.data(), x});
  }

  CycleKind kind_;
  std::vector<Level> levels_;
  std::vector<bool> iterates_;  // levels solved by two steps of a Krylov method
  std::unique_ptr<CoarseSolver<B, T>> coarse_;
  bool is_recordable_;
};

}  // namespace echelon::multigrid
