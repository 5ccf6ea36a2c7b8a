// SPDX-License-Identifier: BSD-3-Clause
/// Check of a rank after an elimination in place, when A itself no longer exists.
///
/// The elimination writes a column without a pivot as a combination x of the pivot columns. With y = (x, -1)
/// and a random vector v, (v^T A) y is small if the column is dependent, and about ||A y|| if it is not.
/// Only v^T A has to be computed before the elimination.
#pragma once

#include "backend/backend.hpp"
#include "support/machine_epsilon.hpp"
#include "support/scalar.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/dense.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace echelon {

/// Whether a column without a pivot is dependent on those before it, up to half of the digits: with larger
/// errors the rank says nothing about A. `reduced`: the eliminated matrix; `left_product`: v^T A; both in the
/// backend's memory. `norm`: of A. Copies the column and the product to the host.
template <class B, class T>
[[nodiscard]] bool is_dependent(B& backend, DenseView<const T> reduced,
                                const std::vector<std::int64_t>& pivot_columns, std::int64_t column,
                                const T* left_product, double norm) {
  const auto on_host = [&](std::int64_t n, const T* elements) {
    Array<T> copy(backend.device(), n);
    backend.copy(n, elements, copy.data());
    return copy.to(Device());
  };
  const Array<T> x = on_host(reduced.rows(), reduced.column(column));
  const Array<T> product = on_host(reduced.columns(), left_product);
  auto difference = static_cast<Dot<T>>(product[column]);
  double largest = 1;
  for (std::size_t k = 0; k < pivot_columns.size() && pivot_columns[k] < column; ++k) {
    const auto coefficient = static_cast<Dot<T>>(x[static_cast<std::int64_t>(k)]);
    difference -= coefficient * static_cast<Dot<T>>(product[pivot_columns[k]]);
    largest = std::max(largest, magnitude(coefficient));
  }
  const double half_the_digits = std::sqrt(machine_epsilon<T>);
  return magnitude(difference) <= half_the_digits * norm * largest;  // false for NaN
}

/// Text for a report where `is_dependent` is false; `column` counts from 0.
inline std::string growth_in_elimination(std::int64_t column) {
  return "elements grew so much in the elimination that it does not determine the rank: column " +
         std::to_string(column) + " (from 0) has no pivot, but is not dependent on those before it";
}

}  // namespace echelon
