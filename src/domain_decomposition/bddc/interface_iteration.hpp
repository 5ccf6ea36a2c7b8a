// SPDX-License-Identifier: BSD-3-Clause
/// The scalars of conjugate gradients on the interface, which stay in the memory of the device for a batch of
/// iterations, so that the host need not wait for each.
#pragma once

#include "backend/backend.hpp"

#include <cmath>
#include <cstdint>

namespace echelon::bddc {

enum class IterationPhase { running, ended, not_positive, not_a_number };

struct InterfaceIteration {
  static constexpr std::int64_t most_of_batch = 64;
  IterationPhase phase = IterationPhase::running;
  double tolerance = 0;
  std::int64_t limit = 0;  ///< of iterations
  std::int64_t iterations = 0;
  double right_hand_side = 0;  ///< norm of the first g
  double norm = 0;             ///< of the residual
  double rho = 0;
  double alpha = 0;
  double beta = 0;
  std::int64_t recorded = 0;  ///< iterations of the batch
  double norms[most_of_batch] = {};
  double alphas[most_of_batch] = {};
  double betas[most_of_batch] = {};

  [[nodiscard]] ECHELON_ANYWHERE bool running() const { return phase == IterationPhase::running; }
  /// Ends with a number that is not positive, as it is for definite operators.
  ECHELON_ANYWHERE bool is_positive(double value) {
    if (value > 0) return true;
    phase = value <= 0 ? IterationPhase::not_positive : IterationPhase::not_a_number;
    return false;
  }
  ECHELON_ANYWHERE void set_norm(double value) {
    norm = value;
    if (!(norm > tolerance) || iterations >= limit) phase = IterationPhase::ended;
  }
};

/// Begins with the residual's (g, g).
struct BeginIteration {
  InterfaceIteration* state;
  double tolerance;
  std::int64_t limit;
  bool is_first;  ///< not a correction of an answer
  ECHELON_ANYWHERE void operator()(Sum squares) const {
    state->phase = IterationPhase::running;
    state->tolerance = tolerance;
    state->limit = limit;
    state->iterations = 0;
    state->recorded = 0;
    const double norm = std::sqrt(squares.value);
    if (is_first) state->right_hand_side = norm;
    state->set_norm(norm);
  }
};

/// Forgets what the last batch has recorded.
struct BeginBatch {
  InterfaceIteration* state;
  ECHELON_ANYWHERE void operator()(std::int64_t /*i*/) const { state->recorded = 0; }
};

/// rho = (g, z), beta = rho / the last rho.
struct SetRho {
  InterfaceIteration* state;
  ECHELON_ANYWHERE void operator()(Sum product) const {
    if (!state->running() || !state->is_positive(product.value)) return;
    state->beta = state->iterations > 0 ? product.value / state->rho : 0;
    state->rho = product.value;
  }
};

/// p = z + beta p; the first p is z.
struct UpdateDirection {
  const InterfaceIteration* state;
  const double* z;
  double* p;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    if (!state->running()) return;
    p[i] = state->iterations > 0 ? z[i] + state->beta * p[i] : z[i];
  }
};

/// alpha = rho / (p, q).
struct SetAlpha {
  InterfaceIteration* state;
  ECHELON_ANYWHERE void operator()(Sum product) const {
    if (state->running() && state->is_positive(product.value)) state->alpha = state->rho / product.value;
  }
};

/// u += alpha p, g -= alpha q; contributes to (g, g).
struct Advance {
  const InterfaceIteration* state;
  const double* p;
  const double* q;
  double* u;
  double* g;
  ECHELON_ANYWHERE Sum operator()(std::int64_t i) const {
    if (!state->running()) return {};
    u[i] += state->alpha * p[i];
    g[i] -= state->alpha * q[i];
    return {g[i] * g[i]};
  }
};

/// Records the iteration.
struct EndIteration {
  InterfaceIteration* state;
  ECHELON_ANYWHERE void operator()(Sum squares) const {
    if (!state->running()) return;
    ++state->iterations;
    state->set_norm(std::sqrt(squares.value));
    state->norms[state->recorded] = state->norm;
    state->alphas[state->recorded] = state->alpha;
    state->betas[state->recorded] = state->beta;
    ++state->recorded;
  }
};

}  // namespace echelon::bddc
