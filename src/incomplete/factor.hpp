// SPDX-License-Identifier: BSD-3-Clause
/// Incomplete factorisation: one native implementation per backend, all with the same bits.
#pragma once

#include "backend/backend.hpp"
#include "incomplete/elimination.hpp"
#include "incomplete/row_order.hpp"

namespace echelon::incomplete {

/// Computes all rows; returns the first one whose pivot is not accepted. Rows after it are then undefined.
/// Elimination is LuElimination or CholeskyElimination. Waits.
template <class Elimination>
FirstIndex factor(Host& backend, RowOrder<Host>& order, const Elimination& elimination, std::int64_t rows);
/// One kernel.
template <class Elimination>
FirstIndex factor(Cuda& backend, RowOrder<Cuda>& order, const Elimination& elimination, std::int64_t rows);

}  // namespace echelon::incomplete
