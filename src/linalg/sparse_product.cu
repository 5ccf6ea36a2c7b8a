// SPDX-License-Identifier: BSD-3-Clause
#include "backend/dispatch.hpp"
#include "linalg/sparse_product.hpp"

#include <echelon/error.hpp>

namespace echelon {

template <class Side, class T>
std::unique_ptr<ProductPlan<T>> plan_product_on(Factors<T>) {
  throw NotBuilt("sparse products on a GPU are not built yet: move the factors to the host");
}
template <class Side, class T>
Csr<T> product_on(Factors<T>) {
  throw NotBuilt("sparse products on a GPU are not built yet: move the factors to the host");
}

template std::unique_ptr<ProductPlan<float>> plan_product_on<CudaSide>(Factors<float>);
template std::unique_ptr<ProductPlan<double>> plan_product_on<CudaSide>(Factors<double>);
template Csr<float> product_on<CudaSide>(Factors<float>);
template Csr<double> product_on<CudaSide>(Factors<double>);

}  // namespace echelon
