// SPDX-License-Identifier: BSD-3-Clause
#include "backend/target.hpp"
#include "linalg/spgemm/expansion.hpp"

#include <array>
#include <memory>

namespace echelon {

template <class Target, class T>
std::unique_ptr<ProductPlan<T>> plan_product_on(Factors<T> factors, const ProductOptions& /*options*/) {
  return std::make_unique<ExpansionPlan<OpenCl, T>>(factors);
}

template <class Target, class T>
Csr<T> product_on(Factors<T> factors) {
  OpenCl backend(factors[0]->device());
  return product_by_expansion(backend, factors);
}

template <class Target, class T>
Csr<T> right_product_on(const Csr<T>& R, const Csr<T>& A, const Csr<T>& P) {
  OpenCl backend(A.device());
  return multiply_by_expansion(backend, R, multiply_by_expansion(backend, A, P));
}

#define ECHELON_INSTANTIATE(T)                                                                               \
  template std::unique_ptr<ProductPlan<T>> plan_product_on<OpenClTarget>(Factors<T>, const ProductOptions&); \
  template Csr<T> product_on<OpenClTarget>(Factors<T>);                                                      \
  template Csr<T> right_product_on<OpenClTarget>(const Csr<T>&, const Csr<T>&, const Csr<T>&);
ECHELON_INSTANTIATE(float)
ECHELON_INSTANTIATE(double)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
