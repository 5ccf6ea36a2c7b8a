// SPDX-License-Identifier: BSD-3-Clause
/// Conjugate gradients for S u = g with a preconditioner M, from u with the residual r = g - S u:
///
///   z = M^-1 r
///   p = z + beta p,   beta = (r, z) / (r, z)_old,   0 in the first step
///   q = S p
///   u += alpha p,     alpha = (r, z) / (p, q)
///   r -= alpha q
///
/// S and M are symmetric positive definite, or semidefinite with g in the range of S; complex ones are
/// Hermitian, and (x, y) = x^H y. With (x, y) = x^T y, S and M are symmetric, and the residuals are
/// orthogonal in that product (conjugate orthogonal conjugate gradients). For an M that varies or is not
/// symmetric, beta = (r - r_old, z) / (r, z)_old keeps p conjugate to the last direction (flexible conjugate
/// gradients: Y. Notay, SIAM J. Sci. Comput. 22, 2000); r - r_old = -alpha q.
#pragma once

#include "backend/columns.hpp"
#include "backend/store.hpp"
#include "krylov/inner_product.hpp"
#include "krylov/lanczos.hpp"
#include "linalg/vector/functors.hpp"
#include "solver/iteration/state.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace echelon::krylov {

/// State of an iteration with vectors of V.
template <class V>
using State = IterationStateOf<Dot<V>>;

/// Sets the norm of the first residual, which may meet the tolerance already.
template <class S>
struct BeginFromResidual {
  IterationStateOf<S>* state;
  double norm_factor;
  ECHELON_ANYWHERE void operator()(Sum r_r) const {
    state->initial = state->residual = norm_factor * std::sqrt(r_r.value);
    if (state->residual <= state->tolerance) state->phase = Phase::converged;
  }
};

/// First direction: p = z; contributes to (r, z).
template <class V, class Z>
struct FirstDirection {
  InnerProduct product;
  const V* r;
  Z z;
  V* p;
  ECHELON_ANYWHERE SumOf<Dot<V>> operator()(std::int64_t i) const {
    const V value = z[i];
    p[i] = value;
    return {term(product, r[i], value)};
  }
};

/// rho = (r, z).
template <class S>
struct SetRho {
  IterationStateOf<S>* state;
  InnerProduct product;
  ECHELON_ANYWHERE void operator()(SumOf<S> r_z) const {
    if (!state->running()) return;
    state->rho = r_z.value;
    state->phase = phase_of(product, r_z.value);
  }
};

/// Contributes to (r, z).
template <class V, class Z>
struct ProductWithZ {
  InnerProduct product;
  const V* r;
  Z z;
  ECHELON_ANYWHERE SumOf<Dot<V>> operator()(std::int64_t i) const {
    return {term(product, r[i], static_cast<V>(z[i]))};
  }
};

/// Contributes to (r, z) and (q, z).
template <class V, class Z>
struct ProductsWithZ {
  InnerProduct product;
  const V* r;
  const V* q;
  Z z;
  ECHELON_ANYWHERE TwoSumsOf<Dot<V>> operator()(std::int64_t i) const {
    const V value = z[i];
    return {term(product, r[i], value), term(product, q[i], value)};
  }
};

/// beta = (r - r_old, z) / (r, z)_old. The coefficient of the Lanczos process is the beta of a linear
/// preconditioner, which is positive.
template <class S>
struct SetFlexibleBeta {
  IterationStateOf<S>* state;
  InnerProduct product;
  ECHELON_ANYWHERE void operator()(TwoSumsOf<S> r_z_and_q_z) const {
    if (!state->running()) return;
    state->phase = phase_of(product, r_z_and_q_z.first);
    state->beta = -state->alpha * r_z_and_q_z.second / state->rho;
    state->betas[state->iteration % IterationStateOf<S>::history_size] = real(r_z_and_q_z.first / state->rho);
    state->rho = r_z_and_q_z.first;
  }
};

/// beta = (r, z) new / old.
template <class S>
struct SetBeta {
  IterationStateOf<S>* state;
  InnerProduct product;
  ECHELON_ANYWHERE void operator()(SumOf<S> r_z) const {
    if (!state->running()) return;
    state->phase = phase_of(product, r_z.value);
    state->beta = r_z.value / state->rho;
    state->rho = r_z.value;
  }
};

/// p = z + beta p.
template <class V, class Z>
struct UpdateDirection {
  const State<V>* state;
  Z z;
  V* p;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { p[i] = z[i] + static_cast<V>(state->beta) * p[i]; }
};

/// Contributes to (p, q) and p^H p.
template <class V>
struct CurvatureAndLength {
  InnerProduct product;
  const V* p;
  const V* q;
  double scale;  ///< factor of p in p^H p that prevents overflow
  ECHELON_ANYWHERE TwoSumsOf<Dot<V>, double> operator()(std::int64_t i) const {
    return {term(product, p[i], q[i]), squared_magnitude(scale * static_cast<Dot<V>>(p[i]))};
  }
};

/// alpha = (r, z) / (p, q). As p is a sum of eigenvectors of a Hermitian S, p^H p / p^H S p <= ||S^-1||_2.
template <class S>
struct SetAlpha {
  IterationStateOf<S>* state;
  InnerProduct product;
  double scale;
  bool flexible;
  ECHELON_ANYWHERE void operator()(TwoSumsOf<S, double> sums) const {
    if (!state->running()) return;
    state->phase = phase_of(product, sums.first);
    state->alpha = state->rho / sums.first;
    if (product == InnerProduct::bilinear) return;
    if (!flexible) state->betas[state->iteration % IterationStateOf<S>::history_size] = real(state->beta);
    const double inverse_norm = sums.second / scale / real(sums.first) / scale;
    if (inverse_norm > state->inverse_norm) state->inverse_norm = inverse_norm;
  }
};

/// u += alpha p, r -= alpha q; contributes to r^H r.
template <class V>
struct Advance {
  State<V>* state;
  const V* p;
  const V* q;
  V* u;
  V* r;
  ECHELON_ANYWHERE Sum operator()(std::int64_t i) const {
    if (!state->running()) return {};
    const V alpha = static_cast<V>(state->alpha);
    u[i] += alpha * p[i];
    r[i] -= alpha * q[i];
    return {squared_magnitude(r[i])};
  }
};

/// Records ||r|| and alpha.
template <class S>
struct FinishStep {
  IterationStateOf<S>* state;
  double norm_factor;
  ECHELON_ANYWHERE void operator()(Sum r_r) const {
    if (!state->running()) return;
    state->alphas[state->iteration % IterationStateOf<S>::history_size] = real(state->alpha);
    state->record(norm_factor * std::sqrt(r_r.value));
  }
};

/// FinishStep, and beta for the next step; without a preconditioner, r^H r is (r, z).
template <class S>
struct FinishStepWithoutPreconditioner {
  FinishStep<S> finish;
  ECHELON_ANYWHERE void operator()(Sum r_r) const {
    finish(r_r);
    SetBeta<S>{finish.state, InnerProduct::sesquilinear}({r_r.value});
  }
};

/// Advance, for a diagonal M, whose z is computed on access; contributes to r^H r and (r, z).
template <class V, class Z>
struct AdvanceWithDiagonal {
  InnerProduct product;
  Advance<V> advance;
  Z z;
  ECHELON_ANYWHERE TwoSumsOf<double, Dot<V>> operator()(std::int64_t i) const {
    if (!advance.state->running()) return {};
    const Sum r_r = advance(i);
    return {r_r.value, term(product, advance.r[i], static_cast<V>(z[i]))};
  }
};

/// FinishStep, and beta for the next step.
template <class S>
struct FinishStepWithDiagonal {
  InnerProduct product;
  FinishStep<S> finish;
  ECHELON_ANYWHERE void operator()(TwoSumsOf<double, S> r_r_and_r_z) const {
    finish({r_r_and_r_z.first});
    SetBeta<S>{finish.state, product}({r_r_and_r_z.second});
  }
};

/// Vectors of the recurrence, and its coefficients since the (re)start.
template <class V>
struct CgVectors {
  CgVectors(const Device& device, std::int64_t n, bool stores_z)
      : z(device, stores_z ? n : 0), p(device, n), q(device, n) {}
  [[nodiscard]] std::size_t bytes() const { return z.bytes() + p.bytes() + q.bytes(); }
  /// Takes the coefficients of the iteration at `place` of the state's arrays.
  void collect(const State<V>& state, std::int64_t place) {
    if (!alphas.empty()) betas.push_back(state.betas[place]);
    alphas.push_back(state.alphas[place]);
  }
  [[nodiscard]] RitzRange ritz_values() const { return ritz_range(alphas, betas); }

  Array<V> z, p, q;
  std::vector<double> alphas, betas;
  bool has_direction = false;
};

/// A right-hand side of the recurrence: its iterate u and residual r.
template <class V>
struct CgColumn {
  State<V>* state;
  CgVectors<V>* own;
  V* u;
  V* r;
  std::size_t number = 0;  ///< place among the columns that are iterated together
  double scale = 1;        ///< factor of p that prevents overflow in p^H p
};

/// When z is available, which decides how many passes over the vectors a step takes.
enum class Preconditioning {
  none,      ///< z = r, and (r, z) = r^H r
  diagonal,  ///< z_i is a function of r_i, computed on access
  any,
};

/// Properties of M on which the recurrence depends.
struct CgTraits {
  Preconditioning preconditioning = Preconditioning::any;
  bool flexible = false;
  double norm_factor = 1;  ///< of the norms that are recorded
  InnerProduct product = InnerProduct::sesquilinear;
};

/// Begins from the residuals in r, for several columns at once.
template <class V>
void start_cg(std::span<const CgColumn<V>> columns) {
  for (const CgColumn<V>& column : columns) {
    column.own->alphas.clear();
    column.own->betas.clear();
    column.own->has_direction = false;
  }
}

/// start_cg(), for residuals of n elements whose norms are not known. Queued.
template <class B, class V>
void start_cg(B& backend, std::int64_t n, std::span<const CgColumn<V>> columns, const CgTraits& traits) {
  using Column = CgColumn<V>;
  start_cg(columns);
  reduce_columns(
      backend, n, columns, [](const Column& c) { return SquaredMagnitude<const V*>{c.r}; },
      [&](const Column& c) {
        return BeginFromResidual<Dot<V>>{c.state, traits.norm_factor};
      });
}

/// Makes p the next direction; z_of(column) is z.
template <class B, class V, class Z>
void set_direction(B& backend, std::int64_t n, std::span<const CgColumn<V>> columns, const CgTraits& traits,
                   Z z_of) {
  using Column = CgColumn<V>;
  using Vector = decltype(z_of(columns.front()));
  const InnerProduct product = traits.product;
  if (!columns.front().own->has_direction) {
    for (const Column& c : columns) c.own->has_direction = true;
    reduce_columns(
        backend, n, columns,
        [&](const Column& c) {
          return FirstDirection<V, Vector>{product, c.r, z_of(c), c.own->p.data()};
        },
        [&](const Column& c) {
          return SetRho<Dot<V>>{c.state, product};
        });
    return;
  }
  if (traits.flexible) {
    reduce_columns(
        backend, n, columns,
        [&](const Column& c) {
          return ProductsWithZ<V, Vector>{product, c.r, c.own->q.data(), z_of(c)};
        },
        [&](const Column& c) {
          return SetFlexibleBeta<Dot<V>>{c.state, product};
        });
  } else if (traits.preconditioning == Preconditioning::any) {
    reduce_columns(
        backend, n, columns,
        [&](const Column& c) {
          return ProductWithZ<V, Vector>{product, c.r, z_of(c)};
        },
        [&](const Column& c) {
          return SetBeta<Dot<V>>{c.state, product};
        });
  }
  for_each_column(backend, n, columns, [&](const Column& c) {
    return UpdateDirection<V, Vector>{c.state, z_of(c), c.own->p.data()};
  });
}

template <class B, class V, class Z>
void advance(B& backend, std::int64_t n, std::span<const CgColumn<V>> columns, const CgTraits& traits,
             Z z_of) {
  using Column = CgColumn<V>;
  const auto step = [](const Column& c) {
    return Advance<V>{c.state, c.own->p.data(), c.own->q.data(), c.u, c.r};
  };
  const auto finish = [&](const Column& c) { return FinishStep<Dot<V>>{c.state, traits.norm_factor}; };
  if (traits.preconditioning == Preconditioning::any) {
    reduce_columns(backend, n, columns, step, finish);
  } else if (traits.preconditioning == Preconditioning::none) {
    reduce_columns(backend, n, columns, step,
                   [&](const Column& c) { return FinishStepWithoutPreconditioner<Dot<V>>{finish(c)}; });
  } else {
    using Vector = decltype(z_of(columns.front()));
    reduce_columns(
        backend, n, columns,
        [&](const Column& c) {
          return AdvanceWithDiagonal<V, Vector>{traits.product, step(c), z_of(c)};
        },
        [&](const Column& c) {
          return FinishStepWithDiagonal<Dot<V>>{traits.product, finish(c)};
        });
  }
}

/// Queues an iteration for at most `most_columns` right-hand sides of n elements, which changes nothing for
/// those whose state is not running. `multiply()` queues q = S p for all columns. `precondition(use)` queues
/// z = M^-1 r for all columns and calls use(z_of), where z_of(column) is z, a pointer or any vector with the
/// operator []; it may be called twice unless `preconditioning` is `any`.
template <class B, class V, class Multiply, class Precondition>
void step_cg(B& backend, std::int64_t n, std::span<const CgColumn<V>> columns, const CgTraits& traits,
             Multiply multiply, Precondition precondition) {
  using Column = CgColumn<V>;
  precondition([&](auto z_of) { set_direction(backend, n, columns, traits, z_of); });
  multiply();
  reduce_columns(
      backend, n, columns,
      [&](const Column& c) {
        return CurvatureAndLength<V>{traits.product, c.own->p.data(), c.own->q.data(), c.scale};
      },
      [&](const Column& c) {
        return SetAlpha<Dot<V>>{c.state, traits.product, c.scale, traits.flexible};
      });
  if (traits.preconditioning == Preconditioning::diagonal) {
    precondition([&](auto z_of) { advance(backend, n, columns, traits, z_of); });
  } else {
    advance(backend, n, columns, traits, [](const Column& c) { return static_cast<const V*>(c.r); });
  }
}

}  // namespace echelon::krylov
