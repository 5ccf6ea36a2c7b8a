// SPDX-License-Identifier: BSD-3-Clause
// Dense LU with partial pivoting of complex matrices on a GPU, by cuSOLVER.
#include "dense/factorization/cusolver_lu.cuh"
#include "dense/mixed_precision/solver.hpp"
#include "solver/direct/direct_method.hpp"
#include "solver/instantiate.hpp"

#include <echelon/methods/dense/lu.hpp>

#include <support/scalar_list.hpp>

#include <memory>

namespace echelon {

#define ECHELON_INSTANTIATE(T)                                                                         \
  template <>                                                                                          \
  std::unique_ptr<SolverImplementation<T>> make_implementation<CudaTarget>(const Device& device,       \
                                                                           const LuOptions& options) { \
    return make_in_working_precision<DirectMethod<Cuda, T, CusolverFactorization<Cuda, T>>>(device,    \
                                                                                            options);  \
  }
ECHELON_FOR_EACH_COMPLEX(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
