// SPDX-License-Identifier: BSD-3-Clause
/// Analysis of a sparse matrix whose interior is to be eliminated, for every device.
#pragma once

#include "domain_decomposition/schur/implementation.hpp"
#include "sparse_direct/matching/scaling.hpp"
#include "sparse_direct/multifrontal/fronts/factor_kind.hpp"
#include "sparse_direct/symbolic/symbolic_factor.hpp"

#include <echelon/matrix/csr.hpp>

#include <cstdint>
#include <vector>

namespace echelon::schur {

/// Order of elimination, scaling and row exchanges.
struct Analysis {
  Outcome outcome;
  sparse_direct::FactorKind kind = sparse_direct::FactorKind::lu;
  sparse_direct::SymbolicFactor symbolic;  ///< its border is the interface
  sparse_direct::Scaling scaling;          ///< by rows and columns of A; empty: 1
  /// Row k of P A is row row_permutation[k] of A; empty: the identity. The interface stays where it is.
  std::vector<std::int32_t> row_permutation;
};

struct AnalysisTarget {
  int threads = 1;
  bool for_gpu = false;
};

/// Orders the interior. For ldlt and lu it also scales, and brings large elements of A_II to its diagonal or
/// into pairs, where pivots are searched for; an A_II that is structurally singular is the outcome. A is on
/// the host; for cholesky it has to be symmetric or Hermitian, for ldlt one of both, and another A is the
/// outcome.
template <class T>
[[nodiscard]] Analysis analyze_interior(const Csr<T>& A, const InterfacePartition& partition,
                                        SchurFactorization factorization, Ordering ordering,
                                        AnalysisTarget target);

}  // namespace echelon::schur
