// SPDX-License-Identifier: BSD-3-Clause
/// Copies of PETSc's matrices in the library's forms.
#pragma once

#include <echelon/matrix/matrix.hpp>

#include <petscmat.h>

#include <optional>
#include <string>

namespace echelon::petsc {

/// Which elements of a matrix are read.
enum class Elements {
  all,
  symmetric,  ///< the upper triangle, and its transpose as the lower one
};

/// Copy of a matrix that one process holds: dense for seqdense, sparse for all others. The elements are
/// copied because a factor has to remain valid when the matrix changes; its refinement and the measured
/// residual refer to the copy. The object does not move, since solvers refer to its matrix.
class MatrixCopy {
 public:
  MatrixCopy() = default;
  MatrixCopy(const MatrixCopy&) = delete;
  MatrixCopy& operator=(const MatrixCopy&) = delete;

  /// Copies A to `device`. Throws OutOfMemory, InvalidMatrix.
  PetscErrorCode assign(Mat A, Elements elements, const Device& device);

  [[nodiscard]] MatrixRef<double> matrix() const { return device_copy_ ? *device_copy_ : host_; }
  /// The copy in the memory of the host.
  [[nodiscard]] const Matrix<double>& host() const { return host_; }
  /// Whether the last two assigned matrices had the same pattern.
  [[nodiscard]] bool same_pattern() const { return same_pattern_; }
  /// Description of the first pair a_ij, a_ji that differ by more than rounding, for Elements::symmetric;
  /// empty if there is none.
  [[nodiscard]] const std::string& asymmetry() const { return asymmetry_; }

 private:
  Matrix<double> host_;
  std::optional<Matrix<double>> device_copy_;  // for a GPU
  bool same_pattern_ = false;
  std::string asymmetry_;
};

}  // namespace echelon::petsc
