// SPDX-License-Identifier: BSD-3-Clause
#include "backend/host/host.hpp"
#include "solver/direct/direct_method.hpp"
#include "solver/instantiate.hpp"
#include "studies/crout/direct_factorization.hpp"

#include <echelon/methods/dense/crout.hpp>
#include <echelon/methods/dense/crout_parallel.hpp>

namespace echelon {

template <>
struct MethodWith<CroutOptions> {
  template <class B, class T>
  using Type = DirectMethod<B, T, crout::DirectFactorization<B, T>>;
};

template <>
struct MethodWith<CroutParallelOptions> {
  template <class B, class T>
  using Type = DirectMethod<B, T, crout::DirectFactorization<B, T>>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<HostTarget>(const Device&,
                                                                                      const CroutOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<HostTarget>(const Device&,
                                                                                       const CroutOptions&);

template std::unique_ptr<SolverImplementation<float>> make_implementation<HostTarget>(
    const Device&, const CroutParallelOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<HostTarget>(
    const Device&, const CroutParallelOptions&);

}  // namespace echelon
