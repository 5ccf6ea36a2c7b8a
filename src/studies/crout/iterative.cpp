// SPDX-License-Identifier: BSD-3-Clause
#include "backend/host/host.hpp"
#include "solver/direct/direct_method.hpp"
#include "solver/instantiate.hpp"
#include "studies/crout/iterative_factorization.hpp"

#include <echelon/methods/dense/crout_iterative.hpp>

namespace echelon {

template <>
struct MethodWith<CroutIterativeOptions> {
  template <class B, class T>
  using Type = DirectMethod<B, T, crout::IterativeFactorization<B, T>>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<HostTarget>(
    const Device&, const CroutIterativeOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<HostTarget>(
    const Device&, const CroutIterativeOptions&);

}  // namespace echelon
