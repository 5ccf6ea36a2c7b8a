// SPDX-License-Identifier: BSD-3-Clause
/// Products of two or more sparse matrices for checked arguments, per compilation target: host.cpp, cuda.cu.
#pragma once

#include <echelon/linalg/sparse_product.hpp>
#include <echelon/matrix/csr.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace echelon {

/// Two or more factors, left to right, on one device.
template <class T>
using Factors = std::span<const Csr<T>* const>;

/// Pattern of a product, and the computation of its values.
template <class T>
class ProductPlan {
 public:
  struct Pattern {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    Array<std::int64_t> row_offsets;
    Array<std::int32_t> column_indices;
  };
  /// Properties of a factor that later factors must share.
  struct Shape {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t nonzeros = 0;
    friend bool operator==(const Shape&, const Shape&) = default;
  };

  explicit ProductPlan(std::vector<Shape> factors) : factors_(std::move(factors)) {}
  ProductPlan(const ProductPlan&) = delete;
  ProductPlan& operator=(const ProductPlan&) = delete;
  virtual ~ProductPlan() = default;

  [[nodiscard]] const std::vector<Shape>& factors() const { return factors_; }
  [[nodiscard]] virtual const Pattern& pattern() const = 0;
  /// Writes the product's values. False if the factors were found to have other patterns than at planning.
  [[nodiscard]] virtual bool update(Factors<T> factors, T* values) = 0;
  /// Bytes, excluding the pattern.
  [[nodiscard]] virtual std::size_t extra_bytes() const { return 0; }

 private:
  std::vector<Shape> factors_;
};

template <class T>
std::vector<typename ProductPlan<T>::Shape> shapes_of(Factors<T> factors) {
  std::vector<typename ProductPlan<T>::Shape> shapes;
  for (const Csr<T>* factor : factors) {
    shapes.push_back({factor->rows(), factor->columns(), factor->nonzeros()});
  }
  return shapes;
}

template <class Target, class T>
[[nodiscard]] std::unique_ptr<ProductPlan<T>> plan_product_on(Factors<T> factors,
                                                              const ProductOptions& options);
template <class Target, class T>
[[nodiscard]] Csr<T> product_on(Factors<T> factors);
/// R (A P), with the bits of a product of R and the product of A and P.
template <class Target, class T>
[[nodiscard]] Csr<T> right_product_on(const Csr<T>& R, const Csr<T>& A, const Csr<T>& P);

}  // namespace echelon
