// SPDX-License-Identifier: BSD-3-Clause
/// Products of sparse matrices by expansion, sorting and compression, in the operations of any backend: all
/// products a_ik b_kj are listed by rows, sorted, and those of one place summed in the order of k. N. Bell,
/// S. Dalton, L. Olson, Exposing fine-grained parallelism in algebraic multigrid methods, SIAM J. Sci.
/// Comput. 34 (2012).
#pragma once

#include "backend/backend.hpp"
#include "backend/rounded.hpp"
#include "linalg/spgemm/product.hpp"
#include "matrix/compression/merge_duplicates.hpp"
#include "matrix/compression/radix.hpp"
#include "matrix/equal_arrays.hpp"
#include "matrix/rows.hpp"

#include <echelon/annotate.hpp>
#include <echelon/array.hpp>
#include <echelon/matrix/csr.hpp>

#include <cstdint>
#include <utility>

namespace echelon {

namespace expansion {

/// counts[i] = the number of products in row i of A B.
template <class T>
struct CountTerms {
  SparseRows<T> A, B;
  std::int64_t* counts;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    std::int64_t count = 0;
    for (std::int64_t e = A.begin(i); e < A.end(i); ++e) {
      const std::int64_t k = A.column(e);
      count += B.end(k) - B.begin(k);
    }
    counts[i] = count;
  }
};

/// Lists the products of row i from place begin[i] on.
template <class T>
struct ListTerms {
  SparseRows<T> A, B;
  const std::int64_t* begin;
  std::int32_t* rows;
  std::int32_t* columns;
  T* values;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    std::int64_t place = begin[i];
    for (std::int64_t e = A.begin(i); e < A.end(i); ++e) {
      const std::int64_t k = A.column(e);
      for (std::int64_t f = B.begin(k); f < B.end(k); ++f, ++place) {
        rows[place] = static_cast<std::int32_t>(i);
        columns[place] = B.column_indices[f];
        values[place] = rounded_product(A.values[e], B.values[f]);
      }
    }
  }
};

}  // namespace expansion

/// A B. Temporary memory: about 40 bytes for each product of two elements. Waits.
template <class B, class T>
Csr<T> multiply_by_expansion(B& backend, const Csr<T>& left, const Csr<T>& right) {
  const Device& device = backend.device();
  const SparseRows<T> a(left);
  const SparseRows<T> b(right);
  Array<std::int64_t> begin(device, left.rows() + 1);
  backend.for_each(left.rows(), expansion::CountTerms<T>{a, b, begin.data()});
  const std::int64_t terms = backend.exclusive_scan(left.rows(), begin.data(), begin.data());
  Array<std::int32_t> rows(device, terms);
  Array<std::int32_t> columns(device, terms);
  Array<T> values(device, terms);
  backend.for_each(left.rows(),
                   expansion::ListTerms<T>{a, b, begin.data(), rows.data(), columns.data(), values.data()});
  const CooEntries<T> list(rows.data(), columns.data(), values.data(), terms);
  return merge_repeated(backend, right.columns(),
                        compress_by_radix(backend, list, left.rows(), right.columns()));
}

/// The product of two or more factors, from left to right.
template <class B, class T>
Csr<T> product_by_expansion(B& backend, Factors<T> factors) {
  Csr<T> product = multiply_by_expansion(backend, *factors[0], *factors[1]);
  for (std::size_t f = 2; f < factors.size(); ++f)
    product = multiply_by_expansion(backend, product, *factors[f]);
  return product;
}

/// Plan of a product that is computed anew for new values.
template <class B, class T>
class ExpansionPlan final : public ProductPlan<T> {
  using Pattern = typename ProductPlan<T>::Pattern;

 public:
  explicit ExpansionPlan(Factors<T> factors)
      : ProductPlan<T>(shapes_of(factors)), backend_(factors[0]->device()) {
    const Csr<T> product = product_by_expansion(backend_, factors);
    pattern_ = {product.rows(), product.columns(), product.row_offsets(), product.column_indices()};
  }

  [[nodiscard]] const Pattern& pattern() const override { return pattern_; }

  bool update(Factors<T> factors, T* values) override {
    const Csr<T> product = product_by_expansion(backend_, factors);
    if (!has_pattern(product)) return false;
    backend_.copy(product.nonzeros(), product.values().data(), values);
    backend_.synchronize();  // before the product is released
    return true;
  }

 private:
  [[nodiscard]] bool has_pattern(const Csr<T>& product) {
    return are_equal(backend_, product.row_offsets(), pattern_.row_offsets) &&
           are_equal(backend_, product.column_indices(), pattern_.column_indices);
  }

  B backend_;
  Pattern pattern_;
};

}  // namespace echelon
