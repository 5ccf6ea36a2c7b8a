// SPDX-License-Identifier: BSD-3-Clause
#include "domain_decomposition/bddc/cuda/crout.cuh"
#include "domain_decomposition/bddc/cuda/interiors.hpp"
#include "domain_decomposition/bddc/cuda/kernels.cuh"
#include "studies/crout/cuda/iteration.cuh"
#include "studies/crout/cuda/trsm.cuh"
#include "studies/crout/iteration_outcome.hpp"

#include <echelon/linalg.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace echelon::bddc {

namespace {

struct CopyDiagonal {
  std::int64_t rows;
  const double* A;
  double* diagonal;
  __device__ void operator()(std::int64_t i) const { diagonal[i] = A[i * (rows + 1)]; }
};

/// Scales the columns of A.
struct ScaleColumns {
  std::int64_t rows;
  const double* scale;
  double* A;
  __device__ void operator()(std::int64_t e) const { A[e] *= scale[e / rows]; }
};

/// Sets A, which is zero, to the permutation matrix with ones at (i, columns[i]).
struct SetPermutation {
  std::int64_t rows;
  const std::int64_t* columns;
  double* A;
  __device__ void operator()(std::int64_t i) const { A[i + columns[i] * rows] = 1; }
};

/// The diagonal of A, if all of it is positive, or the first index where it is not.
struct PositiveDiagonal {
  std::vector<double> values;
  std::optional<std::int64_t> failure;
};
PositiveDiagonal positive_diagonal(DeviceTools& tools, const Dense<double>& A) {
  Array<double> diagonal(A.device(), A.rows());
  tools.backend.for_each(A.rows(), CopyDiagonal{A.rows(), A.data(), diagonal.data()});
  PositiveDiagonal found{diagonal.to_vector(), {}};
  for (std::size_t i = 0; i < found.values.size() && !found.failure; ++i) {
    if (!(found.values[i] > 0)) found.failure = static_cast<std::int64_t>(i);
  }
  return found;
}

/// inverse = L^-T D L^-1 for the lower triangle L of `factors` and its diagonal D.
void multiply_triangles(DeviceTools& tools, const Dense<double>& factors, std::vector<double> diagonal,
                        DenseView<double> inverse) {
  const std::int64_t n = factors.rows();
  for (double& value : diagonal) value = std::sqrt(value);
  const Array<double> roots = to_device(factors.device(), diagonal);
  Dense<double> triangle(factors.device(), n, n);  // L^-T D^(1/2)
  tools.backend.for_each(n * n, SetDiagonal{n, 1.0, triangle.data()});
  const auto order = static_cast<int>(n);
  tools.lapack.trsm_right(Operation::adjoint, false, n, order, factors.data(), order, triangle.data(), n);
  tools.backend.for_each(n * n, ScaleColumns{n, roots.data(), triangle.data()});
  const DenseView<const double> half = std::as_const(triangle).view();
  gemm<double>(tools.context, 1, half, transposed(half), 0, inverse);
  tools.backend.synchronize();
}

/// inverse = U^-1 L^-1 P, U with a unit diagonal. `exchanges[j]` is the row that was exchanged with row j.
void substitute_permutation(DeviceTools& tools, const Dense<double>& factors,
                            const std::vector<std::int64_t>& exchanges, DenseView<double> inverse) {
  const std::int64_t n = factors.rows();
  std::vector<std::int64_t> rows(exchanges.size());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int64_t>(i);
  for (std::size_t j = 0; j < rows.size(); ++j)
    std::swap(rows[j], rows[static_cast<std::size_t>(exchanges[j])]);
  const Array<std::int64_t> permutation = to_device(factors.device(), rows);
  tools.backend.fill(n * n, 0.0, inverse.data());
  tools.backend.for_each(n, SetPermutation{n, permutation.data(), inverse.data()});
  const auto solve = [&](cublasFillMode_t part, cublasDiagType_t diagonal) {
    check(crout::trsm(tools.backend.blas(), part, CUBLAS_OP_N, diagonal, n, n, factors.data(), n,
                      inverse.data(), n));
  };
  solve(CUBLAS_FILL_MODE_LOWER, CUBLAS_DIAG_NON_UNIT);
  solve(CUBLAS_FILL_MODE_UPPER, CUBLAS_DIAG_UNIT);
  tools.backend.synchronize();
}

}  // namespace

Outcome invert_by_crout(DeviceTools& tools, Dense<double>& G, const CroutSettings& settings,
                        const CancellationToken& cancel, DenseView<double> inverse) {
  const std::int64_t n = G.rows();
  if (n == 0) return {};
  const CurrentDevice current(G.device().id());
  PositiveDiagonal diagonal = positive_diagonal(tools, G);
  if (diagonal.failure) return not_definite(*diagonal.failure);
  for (double& value : diagonal.values) value = 1 / std::sqrt(value);
  const Array<double> scale = to_device(G.device(), diagonal.values);
  tools.backend.for_each(n * n, ScaleSymmetric{n, scale.data(), G.data()});

  Array<std::int64_t> exchanges(G.device(), n);
  crout::CudaIteration<double> iteration(tools.backend, G.view(), exchanges.data(),
                                         {.section_size = crout::default_section_size(n),
                                          .tolerance = settings.tolerance,
                                          .pivoting = settings.pivoting});
  Outcome outcome = crout::outcome_of(iteration.factor(cancel), 0, settings.pivoting);
  if (!outcome.ok()) return outcome;
  if (settings.pivoting) {
    substitute_permutation(tools, G, exchanges.to_vector(), inverse);
  } else {
    PositiveDiagonal pivots = positive_diagonal(tools, G);
    if (pivots.failure) return not_definite(*pivots.failure);
    multiply_triangles(tools, G, std::move(pivots.values), inverse);
  }
  tools.backend.for_each(n * n, ScaleSymmetric{n, scale.data(), inverse.data()});
  tools.backend.synchronize();
  return {};
}

}  // namespace echelon::bddc
