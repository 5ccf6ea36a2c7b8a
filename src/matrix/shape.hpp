// SPDX-License-Identifier: BSD-3-Clause
/// What a sparse matrix may measure.
#pragma once

#include <cstdint>

namespace echelon {

/// Throws InvalidMatrix unless a Csr may have so many rows and columns: neither negative, the columns counted
/// by 32-bit indices, the rows' offsets addressable.
void check_shape(std::int64_t rows, std::int64_t columns);

/// Throws InvalidMatrix unless 32-bit indices count the rows as well: for Coo, Csc and whatever is
/// transposed.
void check_row_indices(std::int64_t rows);

}  // namespace echelon
