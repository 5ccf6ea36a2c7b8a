// SPDX-License-Identifier: BSD-3-Clause
/// Checks of the shape of a matrix.
#pragma once

#include <cstdint>
#include <string_view>

namespace echelon {

/// Throws InvalidMatrix unless a Csr can have this shape: neither number is negative, columns have 32-bit
/// indices, and the row offsets are addressable.
void check_shape(std::int64_t rows, std::int64_t columns);

/// Throws InvalidMatrix unless rows have 32-bit indices, too, as needed by Coo, Csc and transposition.
void check_row_indices(std::int64_t rows);

/// Throws DimensionMismatch unless A is square. `who_needs`: "a certificate needs".
void require_square(std::int64_t rows, std::int64_t columns, std::string_view who_needs);

}  // namespace echelon
