// SPDX-License-Identifier: BSD-3-Clause
/// Least squares and solutions of least norm by an orthogonal decomposition, as a SolverImplementation.
#pragma once

#include "backend/target.hpp"
#include "linalg/residual_check.hpp"
#include "linalg/vector/rounding_sample.hpp"
#include "matrix/views/transposed_matrix.hpp"
#include "solver/direct/decomposed_rank.hpp"
#include "solver/direct/normal_corrections.hpp"
#include "solver/factor_status.hpp"
#include "solver/implementation.hpp"
#include "support/machine_epsilon.hpp"
#include "support/scalar.hpp"

#include <echelon/array.hpp>
#include <echelon/error.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/methods/dense/qr.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace echelon {

template <class T>
struct NegateElement {
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { x[i] = -x[i]; }
};

/// Solves by an orthogonal decomposition of A, in the sense of least squares, with the rank, and with an
/// option `damping` by that of A above d I. `Decomposition` has
///   factor(task)              decomposes A; false if a stop was requested;
///   make_space(device)        the scratch memory of solves, with bytes();
///   solve(space, B, X)        X = A^+ B, which waits: the columns have the least ||b - A x||, and of these
///   the least
///                             norm, or are basic;
///   solve_normal(space, G, D) D = (A^H A)^+ G, unless wide();
///   wide()                    whether A^H is decomposed;
///   scaled()                  whether columns of what is decomposed are scaled;
///   rank(), reciprocal_condition(), largest_pivot(), determinant(), bytes()
/// and may have
///   predict_cost(A)           as that of SolverImplementation;
///   column_spread()           as that of SolverImplementation;
///   statistics()              of the report, in addition to those of the rank.
template <class B, class T, class Decomposition, class MethodOptions>
class DecompositionMethod final : public SolverImplementation<T> {
  /// Vectors of the refinement of a right-hand side.
  struct RefinementVectors : Workspace {
    RefinementVectors(const Device& device, std::int64_t m, std::int64_t n)
        : check(make_residual_check<ThisTarget, T>(device)),
          backend(device),
          zero(device, n),
          r(device, m, 1),
          g(device, n, 1),
          d(device, n, 1),
          candidate(device, n, 1),
          space(Decomposition::make_space(device)) {
      backend.fill(n, T{0}, zero.data());
    }
    [[nodiscard]] std::size_t bytes() const override {
      return r.bytes() + 4 * g.bytes() + extended_rhs.bytes() + space.bytes();
    }
    std::unique_ptr<ResidualCheck<T>> check;
    B backend;
    Array<T> zero;
    Dense<T> r, g, d, candidate;  // b - A x, A^H r, the correction, x + d
    Dense<T> extended_rhs;
    decltype(Decomposition::make_space(Device())) space;
  };

 public:
  DecompositionMethod(const Device& device, const MethodOptions& options)
      : SolverImplementation<T>(device), options_(options) {}

  [[nodiscard]] bool takes_any_shape() const override { return true; }
  [[nodiscard]] bool takes_any_rank() const override { return true; }
  [[nodiscard]] bool minimizes_residual() const override { return true; }
  [[nodiscard]] double damping() const override {
    if constexpr (requires { options_.damping; }) return options_.damping;
    return 0;
  }
  [[nodiscard]] double truncation() const override { return options_.tolerance.value_or(0); }
  [[nodiscard]] double column_spread() const override {
    if constexpr (requires { decomposition_.column_spread(); }) return decomposition_.column_spread();
    return 1;
  }
  [[nodiscard]] std::string_view solution_kind() const override {
    if (options_.solution == QrSolution::basic) return "a basic one";
    return decomposition_.scaled() && !decomposition_.wide() ? "the one of least norm in scaled unknowns"
                                                             : "the one of least norm";
  }

  [[nodiscard]] std::optional<CostPrediction> predict_cost(const MatrixRef<T>& A) override {
    if constexpr (requires { decomposition_.predict_cost(A); }) {
      if (damping() == 0) return decomposition_.predict_cost(A);
    }
    return std::nullopt;
  }
  Outcome setup(const MatrixRef<T>& A) override {
    A_ = system_ = A;
    if (damping() > 0) {
      extended_ = extended(to_csr(A), damping());
      system_ = extended_;
    }
    transpose_.form(system_);
    const bool basic = options_.solution == QrSolution::basic;
    if (!decomposition_.factor(
            {this->device(), system_, transpose_.matrix(), options_.tolerance, basic, this->control()}))
      return cancelled_factorization();
    const DecomposedRank& found = decomposition_.rank();
    Outcome outcome;
    outcome.rank = found.rank;
    outcome.reciprocal_condition = decomposition_.reciprocal_condition();
    if (found.doubtful) outcome.warnings.push_back(doubt(found));
    outcome.statistics = {{"tolerance", found.tolerance},
                          {"smallest_accepted_pivot", found.smallest_accepted},
                          {"largest_rejected_pivot", found.largest_rejected}};
    if (found.doubtful) outcome.statistics.push_back({"doubtful", std::int64_t{1}});
    if constexpr (requires { decomposition_.statistics(); }) {
      for (Statistic& statistic : decomposition_.statistics())
        outcome.statistics.push_back(std::move(statistic));
    }
    if (is_square() && found.rank < A.columns()) {
      outcome.status = Status::singular;
      outcome.message = "A is singular to working precision";
    }
    return outcome;
  }
  Outcome update_values(const MatrixRef<T>& A) override { return setup(A); }
  [[nodiscard]] Determinant determinant() const override {
    if (!is_square()) throw DimensionMismatch("only a square matrix has a determinant");
    return decomposition_.determinant();
  }
  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<RefinementVectors>(this->device(), system_.rows(), system_.columns());
  }
  [[nodiscard]] std::size_t bytes() const override {
    return decomposition_.bytes() + transpose_.bytes() + extended_.bytes();
  }
  [[nodiscard]] MatrixRef<T> factored_matrix() const override { return A_; }

  void solve(Workspace& workspace, DenseView<const T> rhs, DenseView<T> X,
             std::vector<Job>& jobs) const override {
    auto& own = static_cast<RefinementVectors&>(workspace);
    if (damping() > 0) own.extended_rhs = extended(own.backend, rhs);
    if (damping() > 0) rhs = own.extended_rhs.view();
    decomposition_.solve(own.space, rhs, X);
    for (Job& job : jobs) {
      if (job.control->cancel.stop_requested()) {
        job.outcome = {Status::cancelled, "stopped by the caller before refinement"};
      } else {
        improve(own, rhs.column(job.number), X.column(job.number), job);
      }
    }
  }

  void apply(Workspace& workspace, const MultiVector<const T>& r, const MultiVector<T>& z,
             Operation /*operation*/) const override {
    const std::int64_t m = A_.rows();
    const std::int64_t n = A_.columns();
    auto& own = static_cast<RefinementVectors&>(workspace);
    for (int c = 0; c < r.columns(); ++c) {
      DenseView<const T> rhs(r[c], m, 1, m, this->device());
      if (damping() > 0) own.extended_rhs = extended(own.backend, rhs);
      if (damping() > 0) rhs = own.extended_rhs.view();
      decomposition_.solve(own.space, rhs, {z[c], n, 1, n, this->device()});
    }
  }

 private:
  /// A above d I.
  static Csr<T> extended(const Csr<T>& A, double d) {
    const std::int64_t n = A.columns();
    std::vector<std::int64_t> offsets = A.row_offsets().to_vector();
    std::vector<std::int32_t> columns = A.column_indices().to_vector();
    std::vector<T> values = A.values().to_vector();
    for (std::int64_t j = 0; j < n; ++j) {
      columns.push_back(static_cast<std::int32_t>(j));
      values.push_back(T{static_cast<Real<T>>(d)});
      offsets.push_back(std::ssize(values));
    }
    return Csr<T>::unchecked(A.rows() + n, n, {A.device(), std::span<const std::int64_t>(offsets)},
                             {A.device(), std::span<const std::int32_t>(columns)},
                             {A.device(), std::span<const T>(values)});
  }
  /// Right-hand sides above zeros.
  Dense<T> extended(B& backend, DenseView<const T> rhs) const {
    Dense<T> result(this->device(), system_.rows(), rhs.columns());
    for (std::int64_t j = 0; j < rhs.columns(); ++j) {
      T* const column = result.view().column(j);
      backend.copy(rhs.rows(), rhs.column(j), column);
      backend.fill(system_.rows() - rhs.rows(), T{0}, column + rhs.rows());
    }
    return result;
  }

  [[nodiscard]] bool is_square() const { return system_.rows() == system_.columns(); }
  [[nodiscard]] bool is_nonsingular() const {
    return is_square() && decomposition_.rank().rank == system_.columns();
  }
  /// Computes the correction d of x: (A^H A)^+ A^H r for a tall A, which shows the part of the error that
  /// grows with the square of the condition, and A^+ r for a wide one or a nonsingular one.
  void compute_correction(RefinementVectors& own, const T* b, const T* x) const {
    own.check->accurate_residual(system_, b, x, own.r.data());
    if (decomposition_.wide() || is_nonsingular())
      return decomposition_.solve(own.space, own.r.view(), own.d.view());
    // -A^H r is the conjugate of 0 - A^T conj(r).
    conjugate(own, own.r);
    own.check->accurate_residual(transpose_.matrix(), own.zero.data(), own.r.data(), own.g.data());
    conjugate(own, own.r);
    conjugate(own, own.g);
    own.backend.for_each(own.g.rows(), NegateElement<T>{own.g.data()});
    decomposition_.solve_normal(own.space, own.g.view(), own.d.view());
  }
  static void conjugate(RefinementVectors& own, Dense<T>& y) {
    if constexpr (is_complex<T>) own.check->conjugate(y.rows(), y.data());
  }
  /// The change of x by rounding errors of the residual in own.r, relative to x: corrections do not show it.
  double rounding_error(RefinementVectors& own, const T* x) const {
    own.backend.for_each(own.r.rows(), SampleRounding<T>{own.r.data()});
    decomposition_.solve(own.space, own.r.view(), own.d.view());
    const double change = own.check->vector(own.d.rows(), own.d.data()).norm_inf;
    return change > 0 ? change / own.check->vector(system_.columns(), x).norm_inf : 0;
  }

  /// Whether corrections show the error: the normal equations of a tall A can be solved to a digit or more,
  /// and the equations of a wide one have a solution.
  [[nodiscard]] bool is_correctable() const {
    constexpr double digit = 0.1;
    const double reciprocal = decomposition_.reciprocal_condition();
    if (decomposition_.wide()) return decomposition_.rank().rank == system_.rows();
    return machine_epsilon<T> <= digit * reciprocal * (is_nonsingular() ? 1 : reciprocal);
  }
  /// Bound of the error of an x that is not corrected: eps (kappa + kappa^2 ||r|| / (||A|| ||x||)) (P.-A.
  /// Wedin, BIT 13, 1973).
  double error_bound(RefinementVectors& own, const T* b, const T* x) const {
    const double residual = own.check->residual(system_, b, x, own.r.data()).norm2;
    const double size = decomposition_.largest_pivot() * own.check->vector(system_.columns(), x).norm2;
    const double condition = 1 / decomposition_.reciprocal_condition();
    const double ratio = size > 0 && !decomposition_.scaled() ? std::min(1.0, residual / size) : 1;
    return machine_epsilon<T> * condition * (1 + condition * ratio);
  }

  /// Corrects x while each correction is at most half of the one before, and measures its error by the last
  /// one. The error with a nonsingular A is measured as that of all direct methods; rounding errors may have
  /// made a singular A of a nonsingular one.
  void improve(RefinementVectors& own, const T* b, T* x, Job& job) const {
    const bool measures = job.control->measure_error && !is_nonsingular();
    const std::int64_t n = system_.columns();
    if (system_.rows() == 0 || n == 0 || (options_.refine == 0 && !measures)) return;
    if (is_correctable()) {
      NormalCorrections corrections(*own.check, own.d.data(), n, 0.5, options_.refine + (measures ? 1 : 0),
                                    [&](const T* y) { compute_correction(own, b, y); });
      correct(options_.refine, DenseView<T>(x, n, 1, n, this->device()), own.candidate.view(), corrections);
      job.statistics.push_back({"refinement_steps", corrections.steps()});
      if (measures)
        job.error = std::max({corrections.size(), rounding_error(own, x), machine_epsilon<T> / 2});
    } else if (measures) {
      job.error = error_bound(own, b, x);
    }
    if (measures && is_square()) job.error = 1;
  }

  MethodOptions options_;
  MatrixRef<T> A_, system_;  // that of the set-up, and the one that is decomposed
  Csr<T> extended_;          // A above d I, with damping
  TransposedMatrix<T> transpose_;
  Decomposition decomposition_;
};

}  // namespace echelon
