// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/dense.hpp>

#include <cstdint>
#include <vector>

namespace echelon::bddc {

/// Null vectors of a symmetric matrix within a connected component.
struct NullSpacePart {
  std::vector<std::int32_t> rows;            ///< of the component, ascending
  std::vector<std::vector<double>> columns;  ///< orthonormal, along these rows
};

/// The combinations of columns of `vectors`, component by component, that a symmetric positive semidefinite K
/// maps to zero, to `tolerance` times the component's largest element; components without one are omitted.
[[nodiscard]] std::vector<NullSpacePart> null_space(const Csr<double>& K, const Dense<double>& vectors,
                                                    double tolerance);

/// Removes the components of b along the null vectors; returns their norm.
double remove_null_space(const std::vector<NullSpacePart>& parts, std::vector<double>& b);

}  // namespace echelon::bddc
