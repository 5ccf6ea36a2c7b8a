// SPDX-License-Identifier: BSD-3-Clause
/// Element matrices of test problems on a cube, divided into smaller cubes.
#pragma once

#include <echelon/domain_decomposition/bddc.hpp>
#include <echelon/export.h>

#include <cstdint>
#include <vector>

namespace echelon {

struct ECHELON_API CubeOptions {
  std::int64_t subdomains = 4;  ///< in each direction, 1 or more
  std::int64_t elements = 4;    ///< of a subdomain in each direction, 1 or more: H/h
  /// Factor of the matrices of each subdomain, the first direction counting fastest; empty: 1.
  std::vector<double> coefficients = {};
};

/// A discretised problem: boundary nodes with zero values are eliminated.
struct ECHELON_API CubeProblem {
  ElementMatrices matrices;
  std::vector<std::int32_t> subdomain_of_element;
  std::vector<double> load;  ///< right-hand side of a constant source of 1
};

/// -div(c grad u) = 1 in the unit cube with trilinear finite elements, u = 0 on its surface. Throws BadOption
/// for sizes below 1 or too large for 32-bit indices, and for another number of coefficients.
[[nodiscard]] ECHELON_API CubeProblem poisson_on_cube(const CubeOptions& options);

/// Linear elasticity (Young's modulus c, Poisson's ratio 0.3, a volume force of 1 in every direction) in the
/// unit cube with trilinear finite elements, clamped at x = 0: three unknowns a node. Throws as
/// poisson_on_cube() does.
[[nodiscard]] ECHELON_API CubeProblem elasticity_on_cube(const CubeOptions& options);

}  // namespace echelon
