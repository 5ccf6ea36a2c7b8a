// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "solver/inconsistent.hpp"

#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/dense.hpp>

#include <cstdint>
#include <vector>

namespace echelon::bddc {

/// Null vectors of a symmetric matrix within a connected component.
struct NullSpacePart {
  std::vector<std::int32_t> rows;            ///< of the component, ascending
  std::vector<std::vector<double>> columns;  ///< orthonormal, along these rows
  bool is_proven = false;  ///< the first column is the constant, which K maps to exactly zero
};

/// The combinations of columns of `vectors`, component by component, that a symmetric positive semidefinite K
/// maps to zero, to `tolerance` times the component's largest element; components without one are omitted.
[[nodiscard]] std::vector<NullSpacePart> null_space(const Csr<double>& K, const Dense<double>& vectors,
                                                    double tolerance);

/// null_space() of an A whose row sums, computed without rounding error, determine whether the constant on a
/// component is a null vector: it is a null vector if they are zero, and none if they only come close to
/// zero. `roundoff`: the machine epsilon of A's elements as they were given.
[[nodiscard]] std::vector<NullSpacePart> null_space_by_row_sums(const Csr<double>& A,
                                                                const Dense<double>& vectors,
                                                                double tolerance, double roundoff);

/// Takes back the proofs of null vectors of an A with an a_ij that is not exactly a_ji, since they need not
/// be orthogonal to the range of A. A is on the host.
template <class T>
void require_exact_symmetry(const Csr<T>& A, std::vector<NullSpacePart>& parts);

/// Removes the components of b along the null vectors; returns their norms.
OutsideRange remove_null_space(const std::vector<NullSpacePart>& parts, std::vector<double>& b);

}  // namespace echelon::bddc
