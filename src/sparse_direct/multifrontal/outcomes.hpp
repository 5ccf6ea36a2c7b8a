// SPDX-License-Identifier: BSD-3-Clause
/// Outcomes of sparse factorisations, in the same words on every device. Rows and columns count from 0.
#pragma once

#include "solver/implementation.hpp"
#include "sparse_direct/multifrontal/symmetry.hpp"

#include <cstdint>
#include <string>

namespace echelon::sparse_direct {

/// The status is not_spd for methods that need a positive definite A, else breakdown.
inline Outcome not_symmetric(Place place, Status status = Status::not_spd) {
  return {status,
          "A is not symmetric: its elements at row " + std::to_string(place.row) + ", column " +
              std::to_string(place.column) + " (from 0), and at the mirrored place differ",
          place.row};
}

/// `value` completes "the pivot of column ... is ...".
inline Outcome not_positive(std::int64_t column, const std::string& value) {
  return {
      Status::not_spd,
      "A is not positive definite: the pivot of column " + std::to_string(column) + " (from 0) is " + value,
      column};
}

}  // namespace echelon::sparse_direct
