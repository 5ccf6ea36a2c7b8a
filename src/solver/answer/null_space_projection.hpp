// SPDX-License-Identifier: BSD-3-Clause
/// Projections along the null space of a singular symmetric matrix, for methods that do not find it.
#pragma once

#include "solver/inconsistent.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/dense.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace echelon {

/// Orthonormal null vectors of a symmetric matrix, in the columns of a matrix on its device.
template <class T>
struct NullSpaceBasis {
  Dense<T> vectors;
  std::int64_t proven = 0;  ///< number of the first columns, which are exact null vectors

  [[nodiscard]] std::int64_t dimension() const { return vectors.columns(); }
};

/// Operations with null spaces on one device, with memory of their own: for one solve at a time.
template <class T>
class NullSpaceProjection {
 public:
  NullSpaceProjection() = default;
  NullSpaceProjection(const NullSpaceProjection&) = delete;
  NullSpaceProjection& operator=(const NullSpaceProjection&) = delete;
  virtual ~NullSpaceProjection() = default;

  /// Null vectors of A: constants on connected components that A maps to exactly zero, and the columns of
  /// `candidates`, on the host, that A maps to zero up to rounding. None if A is not symmetric, or if there
  /// are more than 8. Costs some ten products with A, and one for each candidate. Waits.
  [[nodiscard]] virtual NullSpaceBasis<T> find(const Csr<T>& A, const Dense<double>& candidates) = 0;
  /// Removes the part of x along the null vectors, and returns its norms. Waits.
  virtual OutsideRange remove(const NullSpaceBasis<T>& basis, T* x) = 0;
  /// Removes the part of x along the null vectors. Waits.
  virtual void project(const NullSpaceBasis<T>& basis, T* x) = 0;
};

/// Instantiated for HostTarget and, when it is built, for CudaTarget.
template <class Target, class T>
[[nodiscard]] std::unique_ptr<NullSpaceProjection<T>> make_null_space_projection(const Device& device);

}  // namespace echelon
