// SPDX-License-Identifier: BSD-3-Clause
#include "dense/factorization/cusolver_lu.cuh"
#include "solver/direct/direct_method.hpp"
#include "solver/instantiate.hpp"

#include <echelon/methods/dense/cusolver_lu.hpp>

#include <support/scalar_list.hpp>

namespace echelon {

template <>
struct MethodWith<CusolverLuOptions> {
  template <class B, class T>
  using Type = DirectMethod<B, T, CusolverFactorization<B, T>>;
};

#define ECHELON_INSTANTIATE(T)                                                       \
  template std::unique_ptr<SolverImplementation<T>> make_implementation<CudaTarget>( \
      const Device&, const CusolverLuOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
