// SPDX-License-Identifier: BSD-3-Clause
// Least squares by the factors of the augmented matrix, as a Solver.
#include "linalg/residual_check.hpp"
#include "linalg/vector/rounding_sample.hpp"
#include "matrix/views/transposed_matrix.hpp"
#include "solver/direct/normal_corrections.hpp"
#include "solver/instantiate.hpp"
#include "sparse_direct/augmented/system.hpp"
#include "support/machine_epsilon.hpp"
#include "support/scalar.hpp"
#include "support/text.hpp"

#include <echelon/methods/least_squares/augmented.hpp>

#include <fmt/format.h>
#include <support/scalar_list.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace echelon {

namespace augmented {

/// s relative to the largest element of A: small enough that pivots are taken from A as well, and residuals
/// keep their digits.
constexpr double relative_s = 1e-3;
/// d of a rank-deficient A, relative to ||S||. Singular values above it converge in a few corrections.
constexpr double relative_regularization = 1e-4;
constexpr std::int64_t most_corrections = 20;
/// Share of null vectors of a rank-deficient A in x, relative to x, which no correction shows: rounding
/// errors over the square of d.
constexpr double null_space_error =
    machine_epsilon<double> / (relative_regularization * relative_regularization);
/// Singular values up to this share of ||S|| count as zero. The eigenvalues of the augmented matrix are about
/// their squares, of which rounding leaves no more.
constexpr double rank_tolerance = 1e-7;
constexpr double clear_gap = 1000;

template <class B, class T>
class AugmentedSystem final : public SolverImplementation<T> {
  using W = Dot<T>;  // of the factorisation

  /// Vectors of the solve of a right-hand side.
  struct Vectors : Workspace {
    explicit Vectors(const AugmentedSystem& system)
        : check(make_residual_check<HostTarget, T>(system.device())),
          zero(static_cast<std::size_t>(system.A_.columns()), T{0}),
          r(static_cast<std::size_t>(system.A_.rows())),
          g(zero.size()),
          d(zero.size()),
          candidate(zero.size()),
          rhs(r.size() + d.size(), W{0}),
          solution(rhs.size()) {
      if (system.factors_) factors = SolverAccess<W>::implementation(*system.factors_).make_workspace();
    }
    [[nodiscard]] std::size_t bytes() const override {
      return sizeof(T) * (r.size() + 4 * g.size()) + 2 * sizeof(W) * rhs.size() +
             (factors ? factors->bytes() : 0);
    }
    std::unique_ptr<ResidualCheck<T>> check;
    std::unique_ptr<Workspace> factors;
    std::vector<T> zero, r, g, d;  // b - A x, -A^H r, the correction
    std::vector<T> candidate;      // x + d
    std::vector<W> rhs, solution;  // of the augmented system
  };

 public:
  AugmentedSystem(const Device& device, const AugmentedOptions& options)
      : SolverImplementation<T>(device), options_(options) {}

  [[nodiscard]] bool takes_any_shape() const override { return true; }
  [[nodiscard]] bool minimizes_residual() const override { return true; }
  [[nodiscard]] double damping() const override { return options_.damping; }
  [[nodiscard]] std::string_view solution_kind() const override {
    return S_.exponents.empty() || S_.wide ? "the one of least norm"
                                           : "the one of least norm in scaled unknowns";
  }

  [[nodiscard]] std::optional<CostPrediction> predict_cost(const MatrixRef<T>& A) override {
    S_ = make_tall(A, is_square(A));
    if (!(S_.largest > 0)) return CostPrediction{};
    K_ = make_augmented(S_, first_s(A), options_.damping, 0);
    factored_ = false;
    SolverImplementation<W>& ldlt = new_factors();
    ldlt.set_control(this->control());
    return ldlt.predict_cost(K_);
  }
  Outcome setup(const MatrixRef<T>& A) override {
    factored_ = false;
    return factor(A);
  }
  Outcome update_values(const MatrixRef<T>& A) override { return factor(A); }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<Vectors>(*this);
  }
  [[nodiscard]] std::size_t bytes() const override {
    return transpose_.bytes() + S_.matrix.bytes() + S_.adjoint.bytes() + K_.bytes() +
           (factors_ ? factors_->bytes() : 0);
  }

  void solve(Workspace& workspace, DenseView<const T> rhs, DenseView<T> X,
             std::vector<Job>& jobs) const override {
    auto& own = static_cast<Vectors&>(workspace);
    for (Job& job : jobs) {
      if (job.control->cancel.stop_requested()) {
        job.outcome = {Status::cancelled, "stopped by the caller before the solve"};
      } else {
        solve_column(own, rhs.column(job.number), X.column(job.number), job);
      }
    }
  }

 private:
  /// Factors the augmented matrix, and again with a small d if it is singular.
  Outcome factor(const MatrixRef<T>& A) {
    A_ = A;
    transpose_.form(A);
    S_ = make_tall(A, is_square(A));
    s_ = first_s(A);
    shift_ = 0;
    if (!(S_.largest > 0)) {
      Outcome zero;
      zero.rank = 0;
      return zero;
    }
    Outcome outcome = factor_augmented(0);
    if (outcome.status == Status::cancelled) return outcome;
    if (!outcome.ok() && options_.damping == 0) return factor_deficient();
    if (outcome.ok()) outcome.rank = S_.matrix.columns();
    if (s_ > 0) outcome.reciprocal_condition.reset();
    if (s_ > 0 && outcome.ok() && options_.damping == 0) outcome.reciprocal_condition = estimate_condition();
    return outcome;
  }

  /// A square A, whose residual is zero, needs no s: its matrix has the condition of A and not its square.
  [[nodiscard]] bool is_square(const MatrixRef<T>& A) const {
    return A.rows() == A.columns() && options_.damping == 0;
  }
  [[nodiscard]] double first_s(const MatrixRef<T>& A) const {
    return is_square(A) ? 0 : relative_s * S_.largest;
  }

  /// Factors the augmented matrix of a rank-deficient A with a small d, and finds the rank.
  Outcome factor_deficient() {
    if (!S_.row_exponents.empty()) S_ = make_tall(A_, false);
    s_ = relative_s * S_.largest;
    const std::optional<std::int64_t> rank = rank_by_inertia(rank_tolerance);
    const std::optional<std::int64_t> less = rank_by_inertia(clear_gap * rank_tolerance);
    shift_ = relative_regularization * S_.norm * (relative_regularization * S_.norm);
    Outcome outcome = factor_augmented(shift_);
    outcome.rank = rank;
    outcome.reciprocal_condition.reset();
    outcome.statistics.push_back({"tolerance", rank_tolerance});
    if (rank != less) {
      outcome.statistics.push_back({"doubtful", std::int64_t{1}});
      outcome.warnings.push_back(
          fmt::format("the rank of A is doubtful: singular values lie between {} and {} of the largest",
                      short_number(rank_tolerance), short_number(clear_gap * rank_tolerance)));
    }
    if (A_.rows() == A_.columns() && outcome.ok()) {
      outcome.status = Status::singular;
      outcome.message = "A is singular to working precision";
    }
    return outcome;
  }

  Outcome factor_augmented(double shift) {
    Csr<W> next = make_augmented(S_, s_, options_.damping, shift);
    const bool update = factored_ && next.nonzeros() == K_.nonzeros() && next.rows() == K_.rows();
    std::swap(K_, next);
    SolverImplementation<W>& ldlt = factors_ ? SolverAccess<W>::implementation(*factors_) : new_factors();
    ldlt.set_control(this->control());
    Outcome outcome = update ? ldlt.update_values(K_) : ldlt.setup(K_);
    ldlt.set_control({});
    factored_ = true;
    return outcome;
  }
  SolverImplementation<W>& new_factors() {
    factors_ = make_solver<W>("sparse-ldlt", this->device());
    return SolverAccess<W>::implementation(*factors_);
  }

  /// Number of singular values of S above `tolerance` ||S||: that of the negative eigenvalues of the
  /// augmented matrix with -d^2 = tolerance^2.
  std::optional<std::int64_t> rank_by_inertia(double tolerance) {
    const double size = tolerance * S_.norm;
    const Csr<W> shifted = make_augmented(S_, s_, 0, -size * size);
    const Solver<W> solver = make_solver<W>("sparse-ldlt", this->device());
    SolverImplementation<W>& ldlt = SolverAccess<W>::implementation(solver);
    ldlt.set_control(this->control().without_progress());
    if (!ldlt.setup(shifted).ok()) return std::nullopt;
    return ldlt.inertia().negative;
  }

  /// Solves the augmented system for own.rhs, by the factors alone.
  void substitute(Vectors& own) const {
    SolverAccess<W>::implementation(*factors_).apply(*own.factors, {own.rhs.data(), S_.order()},
                                                     {own.solution.data(), S_.order()}, Operation::none);
  }

  /// sigma_min / ||S|| by some steps of inverse iteration with S^H S.
  double estimate_condition() const {
    constexpr int steps = 4;
    Vectors own(*this);
    const auto n = static_cast<std::size_t>(S_.matrix.columns());
    const auto m = static_cast<std::size_t>(S_.matrix.rows());
    std::vector<W> v(n);
    for (std::size_t j = 0; j < n; ++j) v[j] = j % 2 == 0 ? 1 : -0.5 - 1 / static_cast<double>(j + 1);
    double growth = 1;
    for (int k = 0; k < steps; ++k) {
      for (std::size_t j = 0; j < n; ++j) own.rhs[m + j] = -v[j] / growth / s_;
      substitute(own);
      growth = 0;
      for (std::size_t j = 0; j < n; ++j) {
        v[j] = own.solution[m + j];
        growth = std::max(growth, magnitude(v[j]));
      }
      if (!std::isfinite(growth) || growth == 0) return 0;
    }
    return std::min(1.0, 1 / (std::sqrt(growth) * S_.norm));
  }

  /// Computes own.d = A^+ r for r in own.r; `normal`: for a tall A, (A^H A + d^2 I)^-1 (A^H r - d^2 x), which
  /// shows the part of the error that grows with the square of the condition.
  void compute_correction(Vectors& own, const T* x, bool normal) const {
    const std::int64_t m = S_.matrix.rows();
    const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
    std::fill(own.rhs.begin(), own.rhs.end(), W{0});
    if (S_.wide) {
      for (std::int64_t i = 0; i < A_.rows(); ++i)
        own.rhs[at(m + i)] = static_cast<W>(own.r[at(i)]) * S_.scale(i);
    } else if (!normal || s_ == 0) {
      for (std::int64_t i = 0; i < m; ++i) own.rhs[at(i)] = static_cast<W>(own.r[at(i)]) * S_.row_scale(i);
    } else {
      // A^H r is the conjugate of A^T conj(r).
      conjugate(own.r);
      own.check->accurate_residual(transpose_.matrix(), own.zero.data(), own.r.data(), own.g.data());
      conjugate(own.g);
      const double square = options_.damping * options_.damping;
      for (std::int64_t j = 0; j < A_.columns(); ++j) {
        const W g = static_cast<W>(own.g[at(j)]) + square * static_cast<W>(x[j]);
        own.rhs[at(m + j)] = g * S_.scale(j) / s_;
      }
    }
    substitute(own);
    for (std::int64_t j = 0; j < A_.columns(); ++j) {
      const W d = S_.wide ? own.solution[at(j)] : own.solution[at(m + j)] * S_.scale(j);
      own.d[at(j)] = static_cast<T>(d);
    }
  }

  static void conjugate(std::vector<T>& y) {
    if constexpr (is_complex<T>) std::transform(y.begin(), y.end(), y.begin(), echelon::conj<T>);
  }

  /// The change of x by rounding errors of the residual in own.r, which corrections do not show.
  double rounding_error(Vectors& own, const T* x) const {
    Host(this->device()).for_each(A_.rows(), SampleRounding<T>{own.r.data()});
    compute_correction(own, x, false);
    const double size = own.check->vector(A_.columns(), own.d.data()).norm_inf;
    const double change = size > 0 ? size / own.check->vector(A_.columns(), x).norm_inf : 0;
    return std::max(change, machine_epsilon<T> / 2);
  }

  /// Computes x = A^+ b and corrects it while corrections shrink; the last one measures the error. The
  /// penalty of a wide A is known for x = 0 alone.
  void solve_column(Vectors& own, const T* b, T* x, Job& job) const {
    const std::int64_t n = A_.columns();
    std::fill(x, x + n, T{0});
    if (!(S_.largest > 0)) return;
    std::copy(b, b + A_.rows(), own.r.begin());
    compute_correction(own, x, false);
    std::copy(own.d.begin(), own.d.end(), x);
    if ((S_.wide && options_.damping > 0) || (options_.refine == 0 && !job.control->measure_error)) return;
    const std::int64_t steps = shift_ > 0 ? most_corrections : options_.refine;
    NormalCorrections corrections(*own.check, own.d.data(), n, shift_ > 0 ? 0.9 : 0.5,
                                  steps + (job.control->measure_error ? 1 : 0), [&](const T* y) {
                                    own.check->accurate_residual(A_, b, y, own.r.data());
                                    compute_correction(own, y, true);
                                  });
    const auto view = [&](T* elements) { return DenseView<T>(elements, n, 1, n, this->device()); };
    correct(steps, view(x), view(own.candidate.data()), corrections);
    job.statistics.push_back({"refinement_steps", corrections.steps()});
    if (job.control->measure_error) job.error = error_of(own, x, corrections.size());
  }

  /// The error of x as far as it is known here, for a last correction of the given size. The errors of a
  /// square A are measured as those of all direct methods, unless rounding errors may have made a nonsingular
  /// A of a singular one, or the reverse.
  std::optional<double> error_of(Vectors& own, const T* x, double size) const {
    if (is_square(A_)) return shift_ > 0 ? std::optional(1.0) : std::nullopt;
    return std::max({size, rounding_error(own, x), shift_ > 0 ? null_space_error : 0});
  }

  AugmentedOptions options_;
  MatrixRef<T> A_;
  TransposedMatrix<T> transpose_;
  TallMatrix<W> S_;
  double s_ = 1;
  double shift_ = 0;  ///< d^2 that the set-up chose for a rank-deficient A
  Csr<W> K_;
  std::optional<Solver<W>> factors_;
  bool factored_ = false;  ///< K_, whose pattern further values keep
};

}  // namespace augmented

template <>
struct MethodWith<AugmentedOptions> {
  template <class B, class T>
  using Type = augmented::AugmentedSystem<B, T>;
};

#define ECHELON_INSTANTIATE(T)                                                       \
  template std::unique_ptr<SolverImplementation<T>> make_implementation<HostTarget>( \
      const Device&, const AugmentedOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
