// SPDX-License-Identifier: BSD-3-Clause
/// A factor of a PETSc matrix by one of the library's direct methods.
#pragma once

#include "matrix_copy.hpp"
#include "options.hpp"
#include "schur_factor.hpp"

#include <echelon/methods/dense/lu.hpp>
#include <echelon/methods/sparse_lu.hpp>
#include <echelon/report.hpp>
#include <echelon/solver.hpp>
#include <echelon/solver/preconditioner_application.hpp>

#include <petscmat.h>

#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace echelon::petsc {

/// Which solves are refined, and measured by the residual b - A x.
enum class Check {
  first,   ///< the first one after each factorisation, and later ones if it shows that they need it
  always,  ///< all
  never,   ///< none but those with several right-hand sides
};

/// Solver for a matrix of one process, with the options that PETSc's database has for the factor.
class Factor {
 public:
  explicit Factor(MatFactorType kind) : kind_(kind) {}

  /// Reads the options of F, makes the solver for A, and analyses the pattern.
  PetscErrorCode analyze(Mat F, Mat A);
  /// Factors A, whose pattern may differ from the analysed one. A failure is an error of F, or of PETSc if
  /// the user asked for errors (MatSetErrorIfFailure).
  PetscErrorCode factor(Mat F, Mat A);
  /// Solves A X = B, or A^T X = B, for arrays of the host. When that fails X is infinite, as PETSc's own
  /// solvers of failed factors return it, and F has an error.
  PetscErrorCode solve(Mat F, DenseView<const double> B, DenseView<double> X, bool transposed);
  /// Leaves the unknowns of the interface as a Schur complement, F->schur, from the next factorisation on.
  PetscErrorCode set_schur(Mat F, IS interface);
  /// Restricts later solves with a Schur complement to the interior, or not.
  void set_schur_solve(SchurSolve solve);
  /// Numbers of negative, zero and positive eigenvalues of a symmetric A.
  PetscErrorCode inertia(Mat F, PetscInt* negative, PetscInt* zero, PetscInt* positive) const;

  PetscErrorCode view(PetscViewer viewer) const;
  /// Entries of the factor, 0 if unknown; and its bytes.
  [[nodiscard]] double entries() const;
  [[nodiscard]] double bytes() const { return static_cast<double>(setup_.bytes); }
  [[nodiscard]] double matrix_entries() const { return static_cast<double>(copy_.matrix().nonzeros()); }

 private:
  [[nodiscard]] bool symmetric() const { return kind_ == MAT_FACTOR_CHOLESKY; }
  PetscErrorCode read_options(Mat F, Mat A);
  PetscErrorCode copy(Mat A);
  void make_solver();
  [[nodiscard]] Solver<double>& solver();
  PetscErrorCode set_error(Mat F, Mat A, const Report& report) const;
  PetscErrorCode factor_schur(Mat F, Mat A);
  [[nodiscard]] SchurOptions schur_options() const;
  [[nodiscard]] bool substitute(DenseView<const double> b, DenseView<double> x);
  [[nodiscard]] Report solve_checked(DenseView<const double> B, DenseView<double> X, bool transposed);

  MatFactorType kind_;
  MethodChoice choice_;
  Check check_ = Check::first;
  MatrixCopy copy_;
  PetscObjectState copied_state_ = -1;  // of the matrix whose values copy_ has
  PetscObjectId copied_id_ = 0;
  // SparseLu and Lu have solves with the transpose in addition to those of Solver.
  std::variant<std::monostate, Solver<double>, SparseLu<double>, Lu<double>> solver_;
  std::optional<SchurFactor> schur_;  // in place of solver_
  bool factored_ = false;
  std::optional<PreconditionerApplication<double>> substitution_;  // none: each solve is refined
  bool substitution_measured_ = false;
  double substitution_error_ = 0;  // backward error of the first solve
  Report setup_;
  std::optional<Report> checked_;  // the last refined solve
};

}  // namespace echelon::petsc
