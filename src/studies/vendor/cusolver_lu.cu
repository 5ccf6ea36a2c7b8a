// SPDX-License-Identifier: BSD-3-Clause
#include "dense/factorization/cusolver_lu.cuh"
#include "solver/direct/direct_method.hpp"
#include "solver/instantiate.hpp"

#include <echelon/methods/dense/cusolver_lu.hpp>

namespace echelon {

template <>
struct MethodWith<CusolverLuOptions> {
  template <class B, class T>
  using Type = DirectMethod<B, T, CusolverFactorization<B, T>>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<CudaTarget>(
    const Device&, const CusolverLuOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<CudaTarget>(
    const Device&, const CusolverLuOptions&);

}  // namespace echelon
