// SPDX-License-Identifier: BSD-3-Clause
/// Constraints that make the coarse unknowns: values in corners, averages over edges and faces.
#pragma once

#include "domain_decomposition/bddc/subdomains/interface.hpp"

#include <echelon/matrix/dense.hpp>

#include <cstdint>
#include <vector>

namespace echelon::bddc {

/// Classes whose constraints are used.
struct ConstraintChoice {
  bool corners = true;
  bool edges = true;
  bool faces = true;

  [[nodiscard]] bool includes(ClassKind kind) const {
    return kind == ClassKind::corner ? corners : kind == ClassKind::edge ? edges : faces;
  }
};

/// Coarse unknowns first, ..., first + count - 1 of an interface class: coarse unknown first + k is
/// sum_j weights[k * unknowns + j] x_j over the unknowns of the class; a corner's are x_j themselves.
struct ClassConstraints {
  std::int32_t first = 0;
  std::int32_t count = 0;
  std::vector<double> weights;  ///< empty for a corner
};

struct Constraints {
  std::vector<ClassConstraints> classes;  ///< one for each interface class
  std::int32_t coarse_unknowns = 0;
  std::int64_t redundant = 0;  ///< constraints that depended on others of their class, and were omitted
};

/// Constraints of every class. Those of edges and faces are the products with `vectors` (a row for each
/// unknown of A), restricted to the class and orthonormalised by Gram and Schmidt's method, twice; vectors
/// that depend on earlier ones within a class are omitted. Averages of each component are the products with
/// component_vectors().
[[nodiscard]] Constraints make_constraints(const Interface& interface, const Dense<double>& vectors,
                                           const ConstraintChoice& choice);

/// A column for each of `block_size` components: 1 in the unknowns of the component, else 0.
[[nodiscard]] Dense<double> component_vectors(std::int64_t unknowns, std::int64_t block_size);

/// Coarse unknowns of each column of `vectors`, a column for each.
[[nodiscard]] Dense<double> coarse_values(const Interface& interface, const Constraints& constraints,
                                          const Dense<double>& vectors);

}  // namespace echelon::bddc
