// SPDX-License-Identifier: BSD-3-Clause
/// Estimates of the largest eigenvalue of D^-1 A, from which smoothers and prolongations take their weights.
#pragma once

#include "backend/store.hpp"
#include "backend/target.hpp"
#include "krylov/lanczos.hpp"
#include "linalg/spmv/multiply.hpp"
#include "matrix/rows.hpp"
#include "support/hash.hpp"
#include "support/scalar.hpp"

#include <echelon/matrix/matrix.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace echelon::multigrid {

/// Properties of the rows of A: ||D^-1 A||_inf over rows with a nonzero diagonal element, and the numbers of
/// rows with a positive, a negative and no diagonal element; of a complex one its real part counts.
struct DiagonalFacts {
  double bound = 0;
  std::int64_t positive = 0;
  std::int64_t negative = 0;
  std::int64_t zero = 0;
  friend ECHELON_ANYWHERE DiagonalFacts combine(const DiagonalFacts& a, const DiagonalFacts& b) {
    return {a.bound > b.bound || a.bound != a.bound ? a.bound : b.bound, a.positive + b.positive,
            a.negative + b.negative, a.zero + b.zero};
  }
};

/// Writes 1 / a_ii, zero for a row without a diagonal element.
template <class Rows>
struct InvertDiagonalOf {
  using T = typename Rows::Value;
  Rows A;
  T* inverse;
  ECHELON_ANYWHERE DiagonalFacts operator()(std::int64_t i) const {
    double sum = 0;
    Dot<T> diagonal = 0;
    for (std::int64_t k = A.begin(i); k < A.end(i); ++k) {
      const T value = A.value(i, k);
      sum += magnitude(value);
      if (A.column(k) == i) diagonal = static_cast<Dot<T>>(value);
    }
    const T reciprocal = diagonal == Dot<T>{0} ? T{0} : static_cast<T>(1.0 / diagonal);
    inverse[i] = reciprocal;
    if (diagonal == Dot<T>{0}) return {.zero = 1};
    return {sum / magnitude(diagonal), real(diagonal) > 0 ? 1 : 0, real(diagonal) < 0 ? 1 : 0, 0};
  }
};

/// inverse = 1 / a_ii. Waits.
template <class B, class T>
DiagonalFacts invert_diagonal(B& backend, const std::type_identity_t<MatrixRef<T>>& A, T* inverse) {
  Array<DiagonalFacts> facts(backend.device(), 1);
  with_rows(A, [&]<class Rows>(const Rows& rows) {
    backend.reduce(A.rows(), InvertDiagonalOf<Rows>{rows, inverse}, Store<DiagonalFacts>{facts.data()});
  });
  return backend.read(facts.data());
}

/// Coefficients of conjugate gradients, in the backend's memory.
struct CgCoefficients {
  static constexpr int max_steps = 32;
  double rho = 0;
  double alpha = 0;
  double alphas[max_steps] = {};
  double betas[max_steps] = {};
  std::int32_t steps = 0;
  std::int32_t stopped = 0;
};

/// The real part of conj(x) y.
template <class T>
ECHELON_ANYWHERE double real_product(T x, T y) {
  return real(conj(static_cast<Dot<T>>(x)) * static_cast<Dot<T>>(y));
}

/// r = random numbers in (-1, 1), the same on every device, 0 in rows without a diagonal; p = D^-1 r.
template <class T>
struct BeginLanczos {
  const T* inverse;
  T* r;
  T* p;
  ECHELON_ANYWHERE Sum operator()(std::int64_t i) const {
    const std::uint64_t bits = hash_bits((static_cast<std::uint64_t>(i) + 1) * golden_ratio_64);
    const double random = symmetric_number(bits);
    r[i] = inverse[i] == T{0} ? T{0} : T{static_cast<Real<T>>(random)};
    p[i] = inverse[i] * r[i];
    return {real_product(r[i], p[i])};
  }
};
struct SetLanczosRho {
  CgCoefficients* state;
  ECHELON_ANYWHERE void operator()(Sum r_z) const {
    state->rho = r_z.value;
    if (!(r_z.value > 0)) state->stopped = 1;
  }
};
template <class T>
struct LanczosProduct {
  const T* x;
  const T* y;
  ECHELON_ANYWHERE Sum operator()(std::int64_t i) const { return {real_product(x[i], y[i])}; }
};
struct SetLanczosAlpha {
  CgCoefficients* state;
  ECHELON_ANYWHERE void operator()(Sum p_q) const {
    if (state->stopped != 0) return;
    if (p_q.value > 0) {
      state->alpha = state->rho / p_q.value;
      state->alphas[state->steps] = state->alpha;
    } else {
      state->stopped = 1;
    }
  }
};
template <class T>
struct AdvanceLanczos {
  const CgCoefficients* state;
  const T* inverse;
  const T* q;
  T* r;
  ECHELON_ANYWHERE Sum operator()(std::int64_t i) const {
    r[i] -= static_cast<Real<T>>(state->alpha) * q[i];
    return {
        real(conj(static_cast<Dot<T>>(r[i])) * static_cast<Dot<T>>(inverse[i]) * static_cast<Dot<T>>(r[i]))};
  }
};
struct SetLanczosBeta {
  CgCoefficients* state;
  ECHELON_ANYWHERE void operator()(Sum r_z) const {
    if (state->stopped != 0) return;
    const double beta = r_z.value / state->rho;
    state->betas[state->steps++] = beta;
    state->rho = r_z.value;
    if (!(r_z.value > 0)) state->stopped = 1;
  }
};
template <class T>
struct UpdateLanczosVectors {
  const CgCoefficients* state;
  const T* inverse;
  const T* r;
  T* p;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const int last = state->steps - 1;
    const double beta = last >= 0 ? state->betas[last] : 0;
    p[i] = inverse[i] * r[i] + static_cast<Real<T>>(beta) * p[i];
  }
};

/// Largest Ritz value of D^-1 A after `steps` (at most 32) Lanczos steps, from below; 0 if A has shown not to
/// be positive semidefinite. A is Hermitian with nonnegative diagonal. Each step costs a product with A.
/// Waits once.
template <class B, class T>
double largest_ritz_value(B& backend, const MatrixRef<T>& A, const T* inverse, int steps) {
  const std::int64_t n = A.rows();
  const Device& device = backend.device();
  Array<T> r(device, n);
  Array<T> p(device, n);
  Array<T> q(device, n);
  Array<CgCoefficients> state_array(device, 1);
  CgCoefficients* state = state_array.data();
  backend.write(CgCoefficients{}, state);
  backend.reduce(n, BeginLanczos<T>{inverse, r.data(), p.data()}, SetLanczosRho{state});
  for (int step = 0; step < steps; ++step) {
    multiply(backend, T{1}, A, p.data(), T{0}, q.data());
    backend.reduce(n, LanczosProduct<T>{p.data(), q.data()}, SetLanczosAlpha{state});
    backend.reduce(n, AdvanceLanczos<T>{state, inverse, q.data(), r.data()}, SetLanczosBeta{state});
    backend.for_each(n, UpdateLanczosVectors<T>{state, inverse, r.data(), p.data()});
  }
  const CgCoefficients found = backend.read(state);
  if (found.steps == 0) return 0;
  return ritz_range(std::vector<double>(found.alphas, found.alphas + found.steps),
                    std::vector<double>(found.betas, found.betas + found.steps))
      .largest;
}

/// Rounds up to 7 significant bits, so that weights do not depend on rounding errors, which differ between a
/// GPU and the host.
inline double round_up(double value) {
  if (!(value > 0) || !std::isfinite(value)) return value;
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  return std::ldexp(std::ceil(mantissa * 128) / 128, exponent);
}

/// Upper estimate of the largest eigenvalue of D^-1 A: ||D^-1 A||_inf if this is at most 2, as for diagonally
/// dominant M-matrices, if A is not Hermitian, or if its diagonal is not positive; otherwise the smaller of
/// that norm and the Ritz value after ten Lanczos steps, raised by 5 %.
template <class B, class T>
double spectral_radius(B& backend, const std::type_identity_t<MatrixRef<T>>& A, const T* inverse,
                       const DiagonalFacts& facts, bool hermitian) {
  constexpr int steps = 10;
  constexpr double safety = 1.05;
  constexpr double m_matrix = 2 + 1e-5;  // tolerance for rounded sums of float elements
  if (facts.bound <= m_matrix || !hermitian || facts.negative > 0) return round_up(facts.bound);
  const double ritz = largest_ritz_value(backend, A, inverse, steps);
  return round_up(ritz > 0 ? std::min(safety * ritz, facts.bound) : facts.bound);
}

}  // namespace echelon::multigrid
