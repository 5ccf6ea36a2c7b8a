// SPDX-License-Identifier: BSD-3-Clause
/// The type behind every method, and how to get one by name.
#pragma once

#include <echelon/device.hpp>
#include <echelon/matrix/matrix.hpp>
#include <echelon/options.hpp>
#include <echelon/report.hpp>

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace echelon {

/// State of a running solve at a convergence check.
struct Progress {
  std::string_view method;
  std::int64_t right_hand_side = 0;  ///< its number, from 0
  std::int64_t iteration = 0;
  double relative_residual = 0;
  double tolerance = 0;  ///< the relative residual to reach
};

/// How the caller watches, stops and starts a solve. The callback runs on the calling thread.
struct Control {
  /// Called at every convergence check.
  std::function<void(const Progress&)> on_progress = {};
  /// Asked at every convergence check.
  std::stop_token cancel = {};
  /// X holds a first guess of the solution, and iterative methods start from it; the stopping criterion stays
  /// that of b. Direct methods ignore it, and the report has a warning.
  bool use_initial_guess = false;
};

template <class T>
class Preconditioner;
template <class T>
class SolverImplementation;
template <class T>
struct SolverState;
template <class T>
struct SolverAccess;

/// A matrix object that owns its elements, as a temporary: a solver would refer to what is gone.
template <class M, class T>
concept OwningTemporary =
    !std::is_reference_v<M> &&
    (std::same_as<std::remove_cv_t<M>, Csr<T>> || std::same_as<std::remove_cv_t<M>, Dense<T>> ||
     std::same_as<std::remove_cv_t<M>, Matrix<T>> || std::same_as<std::remove_cv_t<M>, CsrView<T>> ||
     std::same_as<std::remove_cv_t<M>, LinearOperator<T>>);

/// A linear solver, whatever its method: analyze (pattern), setup (values), solve, as often as wanted.
///
/// The matrix is referred to, not copied, and must outlive the solves that use it (temporaries do not
/// compile); `describe()` and the method's page say whether a method keeps a factor of its own. Every matrix
/// and vector must live in the memory of `device()`.
///
/// `solve` may be called from several threads at once on a solver that is set up; each gets a workspace of
/// its own, which is kept and used again.
template <class T>
class Solver {
 public:
  explicit Solver(std::unique_ptr<SolverImplementation<T>> implementation);
  Solver(Solver&&) noexcept;
  Solver& operator=(Solver&&) noexcept;
  ~Solver();

  /// Uses the pattern of A only; optional, and what it learns is kept until a different pattern comes. Like
  /// setup, factor and update_values it reports `ready` when it succeeded.
  Report analyze(MatrixRef<T> A);
  /// Prepares for solving with A: `ready`, or a numerical failure, which later solves return, too. A
  /// factorisation asks `control.cancel` now and then, and ends as `cancelled`. Throws DimensionMismatch when
  /// A is not square and the method needs that, DeviceMismatch, OutOfMemory, and Error for an operator when
  /// the method needs elements.
  Report setup(MatrixRef<T> A, const Control& control = {});
  /// setup() under the name that is usual for direct methods.
  Report factor(MatrixRef<T> A, const Control& control = {}) { return setup(A, control); }
  /// A has new values in the pattern that it had; whatever depends on the pattern alone is kept.
  Report update_values(MatrixRef<T> A, const Control& control = {});

  template <OwningTemporary<T> M>
  Report analyze(M&& A) = delete;
  template <OwningTemporary<T> M>
  Report setup(M&& A, const Control& control = {}) = delete;
  template <OwningTemporary<T> M>
  Report factor(M&& A, const Control& control = {}) = delete;
  template <OwningTemporary<T> M>
  Report update_values(M&& A, const Control& control = {}) = delete;

  /// Preconditions with an object (<echelon/preconditioner.hpp>) in place of the option `preconditioner`,
  /// before or after setup; not while a solve is under way. Setup leaves it as it is. Throws DeviceMismatch,
  /// and Error for a method that takes no preconditioner.
  void set_preconditioner(const Preconditioner<T>& preconditioner);

  /// Solves A X = B for an m by n A and every column of B (m by k) into X (n by k). X need not be
  /// initialised, unless `control` makes it the first guess. X may be B itself, element for element, and B is
  /// then copied; with any other overlap the call throws OverlappingOperands. When the status is not a solved
  /// one, X holds the last iterate (zero when none was better), or is left as it was when nothing was
  /// computed: `columns` is empty then. Throws DimensionMismatch, DeviceMismatch, OutOfMemory, and Error when
  /// there was no setup.
  [[nodiscard]] Report solve(DenseView<const T> B, DenseView<T> X, const Control& control = {}) const;

  /// Bytes held on the device for this matrix and for one right-hand side, A not counted.
  [[nodiscard]] std::size_t bytes() const;
  /// The method with the options that differ from their defaults, for a person.
  [[nodiscard]] std::string describe() const;
  [[nodiscard]] const Device& device() const;

 private:
  friend struct SolverAccess<T>;

  Report run_setup(MatrixRef<T> A, bool update, const Control& control);

  std::unique_ptr<SolverImplementation<T>> implementation_;
  std::unique_ptr<SolverState<T>> state_;
};

extern template class Solver<float>;
extern template class Solver<double>;

enum class MethodKind {
  direct,          ///< a finite computation
  iterative,       ///< steps until the residual is small enough
  preconditioner,  ///< an approximation of A^-1, of use only inside an iterative method
};

/// Which systems a method is made for; others are attempted all the same, and the report tells.
enum class MethodNeeds {
  any_shape,  ///< m by n, of any rank; all others need a square A, and refuse what is not
  square,
  nonzero_diagonal,
  one_sided_spectrum,  ///< eigenvalues on one side of the imaginary axis
  symmetric,
  symmetric_positive_definite,
  diagonally_dominant,
  triangular,  ///< lower or upper, no zero on the diagonal; others are refused
};

/// Cost of a direct method for a matrix, predicted from its pattern.
struct CostPrediction {
  double flops = 0;
  std::size_t bytes = 0;  ///< of the factor
};

/// A row of the table of methods.
struct Method {
  std::string name = {};
  std::string summary = {};
  MethodKind kind = MethodKind::iterative;
  MethodNeeds needs = MethodNeeds::square;
  bool serial = true;  ///< devices that it has been written for
  bool openmp = true;
  bool cuda = true;
  bool sparse = true;  ///< the forms of A that it works on without converting them
  bool dense = true;
  bool operators = false;  ///< works on a LinearOperator
  bool usable_as_preconditioner = false;

  std::vector<OptionInfo> options = {};
  /// Throws what making the method on a device with these options would throw for them, those of nested
  /// methods included, without making it: BadOption, NotBuilt.
  std::function<void(const Device&, const Options&)> check_options = {};
  std::function<Solver<float>(Device, const Options&)> make_float = {};
  std::function<Solver<double>(Device, const Options&)> make_double = {};
  /// Prediction for a square A, whatever its values; empty for methods without one. A on a GPU is copied to
  /// the host.
  std::function<CostPrediction(const Csr<float>& A)> predict_float = {};
  std::function<CostPrediction(const Csr<double>& A)> predict_double = {};

  [[nodiscard]] bool runs_on(const Device& device) const;
};

/// Every method of this build, in alphabetical order.
[[nodiscard]] std::span<const Method> methods();
/// Throws BadOption with the nearest name.
[[nodiscard]] const Method& find_method(std::string_view name);

/// A solver by its method's name; see `methods()` for the names and their options.
/// Throws BadOption, NotBuilt, NoDevice.
template <class T>
[[nodiscard]] Solver<T> make_solver(std::string_view method, const Device& device,
                                    const Options& options = {});

/// A solver by the type of its options, which are checked as those given by name are. Throws BadOption,
/// NotBuilt, NoDevice.
template <class T, class MethodOptions>
[[nodiscard]] Solver<T> make_solver(const Device& device, const MethodOptions& options) {
  return make_solver<T>(MethodOptions::name, device, to_options(options));
}

/// The solver whose options are `O`: what the names in methods/ stand for. Adds nothing to Solver but its
/// constructor, so that it may be used as one.
template <class T, class O>
class SolverOf : public Solver<T> {
 public:
  using MethodOptions = O;

  /// All cores of the host; the first GPU for a method that runs on nothing else.
  [[nodiscard]] static Device default_device() {
    return O::targets == Targets::cuda ? Device::cuda() : Device();
  }
  /// Throws BadOption, NotBuilt, NoDevice.
  explicit SolverOf(const Device& device = default_device(), const O& options = {})
      : Solver<T>(make_solver<T>(device, options)) {}
};

}  // namespace echelon
