// SPDX-License-Identifier: BSD-3-Clause
/// Preconditioners that are passed as objects.
#pragma once

#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace echelon {

/// z = M^-1 r for a Krylov method: a solver that is set up, or a callable. Solver::set_preconditioner gives
/// it to a solver, in place of the option `preconditioner`.
///
/// Copies refer to the same solver, or hold copies of the callable.
template <class T>
class ECHELON_API Preconditioner {
 public:
  /// Function that reads n elements at r and writes n at z, both in the memory of the device and not
  /// overlapping. On a GPU it queues its work on the calling thread's stream (cudaStreamPerThread). It is
  /// called concurrently if the solver is used by several threads. It has to be linear and the same from call
  /// to call, except in flexible methods (cg and gmres with `flexible`).
  using Apply = std::function<void(const T* r, T* z)>;

  /// Preconditions with a solver that has been set up, for A or for a similar matrix: by one application of a
  /// method that is usable as a preconditioner, or else by a whole solve, started from zero. An iterative
  /// solve is not a fixed linear operator and requires a flexible method. The solver may move, and
  /// must outlive the solves that it preconditions.
  Preconditioner(const Solver<T>& solver)  // NOLINT(google-explicit-constructor)
      : is_solver_(true), state_(solver.state_), device_(solver.device()) {}
  Preconditioner(Solver<T>&&) = delete;
  explicit Preconditioner(Apply apply, const Device& device = {})
      : apply_(std::move(apply)), device_(device) {}

  [[nodiscard]] bool is_solver() const { return is_solver_; }
  /// The solver where it is now, or null for a callable. Throws Error if the solver does not exist any more.
  [[nodiscard]] const Solver<T>* solver() const;
  [[nodiscard]] const Apply& callable() const { return apply_; }
  [[nodiscard]] const Device& device() const { return device_; }

 private:
  bool is_solver_ = false;
  std::weak_ptr<const SolverState<T>> state_;
  Apply apply_;
  Device device_;
};

extern template class Preconditioner<float>;
extern template class Preconditioner<double>;

}  // namespace echelon
