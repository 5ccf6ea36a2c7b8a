// SPDX-License-Identifier: BSD-3-Clause
/// Echelon's methods as solvers and preconditioners of Eigen. Needs Eigen 3.4; no other header includes this
/// one.
#pragma once

#include <echelon/error.hpp>
#include <echelon/export.h>
#include <echelon/matrix/dense.hpp>
#include <echelon/matrix/matrix.hpp>
#include <echelon/matrix/sparse_view.hpp>
#include <echelon/solver.hpp>
#include <echelon/solver/preconditioner_application.hpp>

#include <Eigen/Core>
#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCore>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace echelon {

/// The elements of a dense Eigen matrix, vector, map or block where they are, as a view that `solve` and
/// Solver take. The object must outlive the view. Throws Error for a matrix, unlike a vector, whose elements
/// have gaps between them in the order of storage.
template <class Derived>
[[nodiscard]] auto eigen_view(Eigen::DenseBase<Derived>& elements) {
  using T = std::remove_pointer_t<decltype(elements.derived().data())>;
  Derived& matrix = elements.derived();
  if (matrix.cols() == 1 && matrix.innerStride() != 1) {
    return DenseView<T>::strided(matrix.data(), matrix.rows(), matrix.innerStride());
  }
  if (matrix.innerStride() != 1) {
    throw Error("the elements of an Eigen matrix have gaps between them: copy them into a matrix");
  }
  const Layout layout = Derived::IsRowMajor ? Layout::row_major : Layout::column_major;
  return DenseView<T>(matrix.data(), matrix.rows(), matrix.cols(), matrix.outerStride(), Device(), layout);
}
template <class Derived>
[[nodiscard]] auto eigen_view(const Eigen::DenseBase<Derived>& elements) {
  using T = typename Derived::Scalar;
  // The pointer to the elements of a const object is one to const elements.
  return DenseView<const T>(eigen_view(const_cast<Eigen::DenseBase<Derived>&>(elements)));  // NOLINT
}

/// A compressed sparse Eigen matrix, map or reference as a view that `solve` and Solver take. Row-major ones
/// with 32-bit indices stay in place; others are converted once, see SparseView. The object must outlive the
/// view. Throws InvalidMatrix if it is not compressed.
template <class Derived>
[[nodiscard]] SparseView<typename Derived::Scalar> eigen_view(
    const Eigen::SparseCompressedBase<Derived>& elements) {
  const Derived& matrix = elements.derived();
  if (!matrix.isCompressed()) throw InvalidMatrix("an Eigen matrix is not compressed: call makeCompressed()");
  using Index = std::conditional_t<sizeof(typename Derived::StorageIndex) == 4, std::int32_t, std::int64_t>;
  static_assert(sizeof(Index) == sizeof(typename Derived::StorageIndex), "indices have 32 or 64 bits");
  const SparsePattern pattern{
      .layout = Derived::IsRowMajor ? SparseLayout::csr : SparseLayout::csc,
      .rows = matrix.rows(),
      .columns = matrix.cols(),
      .nonzeros = matrix.nonZeros(),
      // `long` and `long long` are different types of the same size.
      .offsets_or_rows = reinterpret_cast<const Index*>(matrix.outerIndexPtr()),  // NOLINT
      .indices = reinterpret_cast<const Index*>(matrix.innerIndexPtr()),          // NOLINT
  };
  return SparseView<typename Derived::Scalar>(pattern, matrix.valuePtr());
}

/// Result of an Eigen solver for a status. A set-up or a solve that fails for the numbers in A or b is a
/// NumericalIssue; misuse is an exception.
[[nodiscard]] inline Eigen::ComputationInfo eigen_info(Status status) {
  switch (status) {
    case Status::ready:
    case Status::converged:
    case Status::direct:
    case Status::least_squares:
    case Status::underdetermined:
      return Eigen::Success;
    case Status::max_iterations:
    case Status::stagnated:
    case Status::diverged:
    case Status::cancelled:
      return Eigen::NoConvergence;
    default:
      return Eigen::NumericalIssue;
  }
}

namespace eigen_detail {

/// Matrix of an Eigen program for a solver: a view of it, and a compressed copy of one that is not
/// compressed.
template <class MatrixType>
class ECHELON_API EigenMatrixHolder {
 public:
  using Scalar = typename MatrixType::Scalar;
  static constexpr bool is_sparse = std::is_base_of_v<Eigen::SparseMatrixBase<MatrixType>, MatrixType>;
  using View = std::conditional_t<is_sparse, SparseView<Scalar>, DenseView<const Scalar>>;

  /// Takes a matrix; the view of the last one stays until end_set_up(), since a method may refer to it until
  /// its update ends.
  template <class Derived>
  void assign(const Derived& A) {
    previous_ = std::move(view_);
    if constexpr (is_sparse) {
      view_.emplace(eigen_view(compressed(A)));
    } else {
      view_.emplace(eigen_view(A));
    }
  }
  void end_set_up() { previous_.reset(); }
  [[nodiscard]] MatrixRef<Scalar> ref() const { return *view_; }
  [[nodiscard]] Eigen::Index rows() const { return view_ ? ref().rows() : 0; }
  [[nodiscard]] Eigen::Index cols() const { return view_ ? ref().columns() : 0; }

 private:
  const MatrixType& compressed(const MatrixType& A) {
    if (A.isCompressed()) return A;
    copy_ = A;
    copy_.makeCompressed();
    return copy_;
  }
  template <class Derived>
  const Derived& compressed(const Derived& A) {
    return A;
  }

  MatrixType copy_;
  std::optional<View> view_;
  std::optional<View> previous_;
};

}  // namespace eigen_detail

template <class SolverType>
class TransposedSolverForEigen;

/// A method of the library with the interface of Eigen's sparse solvers, for a sparse or dense MatrixType of
/// float or double, in either order:
///
///     echelon::SolverForEigen<Eigen::SparseMatrix<double>> solver("sparse-lu");
///     solver.compute(A);
///     x = solver.solve(b);
///     if (solver.info() != Eigen::Success) std::cerr << solver.report();
///
/// A is referred to, as by Eigen's iterative solvers: it stays until the last solve and the end of the next
/// factorize(). Each set-up converts a sparse A that cannot stay in place, see eigen_view(). One thread at a
/// time calls an object.
/// Misuse throws Error.
template <class MatrixType>
class ECHELON_API SolverForEigen : public Eigen::SparseSolverBase<SolverForEigen<MatrixType>> {
  using Base = Eigen::SparseSolverBase<SolverForEigen>;

 public:
  using Scalar = typename MatrixType::Scalar;
  using RealScalar = Scalar;
  using StorageIndex = typename MatrixType::StorageIndex;
  // NOLINTNEXTLINE(performance-enum-size)
  enum { ColsAtCompileTime = MatrixType::ColsAtCompileTime, MaxColsAtCompileTime = ColsAtCompileTime };
  static_assert(std::is_same_v<Scalar, float> || std::is_same_v<Scalar, double>);

  /// A method by its name, see methods(); "auto" chooses one for the first matrix. Throws BadOption,
  /// NotBuilt, NoDevice.
  explicit SolverForEigen(const std::string& method = "auto", const Options& options = {},
                          const Device& device = {})
      : solver_(make_solver<Scalar>(method, device, options)) {}
  explicit SolverForEigen(const MatrixType& A) : SolverForEigen() { compute(A); }
  explicit SolverForEigen(MatrixType&&) = delete;

  /// Analyses the pattern of A for the following factorize().
  template <class Derived>
  SolverForEigen& analyzePattern(const Eigen::EigenBase<Derived>& A) {
    matrix_.assign(A.derived());
    is_set_up_ = false;
    return finish(solver_.analyze(matrix_.ref(), control_));
  }
  /// Factors A, or sets up an iterative method. A has the pattern of the last analyzePattern(), compute() or
  /// factorize(), whose analysis is kept.
  template <class Derived>
  SolverForEigen& factorize(const Eigen::EigenBase<Derived>& A) {
    if (!Base::m_isInitialized) return compute(A);
    matrix_.assign(A.derived());
    Report report =
        is_set_up_ ? solver_.update_values(matrix_.ref(), control_) : solver_.setup(matrix_.ref(), control_);
    is_set_up_ = true;
    return finish(std::move(report));
  }
  /// Both, for any A.
  template <class Derived>
  SolverForEigen& compute(const Eigen::EigenBase<Derived>& A) {
    matrix_.assign(A.derived());
    is_set_up_ = true;
    return finish(solver_.setup(matrix_.ref(), control_));
  }
  SolverForEigen& analyzePattern(MatrixType&&) = delete;
  SolverForEigen& factorize(MatrixType&&) = delete;
  SolverForEigen& compute(MatrixType&&) = delete;

  // solve(b) is that of the base class.

  /// The x that an iterative method finds from a first guess; direct methods ignore it.
  template <class Rhs, class Guess>
  [[nodiscard]] Eigen::SolveWithGuess<SolverForEigen, Rhs, Guess> solveWithGuess(
      const Eigen::MatrixBase<Rhs>& b, const Guess& guess) const {
    return {*this, b.derived(), guess};
  }
  /// transpose().solve(b) solves with the transpose of A, by the same factors.
  [[nodiscard]] TransposedSolverForEigen<SolverForEigen> transpose() const {
    return TransposedSolverForEigen<SolverForEigen>(*this);
  }

  [[nodiscard]] Eigen::Index rows() const { return matrix_.rows(); }
  [[nodiscard]] Eigen::Index cols() const { return matrix_.cols(); }
  /// Outcome of the last set-up or solve, InvalidInput before the first; solve(b) computes where its result
  /// is assigned.
  [[nodiscard]] Eigen::ComputationInfo info() const {
    return Base::m_isInitialized ? eigen_info(report_.status) : Eigen::InvalidInput;
  }
  /// That outcome in full.
  [[nodiscard]] const Report& report() const { return report_; }
  [[nodiscard]] Eigen::Index iterations() const { return report_.iterations; }
  [[nodiscard]] RealScalar error() const { return static_cast<RealScalar>(report_.relative_residual); }

  /// Determinant of A by the factors of a direct method, as of Eigen's direct solvers: the value, which may
  /// be out of the range of a double, or its sign and the logarithm of its magnitude. Throws Error where
  /// there is none.
  [[nodiscard]] Scalar determinant() const { return static_cast<Scalar>(solver_.determinant().value()); }
  [[nodiscard]] Scalar signDeterminant() const { return static_cast<Scalar>(solver_.determinant().sign); }
  [[nodiscard]] Scalar logAbsDeterminant() const {
    return static_cast<Scalar>(solver_.determinant().log_abs());
  }

  /// Tolerance ||b - A x|| <= tolerance ||b||, and the limit of iterations, of the following solves.
  SolverForEigen& setTolerance(RealScalar tolerance) {
    control_.rtol = tolerance;
    return *this;
  }
  SolverForEigen& setMaxIterations(Eigen::Index count) {
    control_.max_iterations = count;
    return *this;
  }
  /// Everything else of the following calls: cancellation, progress, least squares.
  [[nodiscard]] Control& control() { return control_; }

  template <class Rhs, class Dest>
  void _solve_impl(const Eigen::MatrixBase<Rhs>& b, Eigen::MatrixBase<Dest>& x) const {
    solve_into(b, x, control_);
  }
  using Base::_solve_impl;
  template <class Rhs, class Dest>
  void _solve_with_guess_impl(const Eigen::MatrixBase<Rhs>& b, Eigen::MatrixBase<Dest>& x) const {
    Control control = control_;
    control.use_initial_guess = true;
    solve_into(b, x, control);
  }

 private:
  friend class TransposedSolverForEigen<SolverForEigen>;

  SolverForEigen& finish(Report report) {
    matrix_.end_set_up();
    report_ = std::move(report);
    Base::m_isInitialized = true;
    return *this;
  }

  /// Solves where x is, or into a copy whose columns are contiguous.
  template <class Rhs, class Dest>
  void solve_into(const Eigen::MatrixBase<Rhs>& b, Eigen::MatrixBase<Dest>& x, const Control& control) const {
    constexpr int order = Rhs::IsRowMajor ? Eigen::RowMajor : Eigen::ColMajor;
    const Eigen::Ref<const Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, order>> B(b.derived());
    if constexpr ((Dest::Flags & Eigen::DirectAccessBit) != 0) {
      if (x.innerStride() == 1) {
        report_ = solver_.solve(eigen_view(B), eigen_view(x), control);
        return;
      }
    }
    Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic> X = x;
    report_ = solver_.solve(eigen_view(B), eigen_view(X), control);
    x = X;
  }

  eigen_detail::EigenMatrixHolder<MatrixType> matrix_;
  Solver<Scalar> solver_;
  Control control_;
  bool is_set_up_ = false;
  mutable Report report_;
};

/// SolverForEigen::transpose(): refers to a solver, which leaves the report.
template <class SolverType>
class ECHELON_API TransposedSolverForEigen
    : public Eigen::SparseSolverBase<TransposedSolverForEigen<SolverType>> {
  using Base = Eigen::SparseSolverBase<TransposedSolverForEigen>;

 public:
  using Scalar = typename SolverType::Scalar;
  using StorageIndex = typename SolverType::StorageIndex;
  // NOLINTNEXTLINE(performance-enum-size)
  enum { ColsAtCompileTime = Eigen::Dynamic, MaxColsAtCompileTime = Eigen::Dynamic };

  explicit TransposedSolverForEigen(const SolverType& solver) : solver_(&solver) {
    Base::m_isInitialized = solver.m_isInitialized;
  }
  [[nodiscard]] Eigen::Index rows() const { return solver_->cols(); }
  [[nodiscard]] Eigen::Index cols() const { return solver_->rows(); }

  template <class Rhs, class Dest>
  void _solve_impl(const Eigen::MatrixBase<Rhs>& b, Eigen::MatrixBase<Dest>& x) const {
    Control control = solver_->control_;
    control.operation = Operation::transpose;
    solver_->solve_into(b, x, control);
  }
  using Base::_solve_impl;

 private:
  const SolverType* solver_;
};

/// A method of the library as the preconditioner of an iteration of Eigen:
///
///     Eigen::ConjugateGradient<Matrix, Eigen::Lower | Eigen::Upper, ec::PreconditionerForEigen<Matrix>> cg;
///     cg.preconditioner().setMethod("amg");
///     cg.compute(A);
///
/// The method is `ilu0` unless setMethod() names another one. A stays until the last solve. One thread at a
/// time calls an object.
template <class MatrixType>
class ECHELON_API PreconditionerForEigen {
 public:
  using Scalar = typename MatrixType::Scalar;
  using StorageIndex = typename MatrixType::StorageIndex;
  using Vector = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;
  // NOLINTNEXTLINE(performance-enum-size)
  enum { ColsAtCompileTime = Eigen::Dynamic, MaxColsAtCompileTime = Eigen::Dynamic };

  PreconditionerForEigen() = default;
  explicit PreconditionerForEigen(const MatrixType& A) { compute(A); }

  /// The method of the following compute(). Throws BadOption, NotBuilt, NoDevice.
  PreconditionerForEigen& setMethod(const std::string& method, const Options& options = {},
                                    const Device& device = {}) {
    application_.reset();
    solver_ = std::make_unique<Solver<Scalar>>(make_solver<Scalar>(method, device, options));
    return *this;
  }

  template <class Derived>
  PreconditionerForEigen& analyzePattern(const Eigen::EigenBase<Derived>& A) {
    return compute(A);
  }
  template <class Derived>
  PreconditionerForEigen& factorize(const Eigen::EigenBase<Derived>& A) {
    return compute(A);
  }
  template <class Derived>
  PreconditionerForEigen& compute(const Eigen::EigenBase<Derived>& A) {
    if (solver_ == nullptr) setMethod("ilu0");
    application_.reset();
    matrix_.assign(A.derived());
    report_ = solver_->setup(matrix_.ref());
    matrix_.end_set_up();
    if (report_.ready()) application_.emplace(*solver_, matrix_.rows());
    return *this;
  }

  /// M^-1 r. Throws Error unless the last set-up succeeded.
  template <class Rhs>
  [[nodiscard]] Vector solve(const Eigen::MatrixBase<Rhs>& r) const {
    if (!application_) throw Error("a preconditioner is used that is not set up");
    const Eigen::Ref<const Vector> from(r.derived());
    Vector to(from.size());
    (*application_)(from.data(), to.data());
    return to;
  }

  [[nodiscard]] Eigen::Index rows() const { return matrix_.rows(); }
  [[nodiscard]] Eigen::Index cols() const { return matrix_.cols(); }
  /// Outcome of the last set-up.
  [[nodiscard]] Eigen::ComputationInfo info() const { return eigen_info(report_.status); }
  [[nodiscard]] const Report& report() const { return report_; }

 private:
  eigen_detail::EigenMatrixHolder<MatrixType> matrix_;
  std::unique_ptr<Solver<Scalar>> solver_;
  mutable std::optional<PreconditionerApplication<Scalar>> application_;
  Report report_;
};

}  // namespace echelon
