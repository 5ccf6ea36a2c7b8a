// SPDX-License-Identifier: BSD-3-Clause
/// Stencil matrices made of coefficients that a user gives.
#pragma once

#include "backend/backend.hpp"
#include "matrix/stencil/find_stencil.hpp"
#include "matrix/stencil/stencil_state.hpp"

#include <cstdint>

namespace echelon {

/// Coefficients by the numbers of neighbours among 27, see NeighbourOffset, before boundary conditions.
template <class T>
struct GivenStencil {
  int count = 0;             ///< neighbours with coefficients
  int numbers[27] = {};      ///< of the neighbours
  T constants[27] = {};      ///< one coefficient for all rows
  const T* arrays[27] = {};  ///< one for each row, in the memory of the backend; null: the constant
  bool reflects[3] = {};     ///< axes with Neumann conditions

  /// Writes the 27 coefficients of the row of a point. Returns the axes around which it couples, as bits.
  ECHELON_ANYWHERE std::uint32_t form_row(const GridNumbering& grid, const GridPoint& p, T* row) const {
    std::uint32_t wraps = 0;
    for (int number = 0; number < 27; ++number) row[number] = T{0};
    for (int k = 0; k < count; ++k) {
      const T value = arrays[k] != nullptr ? arrays[k][p.index] : constants[k];
      const Place place = place_of(grid, p, numbers[k]);
      if (place.number < 0 || value == T{0}) continue;
      row[place.number] += value;
      wraps |= place.wraps;
    }
    return wraps;
  }

 private:
  struct Place {
    int number;  ///< of the neighbour that a coefficient belongs to; -1: it is left out
    std::uint32_t wraps;
  };
  ECHELON_ANYWHERE Place place_of(const GridNumbering& grid, const GridPoint& p, int number) const {
    const NeighbourOffset offset(number);
    const int distances[3] = {offset.x, offset.y, offset.z};
    Place place{0, 0};
    for (int a = 2; a >= 0; --a) {
      int distance = distances[a];
      const std::int32_t next = p.at[a] + distance;
      if (next < 0 || next >= grid.points[a]) {
        if (grid.periodic[a]) {
          place.wraps |= std::uint32_t{1} << static_cast<unsigned>(a);
        } else if (reflects[a]) {
          distance = 0;
        } else {
          return {-1, 0};
        }
      }
      place.number = 3 * place.number + distance + 1;
    }
    return place;
  }
};

/// The stencil matrix of the coefficients, which are finite, on a grid with its periodic axes as they were
/// given: with a table of 27 rows where all rows of a region are equal. Waits.
template <class Target, class T>
[[nodiscard]] StencilMatrix<T> assemble_stencil(const Device& device, const GivenStencil<T>& given,
                                                const Grid& grid);

/// The transpose of A. Waits.
template <class Target, class T>
[[nodiscard]] StencilMatrix<T> transpose_stencil(const StencilMatrix<T>& A);

/// Sums over the rows of A. Waits.
template <class Target, class T>
[[nodiscard]] StencilSums sum_stencil_rows(const StencilMatrix<T>& A);

/// Index of the first NaN or Inf among n values; FirstIndex::none if there is none. Waits.
template <class Target, class T>
[[nodiscard]] std::int64_t first_nonfinite_coefficient(const Device& device, std::int64_t n, const T* values);

/// y = A x. Queues its work without waiting.
template <class Target, class T>
void apply_stencil(const StencilMatrix<T>& A, const T* x, T* y);

}  // namespace echelon
