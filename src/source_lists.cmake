# SPDX-License-Identifier: BSD-3-Clause
# Files of src/ that are compiled more than once, or apart from others. The test `structure` holds the lists to what the
# files name and include.

# Name ThisTarget (backend/target.hpp): compiled for each target.
set(sources_of_targets
  certification/inverse_operations.cpp
  dense/factorization/orthogonal.cpp
  dense/gauss_jordan/inverse.cpp
  dense/gauss_jordan/reduce.cpp
  dense/gauss_jordan/solver.cpp
  dense/lu/factors.cpp
  dense/lu/qr_method.cpp
  dense/lu/solver.cpp
  domain_decomposition/bddc/solver.cpp
  domain_decomposition/schur/blocks.cpp
  exact/rank.cpp
  graph_laplacian/affinity_multigrid/lamg.cpp
  incomplete/ic0.cpp
  incomplete/ilu0.cpp
  krylov/bicgstab.cpp
  krylov/cg.cpp
  krylov/cgls.cpp
  krylov/cr.cpp
  krylov/craig.cpp
  krylov/gmres.cpp
  krylov/lsmr.cpp
  krylov/lsqr.cpp
  krylov/minres.cpp
  linalg/context_state.cpp
  linalg/operations.cpp
  linalg/residual_check.cpp
  linalg/vector_operations.cpp
  mapped_echelon/solver.cpp
  matrix/assign.cpp
  matrix/convert.cpp
  matrix/stencil/given_stencil.cpp
  matrix/stencil/stencil_product.cpp
  matrix/transform.cpp
  matrix/views/gather.cpp
  multigrid/amg.cpp
  multigrid/coarsening/aggregation/aggregation.cpp
  multigrid/coarsening/classical/classical.cpp
  multigrid/galerkin.cpp
  multigrid/geometric/interpolation.cpp
  multigrid/geometric/solver.cpp
  multigrid/structured/cycle.cpp
  multigrid/structured/hierarchy.cpp
  multigrid/structured/solver.cpp
  relaxation/gauss_seidel/solvers.cpp
  relaxation/gauss_seidel/sweeper.cpp
  relaxation/jacobi.cpp
  solver/answer/column_products.cpp
  solver/answer/null_space_projection.cpp
  sparse_direct/banded/operations.cpp
  sparse_direct/banded/solver.cpp
  sparse_direct/batched/operations.cpp
  studies/gauss_seidel_relaunch/relaunch.cpp
  studies/multigrid_dense/solver.cpp
  studies/triangular_iterative/triangular.cpp
)

# Those of them that are not compiled for OpenCL.
set(sources_without_opencl
  certification/inverse_operations.cpp
  dense/factorization/orthogonal.cpp
  dense/lu/qr_method.cpp
  solver/answer/column_products.cpp
  sparse_direct/batched/operations.cpp
)

# Include backend/dispatch.hpp, matrix/assign.hpp, matrix/views/gather.hpp or matrix/views/sparse_view_state.hpp: compile
# to other code with CUDA.
set(sources_that_dispatch
  backend/dispatch.cpp
  certification/certify.cpp
  dense/batched/api.cpp
  dense/gauss_jordan/api.cpp
  dense/lu/api.cpp
  domain_decomposition/schur/api.cpp
  domain_decomposition/schur/dense.cpp
  exact/api.cpp
  linalg/api.cpp
  linalg/context.cpp
  linalg/spadd/api.cpp
  linalg/spgemm/api.cpp
  matrix/assign.cpp
  matrix/coo.cpp
  matrix/matrix.cpp
  matrix/stencil/stencil.cpp
  matrix/transform_checks.cpp
  matrix/views/gather.cpp
  matrix/views/sparse_view.cpp
  multigrid/api.cpp
  multigrid/hierarchy.cpp
  relaxation/gauss_seidel/api.cpp
  solver/answer/least_squares.cpp
  solver/answer/solver.cpp
  solver/selection/solve.cpp
  sparse_direct/banded/api.cpp
  sparse_direct/batched/api.cpp
  studies/gauss_jordan_striped/api.cpp
  studies/gauss_jordan_striped/striped.cpp
)
