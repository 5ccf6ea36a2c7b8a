// SPDX-License-Identifier: BSD-3-Clause
/// Detection of stencil matrices: every element of A is compared, so that what is found equals A.
#pragma once

#include "backend/store.hpp"
#include "matrix/rows.hpp"
#include "matrix/stencil/stencil_matrix.hpp"

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace echelon {

/// A column seen from a point of a grid.
struct SeenColumn {
  int number = 0;           ///< among 27, see NeighbourOffset; -1 if it is no neighbour
  std::uint32_t wraps = 0;  ///< bit a: it is a neighbour if axis a is periodic
};
ECHELON_ANYWHERE inline SeenColumn see_column(const GridNumbering& grid, const GridPoint& p, std::int64_t j) {
  std::int32_t at[3];
  grid.coordinates(j, at);
  SeenColumn seen;
  for (int a = 2; a >= 0; --a) {
    const std::int32_t distance = at[a] - p.at[a];
    const std::int32_t farthest = grid.points[a] > 2 ? grid.points[a] - 1 : 2;
    const bool wraps = distance == farthest || distance == -farthest;
    if (!wraps && (distance < -1 || distance > 1)) return {-1, 0};
    const int along = !wraps ? distance : distance > 0 ? -1 : 1;
    seen.number = 3 * seen.number + along + 1;
    seen.wraps |= static_cast<std::uint32_t>(wraps) << static_cast<unsigned>(a);
  }
  return seen;
}

/// Rows that stand for the regions of a grid, for the test whether coefficients are constant: the values of
/// region g at [27 g + number of the neighbour].
template <class T>
struct RegionRows {
  T values[27 * grid_regions];
};
/// Such rows of a CSR matrix, with their patterns. Row g has lengths[g] elements.
template <class T>
struct StoredRegionRows : RegionRows<T> {
  std::int64_t lengths[grid_regions];
  /// Column of element k of the row, less the row, and the number of the neighbour, at [27 g + k]. Elements
  /// of other rows of the region at these distances are of the same neighbours.
  std::int32_t distances[27 * grid_regions];
  std::int8_t numbers[27 * grid_regions];
  /// The bits of all neighbours, as in StencilCheck; `used` is 0 if an element is not of a neighbour.
  std::uint32_t used[grid_regions];
  std::uint32_t wraps[grid_regions];

  /// Number of the neighbour of element k of a row of the region, if element k of this row is at the same
  /// distance from the diagonal; otherwise -1.
  ECHELON_ANYWHERE int number(std::int32_t region, std::int64_t k, std::int64_t distance) const {
    if (used[region] == 0 || k >= lengths[region]) return -1;
    const std::int64_t place = 27 * std::int64_t{region} + k;
    return distances[place] == distance ? numbers[place] : -1;
  }
};
template <class T>
struct ReadRegionRow {
  SparseRows<T> A;
  GridNumbering grid;
  StoredRegionRows<T>* rows;
  ECHELON_ANYWHERE void operator()(std::int64_t region) const {
    std::int32_t at[3];
    grid.coordinates_in_region(region, at);
    const GridPoint p = grid.point(at);
    T* const values = rows->values + 27 * region;
    for (int number = 0; number < 27; ++number) values[number] = T{0};
    const std::int64_t begin = A.begin(p.index);
    const std::int64_t length = A.end(p.index) - begin;
    bool fits = length <= 27;
    std::uint32_t used = 0;
    std::uint32_t wraps = 0;
    for (std::int64_t k = 0; k < length && k < 27; ++k) {
      const std::int64_t j = A.column(begin + k);
      const SeenColumn seen = see_column(grid, p, j);
      rows->distances[27 * region + k] = static_cast<std::int32_t>(j - p.index);
      rows->numbers[27 * region + k] = static_cast<std::int8_t>(seen.number);
      fits = fits && seen.number >= 0;
      if (seen.number < 0) continue;
      values[seen.number] = A.values[begin + k];
      used |= std::uint32_t{1} << static_cast<unsigned>(seen.number);
      wraps |= seen.wraps;
    }
    rows->lengths[region] = length;
    rows->used[region] = fits ? used : 0;
    rows->wraps[region] = wraps;
  }
};

/// The row that stands for a region, if it couples its point with one that is no neighbour on this grid.
template <class T>
struct CheckRegionRow {
  SparseRows<T> A;
  GridNumbering grid;
  ECHELON_ANYWHERE FirstIndex operator()(std::int64_t region) const {
    std::int32_t at[3];
    grid.coordinates_in_region(region, at);
    const GridPoint p = grid.point(at);
    for (std::int64_t k = A.begin(p.index); k < A.end(p.index); ++k) {
      const SeenColumn seen = see_column(grid, p, A.column(k));
      bool fits = seen.number >= 0;
      for (int a = 0; a < 3; ++a) fits = fits && (grid.periodic[a] || (seen.wraps >> a & 1U) == 0);
      if (!fits) return {p.index};
    }
    return {};
  }
};

/// Facts about rows as those of a stencil matrix.
struct StencilCheck {
  FirstIndex outside;       ///< row with an element that is no neighbour
  FirstIndex differing;     ///< row that differs from the one that stands for its region
  std::uint32_t used = 0;   ///< bit k: there are elements of neighbour number k
  std::uint32_t wraps = 0;  ///< bit a: the last points along axis a are neighbours of the first ones
  friend ECHELON_ANYWHERE StencilCheck combine(const StencilCheck& a, const StencilCheck& b) {
    return {combine(a.outside, b.outside), combine(a.differing, b.differing), a.used | b.used,
            a.wraps | b.wraps};
  }
};
template <class T>
struct CheckStencilRow {
  SparseRows<T> A;
  GridNumbering grid;
  const StoredRegionRows<T>* rows;
  ECHELON_ANYWHERE StencilCheck operator()(std::int64_t i) const {
    std::int32_t at[3];
    grid.coordinates(i, at);
    const std::int32_t region = grid.region(at);
    StencilCheck check;
    if (!compare(i, region, check)) check_columns(grid.point(at), check);
    return check;
  }

 private:
  /// Whether the elements of row i are of the same neighbours as those of the row that stands for its region.
  ECHELON_ANYWHERE bool compare(std::int64_t i, std::int32_t region, StencilCheck& check) const {
    const std::int64_t begin = A.begin(i);
    const std::int64_t length = rows->lengths[region];
    if (A.end(i) - begin != length || rows->used[region] == 0) return false;
    const std::int64_t first = 27 * std::int64_t{region};
    const T* const values = rows->values + first;
    bool same_columns = true;
    bool differs = false;
    for (std::int64_t k = 0; k < length; ++k) {
      same_columns = same_columns && A.column(begin + k) - i == rows->distances[first + k];
      differs = differs || A.values[begin + k] != values[rows->numbers[first + k]];
    }
    if (!same_columns) return false;
    check.used = rows->used[region];
    check.wraps = rows->wraps[region];
    if (differs) check.differing.value = i;
    return true;
  }
  ECHELON_ANYWHERE void check_columns(const GridPoint& p, StencilCheck& check) const {
    check.differing.value = p.index;
    for (std::int64_t k = A.begin(p.index); k < A.end(p.index); ++k) {
      const SeenColumn seen = see_column(grid, p, A.column(k));
      if (seen.number < 0) {
        check.outside.value = p.index;
      } else {
        check.used |= std::uint32_t{1} << static_cast<unsigned>(seen.number);
        check.wraps |= seen.wraps;
      }
    }
  }
};

/// Compares the rows of A with stencils on a grid of as many points. Reads A once; waits.
template <class B, class T>
[[nodiscard]] StencilCheck check_stencil(B& backend, const Csr<T>& A, const Grid& grid,
                                         StoredRegionRows<T>* rows) {
  const GridNumbering numbering(grid);
  Array<StencilCheck> found(backend.device(), 1);
  backend.for_each(grid_regions, ReadRegionRow<T>{SparseRows<T>(A), numbering, rows});
  backend.reduce(A.rows(), CheckStencilRow<T>{SparseRows<T>(A), numbering, rows},
                 Store<StencilCheck>{found.data()});
  return backend.read(found.data());
}

/// The grid of rows that were checked, with its periodic axes: those whose ends they couple.
[[nodiscard]] inline Grid periodic_grid(const Grid& grid, const StencilCheck& check) {
  Grid periodic = grid;
  for (std::size_t a = 0; a < 3; ++a) periodic.periodic[a] = (check.wraps >> a & 1U) != 0;
  return periodic;
}
/// Whether all rows of a region are equal.
[[nodiscard]] inline bool has_constant_rows(const StencilCheck& check) {
  return check.differing.value == FirstIndex::none;
}
/// Whether neighbours are used that lie apart along several axes.
[[nodiscard]] inline bool uses_diagonal_neighbours(const StencilCheck& check) {
  constexpr std::uint32_t along_axes =
      1U << 4U | 1U << 10U | 1U << 12U | 1U << 13U | 1U << 14U | 1U << 16U | 1U << 22U;
  return (check.used & ~along_axes) != 0;
}

template <class T, class Layout>
struct CopyRegionRows {
  const RegionRows<T>* rows;
  T* values;
  ECHELON_ANYWHERE void operator()(std::int64_t region) const {
    for (int number = 0; number < 27; ++number) {
      const NeighbourOffset offset(number);
      const int place = Layout::place(offset.x, offset.y, offset.z);
      if (place >= 0) values[place * grid_regions + region] = rows->values[27 * region + number];
    }
  }
};
template <class T, class Layout>
struct CopyStencilRow {
  SparseRows<T> A;
  GridNumbering grid;
  const StoredRegionRows<T>* rows;
  T* values;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const std::int64_t n = grid.size();
    const GridPoint p = grid.point(i);
    for (int place = 0; place < Layout::points; ++place) values[place * n + i] = T{0};
    for (std::int64_t k = A.begin(i); k < A.end(i); ++k) {
      int number = rows->number(p.region, k - A.begin(i), A.column(k) - i);
      if (number < 0) number = see_column(grid, p, A.column(k)).number;
      const NeighbourOffset offset(number);
      values[Layout::place(offset.x, offset.y, offset.z) * n + i] = A.values[k];
    }
  }
};

/// The stencil matrix of rows that were checked, on a grid whose axes are periodic where rows couple their
/// ends: a table of `rows` where all rows of a region are equal, and otherwise coefficients by points, which
/// copy_points.template operator()<Layout>(values) writes.
template <class B, class T, class CopyPoints>
[[nodiscard]] StencilMatrix<T> make_stencil(B& backend, const StencilCheck& check, const Grid& grid,
                                            const RegionRows<T>* rows, CopyPoints copy_points) {
  StencilMatrix<T> made{periodic_grid(grid, check),      grid.points[2] > 1 ? 3 : 2,
                        uses_diagonal_neighbours(check), has_constant_rows(check),
                        std::popcount(check.used),       {}};
  made.values = Array<T>(backend.device(), made.places() * made.stride());
  with_layout(made, [&]<class Layout, bool constant>() {
    if constexpr (constant) {
      backend.for_each(grid_regions, CopyRegionRows<T, Layout>{rows, made.values.data()});
    } else {
      copy_points.template operator()<Layout>(made.values.data());
    }
  });
  return made;
}

/// A as a stencil matrix on this grid of as many points as A has rows, whose axes are periodic where A
/// couples their ends; none, with the reason, if an element of A couples points that are no neighbours. Reads
/// A once, or twice if its coefficients vary; waits.
template <class B, class T>
[[nodiscard]] std::optional<StencilMatrix<T>> find_stencil(B& backend, const Csr<T>& A, const Grid& grid,
                                                           std::string& reason) {
  Array<StoredRegionRows<T>> rows(backend.device(), 1);
  const StencilCheck check = check_stencil(backend, A, grid, rows.data());
  if (check.outside.value != FirstIndex::none) {
    reason = "row " + std::to_string(check.outside.value) + " couples points of the grid " + to_string(grid) +
             " that are no neighbours";
    return {};
  }
  return make_stencil(backend, check, grid, rows.data(), [&]<class Layout>(T* values) {
    backend.for_each(A.rows(),
                     CopyStencilRow<T, Layout>{SparseRows<T>(A), GridNumbering(grid), rows.data(), values});
  });
}

}  // namespace echelon
