// SPDX-License-Identifier: BSD-3-Clause
/// Outcomes of sparse factorisations, in the same words on every device. Rows and columns count from 0.
#pragma once

#include "solver/factor_status.hpp"
#include "sparse_direct/multifrontal/symmetry.hpp"

namespace echelon::sparse_direct {

inline Outcome not_symmetric(Place place, Status status = Status::not_spd) {
  return echelon::not_symmetric(place.row, place.column, status);
}

}  // namespace echelon::sparse_direct
