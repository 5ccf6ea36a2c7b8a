// SPDX-License-Identifier: BSD-3-Clause
/// The option factor_precision: a dense method with factors in a lower precision than that of A, and with
/// answers as accurate as those of the working precision.
#pragma once

#include "backend/target.hpp"
#include "dense/mixed_precision/refinement.hpp"
#include "dense/mixed_precision/rounding.hpp"
#include "linalg/contraction.hpp"
#include "linalg/residual_check.hpp"
#include "linalg/vector/functors.hpp"
#include "solver/factor_status.hpp"
#include "solver/implementation.hpp"
#include "support/text.hpp"

#include <echelon/error.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace echelon {

namespace mixed_precision {

/// Unit roundoff of the large products.
inline double unit_roundoff(Precision precision) {
  switch (precision) {
    case Precision::working:
      return 0;
    case Precision::single:
      return 0x1p-24;
    case Precision::tf32x3:
      return 0x1p-21;
    case Precision::bf16x3:
      return 0x1p-16;
    case Precision::tf32:
      return 0x1p-11;
  }
  return 0;
}

/// Throws BadOption for a precision that the device does not have.
inline void check_factor_precision(const Device& device, Precision precision) {
  const bool is_everywhere = precision == Precision::working || precision == Precision::single;
  if (is_everywhere || device.kind() == DeviceKind::cuda) return;
  throw BadOption("factor_precision",
                  "factor_precision=" + std::string(to_string(precision)) +
                      " needs a GPU with tensor cores: " + (device.on_host() ? "the host" : device.name()) +
                      " factors in the working precision or in single");
}

}  // namespace mixed_precision

/// `Implementation<B, T>` is a direct method for a backend, made from (device, options), with a member
/// in addition to those of SolverImplementation: `substitute(workspace, X)` queues X = A^-1 X for
/// column-major X without refinement; and, where A has to have a property that rounding may bring about, the
/// static `check_matrix(backend, A)`, whose outcome is not ok without it. Here it is used in float, with
/// factor_precision passed on, and in T where that is not accurate enough: by the set-up, or for the first
/// right-hand side that needs it and all later ones.
///
/// A lower precision is used where A is provably regular in it, or where a random right-hand side is solved
/// for accurately. Memory: n^2 floats, and A, which the caller keeps.
template <class B, class T, template <class, class> class Implementation, class MethodOptions>
class MixedPrecisionSolver : public SolverImplementation<T> {
  using Low = Implementation<B, float>;
  using Working = Implementation<B, T>;

  /// Right-hand sides that are refined at a time, so that residuals are products of matrices.
  static constexpr std::int64_t columns_at_once = 32;

  struct SolveWorkspace : Workspace {
    /// `shared`: a backend to use instead of an own one.
    SolveWorkspace(const Device& device, std::int64_t n, std::unique_ptr<Workspace> low_workspace,
                   std::int64_t columns, B* shared)
        : own_backend(shared == nullptr ? std::make_unique<B>(device) : nullptr),
          backend(shared == nullptr ? *own_backend : *shared),
          low(std::move(low_workspace)),
          refinement(device, n, columns),
          rounded(device, n, columns),
          largest(device, columns) {}
    [[nodiscard]] std::size_t bytes() const override {
      return low->bytes() + refinement.bytes() + rounded.bytes() + largest.bytes();
    }
    std::unique_ptr<B> own_backend;
    B& backend;
    std::unique_ptr<Workspace> low;
    mixed_precision::Refinement<B, T> refinement;
    Dense<float> rounded;
    Array<Largest> largest;
  };
  /// Workspaces that the solves have created.
  struct Workspaces : Workspace {
    [[nodiscard]] std::size_t bytes() const override {
      return (low ? low->bytes() : 0) + (working ? working->bytes() : 0);
    }
    std::unique_ptr<SolveWorkspace> low;
    std::unique_ptr<Workspace> working;
  };

 public:
  MixedPrecisionSolver(const Device& device, const MethodOptions& options)
      : SolverImplementation<T>(device), options_(options), backend_(device) {
    mixed_precision::check_factor_precision(device, options.factor_precision);
    low_ = std::make_unique<Low>(device, options);
  }

  Outcome setup(const MatrixRef<T>& A) override {
    A_ = A;
    working_.reset();
    uses_working_ = false;
    Outcome outcome;
    why_ = factor_in_lower_precision(outcome);
    if (why_.empty()) return outcome;
    low_.reset();
    return factor_in_working_precision(this->control());
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    auto workspaces = std::make_unique<Workspaces>();
    if (uses_working_) {
      workspaces->working = working_->make_workspace();
    } else {
      workspaces->low = make_low_workspace(columns_at_once);
    }
    return workspaces;
  }
  [[nodiscard]] std::size_t bytes() const override {
    const std::lock_guard lock(mutex_);
    return (low_ ? low_->bytes() : 0) + (working_ ? working_->bytes() : 0);
  }
  [[nodiscard]] std::optional<FactorPrecision> factor_precision() const override {
    const std::lock_guard lock(mutex_);
    const Precision asked = options_.factor_precision;
    return FactorPrecision{asked, why_.empty() ? asked : Precision::working, why_};
  }

  [[nodiscard]] Determinant determinant() const override { return working().determinant(); }
  [[nodiscard]] Inertia inertia() const override { return working().inertia(); }
  [[nodiscard]] MatrixFactors<T> factors() const override { return working().factors(); }

  void solve(Workspace& workspace, DenseView<const T> rhs, DenseView<T> X,
             std::vector<Job>& jobs) const override {
    if (X.rows() == 0 || X.columns() == 0) return;
    auto& workspaces = static_cast<Workspaces&>(workspace);
    if (!uses_working_ && solve_in_lower_precision(*workspaces.low, rhs, X, jobs)) return;
    solve_in_working_precision(workspaces, rhs, X, jobs);
  }

  /// Applies the inverse by substitution without refinement.
  void apply(Workspace& workspace, const MultiVector<const T>& r, const MultiVector<T>& z,
             Operation /*operation*/) const override {
    if (A_.rows() == 0) return;
    auto& workspaces = static_cast<Workspaces&>(workspace);
    if (uses_working_) {
      working_->apply(working_workspace(workspaces), r, z, Operation::none);
      return;
    }
    for_matrices(r, z, 1, this->device(), [&](DenseView<const T> R, DenseView<T> Z) {
      workspaces.low->backend.fill(Z.rows(), T{0}, Z.data());
      add_correction(*workspaces.low, R, Z);
    });
  }

 protected:
  [[nodiscard]] const MatrixRef<T>& matrix() const { return A_; }
  /// The method with factors in the working precision, which the first call computes.
  [[nodiscard]] const Working& working() const {
    const std::lock_guard lock(mutex_);
    if (working_ == nullptr) make_working({});
    return *working_;
  }

 private:
  /// Returns the reason why the working precision has to be used, or an empty string.
  std::string factor_in_lower_precision(Outcome& outcome) {
    const Precision precision = options_.factor_precision;
    if (std::is_same_v<T, float> && precision == Precision::single) return "float is the working precision";
    if constexpr (requires { Working::check_matrix(backend_, A_); }) {
      if (const Outcome checked = Working::check_matrix(backend_, A_); !checked.ok()) return checked.message;
    }
    {
      const RoundedMatrix rounded = round_to_float<B, T>(backend_, A_);
      if (!std::isfinite(rounded.largest)) return "an element of A overflows in float";
      if (low_ == nullptr) low_ = std::make_unique<Low>(this->device(), options_);
      low_->set_control(this->control());
      outcome = low_->setup(MatrixRef<float>(rounded.matrix.view()));
    }
    if (outcome.status == Status::cancelled || A_.rows() == 0) return {};
    const bool has_factors = outcome.ok() || (outcome.status == Status::singular && !outcome.row);
    if (!has_factors) return "in this precision, " + outcome.message;
    // A matrix whose distance to a singular one is a multiple of the rounding errors is regular.
    constexpr double margin = 10;
    const double least = margin * mixed_precision::unit_roundoff(precision);
    if (outcome.ok() && *outcome.reciprocal_condition >= least) return {};
    return try_refinement(outcome);
  }

  /// Tests the factors by a solve for a random right-hand side. Its solution may be larger than the one from
  /// the factors by as much as A is worse conditioned than these.
  std::string try_refinement(Outcome& outcome) {
    using namespace mixed_precision;
    const std::int64_t n = A_.rows();
    const auto space = make_low_workspace(1, &backend_);
    Dense<T> b(this->device(), n, 1);
    Dense<T> x(this->device(), n, 1);
    backend_.for_each(n, HashedVector<T, T>{nullptr, b.data()});
    backend_.fill(n, T{0}, x.data());
    add_correction(*space, b, x);
    const double by_factors = norm_one(x.data());
    const double norm_inf = make_residual_check<ThisTarget, T>(this->device())->matrix(A_).norm_inf;
    const Refined refined = refine(*space, norm_inf, b, x, this->control()).front();
    if (this->control().stop_requested()) {
      outcome = cancelled_factorization();
      return {};
    }
    if (!refined.accurate) return describe_inaccuracy(refined.backward_error);
    const double growth = norm_one(x.data()) / by_factors;
    const double reciprocal_condition = *outcome.reciprocal_condition / std::max(1.0, growth);
    constexpr double doubtful = 100 * static_cast<double>(std::numeric_limits<T>::epsilon());
    if (!(reciprocal_condition >= doubtful)) return "A may be singular to working precision";
    outcome.status = Status::direct;
    outcome.message.clear();
    outcome.reciprocal_condition = reciprocal_condition;
    return {};
  }

  double norm_one(const T* x) {
    Array<Sum> sum(this->device(), 1);
    backend_.reduce(A_.rows(), Magnitude<const T*>{x}, Store<Sum>{sum.data()});
    return backend_.read(sum.data()).value;
  }

  static std::string describe_inaccuracy(double backward_error) {
    return "refinement ended with a backward error of " + short_number(backward_error);
  }

  [[nodiscard]] std::unique_ptr<SolveWorkspace> make_low_workspace(std::int64_t columns,
                                                                   B* shared = nullptr) const {
    return std::make_unique<SolveWorkspace>(this->device(), A_.rows(), low_->make_workspace(), columns,
                                            shared);
  }

  /// Computes X = X + C R with the approximate inverse C of the lower precision. Queued.
  void add_correction(SolveWorkspace& space, DenseView<const T> R, DenseView<T> X) const {
    B& backend = space.backend;
    for (std::int64_t j = 0; j < R.columns(); ++j) {
      backend.reduce(R.rows(), LargestMagnitude<const T*>{R.column(j)},
                     Store<Largest>{space.largest.data() + j});
    }
    const DenseView<float> rounded = column_range(space.rounded.view(), 0, R.columns());
    const std::int64_t elements = R.rows() * R.columns();
    backend.for_each(elements, RoundScaled<T>{R, space.largest.data(), rounded});
    low_->substitute(*space.low, rounded);
    backend.for_each(elements, AddUnscaled<T>{rounded, space.largest.data(), T{1}, X});
  }

  std::vector<mixed_precision::Refined> refine(SolveWorkspace& space, double norm_inf, DenseView<const T> rhs,
                                               DenseView<T> X, const CancellationToken& cancel) const {
    return space.refinement.solve(space.backend, A_, norm_inf, rhs, X, options_.refine, cancel,
                                  [&](DenseView<const T> R, DenseView<T> Y) { add_correction(space, R, Y); });
  }

  /// Returns false if a solution is not accurate enough.
  bool solve_in_lower_precision(SolveWorkspace& space, DenseView<const T> rhs, DenseView<T> X,
                                std::vector<Job>& jobs) const {
    const CancellationToken& cancel = jobs.front().control->cancel;
    for (std::int64_t begin = 0; begin < X.columns(); begin += columns_at_once) {
      const std::int64_t end = std::min(begin + columns_at_once, X.columns());
      const auto refined = refine(space, jobs.front().matrix_norm, column_range(rhs, begin, end),
                                  column_range(X, begin, end), cancel);
      for (std::size_t j = 0; j < refined.size(); ++j) {
        Job& job = jobs[static_cast<std::size_t>(begin) + j];
        job.iterations = refined[j].steps + refined[j].gmres_steps;
        job.statistics = {{"refinement_steps", refined[j].steps}, {"gmres_steps", refined[j].gmres_steps}};
        if (refined[j].accurate) continue;
        if (cancel.stop_requested()) {
          for (Job& each : jobs)
            each.outcome = {Status::cancelled, "stopped by the caller before refinement"};
          return true;
        }
        const std::lock_guard lock(mutex_);
        if (why_.empty()) why_ = describe_inaccuracy(refined[j].backward_error);
        return false;
      }
    }
    return true;
  }

  /// Solves with factors in the working precision; the first call, of one thread, computes them.
  void solve_in_working_precision(Workspaces& workspaces, DenseView<const T> rhs, DenseView<T> X,
                                  std::vector<Job>& jobs) const {
    if (!uses_working_) factor_in_working_precision(jobs.front().control->cancel);
    const bool has_factors =
        working_outcome_.ok() || (working_outcome_.status == Status::singular && !working_outcome_.row);
    for (Job& job : jobs) {
      job.iterations = 0;
      job.statistics.clear();
      job.outcome = working_outcome_;
    }
    if (has_factors) working_->solve(working_workspace(workspaces), rhs, X, jobs);
  }

  [[nodiscard]] Workspace& working_workspace(Workspaces& workspaces) const {
    if (workspaces.working == nullptr) workspaces.working = working_->make_workspace();
    return *workspaces.working;
  }

  Outcome factor_in_working_precision(const CancellationToken& cancel) const {
    const std::lock_guard lock(mutex_);
    if (working_ == nullptr) make_working(cancel);
    uses_working_ = working_outcome_.status != Status::cancelled;
    if (!uses_working_) working_.reset();
    return working_outcome_;
  }

  void make_working(const CancellationToken& cancel) const {
    MethodOptions options = options_;
    options.factor_precision = Precision::working;
    working_ = std::make_unique<Working>(this->device(), options);
    working_->set_control(cancel);
    working_outcome_ = working_->setup(A_);
    working_->set_control({});
  }

  MethodOptions options_;
  B backend_;  // of set-ups
  MatrixRef<T> A_;
  std::unique_ptr<Low> low_;
  mutable std::mutex mutex_;  // guards what solves may change:
  mutable std::string why_;   // reason for the working precision
  mutable std::unique_ptr<Working> working_;
  mutable Outcome working_outcome_;
  mutable std::atomic<bool> uses_working_ = false;
};

/// The method in the precision that `options` ask for; `Lower` is derived from MixedPrecisionSolver.
template <template <class, class> class Implementation, template <class, class> class Lower, class T,
          class MethodOptions>
std::unique_ptr<SolverImplementation<T>> make_in_factor_precision(const Device& device,
                                                                  const MethodOptions& options) {
  return on_backend(device, [&]<class B>() -> std::unique_ptr<SolverImplementation<T>> {
    if (options.factor_precision == Precision::working) {
      return std::make_unique<Implementation<B, T>>(device, options);
    }
    return std::make_unique<Lower<B, T>>(device, options);
  });
}

/// The method for complex matrices, which are factored in their own precision. Throws BadOption.
template <class Implementation, class MethodOptions>
std::unique_ptr<Implementation> make_in_working_precision(const Device& device,
                                                          const MethodOptions& options) {
  if (options.factor_precision != Precision::working)
    throw BadOption("factor_precision",
                    "complex matrices are factored in their own precision: leave factor_precision out");
  return std::make_unique<Implementation>(device, options);
}

}  // namespace echelon
