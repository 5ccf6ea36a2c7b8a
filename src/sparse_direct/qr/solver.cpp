// SPDX-License-Identifier: BSD-3-Clause
// Sparse QR factorisation as a Solver.
#include "solver/direct/decomposition_method.hpp"
#include "solver/instantiate.hpp"
#include "sparse_direct/qr/decomposition.hpp"

#include <echelon/methods/least_squares/sparse_qr.hpp>

#include <support/scalar_list.hpp>

#include <memory>

namespace echelon {

template <>
struct MethodWith<SparseQrOptions> {
  template <class B, class T>
  using Type = DecompositionMethod<B, T, sparse_direct::SparseDecomposition<T>, SparseQrOptions>;
};

#define ECHELON_INSTANTIATE(T)                                                                     \
  template std::unique_ptr<SolverImplementation<T>> make_implementation<HostTarget>(const Device&, \
                                                                                    const SparseQrOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
