// SPDX-License-Identifier: BSD-3-Clause
/// Interface that a method implements. The Solver around it checks arguments, measures times, and checks the
/// residual of every answer, so that no method can omit it.
#pragma once

#include "linalg/residual_check.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/dense.hpp>
#include <echelon/preconditioner.hpp>
#include <echelon/solver.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace echelon {

/// Outcome of a phase, with the facts for the report.
struct Outcome {
  Status status = Status::direct;
  std::string message = {};
  std::optional<std::int64_t> row = {};
  std::optional<double> reciprocal_condition = {};
  std::optional<std::int64_t> rank = {};
  Certainty certainty =
      Certainty::working_precision;  ///< of the rank, and of a singular or inconsistent system
  std::vector<std::string> warnings = {};
  std::vector<Statistic> statistics = {};  ///< of the set-up, for its report and those of later solves

  [[nodiscard]] bool ok() const { return status == Status::direct || status == Status::converged; }
};

/// Largest normwise backward error with which the answer of a direct method counts as solved.
template <class T>
constexpr double acceptable_backward_error = std::is_same_v<T, double> ? 1e-10 : 1e-4;

/// Largest relative residual ||b - A x|| / ||b|| with which an x satisfies the equations whatever A may be.
template <class T>
constexpr double satisfying_residual = std::is_same_v<T, double> ? 1e-8 : 1e-4;

/// Backward error of an iterative method up to which rounding, and not the method, limits the residual.
template <class T>
constexpr double rounding_level = 10 * std::numeric_limits<T>::epsilon();

/// A solve of one right-hand side: its arguments and its results.
struct Job {
  std::int64_t number = 0;              ///< index of the right-hand side
  double right_hand_side_norm = 0;      ///< ||b||_2
  double right_hand_side_norm_inf = 0;  ///< ||b||_inf
  double matrix_norm = 0;               ///< ||A||_inf
  double tolerance = 0;                 ///< on ||b - A x||_2
  const Control* control = nullptr;

  Outcome outcome = {};
  std::vector<Statistic> statistics = {};  ///< of this solve, reported after those of the set-up
  std::int64_t iterations = 0;
  std::vector<double> history = {};     ///< ||r||_2 after 0, 1, ... iterations
  bool limited_by_rounding = false;     ///< converged, but to `rounding_level` and not to `tolerance`
  bool exact = false;                   ///< A x = b holds exactly, modulo a prime: the residual is 0
  double inverse_norm = 0;              ///< lower bound of ||A^-1||_2; 0: none
  double preconditioned_condition = 0;  ///< estimate from below; 0: none
  std::optional<FactorPrecision> factor_precision = {};  ///< where it is not that of the set-up
};

/// Scratch memory of one solve in progress. Concurrent solves have one each.
class Workspace {
 public:
  Workspace() = default;
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  virtual ~Workspace() = default;
  [[nodiscard]] virtual std::size_t bytes() const { return 0; }
};

template <class T>
class SolverImplementation {
 public:
  explicit SolverImplementation(const Device& device) : device_(device) {}
  SolverImplementation(const SolverImplementation&) = delete;
  SolverImplementation& operator=(const SolverImplementation&) = delete;
  virtual ~SolverImplementation() = default;

  [[nodiscard]] const Device& device() const { return device_; }
  /// Sets the method's name, and its options that differ from the defaults.
  void set_description(std::string name, std::string options) {
    name_ = std::move(name);
    options_ = std::move(options);
  }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& changed_options() const { return options_; }

  /// Sets the token that cancels a set-up in progress.
  void set_cancel(std::stop_token cancel) { cancel_ = std::move(cancel); }
  [[nodiscard]] const std::stop_token& cancel() const { return cancel_; }

  /// Near-null-space vectors of A for later set-ups: a row for each of A, on the host; no columns: none.
  /// Those that A maps to zero are projected out of b and x; multigrid and BDDC also coarsen by them, see
  /// NearNullSpaceUser.
  void keep_near_null_space(Dense<double> vectors) { near_null_space_ = std::move(vectors); }
  [[nodiscard]] const Dense<double>& near_null_space() const { return near_null_space_; }

  /// Whether the method accepts A of any shape; otherwise A is square.
  [[nodiscard]] virtual bool takes_any_shape() const { return false; }
  /// Whether the method needs nothing but products with A.
  [[nodiscard]] virtual bool takes_operator() const { return false; }
  /// Preconditions later solves with the object; existing workspaces are not used again.
  virtual void set_preconditioner(const Preconditioner<T>& /*preconditioner*/) {
    throw Error("method '" + name_ + "' takes no preconditioner");
  }
  /// Analyses the pattern only; by default it does nothing. Its statistics appear in its own report only:
  /// `setup` has to return those that solves report as well.
  virtual Outcome analyze(const MatrixRef<T>& /*A*/) { return {}; }
  /// Predicts the cost of a factorisation of A, which is checked as for set-ups, by the quickest analysis;
  /// none where memory does not suffice, or the method has no prediction. A setup() for A keeps the analysis,
  /// unless a better one may save its own time.
  [[nodiscard]] virtual std::optional<CostPrediction> predict_cost(const MatrixRef<T>& /*A*/) {
    return std::nullopt;
  }
  /// Prepares for solves. A has a shape that the method accepts, is on its device and has finite values.
  /// Status::direct means ready; solves are also possible with `underdetermined`, and with `singular` without
  /// a row.
  virtual Outcome setup(const MatrixRef<T>& A) = 0;
  /// Prepares for new values in the pattern of the last setup.
  virtual Outcome update_values(const MatrixRef<T>& A) { return setup(A); }

  /// Makes a workspace for the matrix of the last setup.
  [[nodiscard]] virtual std::unique_ptr<Workspace> make_workspace() const = 0;

  /// Solves for all columns; `jobs` has one entry per column. B is finite. Column-major views.
  virtual void solve(Workspace& workspace, DenseView<const T> B, DenseView<T> X,
                     std::vector<Job>& jobs) const = 0;

  /// Applies the preconditioner, z = M^-1 r for n elements each; queued on the device without waiting.
  virtual void apply(Workspace& /*workspace*/, const T* /*r*/, T* /*z*/) const {
    throw Error("method '" + name_ + "' is not a preconditioner");
  }
  /// Applies the preconditioner to each column of R; column-major views that do not overlap. Overridden where
  /// columns together take less time than one after another.
  virtual void apply_columns(Workspace& workspace, DenseView<const T> R, DenseView<T> Z) const {
    for (std::int64_t j = 0; j < R.columns(); ++j) apply(workspace, R.column(j), Z.column(j));
  }

  /// Stopping criteria; null for a direct method.
  [[nodiscard]] virtual const Stop* stop() const { return nullptr; }
  /// Precision of the last setup, if another than the working precision was requested.
  [[nodiscard]] virtual std::optional<FactorPrecision> factor_precision() const { return std::nullopt; }
  /// Memory kept from setup in bytes, excluding workspaces.
  [[nodiscard]] virtual std::size_t bytes() const { return 0; }

 private:
  Device device_;
  std::string name_;
  std::string options_;
  std::stop_token cancel_;
  Dense<double> near_null_space_;
};

/// Access to the implementation of a solver, for solvers nested in solvers.
template <class T>
struct SolverAccess {
  [[nodiscard]] static SolverImplementation<T>& implementation(const Solver<T>& solver) {
    return *solver.implementation_;
  }
};

}  // namespace echelon
