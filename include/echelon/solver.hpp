// SPDX-License-Identifier: BSD-3-Clause
/// The class Solver, common to all methods, and the table of methods by name.
#pragma once

#include <echelon/cancellation.hpp>
#include <echelon/device.hpp>
#include <echelon/enum_words.hpp>
#include <echelon/error.hpp>
#include <echelon/export.h>
#include <echelon/linalg/determinant.hpp>
#include <echelon/matrix/matrix.hpp>
#include <echelon/matrix/operation.hpp>
#include <echelon/options.hpp>
#include <echelon/report.hpp>
#include <echelon/solver/factors.hpp>
#include <echelon/solver/phase.hpp>

#include <array>
#include <complex>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

namespace echelon {

/// The x of a right-hand side during its solve, which is formed when it is asked for: none, or a function for
/// the scalar type of the solver.
using IterateSource = std::variant<std::monostate, std::function<DenseView<const float>()>,
                                   std::function<DenseView<const double>()>,
                                   std::function<DenseView<const std::complex<float>>()>,
                                   std::function<DenseView<const std::complex<double>>()>>;

/// State of a set-up, or of a running solve at a convergence check. The fractions of a phase rise from call
/// to call, and the phases follow each other.
struct ECHELON_API Progress {
  std::string_view method;
  std::int64_t right_hand_side = 0;  ///< its index, 0-based
  std::int64_t iteration = 0;
  double relative_residual = 1;  ///< 1, that of x = 0, in a set-up
  double tolerance = 0;          ///< the relative residual to reach
  SolverPhase phase = SolverPhase::solve;
  /// Share of the work of the phase that is done, 0 to 1; unset in a solve, whose end is not known.
  std::optional<double> fraction = {};
  IterateSource source = {};  ///< of iterate()

  /// The x after `iteration` iterations: n by 1, in the memory of the solver's device, and valid during the
  /// call. It is formed for each request: a copy of x, and with methods that complete x at the end, such as
  /// gmres, a product with their basis. Known null vectors are not projected out of it. Throws Error in a
  /// set-up, and for another T than the solver's.
  template <class T>
  [[nodiscard]] DenseView<const T> iterate() const {
    const auto* const form = std::get_if<std::function<DenseView<const T>()>>(&source);
    if (form == nullptr)
      throw Error(
          "there is no iterate with elements of this type: a set-up has none, and a solve those of A's type");
    return (*form)();
  }
};

/// Callback, cancellation and initial guess of a solve. The callback runs on the calling thread.
struct ECHELON_API Control {
  /// Called at every convergence check of a solve, and during a set-up where `cancel` is tested, at most a
  /// thousand times in each phase; a set-up that succeeds ends with a fraction of 1.
  std::function<void(const Progress&)> on_progress = {};
  /// Tested at every convergence check, and from time to time in a set-up.
  CancellationToken cancel = {};
  /// X holds an initial guess, from which iterative methods start; the stopping criterion still refers to b.
  /// Direct methods ignore it, and the report has a warning.
  bool use_initial_guess = false;
  /// Measures the error of the x of a direct method, see Report::error_estimate, and corrects x while it has
  /// fewer than two thirds of its digits. A residual in twice the precision and another substitution: without
  /// it a solve takes some half of the time, and the report has no error estimate.
  bool measure_error = true;
  /// The system to solve: op(A) X = B.
  Operation operation = Operation::none;
  /// Tolerances and the limit of iterations of this solve, in place of those of the method's options `stop`.
  /// A direct method ignores them, and the report has a warning.
  std::optional<double> rtol = {};
  std::optional<double> atol = {};
  std::optional<std::int64_t> max_iterations = {};
  /// Takes an x of least residual as the answer where no x satisfies the equations: the status is then
  /// `least_squares` if every column a of A confirms it by |a^T (b - A x)| <= 1e-8 ||a|| ||b - A x||.
  bool least_squares = false;
};

template <class T>
class Preconditioner;
template <class T>
class SolverImplementation;
template <class T>
struct SolverState;
template <class T>
struct SolverAccess;

/// A temporary matrix object that owns its elements, which a solver must not refer to.
template <class M, class T>
concept OwningTemporary =
    !std::is_reference_v<M> &&
    (std::same_as<std::remove_cv_t<M>, Csr<T>> || std::same_as<std::remove_cv_t<M>, Dense<T>> ||
     std::same_as<std::remove_cv_t<M>, Matrix<T>> || std::same_as<std::remove_cv_t<M>, CsrView<T>> ||
     std::same_as<std::remove_cv_t<M>, SparseView<T>> ||
     std::same_as<std::remove_cv_t<M>, LinearOperator<T>> || std::same_as<std::remove_cv_t<M>, Stencil<T>>);

/// A linear solver, independent of the method: analyze (pattern), setup (values), solve, each repeatable. It
/// may be moved between calls, also after a Preconditioner was made of it.
///
/// The matrix is referred to, not copied, and must outlive the solves that use it (temporaries do not
/// compile); `describe()` and the method's page say whether a method keeps a factor of its own. Every matrix
/// and vector must live in the memory of `device()`.
///
/// `solve` may be called concurrently on a solver that is set up; each call uses its own workspace, which is
/// kept and reused.
template <class T>
class ECHELON_API Solver {
 public:
  explicit Solver(std::unique_ptr<SolverImplementation<T>> implementation);
  Solver(Solver&&) noexcept;
  Solver& operator=(Solver&&) noexcept;
  ~Solver();

  /// Analyses the pattern of A only; optional. The analysis is kept until a different pattern is given. Like
  /// setup, factor and update_values, it reports `ready` on success.
  Report analyze(MatrixRef<T> A, const Control& control = {});
  /// Prepares for solving with A. Reports `ready`, or a numerical failure, which later solves report as well.
  /// A factorisation tests `control.cancel` from time to time, and ends as `cancelled`. Throws
  /// DimensionMismatch when A is not square and the method requires that, DeviceMismatch, OutOfMemory, and
  /// Error for an operator when the method needs elements.
  Report setup(MatrixRef<T> A, const Control& control = {});
  /// Equivalent to setup(), under the usual name for direct methods.
  Report factor(MatrixRef<T> A, const Control& control = {}) { return setup(A, control); }
  /// Sets up for new values of A in an unchanged pattern; everything that depends on the pattern alone is
  /// kept.
  Report update_values(MatrixRef<T> A, const Control& control = {});
  /// update_values() by the values alone, in the memory of `device()` and in the order of those of the sparse
  /// matrix of the last set-up; of a SparseView, in the order of its arrays. The pattern of that matrix is
  /// referred to, and the values are as well, unless the view has converted its arrays. Throws
  /// DimensionMismatch for another number of values, and Error for a matrix that is not sparse or when there
  /// was no setup.
  Report update_values(std::span<const T> values, const Control& control = {});

  template <OwningTemporary<T> M>
  Report analyze(M&& A, const Control& control = {}) = delete;
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
  ///
  /// A system with A^T has B of n by k and X of m by k. The first one after a set-up forms A^T, in the order
  /// of a sparse A's size, and a solver for it, which are kept until the next set-up: direct methods use
  /// their factors, and methods for symmetric matrices their set-up; others are set up for A^T. Throws Error
  /// where A is an operator without a transposed product, or the preconditioner is an object.
  [[nodiscard]] Report solve(DenseView<const T> B, DenseView<T> X, const Control& control = {}) const;

  /// Determinant of the matrix of the last set-up, by the factors of a direct method; 0 if a pivot is zero or
  /// a lower rank was found. A factorisation in a lower precision is repeated in that of A. O(n) after that,
  /// or O(n^2) to copy factors from a GPU. Throws Error where the method has no determinant, the set-up
  /// failed, or A is not square.
  [[nodiscard]] Determinant determinant() const;
  /// Inertia of the symmetric matrix of the last set-up: of `cholesky`, `ldlt`, `sparse-cholesky` and
  /// `sparse-ldlt`. O(n). Throws Error for other methods, and where the set-up left no factors.
  [[nodiscard]] Inertia inertia() const;
  /// Factors of the last set-up, copied: of the dense and sparse methods that compute L U, L L^T or L D L^T
  /// on the host, and of `lu` on a GPU. O(n^2) time and memory for dense factors, O(e log e) for sparse ones
  /// with e elements. Throws Error where the method has none, A was factored otherwise because of growth, or
  /// its rank is not full; OutOfMemory.
  [[nodiscard]] MatrixFactors<T> factors() const;

  /// Bytes held on the device for this matrix and for one right-hand side, A not counted.
  [[nodiscard]] std::size_t bytes() const;
  /// Readable description: the method with the options that differ from their defaults.
  [[nodiscard]] std::string describe() const;
  [[nodiscard]] const Device& device() const;

 private:
  friend struct SolverAccess<T>;
  friend class Preconditioner<T>;

  Report run_setup(MatrixRef<T> A, bool update, const Control& control);
  [[nodiscard]] const Solver& transposed() const;

  std::unique_ptr<SolverImplementation<T>> implementation_;
  std::shared_ptr<SolverState<T>> state_;  // observed by preconditioners
};

extern template class Solver<float>;
extern template class Solver<double>;

enum class MethodKind {
  direct,          ///< a finite computation
  iterative,       ///< steps until the residual is small enough
  preconditioner,  ///< an approximation of A^-1, of use only inside an iterative method
  automatic,       ///< the choice of a method for each matrix
};
constexpr std::array<EnumWord<MethodKind>, 4> words_of(MethodKind) {
  return {{{MethodKind::direct, "direct"},
           {MethodKind::iterative, "iterative"},
           {MethodKind::preconditioner, "preconditioner"},
           {MethodKind::automatic, "automatic"}}};
}

/// Systems that a method is designed for; others are attempted as well, and the report describes the outcome.
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
constexpr std::array<EnumWord<MethodNeeds>, 8> words_of(MethodNeeds) {
  return {{{MethodNeeds::any_shape, "any_shape"},
           {MethodNeeds::square, "square"},
           {MethodNeeds::nonzero_diagonal, "nonzero_diagonal"},
           {MethodNeeds::one_sided_spectrum, "one_sided_spectrum"},
           {MethodNeeds::symmetric, "symmetric"},
           {MethodNeeds::symmetric_positive_definite, "symmetric_positive_definite"},
           {MethodNeeds::diagonally_dominant, "diagonally_dominant"},
           {MethodNeeds::triangular, "triangular"}}};
}

/// Cost of a direct method for a matrix, predicted from its pattern.
struct ECHELON_API CostPrediction {
  double flops = 0;
  std::size_t bytes = 0;  ///< of the factor
};

/// Makes a solver on a device by the options of its method.
template <class T>
using SolverMaker = std::function<Solver<T>(Device, const Options&)>;

/// A row of the table of methods.
struct ECHELON_API Method {
  std::string name = {};
  std::string summary = {};
  MethodKind kind = MethodKind::iterative;
  MethodNeeds needs = MethodNeeds::square;
  bool serial = true;  ///< devices that it has been written for
  bool openmp = true;
  bool cuda = true;
  bool opencl = false;
  bool sparse = true;  ///< the forms of A that it works on without converting them
  bool dense = true;
  bool operators = false;  ///< works on a LinearOperator, and on a Stencil as one
  bool stencils = false;   ///< works on the coefficients of a Stencil
  bool usable_as_preconditioner = false;
  /// Whether the method, set up for A^T, applies the transpose of what it applies for A; every direct method.
  bool transposable = false;
  bool takes_near_null_space = false;  ///< coarsens by near-null-space vectors
  /// A scheme as it was published, or another library's method, for comparison; `auto` does not take it.
  bool study = false;
  bool complex = false;       ///< written for complex matrices as well, in builds that have them
  bool complex_cuda = false;  ///< written for them on a GPU as well, in double

  std::vector<OptionInfo> options = {};
  /// Checks options without making the method: throws BadOption or NotBuilt if making it on a device with
  /// these options would, options of nested methods included.
  std::function<void(const Device&, const Options&)> check_options = {};
  std::tuple<SolverMaker<float>, SolverMaker<double>, SolverMaker<std::complex<float>>,
             SolverMaker<std::complex<double>>>
      makers = {};

  [[nodiscard]] bool runs_on(const Device& device) const;
  /// Whether it is written for complex matrices in double, and for them on the device.
  [[nodiscard]] bool takes_complex_on(const Device& device) const;
  /// Makes the method for matrices of T; empty where it is not built for them.
  template <class T>
  [[nodiscard]] const SolverMaker<T>& maker() const {
    return std::get<SolverMaker<T>>(makers);
  }
};

/// Every method of this build, in alphabetical order.
[[nodiscard]] ECHELON_API std::span<const Method> methods();
/// The method of this name. Throws BadOption with the nearest name.
[[nodiscard]] ECHELON_API const Method& find_method(std::string_view name);

/// A solver by its method's name; see `methods()` for the names and their options. T is float, double, or
/// complex in builds that have it (ECHELON_SCALARS).
/// Throws BadOption, NoDevice, and NotBuilt, also for a complex T and a method for real matrices.
template <class T>
[[nodiscard]] ECHELON_API Solver<T> make_solver(std::string_view method, const Device& device,
                                                const Options& options = {});

/// Makes a solver by the type of its options, which are checked as options by name are. Throws BadOption,
/// NotBuilt, NoDevice.
template <class T, class MethodOptions>
[[nodiscard]] Solver<T> make_solver(const Device& device, const MethodOptions& options) {
  return make_solver<T>(MethodOptions::name, device, to_options(options));
}

/// Solver with options of type `O`, which the class names in methods/ stand for. Adds only a constructor to
/// Solver, so it can be used in place of one.
template <class T, class O>
class ECHELON_API SolverOf : public Solver<T> {
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
