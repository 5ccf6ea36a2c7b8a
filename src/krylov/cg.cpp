// SPDX-License-Identifier: BSD-3-Clause
#include "krylov/lanczos.hpp"
#include "linalg/vector/functors.hpp"
#include "solver/instantiate.hpp"
#include "solver/iteration.hpp"

#include <echelon/methods/cg.hpp>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

namespace echelon {

namespace {

/// Phase after the computation of a scalar that is positive for symmetric positive definite A and M.
ECHELON_ANYWHERE Phase phase_of(double must_be_positive) {
  if (must_be_positive > 0) return Phase::running;
  return must_be_positive <= 0 ? Phase::not_spd : Phase::diverged;  // NaN
}

/// Contributes to (p, A p) and (p, p).
template <class T>
struct CurvatureAndLength {
  const T* p;
  const T* q;
  double scale;  // factor of p in (p, p) that prevents overflow
  ECHELON_ANYWHERE TwoSums operator()(std::int64_t i) const {
    const double value = static_cast<double>(p[i]);
    return {value * static_cast<double>(q[i]), scale * value * scale * value};
  }
};

/// alpha = (r, z) / (p, A p). As p is a sum of eigenvectors, (p, p) / (p, A p) <= ||A^-1||_2.
struct SetStepLength {
  IterationState* state;
  double scale;
  ECHELON_ANYWHERE void operator()(TwoSums sums) const {
    if (!state->running()) return;
    state->phase = phase_of(sums.first);
    state->alpha = state->rho / sums.first;
    const double inverse_norm = sums.second / scale / sums.first / scale;
    if (inverse_norm > state->inverse_norm) state->inverse_norm = inverse_norm;
  }
};

/// x += alpha p, r -= alpha q; contributes to (r, r).
template <class T>
struct Advance {
  IterationState* state;
  const T* p;
  const T* q;
  T* x;
  T* r;
  ECHELON_ANYWHERE Sum operator()(std::int64_t i) const {
    if (!state->running()) return {};
    const T alpha = static_cast<T>(state->alpha);
    x[i] += alpha * p[i];
    r[i] -= alpha * q[i];
    return {static_cast<double>(r[i]) * static_cast<double>(r[i])};
  }
};

/// rho = (r, z).
struct SetRho {
  IterationState* state;
  ECHELON_ANYWHERE void operator()(Sum r_z) const {
    state->rho = r_z.value;
    state->phase = phase_of(r_z.value);
  }
};

/// Contributes to (r, z) and (q, z).
template <class T, class Z>
struct ProductsWithZ {
  const T* r;
  const T* q;
  Z z;
  ECHELON_ANYWHERE TwoSums operator()(std::int64_t i) const {
    const double value = static_cast<double>(z[i]);
    return {static_cast<double>(r[i]) * value, static_cast<double>(q[i]) * value};
  }
};

/// beta = (r - r_old, z) / (r_old, z_old), by r - r_old = -alpha q. It is (r, z) / (r_old, z_old) for a
/// linear preconditioner, and keeps directions conjugate to the last one for any other (flexible conjugate
/// gradients: Y. Notay, SIAM J. Sci. Comput. 22, 2000).
struct SetFlexibleBeta {
  IterationState* state;
  ECHELON_ANYWHERE void operator()(TwoSums r_z_and_q_z) const {
    if (!state->running()) return;
    state->phase = phase_of(r_z_and_q_z.first);
    state->beta = -state->alpha * r_z_and_q_z.second / state->rho;
    // The beta of a linear preconditioner, which is positive, is the coefficient of the Lanczos process.
    state->betas[(state->iteration - 1) % IterationState::history_size] = r_z_and_q_z.first / state->rho;
    state->rho = r_z_and_q_z.first;
  }
};

/// beta = (r, z) new / old.
struct SetBeta {
  IterationState* state;
  ECHELON_ANYWHERE void operator()(Sum r_z) const {
    if (!state->running()) return;
    state->phase = phase_of(r_z.value);
    state->beta = r_z.value / state->rho;
    state->rho = r_z.value;
    state->betas[(state->iteration - 1) % IterationState::history_size] = state->beta;
  }
};

/// Records ||r|| and alpha; without a preconditioner, (r, r) is (r, z).
struct FinishStep {
  IterationState* state;
  bool preconditioned;
  ECHELON_ANYWHERE void operator()(Sum r_r) const {
    if (!state->running()) return;
    state->alphas[state->iteration % IterationState::history_size] = state->alpha;
    state->record(std::sqrt(r_r.value));
    if (!preconditioned) SetBeta{state}(r_r);
  }
};

/// p = z + beta p.
template <class T, class Z>
struct UpdateDirection {
  const IterationState* state;
  Z z;
  T* p;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { p[i] = z[i] + static_cast<T>(state->beta) * p[i]; }
};

template <class B, class T>
class ConjugateGradients final : public IterativeMethod<B, T> {
  using Base = IterativeMethod<B, T>;
  using typename Base::IteratedColumn;
  using typename Base::SolveWorkspace;

  struct Vectors : SolveWorkspace {
    Vectors(const Device& device, std::int64_t size, bool stores_z)
        : SolveWorkspace(device, size), z(device, stores_z ? size : 0), p(device, size), q(device, size) {}
    [[nodiscard]] std::size_t bytes() const override {
      return SolveWorkspace::bytes() + z.bytes() + p.bytes() + q.bytes();
    }
    Array<T> z, p, q;
    std::vector<double> alphas, betas;  // since the (re)start
  };

 public:
  ConjugateGradients(const Device& device, const CgOptions& options)
      : Base(device, options.stop), flexible_asked_(options.flexible) {
    this->make_preconditioner(options.preconditioner, options.preconditioner_options);
  }

  Outcome setup(const MatrixRef<T>& A) override { return with_recurrence(Base::setup(A)); }
  Outcome update_values(const MatrixRef<T>& A) override { return with_recurrence(Base::update_values(A)); }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return this->complete_workspace(
        std::make_unique<Vectors>(this->device(), this->matrix().rows(), this->stores_preconditioned()));
  }

 private:
  [[nodiscard]] bool supports_scaling() const override { return true; }
  [[nodiscard]] bool flexible() const {
    return this->preconditioned() &&
           (flexible_asked_ || this->preconditioner_operator() != AppliedOperator::symmetric);
  }
  Outcome with_recurrence(Outcome outcome) const {
    if (flexible()) outcome.statistics.push_back({"recurrence", std::string("flexible")});
    return outcome;
  }

  void start(SolveWorkspace& workspace, const T* b, T* x) const override {
    const IteratedColumn column{&workspace, b, x};
    start_together({&column, 1});
  }
  void step(SolveWorkspace& workspace, const T* b, T* x) const override {
    auto& v = static_cast<Vectors&>(workspace);
    this->apply_operator(v, v.p.data(), v.q.data());
    const IteratedColumn column{&workspace, b, x};
    step_after_product({&column, 1});
  }

  /// Products with A, and with a preconditioner that can, read their matrices once for all columns.
  [[nodiscard]] bool iterates_together() const override { return this->matrix().is_sparse(); }

  /// p = z = M^-1 r, rho = (r, z).
  void start_together(std::span<const IteratedColumn> columns) const override {
    this->use_preconditioned(columns, z_of, [](const IteratedColumn& column, auto z) {
      using Z = decltype(z);
      Vectors& v = of(column);
      v.alphas.clear();
      v.betas.clear();
      v.backend.for_each(v.n, StoreVector<T, Z>{z, v.p.data()});
      v.backend.reduce(v.n, Product<T, const T*, Z>{v.r.data(), z}, SetRho{v.state()});
    });
  }
  void step_together(std::span<const IteratedColumn> columns) const override {
    this->apply_operator(
        columns, [](const IteratedColumn& column) { return of(column).p.data(); },
        [](const IteratedColumn& column) { return of(column).q.data(); });
    step_after_product(columns);
  }

  /// One iteration, from q = A p.
  void step_after_product(std::span<const IteratedColumn> columns) const {
    for (const IteratedColumn& column : columns) {
      Vectors& v = of(column);
      const double scale = std::ldexp(1.0, v.scale.preconditioned);
      v.backend.reduce(v.n, CurvatureAndLength<T>{v.p.data(), v.q.data(), scale},
                       SetStepLength{v.state(), scale});
      v.backend.reduce(v.n, Advance<T>{v.state(), v.p.data(), v.q.data(), column.x, v.r.data()},
                       FinishStep{v.state(), this->preconditioned()});
    }
    this->use_preconditioned(columns, z_of, [this](const IteratedColumn& column, auto z) {
      this->update_direction(of(column), z);
    });
  }

  template <class Z>
  void update_direction(Vectors& v, Z z) const {
    if (flexible()) {
      v.backend.reduce(v.n, ProductsWithZ<T, Z>{v.r.data(), v.q.data(), z}, SetFlexibleBeta{v.state()});
    } else if (this->preconditioned()) {
      v.backend.reduce(v.n, Product<T, const T*, Z>{v.r.data(), z}, SetBeta{v.state()});
    }
    v.backend.for_each(v.n, UpdateDirection<T, Z>{v.state(), z, v.p.data()});
  }

  static Vectors& of(const IteratedColumn& column) { return static_cast<Vectors&>(*column.workspace); }
  static T* z_of(const IteratedColumn& column) { return of(column).z.data(); }

  void collect_coefficients(SolveWorkspace& workspace, std::int64_t place) const override {
    auto& v = static_cast<Vectors&>(workspace);
    v.alphas.push_back(v.host_state.alphas[place]);
    v.betas.push_back(v.host_state.betas[place]);
  }

  void estimate_condition(SolveWorkspace& workspace, Job& job) const override {
    auto& v = static_cast<Vectors&>(workspace);
    double inverse_norm = v.host_state.inverse_norm;
    const RitzRange ritz = ritz_range(v.alphas, v.betas);
    if (ritz.smallest > 0 && !this->preconditioned()) {
      inverse_norm = std::max(inverse_norm, 1 / ritz.smallest);
    }
    this->add_condition(v, inverse_norm, ritz.smallest > 0 ? ritz.largest / ritz.smallest : 0, job);
  }

  bool flexible_asked_;
};

}  // namespace

template <>
struct MethodWith<CgOptions> {
  template <class B, class T>
  using Type = ConjugateGradients<B, T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<ThisTarget>(const Device&,
                                                                                      const CgOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<ThisTarget>(const Device&,
                                                                                       const CgOptions&);

}  // namespace echelon
