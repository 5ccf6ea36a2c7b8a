// SPDX-License-Identifier: BSD-3-Clause
/// Factors that leave a Schur complement to PETSc.
#pragma once

#include <echelon/domain_decomposition/schur_complement.hpp>

#include <petscmat.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace echelon::petsc {

/// Unknowns that a solve of F determines, by MUMPS's control 26, which PCBDDC sets on any factor.
enum class SchurSolve {
  all,       ///< the interior and the interface, by PETSc's factors of the Schur complement
  interior,  ///< A_II x_I = b_I; zeros in the interface
};

/// Factors of the interior of a matrix in host memory, whose Schur complement on the interface is the matrix
/// F->schur, seqdense: PETSc's functions MatFactor...SchurComplement factor, invert and change it.
class SchurFactor {
 public:
  explicit SchurFactor(std::vector<std::int32_t> interface) : interface_(std::move(interface)) {}

  /// Eliminates the interior of A, which is referred to, and copies the Schur complement to F->schur. Throws
  /// what SchurComplement does.
  PetscErrorCode factor(Mat F, MatrixRef<double> A, const SchurOptions& options);
  [[nodiscard]] const Report& report() const { return complement_->report(); }

  void set_solve(SchurSolve solve) { solve_ = solve; }
  /// Solves for the columns of B, with A or its transpose.
  PetscErrorCode solve(Mat F, DenseView<const double> B, DenseView<double> X, bool transposed) const;

 private:
  PetscErrorCode solve_complement(Mat F, const Dense<double>& G, Dense<double>& X_B, bool transposed) const;

  std::vector<std::int32_t> interface_;
  std::optional<SchurComplement<double>> complement_;
  SchurSolve solve_ = SchurSolve::all;
};

}  // namespace echelon::petsc
