// SPDX-License-Identifier: BSD-3-Clause
/// Preconditioners that are handed over as objects.
#pragma once

#include <echelon/solver.hpp>

#include <functional>
#include <utility>

namespace echelon {

/// z = M^-1 r for a Krylov method: a solver that is set up, or a callable. Given to a solver by
/// Solver::set_preconditioner, which takes the place of the option `preconditioner`.
///
/// Copies refer to the same solver, or hold copies of the callable.
template <class T>
class Preconditioner {
 public:
  /// Reads n elements at r and writes n at z, both in the memory of the device and not overlapping. On a GPU
  /// it queues its work on the calling thread's stream (cudaStreamPerThread). Called from several threads at
  /// once when the solver is used so. It has to be linear and the same from call to call, except in flexible
  /// methods (gmres with `flexible`).
  using Apply = std::function<void(const T* r, T* z)>;

  /// A solver that has been set up, for A or for a matrix like it: one application of a method that is usable
  /// as a preconditioner, or a whole solve, started from zero, of one that is not; an iterative solve is not
  /// a fixed linear operator, and wants a flexible method. The solver must outlive the preconditioner and
  /// stay in place.
  Preconditioner(const Solver<T>& solver)  // NOLINT(google-explicit-constructor)
      : solver_(&solver), device_(solver.device()) {}
  Preconditioner(Solver<T>&&) = delete;
  explicit Preconditioner(Apply apply, const Device& device = {})
      : apply_(std::move(apply)), device_(device) {}

  /// Null for a callable.
  [[nodiscard]] const Solver<T>* solver() const { return solver_; }
  [[nodiscard]] const Apply& callable() const { return apply_; }
  [[nodiscard]] const Device& device() const { return device_; }

 private:
  const Solver<T>* solver_ = nullptr;
  Apply apply_;
  Device device_;
};

}  // namespace echelon
