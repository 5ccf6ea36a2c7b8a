// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/multifrontal/fronts/unpack.hpp"

#include "support/scalar.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/csr.hpp>

#include <support/scalar_list.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace echelon::sparse_direct {

namespace {

/// Throws unless the factors are those of the given matrix.
void check_pivots(const FactorFacts& facts, const std::string& what) {
  if (facts.perturbed_pivots == 0) return;
  throw Error("there is no " + what + ": " + std::to_string(facts.perturbed_pivots) +
              " pivots were replaced by larger ones");
}

/// Calls f(record, front, p) for the pivot p of each front.
template <class T, class F>
void for_pivots(const MultifrontalFactors<T>& factors, const F& f) {
  for (const FrontRecord& record : factors.fronts) {
    const FactoredFront<T> front = factors.front(record);
    for (std::int32_t p = 0; p < record.eliminated; ++p) f(record, front, p);
  }
}

/// Collects the elements of a triangle that differ from zero.
template <class T>
class TriangleElements {
 public:
  void add(std::int64_t row, std::int64_t column, T value) {
    if (value != T{0})
      elements_.push_back({static_cast<std::int32_t>(row), static_cast<std::int32_t>(column), value});
  }
  [[nodiscard]] Csr<T> matrix(std::int64_t n) const { return Csr<T>::from_triplets(n, n, elements_); }

 private:
  std::vector<Triplet<T>> elements_;
};

/// Number of row or column i of a front, of which the first ones are its pivots.
std::int64_t number_of(const FrontRecord& record, const std::vector<std::int32_t>& below, std::int32_t i) {
  if (i < record.eliminated) return std::int64_t{record.first_pivot} + i;
  return below[static_cast<std::size_t>(record.below + i - record.eliminated)];
}

template <class T>
Csr<T> lower_triangle(const MultifrontalFactors<T>& factors) {
  const bool unit = factors.kind != FactorKind::cholesky;
  TriangleElements<T> lower;
  for_pivots(factors, [&](const FrontRecord& record, const FactoredFront<T>& front, std::int32_t p) {
    const T* const column = front.lower + std::int64_t{front.size} * p;
    const std::int64_t pivot = std::int64_t{record.first_pivot} + p;
    lower.add(pivot, pivot, unit ? T{1} : column[p]);
    for (std::int32_t i = p + 1; i < front.size; ++i)
      lower.add(number_of(record, factors.row_numbers, i), pivot, column[i]);
  });
  return lower.matrix(factors.n);
}

template <class T>
Csr<T> upper_triangle(const MultifrontalFactors<T>& factors) {
  TriangleElements<T> upper;
  for_pivots(factors, [&](const FrontRecord& record, const FactoredFront<T>& front, std::int32_t p) {
    const std::int64_t pivot = std::int64_t{record.first_pivot} + p;
    const T* const right = front.right + std::int64_t{front.size - front.pivots} * p;
    for (std::int32_t j = p; j < front.size; ++j) {
      const T value =
          j < front.pivots ? front.lower[p + std::int64_t{front.size} * j] : right[j - front.pivots];
      upper.add(pivot, number_of(record, factors.column_numbers, j), value);
    }
  });
  return upper.matrix(factors.n);
}

/// Multiplies by the determinant of the pivot that begins at d, which is real for a Hermitian D. True if its
/// order is two.
template <class T>
bool multiply_by_block(DeterminantProduct& product, bool hermitian, const T* d) {
  const bool pair = d[1] != T{0};
  if (hermitian) {
    pair ? multiply_by_pair(product, echelon::real(d[0]), magnitude(d[1]), echelon::real(d[2]))
         : product.multiply(real(d[0]));
  } else {
    pair ? multiply_by_pair(product, d[0], d[1], d[2]) : product.multiply(static_cast<Dot<T>>(d[0]));
  }
  return pair;
}

}  // namespace

template <class T>
DeterminantProduct pivot_product(const MultifrontalFactors<T>& factors) {
  check_pivots(factors.facts, "determinant");
  DeterminantProduct product;
  bool second = false;  // of a pivot of order two
  for_pivots(factors, [&](const FrontRecord& /*record*/, const FactoredFront<T>& front, std::int32_t p) {
    if (!has_block_diagonal(factors.kind)) {
      const T pivot = front.lower[p + std::int64_t{front.size} * p];
      if (factors.kind == FactorKind::lu) return product.multiply(static_cast<Dot<T>>(pivot));
      for (int side = 0; side < 2; ++side) product.multiply(real(pivot));
      return;
    }
    second = !second && multiply_by_block(product, is_hermitian(factors.kind), front.right + 2 * p);
  });
  if (factors.kind == FactorKind::lu) {
    product.permute(factors.row_order);
    product.permute(factors.column_order);
  }
  return product;
}

template <class T>
Inertia inertia_of(const MultifrontalFactors<T>& factors) {
  if (factors.kind == FactorKind::cholesky) return {.positive = factors.n};
  const FactorFacts& facts = factors.facts;
  check_pivots(facts, "inertia");
  return {facts.positive, facts.negative, factors.n - facts.rank};
}

template <class T>
MatrixFactors<T> unpack(const MultifrontalFactors<T>& factors) {
  check_pivots(factors.facts, "factorisation of A itself");
  MatrixFactors<T> result;
  result.lower = lower_triangle(factors);
  result.row_permutation.assign(factors.row_order.begin(), factors.row_order.end());
  result.column_permutation.assign(factors.column_order.begin(), factors.column_order.end());
  switch (factors.kind) {
    case FactorKind::lu:
      result.form = FactorForm::lu;
      result.upper = upper_triangle(factors);
      break;
    case FactorKind::cholesky:
      result.form = FactorForm::cholesky;
      break;
    case FactorKind::ldlt:
    case FactorKind::hermitian_ldlt:
      result.form = factors.kind == FactorKind::ldlt ? FactorForm::ldlt : FactorForm::hermitian_ldlt;
      for_pivots(factors, [&](const FrontRecord& /*record*/, const FactoredFront<T>& front, std::int32_t p) {
        result.diagonal.push_back(front.right[2 * p]);
        result.subdiagonal.push_back(front.right[2 * p + 1]);
      });
      break;
  }
  return result;
}

#define ECHELON_INSTANTIATE(T)                                              \
  template DeterminantProduct pivot_product(const MultifrontalFactors<T>&); \
  template Inertia inertia_of(const MultifrontalFactors<T>&);               \
  template MatrixFactors<T> unpack(const MultifrontalFactors<T>&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::sparse_direct
