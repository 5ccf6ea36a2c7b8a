// SPDX-License-Identifier: BSD-3-Clause
/// Application of a solver as a preconditioner in iterations outside of the library.
#pragma once

#include <echelon/export.h>
#include <echelon/matrix/dense.hpp>
#include <echelon/solver.hpp>

#include <cstdint>
#include <memory>

namespace echelon {

class Workspace;

/// z = M^-1 r by one application of a method that is usable as a preconditioner: a cycle of `amg`, two
/// triangular solves with the factors of `ilu0`, a substitution without refinement for a direct method. No
/// residual is computed, so that the caller's iteration has to check its own.
///
/// Holds a workspace, which is allocated once: the applications allocate nothing. Threads that apply the same
/// solver at once need an object each.
template <class T>
class ECHELON_API PreconditionerApplication {
 public:
  /// Applies a solver for a matrix of `n` rows. The solver must have been set up, and must outlive the
  /// object; it may move. After a further set-up a new object is required. Throws Error if the method is not
  /// usable as a preconditioner, without a set-up, and after a set-up that failed; DimensionMismatch if A has
  /// another number of rows.
  PreconditionerApplication(const Solver<T>& solver, std::int64_t n);
  PreconditionerApplication(Solver<T>&&, std::int64_t) = delete;
  PreconditionerApplication(PreconditionerApplication&&) noexcept;
  PreconditionerApplication& operator=(PreconditionerApplication&&) noexcept;
  ~PreconditionerApplication();

  /// Reads n elements at r and writes n at z, which are in the memory of the solver's device and do not
  /// overlap. On a GPU the work is queued on the calling thread's stream (cudaStreamPerThread).
  void operator()(const T* r, T* z);
  /// Applies the preconditioner to each column of R, column-major; a multifrontal factorisation substitutes
  /// for several of them together.
  void operator()(DenseView<const T> R, DenseView<T> Z);

  /// Whether transposed() is possible: for sparse-cholesky, sparse-ldlt, sparse-lu, ic0, and jacobi with one
  /// sweep.
  [[nodiscard]] bool is_transposable() const;
  /// Applies the transpose of the preconditioner to each column of R, column-major. Throws Error unless
  /// is_transposable().
  void transposed(DenseView<const T> R, DenseView<T> Z);

 private:
  const SolverImplementation<T>* method_;
  std::int64_t rows_;
  std::unique_ptr<Workspace> workspace_;
};

extern template class PreconditionerApplication<float>;
extern template class PreconditionerApplication<double>;

}  // namespace echelon
