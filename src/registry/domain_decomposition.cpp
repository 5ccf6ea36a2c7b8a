// SPDX-License-Identifier: BSD-3-Clause
/// Options and registry rows of domain decomposition.
#include "registry/families.hpp"
#include "registry/row.hpp"

#include <echelon/methods/bddc.hpp>

#include <vector>

namespace echelon {

std::vector<Option<BddcOptions>> BddcOptions::table() {
  using O = BddcOptions;
  return with_stop_options<O>(
      {{"subdomains",
        +[](O& o) -> std::int64_t& { return o.subdomains; },
        "number of subdomains; 0: one for each 2000 unknowns, and at least 4",
        {0}},
       {"partition",
        +[](O& o) -> std::string& { return o.partition; },
        "file with the subdomain of each row, counted from 0, in place of `subdomains`",
        {},
        {},
        OptionKind::path},
       {"block_size",
        +[](O& o) -> std::int64_t& { return o.block_size; },
        "unknowns per node of a system of equations; divides the number of rows",
        {1, 16}},
       {"corners", +[](O& o) -> bool& { return o.corners; }, "coarse unknowns: values in corners"},
       {"edges", +[](O& o) -> bool& { return o.edges; }, "coarse unknowns: averages over edges"},
       {"faces", +[](O& o) -> bool& { return o.faces; }, "coarse unknowns: averages over faces"},
       {"vertex_size",
        +[](O& o) -> std::int64_t& { return o.vertex_size; },
        "classes of the interface with at most this number of nodes are corners",
        {0, 1000}},
       {"edge_ends", +[](O& o) -> bool& { return o.edge_ends; },
        "the two nodes of each edge that are farthest apart are corners"},
       {"scaling", enum_field<&O::scaling>(),
        "weights of shared values: equal, by the diagonals of the subdomain matrices, or by blocks of "
        "their Schur complements"},
       {"interior", enum_field<&O::interior>(), "factorisation of the interiors"},
       {"schur", enum_field<&O::schur>(),
        "factorisation of the Schur complements; sparse-cholesky: of the subdomain matrix, the Schur "
        "complement is not formed"},
       {"schur_tolerance",
        +[](O& o) -> double& { return o.schur_tolerance; },
        "of crout-iterative: an element has converged when a sweep changes it by no more than this",
        {0}},
       {"schur_pivoting", +[](O& o) -> bool& { return o.schur_pivoting; },
        "of crout-iterative: exchange rows; the factors are then used as they are, and are not symmetric"}});
}
template Options to_options(BddcOptions);

namespace registry {

std::vector<Method> domain_decomposition_methods() {
  using enum MethodKind;
  using enum MethodNeeds;
  return {
      row<BddcOptions>({.summary = "balancing domain decomposition by constraints, with CG on the interface",
                        .kind = iterative,
                        .needs = diagonally_dominant,
                        .dense = false,
                        .usable_as_preconditioner = true,
                        .takes_near_null_space = true}),
  };
}

}  // namespace registry

}  // namespace echelon
