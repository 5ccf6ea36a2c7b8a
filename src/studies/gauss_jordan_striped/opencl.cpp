// SPDX-License-Identifier: BSD-3-Clause
// The striped scheme on an OpenCL device.
#include "backend/target.hpp"
#include "solver/instantiate.hpp"
#include "studies/gauss_jordan_striped/striped_loops.hpp"

#include <memory>

namespace echelon {

template <>
struct MethodWith<GaussJordanStripedOptions> {
  template <class B, class T>
  using Type = StripedSolver<B, T, StripedLoops<B, T>>;
};

template <class Target, class T>
StripedForm<T> reduce_striped_on(const Dense<T>& A, const GaussJordanStripedOptions& options) {
  return reduce_striped_with<OpenCl, StripedLoops<OpenCl, T>>(A, options);
}

#define ECHELON_INSTANTIATE(T)                                                               \
  template StripedForm<T> reduce_striped_on<OpenClTarget>(const Dense<T>&,                   \
                                                          const GaussJordanStripedOptions&); \
  template std::unique_ptr<SolverImplementation<T>> make_implementation<OpenClTarget>(       \
      const Device&, const GaussJordanStripedOptions&);
ECHELON_INSTANTIATE(float)
ECHELON_INSTANTIATE(double)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
