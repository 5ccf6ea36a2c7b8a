// SPDX-License-Identifier: BSD-3-Clause
/// Interface that a method implements. The Solver around it checks arguments, measures times, and checks the
/// residual of every answer, so that no method can omit it.
#pragma once

#include "linalg/residual_check.hpp"
#include "linalg/vector/float_vector.hpp"
#include "linalg/vector/multi_vector.hpp"
#include "support/machine_epsilon.hpp"
#include "support/setup_control.hpp"
#include "support/stopwatch.hpp"

#include <echelon/error.hpp>
#include <echelon/linalg/determinant.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/dense.hpp>
#include <echelon/matrix/operation.hpp>
#include <echelon/methods/multigrid/hierarchy.hpp>
#include <echelon/preconditioner.hpp>
#include <echelon/solver.hpp>
#include <echelon/solver/factors.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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
  std::shared_ptr<const std::vector<std::int64_t>> row_of_unknown = {};  ///< as in the report

  [[nodiscard]] bool ok() const { return status == Status::direct || status == Status::converged; }
};

/// Largest normwise backward error with which the answer of a direct method counts as solved.
template <class T>
constexpr double acceptable_backward_error = std::is_same_v<Real<T>, double> ? 1e-10 : 1e-4;

/// Largest relative residual ||b - A x|| / ||b|| with which an x satisfies the equations whatever A may be.
template <class T>
constexpr double satisfying_residual = std::is_same_v<Real<T>, double> ? 1e-8 : 1e-4;

/// Backward error of an iterative method up to which rounding, and not the method, limits the residual.
template <class T>
constexpr double rounding_level = 10 * machine_epsilon<T>;

/// A solve of one right-hand side: its arguments and its results.
struct Job {
  std::int64_t number = 0;              ///< index of the right-hand side
  double right_hand_side_norm = 0;      ///< ||b||_2
  double right_hand_side_norm_inf = 0;  ///< ||b||_inf
  double matrix_norm = 0;               ///< ||A||_inf
  double relative_tolerance = 0;        ///< rtol of an iterative method
  double tolerance = 0;                 ///< on ||b - A x||_2
  std::int64_t max_iterations = 0;
  const Control* control = nullptr;
  int unscaling = 0;         ///< the caller's x is 2^unscaling times that of the method
  bool refines = true;       ///< whether a direct method may refine x
  Stopwatch stopwatch = {};  ///< from the start of the solve

  Outcome outcome = {};
  std::vector<Statistic> statistics = {};  ///< of this solve, reported after those of the set-up
  std::int64_t iterations = 0;
  std::vector<double> history = {};          ///< ||r||_2 after 0, 1, ... iterations
  std::vector<double> history_seconds = {};  ///< when they became known
  bool refined = false;                      ///< a direct method has refined x, or may have
  bool limited_by_rounding = false;          ///< converged, but to `rounding_level` and not to `tolerance`
  bool exact = false;                        ///< A x = b holds exactly, modulo a prime: the residual is 0
  double inverse_norm = 0;                   ///< lower bound of ||A^-1||_2, or of ||A^+||_2; 0: none
  double preconditioned_condition = 0;       ///< estimate from below; 0: none
  std::optional<FactorPrecision> factor_precision = {};  ///< where it is not that of the set-up
  std::optional<double> error = {};            ///< ||x - x*|| / ||x||, where the method estimates it
  std::optional<double> normal_residual = {};  ///< ||A^T r|| / (||A||_F ||r||), of an x of least residual
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

/// Kind of linear operator that a method is when used as a preconditioner.
enum class AppliedOperator {
  symmetric,  ///< linear, the same in each application, and symmetric if A is
  linear,     ///< the same in each application, not symmetric
  varying,    ///< not linear
};

/// Properties of a method as an operator, known after a set-up.
struct OperatorTraits {
  AppliedOperator kind = AppliedOperator::symmetric;
  /// Whether apply() gives each of several vectors the bits that it has alone.
  bool columns_as_alone = true;
  /// Whether apply() takes Operation::transpose.
  bool is_transposable = false;
  /// Whether the operator is computed in float, so that apply_in_float() saves a pass over the result in T.
  bool leaves_floats = false;
};

/// Whether set-ups look for null vectors of A, which are known for real symmetric matrices.
template <class T>
inline constexpr bool finds_null_spaces = !is_complex<T>;

struct SubdomainMatrix;

/// A method that chooses others for the matrix, each a whole solver with a report of its own. The functions
/// take the place of those of Solver, after the checks of the arguments.
template <class T>
class MethodChooser {
 public:
  MethodChooser() = default;
  MethodChooser(const MethodChooser&) = delete;
  MethodChooser& operator=(const MethodChooser&) = delete;
  virtual ~MethodChooser() = default;
  virtual Report analyze(const MatrixRef<T>& A, const Control& control) = 0;
  /// `update`: A has the pattern of the matrix before, whose method is kept.
  virtual Report setup(const MatrixRef<T>& A, bool update, const Control& control) = 0;
  /// Several threads may call it.
  virtual Report solve(DenseView<const T> B, DenseView<T> X, const Control& control) = 0;
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

  /// Sets the cancellation and the receiver of progress of a set-up.
  void set_control(SetupControl control) { control_ = std::move(control); }
  [[nodiscard]] const SetupControl& control() const { return control_; }

  /// The method as one that chooses others for the matrix; null for all but `auto`.
  [[nodiscard]] virtual MethodChooser<T>* chooser() { return nullptr; }

  /// Near-null-space vectors of A for later set-ups: a row for each of A, on the host; no columns: none.
  /// Those that A maps to zero are projected out of b and x; multigrid and BDDC also coarsen by them, see
  /// set_near_null_space().
  void keep_near_null_space(Dense<double> vectors) { near_null_space_ = std::move(vectors); }
  [[nodiscard]] const Dense<double>& near_null_space() const { return near_null_space_; }

  /// Leaves the rank of a singular A as the method found it, where no status depends on it: its proof can
  /// take some tenths of a second.
  void leave_rank_unproven() { proves_rank_ = false; }
  [[nodiscard]] bool proves_rank() const { return proves_rank_; }

  /// Whether the method accepts A of any shape; otherwise A is square.
  [[nodiscard]] virtual bool takes_any_shape() const { return false; }
  /// Whether the method accepts the A of the last set-up whatever its rank; null vectors are not projected
  /// out of its x.
  [[nodiscard]] virtual bool takes_any_rank() const { return takes_any_shape(); }
  /// Whether x minimises ||b - A x||_2 where A is not square, or no x satisfies the equations.
  [[nodiscard]] virtual bool minimizes_residual() const { return false; }
  /// The d of a method that minimises ||b - A x||_2^2 + d^2 ||x||_2^2.
  [[nodiscard]] virtual double damping() const { return 0; }
  /// Singular values, relative to the largest, that the method takes for zero although rounding does not
  /// explain them: x then minimises the residual of a nearby A.
  [[nodiscard]] virtual double truncation() const { return 0; }
  /// Ratio of the largest to the smallest factor by which the last set-up multiplied columns of A: that of
  /// elements of x and of the unknowns of its factors.
  [[nodiscard]] virtual double column_spread() const { return 1; }
  /// Which x of least residual the method computes where there are several.
  [[nodiscard]] virtual std::string_view solution_kind() const { return "the one of least norm"; }
  /// Whether the method needs nothing but products with A.
  [[nodiscard]] virtual bool takes_operator() const { return false; }
  /// Whether the method takes a stencil, by its products or its coefficients.
  [[nodiscard]] virtual bool takes_stencil() const { return takes_operator(); }
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

  /// Applies the operator, z = M^-1 r, to each column, or its transpose if OperatorTraits::is_transposable;
  /// queued on the device without waiting. r and z do not overlap. The workspace serves any number of
  /// columns: its memory grows in the first call with more of them.
  virtual void apply(Workspace& /*workspace*/, const MultiVector<const T>& /*r*/, const MultiVector<T>& /*z*/,
                     Operation /*operation*/ = Operation::none) const {
    throw Error("method '" + name_ + "' is not a preconditioner");
  }
  /// apply() whose results stay in the workspace, in float, and have the same values when they are widened.
  /// `norms` has the Euclidean norm of each r, one row in the memory of the backend, or no columns if they
  /// are unknown. Only for methods with OperatorTraits::leaves_floats.
  virtual WidenedVectors<T> apply_in_float(Workspace& /*workspace*/, const MultiVector<const T>& /*r*/,
                                           const MultiVector<const double>& /*norms*/) const {
    throw Error("method '" + name_ + "' does not compute in float");
  }
  [[nodiscard]] virtual OperatorTraits traits() const { return {}; }

  /// The preconditioner that an option of the method names; null if there is none.
  [[nodiscard]] virtual SolverImplementation<T>* named_preconditioner() const { return nullptr; }
  /// Sets vectors v with A v close to zero, by which later set-ups coarsen: a column each, on the host.
  /// Ignored by methods that do not coarsen by them.
  virtual void set_near_null_space(const Dense<double>& /*vectors*/) {}
  /// Whether the method decomposes A into subdomains, and takes what the next two functions set for later
  /// set-ups.
  [[nodiscard]] virtual bool takes_subdomains() const { return false; }
  /// Sets checked matrices of subdomains; none removes them.
  virtual void set_subdomain_matrices(std::vector<SubdomainMatrix>&& /*subdomains*/) {}
  /// Sets a checked partition of the rows; an empty one removes it.
  virtual void set_partition(std::vector<std::int32_t>&& /*subdomain_of_row*/) {}

  /// Whether set-ups find zero rows, and the null space of a symmetric A.
  [[nodiscard]] virtual bool finds_null_space() const { return false; }
  /// Orthonormal basis of the null space that the last set-up found, on the method's device; no columns if A
  /// is not known to be singular.
  [[nodiscard]] virtual const Dense<T>& null_space_basis() const {
    static const Dense<T> none(Device(), 0, 0);
    return none;
  }
  /// Number of columns of the basis, its first ones, that A and its transpose map to exactly zero; the others
  /// are null vectors up to rounding.
  [[nodiscard]] virtual std::int64_t proven_null_vectors() const { return 0; }
  /// Rows of A without a nonzero, on the method's device. The basis is zero there.
  [[nodiscard]] virtual const Array<std::int32_t>& zero_rows() const {
    static const Array<std::int32_t> none;
    return none;
  }

  /// Description of the levels that the last set-up made; null for a method without levels.
  [[nodiscard]] virtual const HierarchyDescription* hierarchy() const { return nullptr; }
  /// A copy of the matrix of a level; without a value if there is no such level, or it keeps no matrix.
  [[nodiscard]] virtual std::optional<Csr<T>> level_matrix(std::size_t /*level*/) const {
    return std::nullopt;
  }

  /// Keeps a function that makes the method anew, with its options.
  void keep_maker(std::function<Solver<T>()> maker) { maker_ = std::move(maker); }
  /// The method anew, not set up; empty if it was not made by its options, or has a preconditioner that
  /// they do not name.
  [[nodiscard]] const std::function<Solver<T>()>& maker() const { return maker_; }

  /// Determinant of the matrix of the last set-up.
  [[nodiscard]] virtual Determinant determinant() const {
    throw Error("method '" + name_ + "' has no determinant on " + device_.name() +
                ": direct methods on the host have one");
  }
  /// Inertia of the symmetric matrix of the last set-up.
  [[nodiscard]] virtual Inertia inertia() const {
    throw Error("method '" + name_ + "' has no inertia on " + device_.name() +
                ": cholesky, ldlt, sparse-cholesky and sparse-ldlt on the host have one");
  }
  /// Factors of the matrix of the last set-up, with an exponent of 0.
  [[nodiscard]] virtual MatrixFactors<T> factors() const {
    throw Error("method '" + name_ + "' has no factors to copy on " + device_.name() +
                ": methods on the host that compute L U, L L^T or L D L^T have them");
  }
  /// A method for the transpose of the matrix of the last set-up, which has to be set up with that. It refers
  /// to these factors. Null if the method has none.
  [[nodiscard]] virtual std::unique_ptr<SolverImplementation> transposed() const { return nullptr; }
  /// Matrix of the last set-up, for methods with solve_transposed() or transposed().
  [[nodiscard]] virtual MatrixRef<T> factored_matrix() const { return {}; }
  /// Counterpart of solve() for A^T, which the caller has formed.
  virtual void solve_transposed(const Csr<T>& /*transpose*/, Workspace& /*workspace*/,
                                DenseView<const T> /*B*/, DenseView<T> /*X*/,
                                std::vector<Job>& /*jobs*/) const {
    throw Error("method '" + name_ + "' does not solve with the transpose");
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
  std::function<Solver<T>()> maker_;
  SetupControl control_;
  Dense<double> near_null_space_;
  bool proves_rank_ = true;
};

/// Applies the operator to each column, which gets the bits that it has alone.
template <class T>
void apply_as_alone(const SolverImplementation<T>& method, Workspace& workspace,
                    const MultiVector<const T>& r, const MultiVector<T>& z) {
  if (method.traits().columns_as_alone) return method.apply(workspace, r, z);
  for (int c = 0; c < r.columns(); ++c) method.apply(workspace, r.column(c), z.column(c));
}

/// Applies the operator to the columns of column-major matrices, of any number.
template <class T>
void apply_to_matrix(const SolverImplementation<T>& method, Workspace& workspace, DenseView<const T> R,
                     DenseView<T> Z, Operation operation = Operation::none) {
  constexpr auto most = static_cast<std::int64_t>(most_columns);
  for (std::int64_t j = 0; j < R.columns(); j += most) {
    const auto columns = static_cast<int>(std::min(most, R.columns() - j));
    method.apply(workspace, {R.column(j), R.rows(), R.leading(), columns},
                 {Z.column(j), Z.rows(), Z.leading(), columns}, operation);
  }
}

/// Access to the implementation of a solver, for solvers nested in solvers.
template <class T>
struct SolverAccess {
  [[nodiscard]] static SolverImplementation<T>& implementation(const Solver<T>& solver) {
    return *solver.implementation_;
  }
};

}  // namespace echelon
