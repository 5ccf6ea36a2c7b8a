// SPDX-License-Identifier: BSD-3-Clause
#include "solver/answer/column_products.hpp"

#include "backend/target.hpp"
#include "linalg/vector/column_reduction.hpp"
#include "linalg/vector/functors.hpp"
#include "support/scalar.hpp"

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon {

namespace {

/// Elements of a view that is read column by column, which ColumnReduction numbers.
template <class T>
struct LargestOfColumn {
  ViewElements<const T> a;
  ECHELON_ANYWHERE Largest operator()(std::int64_t k) const { return {magnitude(a[k])}; }
};

template <class T>
struct SquareAndProduct {
  double square = 0;
  Dot<T> product = Dot<T>{0};
  friend ECHELON_ANYWHERE SquareAndProduct combine(const SquareAndProduct& a, const SquareAndProduct& b) {
    return {a.square + b.square, a.product + b.product};
  }
};
template <class T>
struct ProductsOfElement {
  ViewElements<const T> a;
  std::int64_t rows;
  const Largest* size;
  const T* r;
  ECHELON_ANYWHERE SquareAndProduct<T> operator()(std::int64_t k) const {
    const double largest = size[k / rows].value;
    if (largest == 0) return {};
    const Dot<T> scaled = static_cast<Dot<T>>(a[k]) / largest;
    return {squared_magnitude(scaled), conj(scaled) * static_cast<Dot<T>>(r[k % rows])};
  }
};

template <class T>
ColumnProducts<T> products_on_host(const DenseView<const T>& A, const T* r) {
  const auto n = static_cast<std::size_t>(A.columns());
  ColumnProducts<T> sums{std::vector<double>(n, 0), std::vector<double>(n, 0), std::vector<Dot<T>>(n, 0)};
  for (std::size_t j = 0; j < n; ++j) {
    const auto column = static_cast<std::int64_t>(j);
    double& size = sums.size[j];
    for (std::int64_t i = 0; i < A.rows(); ++i) size = std::max(size, magnitude(A(i, column)));
    if (size == 0) continue;
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      const Dot<T> scaled = static_cast<Dot<T>>(A(i, column)) / size;
      sums.square[j] += squared_magnitude(scaled);
      sums.product[j] += conj(scaled) * static_cast<Dot<T>>(r[i]);
    }
  }
  return sums;
}

template <class B, class T>
ColumnProducts<T> products_on_device(const DenseView<const T>& A, const T* r) {
  B backend(A.device());
  const std::int64_t n = A.columns();
  Array<Largest> sizes(A.device(), n);
  Array<SquareAndProduct<T>> sums(A.device(), n);
  const ViewElements<const T> elements(A);
  ColumnReduction<B, Largest>(backend, A.rows(), n).run(LargestOfColumn<T>{elements}, sizes.data());
  ColumnReduction<B, SquareAndProduct<T>>(backend, A.rows(), n)
      .run(ProductsOfElement<T>{elements, A.rows(), sizes.data(), r}, sums.data());
  backend.synchronize();
  ColumnProducts<T> result;
  for (const Largest& size : sizes.to_vector()) result.size.push_back(size.value);
  for (const SquareAndProduct<T>& sum : sums.to_vector()) {
    result.square.push_back(sum.square);
    result.product.push_back(sum.product);
  }
  return result;
}

}  // namespace

template <class Target, class T>
ColumnProducts<T> column_products(const DenseView<const T>& A, const T* r) {
  using B = typename Target::Backend;
  if constexpr (B::on_host) {
    return products_on_host(A, r);
  } else {
    return products_on_device<B>(A, r);
  }
}

#define ECHELON_INSTANTIATE(T) \
  template ColumnProducts<T> column_products<ThisTarget>(const DenseView<const T>&, const T*);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
