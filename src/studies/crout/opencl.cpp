// SPDX-License-Identifier: BSD-3-Clause
// Crout's methods on an OpenCL device as solvers: loops over the elements that a step computes.
#include "backend/target.hpp"
#include "dense/factorization/substitution.hpp"
#include "solver/direct/direct_method.hpp"
#include "solver/instantiate.hpp"
#include "studies/crout/direct_factorization.hpp"
#include "studies/crout/iterative_factorization.hpp"

#include <echelon/methods/dense/crout_iterative.hpp>
#include <echelon/methods/dense/crout_parallel.hpp>

#include <memory>

namespace echelon {

namespace crout {

template <class T>
void solve_triangle(OpenCl& backend, DenseView<const T> factors, PackedTriangle triangle, bool transposed,
                    DenseView<T> X) {
  lu::solve_triangle<OpenCl, T>(backend, transposed ? echelon::transposed(factors) : factors,
                                triangle.lower != transposed, triangle.unit_diagonal, X);
}

}  // namespace crout

template <>
struct MethodWith<CroutParallelOptions> {
  template <class B, class T>
  using Type = DirectMethod<B, T, crout::DirectFactorization<B, T>>;
};
template <>
struct MethodWith<CroutIterativeOptions> {
  template <class B, class T>
  using Type = DirectMethod<B, T, crout::IterativeFactorization<B, T>>;
};

#define ECHELON_INSTANTIATE(T, Options)                                                              \
  template std::unique_ptr<SolverImplementation<T>> make_implementation<OpenClTarget>(const Device&, \
                                                                                      const Options&);
ECHELON_INSTANTIATE(float, CroutParallelOptions)
ECHELON_INSTANTIATE(double, CroutParallelOptions)
ECHELON_INSTANTIATE(float, CroutIterativeOptions)
ECHELON_INSTANTIATE(double, CroutIterativeOptions)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
