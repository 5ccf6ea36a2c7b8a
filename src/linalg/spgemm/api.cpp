// SPDX-License-Identifier: BSD-3-Clause
#include "backend/check_same_memory.hpp"
#include "backend/dispatch.hpp"
#include "linalg/spgemm/product.hpp"

#include <echelon/error.hpp>
#include <echelon/linalg/sparse_product.hpp>

#include <fmt/format.h>

#include <array>
#include <utility>

namespace echelon {

namespace {

template <class T>
void check_factors(Factors<T> factors) {
  for (std::size_t f = 1; f < factors.size(); ++f) {
    const Csr<T>& left = *factors[f - 1];
    const Csr<T>& right = *factors[f];
    if (left.columns() != right.rows()) {
      throw DimensionMismatch(fmt::format(
          "a product of {} by {} and {} by {}: a factor must have as many columns as the next one "
          "has rows",
          left.rows(), left.columns(), right.rows(), right.columns()));
    }
    check_same_memory(left.device(), fmt::format("factor {}", f), right.device(),
                      fmt::format("factor {}", f + 1));
  }
}

template <class T>
std::unique_ptr<ProductPlan<T>> plan_product(Factors<T> factors, const ProductOptions& options) {
  check_factors(factors);
  return on_target(factors[0]->device(),
                   [&]<class Target>() { return plan_product_on<Target, T>(factors, options); });
}

template <class T>
Csr<T> product(Factors<T> factors) {
  check_factors(factors);
  return on_target(factors[0]->device(), [&]<class Target>() { return product_on<Target, T>(factors); });
}

template <class T>
void check_planned(const ProductPlan<T>& plan, Factors<T> factors) {
  check_factors(factors);
  const std::vector<typename ProductPlan<T>::Shape> shapes = shapes_of(factors);
  for (std::size_t f = 0; f < shapes.size(); ++f) {
    const auto& got = shapes[f];
    const auto& planned = plan.factors()[f];
    if (got == planned) continue;
    throw DimensionMismatch(fmt::format(
        "factor {} is {} by {} with {} nonzeros, the product was prepared for {} by {} with {}", f + 1,
        got.rows, got.columns, got.nonzeros, planned.rows, planned.columns, planned.nonzeros));
  }
  check_same_memory(factors[0]->device(), "the first factor", plan.pattern().row_offsets.device(),
                    "the pattern of the product");
}

template <class T>
void update(ProductPlan<T>& plan, Factors<T> factors, Csr<T>& C) {
  check_planned(plan, factors);
  const auto& pattern = plan.pattern();
  if (C.rows() != pattern.rows || C.columns() != pattern.columns ||
      C.nonzeros() != pattern.column_indices.size()) {
    throw DimensionMismatch(fmt::format("C is {} by {} with {} nonzeros, the product {} by {} with {}",
                                        C.rows(), C.columns(), C.nonzeros(), pattern.rows, pattern.columns,
                                        pattern.column_indices.size()));
  }
  check_same_memory(C.device(), "C", factors[0]->device(), "the first factor");
  if (!plan.update(factors, C.values().data())) {
    throw InvalidMatrix("the factors have other patterns than those that the product was prepared for");
  }
}

template <class T>
Csr<T> compute(ProductPlan<T>& plan, Factors<T> factors) {
  check_planned(plan, factors);
  const auto& pattern = plan.pattern();
  const Device& device = factors[0]->device();
  Csr<T> C = Csr<T>::unchecked(pattern.rows, pattern.columns, pattern.row_offsets, pattern.column_indices,
                               Array<T>(device, pattern.column_indices.size()));
  update(plan, factors, C);
  return C;
}

}  // namespace

template <class T>
PlannedProduct<T>::PlannedProduct(std::unique_ptr<ProductPlan<T>> plan) : plan_(std::move(plan)) {}
template <class T>
PlannedProduct<T>::PlannedProduct(PlannedProduct&&) noexcept = default;
template <class T>
PlannedProduct<T>& PlannedProduct<T>::operator=(PlannedProduct&&) noexcept = default;
template <class T>
PlannedProduct<T>::~PlannedProduct() = default;
template <class T>
std::int64_t PlannedProduct<T>::rows() const {
  return plan_->pattern().rows;
}
template <class T>
std::int64_t PlannedProduct<T>::columns() const {
  return plan_->pattern().columns;
}
template <class T>
std::int64_t PlannedProduct<T>::nonzeros() const {
  return plan_->pattern().column_indices.size();
}
template <class T>
std::size_t PlannedProduct<T>::bytes() const {
  const auto& pattern = plan_->pattern();
  return pattern.row_offsets.bytes() + pattern.column_indices.bytes() + plan_->extra_bytes();
}

template <class T>
SparseProduct<T>::SparseProduct(const Csr<T>& A, const Csr<T>& B, const ProductOptions& options)
    : PlannedProduct<T>(plan_product<T>(std::array{&A, &B}, options)) {}
template <class T>
Csr<T> SparseProduct<T>::compute(const Csr<T>& A, const Csr<T>& B) {
  return echelon::compute<T>(*this->plan_, std::array{&A, &B});
}
template <class T>
void SparseProduct<T>::update(const Csr<T>& A, const Csr<T>& B, Csr<T>& C) {
  echelon::update<T>(*this->plan_, std::array{&A, &B}, C);
}

template <class T>
TripleProduct<T>::TripleProduct(const Csr<T>& R, const Csr<T>& A, const Csr<T>& P,
                                const ProductOptions& options)
    : PlannedProduct<T>(plan_product<T>(std::array{&R, &A, &P}, options)) {}
template <class T>
Csr<T> TripleProduct<T>::compute(const Csr<T>& R, const Csr<T>& A, const Csr<T>& P) {
  return echelon::compute<T>(*this->plan_, std::array{&R, &A, &P});
}
template <class T>
void TripleProduct<T>::update(const Csr<T>& R, const Csr<T>& A, const Csr<T>& P, Csr<T>& C) {
  echelon::update<T>(*this->plan_, std::array{&R, &A, &P}, C);
}

template <class T>
Csr<T> multiply(const Csr<T>& A, const Csr<T>& B) {
  return product<T>(std::array{&A, &B});
}
template <class T>
Csr<T> multiply(const Csr<T>& R, const Csr<T>& A, const Csr<T>& P) {
  return product<T>(std::array{&R, &A, &P});
}

template class PlannedProduct<float>;
template class PlannedProduct<double>;
template class SparseProduct<float>;
template class SparseProduct<double>;
template class TripleProduct<float>;
template class TripleProduct<double>;
template Csr<float> multiply(const Csr<float>&, const Csr<float>&);
template Csr<double> multiply(const Csr<double>&, const Csr<double>&);
template Csr<float> multiply(const Csr<float>&, const Csr<float>&, const Csr<float>&);
template Csr<double> multiply(const Csr<double>&, const Csr<double>&, const Csr<double>&);

}  // namespace echelon
