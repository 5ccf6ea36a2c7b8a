// SPDX-License-Identifier: BSD-3-Clause
/// Interface that a method implements. The Solver around it checks arguments, measures times, and checks the
/// residual of every answer, so that no method can omit it.
#pragma once

#include "linalg/residual_check.hpp"

#include <echelon/error.hpp>
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

/// How a phase ended, with the facts for the report.
struct Outcome {
  Status status = Status::direct;
  std::string message = {};
  std::optional<std::int64_t> row = {};
  std::optional<double> reciprocal_condition = {};
  std::optional<std::int64_t> rank = {};
  std::vector<std::string> warnings = {};
  std::vector<Statistic> statistics = {};  ///< of the set-up, for its report and those of later solves

  [[nodiscard]] bool ok() const { return status == Status::direct || status == Status::converged; }
};

/// A direct method's answer with a larger normwise backward error than this is not called solved.
template <class T>
constexpr double acceptable_backward_error = std::is_same_v<T, double> ? 1e-10 : 1e-4;

/// An iterative method's backward error up to which rounding, and not the method, limits the residual.
template <class T>
constexpr double rounding_level = 10 * std::numeric_limits<T>::epsilon();

/// A solve of one right-hand side: its arguments and its results.
struct Job {
  std::int64_t number = 0;              ///< the right-hand side's
  double right_hand_side_norm = 0;      ///< ||b||_2
  double right_hand_side_norm_inf = 0;  ///< ||b||_inf
  double matrix_norm = 0;               ///< ||A||_inf
  double tolerance = 0;                 ///< on ||b - A x||_2
  const Control* control = nullptr;

  Outcome outcome = {};
  std::vector<Statistic> statistics = {};  ///< of this solve, reported after those of the set-up
  std::int64_t iterations = 0;
  std::vector<double> history = {};  ///< ||r||_2 after 0, 1, ... iterations
  bool limited_by_rounding = false;  ///< converged, but to `rounding_level` and not to `tolerance`
  /// ||.||_2 of the part of b outside the range of a singular A, which no x can remove from b - A x. The
  /// residual may exceed the tolerance by it, and the outcome's message becomes a warning.
  double unreachable = 0;
  bool exact = false;                   ///< A x = b holds exactly, modulo a prime: the residual is 0
  double inverse_norm = 0;              ///< a lower bound of ||A^-1||_2; 0: none
  double preconditioned_condition = 0;  ///< a lower bound of that of the preconditioned A; 0: none
  std::optional<FactorPrecision> factor_precision = {};  ///< where it is not that of the set-up
};

/// Scratch of one solve in progress. Solves that run at the same time have one each.
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
  /// The method's name, and its options that differ from the defaults.
  void set_description(std::string name, std::string options) {
    name_ = std::move(name);
    options_ = std::move(options);
  }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& changed_options() const { return options_; }

  /// The request to stop that a set-up in progress has to heed.
  void set_cancel(std::stop_token cancel) { cancel_ = std::move(cancel); }
  [[nodiscard]] const std::stop_token& cancel() const { return cancel_; }

  /// Whether the method was written for A of any shape; otherwise it is square.
  [[nodiscard]] virtual bool takes_any_shape() const { return false; }
  /// Whether products with A are all that the method needs.
  [[nodiscard]] virtual bool takes_operator() const { return false; }
  /// Preconditions with the object from then on; workspaces made before are not used again.
  virtual void set_preconditioner(const Preconditioner<T>& /*preconditioner*/) {
    throw Error("method '" + name_ + "' takes no preconditioner");
  }
  /// Pattern only; nothing unless a method has use for it. Its statistics are for its own report: those that
  /// solves are to report as well are given by `setup` again.
  virtual Outcome analyze(const MatrixRef<T>& /*A*/) { return {}; }
  /// A has a shape that the method takes, its device fits and its values are finite. Status::direct means
  /// ready; with `underdetermined`, or `singular` without a row, solves are worth their while, too.
  virtual Outcome setup(const MatrixRef<T>& A) = 0;
  /// The pattern is that of the last setup.
  virtual Outcome update_values(const MatrixRef<T>& A) { return setup(A); }

  /// For the matrix of the last setup.
  [[nodiscard]] virtual std::unique_ptr<Workspace> make_workspace() const = 0;

  /// Solves for all columns; `jobs` has one entry per column. B is finite. Column-major views.
  virtual void solve(Workspace& workspace, DenseView<const T> B, DenseView<T> X,
                     std::vector<Job>& jobs) const = 0;

  /// z = M^-1 r for n elements each, queued on the device without waiting: what a preconditioner does.
  virtual void apply(Workspace& /*workspace*/, const T* /*r*/, T* /*z*/) const {
    throw Error("method '" + name_ + "' is not a preconditioner");
  }

  /// The stopping criteria, for an iterative method.
  [[nodiscard]] virtual const Stop* stop() const { return nullptr; }
  /// The precision of the last setup, where another than the working precision was asked for.
  [[nodiscard]] virtual std::optional<FactorPrecision> factor_precision() const { return std::nullopt; }
  /// Bytes kept from setup, workspaces not counted.
  [[nodiscard]] virtual std::size_t bytes() const { return 0; }

 private:
  Device device_;
  std::string name_;
  std::string options_;
  std::stop_token cancel_;
};

/// For code inside the library: solvers nested in solvers.
template <class T>
struct SolverAccess {
  [[nodiscard]] static SolverImplementation<T>& implementation(const Solver<T>& solver) {
    return *solver.implementation_;
  }
};

}  // namespace echelon
