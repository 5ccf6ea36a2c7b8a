// SPDX-License-Identifier: BSD-3-Clause
/// Search for numbers that are not integers.
#pragma once

#include "backend/backend.hpp"
#include "backend/store.hpp"
#include "exact/field.hpp"
#include "support/text.hpp"

#include <echelon/array.hpp>
#include <echelon/error.hpp>
#include <echelon/matrix/csr.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace echelon::mapped {

template <class T>
struct FindFraction {
  const T* values;
  ECHELON_ANYWHERE FirstIndex operator()(std::int64_t k) const {
    return {std::floor(values[k]) == values[k] ? FirstIndex::none : k};
  }
};

/// Index of the first of n numbers that is not an integer, or FirstIndex::none. `found`: one element in the
/// backend's memory. Waits.
template <class B, class T>
std::int64_t find_fraction(B& backend, std::int64_t n, const T* values, FirstIndex* found) {
  if (n == 0) return FirstIndex::none;
  backend.reduce(n, FindFraction<T>{values}, Store<FirstIndex>{found});
  return backend.read(found).value;
}

/// Throws InvalidMatrix, with its place, for the first element that has no residue in the field: modulo 2 one
/// that is not an integer. Modulo an odd prime every floating-point number has a residue.
template <class B, class T>
void require_residues(B& backend, const PrimeField& field, const Csr<T>& A) {
  if (field.prime != 2) return;
  Array<FirstIndex> found(backend.device(), 1);
  const std::int64_t k = find_fraction(backend, A.nonzeros(), A.values().data(), found.data());
  if (k == FirstIndex::none) return;
  const std::vector<std::int64_t> offsets = A.row_offsets().to_vector();
  const auto row = std::upper_bound(offsets.begin(), offsets.end(), k) - offsets.begin() - 1;
  throw InvalidMatrix("modulo 2 the elements of A have to be integers, and that at row " +
                      std::to_string(row) + ", column " +
                      std::to_string(backend.read(A.column_indices().data() + k)) + ", counted from 0, is " +
                      exact_number(static_cast<double>(backend.read(A.values().data() + k))));
}

}  // namespace echelon::mapped
