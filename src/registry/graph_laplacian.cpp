// SPDX-License-Identifier: BSD-3-Clause
/// Options and registry rows of methods for graph Laplacians.
#include "registry/families.hpp"
#include "registry/row.hpp"

#include <echelon/methods/approximate_cholesky.hpp>
#include <echelon/methods/lamg.hpp>

#include <vector>

namespace echelon {

std::vector<Option<ApproximateCholeskyOptions>> ApproximateCholeskyOptions::table() {
  return with_stop_options<ApproximateCholeskyOptions>(
      {{"split",
        +[](ApproximateCholeskyOptions& o) -> std::int64_t& { return o.split; },
        "copies into which each edge is split: more for fewer iterations and more fill",
        {1, 8}},
       {"seed",
        +[](ApproximateCholeskyOptions& o) -> std::int64_t& { return o.seed; },
        "seed of the random draws",
        {0}},
       {"jacobi_iterations",
        +[](ApproximateCholeskyOptions& o) -> std::int64_t& { return o.jacobi_iterations; },
        "iterations with a diagonal preconditioner before the factorisation, which is left out where they "
        "suffice",
        {0}}});
}
template Options to_options(ApproximateCholeskyOptions);

std::vector<Option<LamgOptions>> LamgOptions::table() {
  return with_stop_options<LamgOptions>(
      {{"cycle_index",
        +[](LamgOptions& o) -> double& { return o.cycle_index; },
        "visits of a level for each one of the finer level",
        {1, 2}},
       {"pre_sweeps",
        +[](LamgOptions& o) -> std::int64_t& { return o.pre_sweeps; },
        "Gauss-Seidel sweeps before the coarse correction",
        {0, 10}},
       {"post_sweeps",
        +[](LamgOptions& o) -> std::int64_t& { return o.post_sweeps; },
        "Gauss-Seidel sweeps after the coarse correction",
        {1, 10}},
       {"combined_iterates",
        +[](LamgOptions& o) -> std::int64_t& { return o.combined_iterates; },
        "iterates that are recombined for the smallest residual; 0: none",
        {0, 4}},
       {"test_sweeps",
        +[](LamgOptions& o) -> std::int64_t& { return o.test_sweeps; },
        "Gauss-Seidel sweeps that turn random vectors into test vectors",
        {1, 20}},
       {"strength",
        +[](LamgOptions& o) -> double& { return o.strength; },
        "edges below this fraction of the largest ones at both ends are not strong",
        {0, 1}},
       {"veto",
        +[](LamgOptions& o) -> double& { return o.veto; },
        "a vertex joins no aggregate across an edge below this fraction of its own largest one",
        {0, 1}},
       {"energy_ratio",
        +[](LamgOptions& o) -> double& { return o.energy_ratio; },
        "growth of a test vector's local energy up to which a vertex may join an aggregate",
        {1, 1e30}},
       {"caliber",
        +[](LamgOptions& o) -> std::int64_t& { return o.caliber; },
        "largest number of aggregates from which a vertex is interpolated",
        {1, 2}},
       {"coarse_size",
        +[](LamgOptions& o) -> std::int64_t& { return o.coarse_size; },
        "vertices up to which a level is solved directly",
        {1, 2000}},
       {"max_levels",
        +[](LamgOptions& o) -> std::int64_t& { return o.max_levels; },
        "maximum number of levels, excluding those of eliminations",
        {1, 100}},
       {"parallel", +[](LamgOptions& o) -> bool& { return o.parallel; },
        "use the parallel algorithm of the GPU on the host too, which takes one core 1.4 to 2.5 times as "
        "long"},
       {"jacobi_iterations",
        +[](LamgOptions& o) -> std::int64_t& { return o.jacobi_iterations; },
        "in parallel: no levels where CG with the diagonal is predicted to need at most this many iterations",
        {0}}});
}
template Options to_options(LamgOptions);

namespace registry {

std::vector<Method> graph_laplacian_methods() {
  using enum MethodKind;
  using enum MethodNeeds;
  return {
      row<ApproximateCholeskyOptions>(
          {.summary = "CG with a randomised approximate Cholesky factor, for graph Laplacians",
           .kind = iterative,
           .needs = diagonally_dominant,
           .dense = false,
           .usable_as_preconditioner = true}),
      row<LamgOptions>({.summary = "lean algebraic multigrid for graph Laplacians",
                        .kind = iterative,
                        .needs = diagonally_dominant,
                        .dense = false,
                        .usable_as_preconditioner = true}),
  };
}

}  // namespace registry

}  // namespace echelon
