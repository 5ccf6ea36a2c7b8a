// SPDX-License-Identifier: BSD-3-Clause
// Dense LU of complex matrices on the host.
#include "dense/factorization/complex_lu.hpp"

#include "backend/host/host.hpp"
#include "dense/mixed_precision/solver.hpp"
#include "solver/direct/direct_method.hpp"
#include "solver/instantiate.hpp"

#include <echelon/methods/dense/lu.hpp>

#include <support/scalar_list.hpp>

#include <complex>
#include <memory>

namespace echelon {

#define ECHELON_INSTANTIATE(T)                                                                             \
  template <>                                                                                              \
  std::unique_ptr<SolverImplementation<T>> make_implementation<HostTarget>(const Device& device,           \
                                                                           const LuOptions& options) {     \
    return make_in_working_precision<DirectMethod<Host, T, lu::ComplexLuFactorization<Host, T>>>(device,   \
                                                                                                 options); \
  }
ECHELON_FOR_EACH_COMPLEX(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
