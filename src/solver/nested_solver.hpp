// SPDX-License-Identifier: BSD-3-Clause
/// Optional interfaces of a method in addition to SolverImplementation, for the methods that it is nested in.
#pragma once

#include "linalg/vector/float_vector.hpp"
#include "solver/implementation.hpp"

#include <echelon/matrix/dense.hpp>

#include <cstddef>
#include <span>

namespace echelon {

/// Kind of linear operator that a method is when used as a preconditioner.
enum class AppliedOperator {
  symmetric,  ///< linear, the same in each application, and symmetric if A is
  linear,     ///< the same in each application, not symmetric
  varying,    ///< not linear
};

/// Implemented by methods whose operator may be other than symmetric for a symmetric A.
class VariableOperator {
 public:
  VariableOperator() = default;
  VariableOperator(const VariableOperator&) = delete;
  VariableOperator& operator=(const VariableOperator&) = delete;
  virtual ~VariableOperator() = default;
  [[nodiscard]] virtual AppliedOperator applied_operator() const = 0;
};

/// A vector that a preconditioner is applied to, z = M^-1 r, and a workspace of its own.
template <class T>
struct AppliedColumn {
  Workspace* workspace;
  const T* r;
  T* z;
  const double* norm = nullptr;  ///< Euclidean norm of r, in the memory of the backend; null if unknown
};

/// Most vectors that are iterated, and preconditioned, together.
inline constexpr std::size_t most_columns = 32;
/// Number of vectors from which reading a matrix for all of them together saves no more time.
inline constexpr std::size_t usual_columns = 8;

/// Implemented by preconditioners that are applied to several vectors in less time than to one after another.
template <class T>
class ColumnsPreconditioner {
 public:
  ColumnsPreconditioner() = default;
  ColumnsPreconditioner(const ColumnsPreconditioner&) = delete;
  ColumnsPreconditioner& operator=(const ColumnsPreconditioner&) = delete;
  virtual ~ColumnsPreconditioner() = default;
  /// Applies the preconditioner to at most `most_columns` vectors; queued on the device without waiting. Each
  /// z has the bits of SolverImplementation::apply().
  virtual void apply_to(std::span<const AppliedColumn<T>> columns) const = 0;
};

/// Implemented by preconditioners that may compute in float: a reader of their result in place saves a pass
/// over it in T.
template <class T>
class FloatPreconditioner {
 public:
  FloatPreconditioner() = default;
  FloatPreconditioner(const FloatPreconditioner&) = delete;
  FloatPreconditioner& operator=(const FloatPreconditioner&) = delete;
  virtual ~FloatPreconditioner() = default;
  /// Whether the other functions can be called after the last set-up.
  [[nodiscard]] virtual bool leaves_floats() const = 0;
  /// ColumnsPreconditioner::apply_to() but for z, which is left where float_result() of the column's
  /// workspace reads it, with the same bits.
  virtual void apply_in_float(std::span<const AppliedColumn<T>> columns) const = 0;
  [[nodiscard]] virtual WidenedVector<T> float_result(Workspace& workspace) const = 0;
};

/// Implemented by methods with a preconditioner that their options name.
template <class T>
class PreconditionerOwner {
 public:
  PreconditionerOwner() = default;
  PreconditionerOwner(const PreconditionerOwner&) = delete;
  PreconditionerOwner& operator=(const PreconditionerOwner&) = delete;
  virtual ~PreconditionerOwner() = default;
  /// The preconditioner; null if there is none.
  [[nodiscard]] virtual SolverImplementation<T>* named_preconditioner() const = 0;
};

/// Implemented by methods that use near-null-space vectors of A: vectors v with A v close to zero.
class NearNullSpaceUser {
 public:
  NearNullSpaceUser() = default;
  NearNullSpaceUser(const NearNullSpaceUser&) = delete;
  NearNullSpaceUser& operator=(const NearNullSpaceUser&) = delete;
  virtual ~NearNullSpaceUser() = default;
  /// Sets the vectors for later set-ups; `vectors` has a column for each, on the host.
  virtual void set_near_null_space(const Dense<double>& vectors) = 0;
};

/// Implemented by methods that find zero rows, and the null space of a symmetric A, in their set-up.
template <class T>
class NullSpaceFinder {
 public:
  NullSpaceFinder() = default;
  NullSpaceFinder(const NullSpaceFinder&) = delete;
  NullSpaceFinder& operator=(const NullSpaceFinder&) = delete;
  virtual ~NullSpaceFinder() = default;
  /// Orthonormal basis of the null space, on the method's device; no columns if A is not known to be
  /// singular.
  [[nodiscard]] virtual const Dense<T>& null_space_basis() const = 0;
  /// Number of columns of the basis, its first ones, that A and its transpose map to exactly zero; the others
  /// are null vectors up to rounding.
  [[nodiscard]] virtual std::int64_t proven_null_vectors() const { return 0; }
  /// Rows of A without a nonzero, on the method's device. The basis is zero there.
  [[nodiscard]] virtual const Array<std::int32_t>& zero_rows() const {
    static const Array<std::int32_t> none;
    return none;
  }
};

/// The method as an `Interface`, or else its preconditioner as one; null if neither implements it.
template <class Interface, class T>
[[nodiscard]] Interface* find_interface(SolverImplementation<T>& method) {
  if (auto* own = dynamic_cast<Interface*>(&method)) return own;
  const auto* owner = dynamic_cast<const PreconditionerOwner<T>*>(&method);
  SolverImplementation<T>* nested = owner != nullptr ? owner->named_preconditioner() : nullptr;
  return nested != nullptr ? dynamic_cast<Interface*>(nested) : nullptr;
}

/// Gives near-null-space vectors to a method, and to its preconditioner if that coarsens by them.
template <class T>
void pass_near_null_space(SolverImplementation<T>& method, const Dense<double>& vectors) {
  method.keep_near_null_space(vectors);
  if (auto* user = find_interface<NearNullSpaceUser>(method)) user->set_near_null_space(vectors);
}

}  // namespace echelon
