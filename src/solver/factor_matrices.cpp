// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "support/scalar.hpp"

#include <echelon/solver/factor_matrices.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace echelon {

namespace {

/// The matrix with the element `value(i)` at row i and column `column(i)`.
template <class Column, class Value>
Csr<double> element_in_each_row(std::int64_t n, const Column& column, const Value& value) {
  std::vector<Triplet<double>> elements;
  elements.reserve(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    elements.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(column(i)),
                        value(static_cast<std::size_t>(i))});
  }
  return Csr<double>::from_triplets(n, n, elements);
}

/// Element (i, permutation[i]) is one.
Csr<double> permutation_matrix(const std::vector<std::int64_t>& permutation) {
  return element_in_each_row(
      std::ssize(permutation), [&](std::int64_t i) { return permutation[static_cast<std::size_t>(i)]; },
      [](std::size_t) { return 1.0; });
}

std::vector<std::int64_t> inverse_of(const std::vector<std::int64_t>& permutation) {
  std::vector<std::int64_t> inverse(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i)
    inverse[static_cast<std::size_t>(permutation[i])] = static_cast<std::int64_t>(i);
  return inverse;
}

bool is_identity(const std::vector<std::int64_t>& permutation) {
  for (std::size_t i = 0; i < permutation.size(); ++i)
    if (permutation[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

/// 2^exponent times the scales, on a diagonal.
Csr<double> diagonal_matrix(const std::vector<double>& scales, int exponent) {
  return element_in_each_row(
      std::ssize(scales), [](std::int64_t i) { return i; },
      [&](std::size_t i) { return std::ldexp(scales[i], exponent); });
}

bool are_one(const std::vector<double>& scales) {
  return std::all_of(scales.begin(), scales.end(), [](double scale) { return scale == 1; });
}

/// D with its pivots of order two.
template <class T>
Csr<T> block_diagonal(const std::vector<T>& diagonal, const std::vector<T>& subdiagonal, bool hermitian) {
  std::vector<Triplet<T>> elements;
  for (std::size_t k = 0; k < diagonal.size(); ++k) {
    const auto row = static_cast<std::int32_t>(k);
    elements.push_back({row, row, diagonal[k]});
    if (subdiagonal[k] == T{0}) continue;
    elements.push_back({row + 1, row, subdiagonal[k]});
    elements.push_back({row, row + 1, hermitian ? conj(subdiagonal[k]) : subdiagonal[k]});
  }
  return Csr<T>::from_triplets(std::ssize(diagonal), std::ssize(diagonal), elements);
}

void add_word(FactorMatrices& result, const std::string& word) {
  if (!result.equation.empty()) result.equation += ' ';
  result.equation += word;
}

template <class T>
void add_factor(FactorMatrices& result, const std::string& name, Matrix<T> matrix) {
  add_word(result, name);
  result.matrices.push_back({name, std::move(matrix)});
}

template <class T>
void add_scaled_matrix(FactorMatrices& result, const MatrixFactors<T>& factors) {
  if (!is_identity(factors.row_permutation))
    add_factor<double>(result, "P", permutation_matrix(factors.row_permutation));
  if (!are_one(factors.row_scales) || factors.exponent != 0)
    add_factor<double>(result, "R", diagonal_matrix(factors.row_scales, factors.exponent));
  add_word(result, "A");
  if (!are_one(factors.column_scales))
    add_factor<double>(result, "C", diagonal_matrix(factors.column_scales, 0));
  if (!is_identity(factors.column_permutation))
    add_factor<double>(result, "Q", permutation_matrix(inverse_of(factors.column_permutation)));
}

template <class T>
void add_product(FactorMatrices& result, MatrixFactors<T>&& factors) {
  add_factor<T>(result, "L", std::move(factors.lower));
  if (factors.form == FactorForm::lu) {
    add_factor<T>(result, "U", std::move(factors.upper));
  } else {
    const bool conjugates = is_complex<T> && factors.form != FactorForm::ldlt;
    if (factors.form != FactorForm::cholesky)
      add_factor<T>(result, "D", block_diagonal(factors.diagonal, factors.subdiagonal, conjugates));
    add_word(result, conjugates ? "L^H" : "L^T");
  }
  if (factors.coupling.nonzeros() == 0) return;
  add_word(result, "+");
  add_factor<T>(result, "F", std::move(factors.coupling));
}

}  // namespace

const OfAnyScalar<Matrix>* FactorMatrices::find(std::string_view name) const {
  const auto found = std::find_if(matrices.begin(), matrices.end(),
                                  [&](const FactorMatrix& factor) { return factor.name == name; });
  return found == matrices.end() ? nullptr : &found->matrix;
}

template <class T>
FactorMatrices factor_matrices(MatrixFactors<T> factors) {
  return at_api_boundary([&] {
    FactorMatrices result;
    add_scaled_matrix(result, factors);
    add_word(result, "=");
    add_product(result, std::move(factors));
    return result;
  });
}

template FactorMatrices factor_matrices(MatrixFactors<float>);
template FactorMatrices factor_matrices(MatrixFactors<double>);
template FactorMatrices factor_matrices(MatrixFactors<std::complex<double>>);

}  // namespace echelon
