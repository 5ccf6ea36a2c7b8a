// SPDX-License-Identifier: BSD-3-Clause
/// Analysis on the host for a factorisation on a GPU.
#pragma once

#include "solver/implementation.hpp"
#include "sparse_direct/multifrontal/fronts/factor_kind.hpp"
#include "sparse_direct/ordering/ordering.hpp"
#include "sparse_direct/symbolic/symbolic_factor.hpp"

#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/scalar.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace echelon::sparse_direct {

/// Order of elimination, and scaling by powers of two. They depend on the pattern, and for lu and ldlt also
/// on the values of the matrix that was analysed.
template <class T>
struct DeviceAnalysis {
  FactorKind kind = FactorKind::lu;
  SymbolicFactor tree;
  std::vector<std::int32_t> row_permutation;  ///< of lu: row k of P A is row row_permutation[k] of A
  std::string scaling;                        ///< word for the source of the factors; of ldlt
  std::vector<Real<T>> row_scale, column_scale;
  Outcome outcome;
  bool is_final = false;  ///< the host reports the same outcome
};

/// Analyses a square A on the host. For cholesky it has to be Hermitian with a positive diagonal, for ldlt
/// symmetric or Hermitian, which decides on the kind, and of full structural rank for ldlt and lu; another A
/// is the outcome. Of `ordering` threads and `for_gpu` are set here.
template <class T>
[[nodiscard]] DeviceAnalysis<T> analyze_for_device(const Csr<T>& A, FactorKind kind,
                                                   const OrderingOptions& ordering);

}  // namespace echelon::sparse_direct
