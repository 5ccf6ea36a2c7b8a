// SPDX-License-Identifier: BSD-3-Clause
/// Matrices whose rows couple the points of a grid with their neighbours, as arrays of coefficients.
#pragma once

#include "backend/read_only.hpp"
#include "backend/unroll.hpp"
#include "matrix/stencil/grid.hpp"
#include "matrix/stencil/grid_numbering.hpp"

#include <echelon/annotate.hpp>
#include <echelon/array.hpp>
#include <echelon/matrix/csr.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace echelon {

/// Places of the coefficients of a stencil, in ascending order of the neighbours' indices: the neighbours
/// along the axes (5 or 7 points with the point itself), or all around it (9 or 27). Places that lie
/// symmetrically add up to points - 1.
template <bool is_box, int dimensions>
struct StencilLayout {
  static constexpr bool box = is_box;
  static constexpr int axes = dimensions;
  static constexpr int points = !is_box ? 2 * dimensions + 1 : dimensions == 3 ? 27 : 9;
  static constexpr int center = points / 2;

  /// Place of the neighbour at these distances, or -1 if the stencil does not have it.
  ECHELON_ANYWHERE static constexpr int place(int x, int y, int z) {
    if (dimensions == 2 && z != 0) return -1;
    if (is_box) return center + x + 3 * y + 9 * z;
    const int others = (x != 0 ? 1 : 0) + (y != 0 ? 1 : 0) + (z != 0 ? 1 : 0);
    return others > 1 ? -1 : center + x + 2 * y + 3 * z;
  }
  /// f(place, x, y, z) with the distances of every neighbour, the point itself excluded.
  template <class F>
  ECHELON_ANYWHERE static void for_each_offset(F f) {
    if constexpr (is_box) {
      constexpr int last = dimensions == 3 ? 1 : 0;
      ECHELON_UNROLL
      for (int z = -last; z <= last; ++z) {
        ECHELON_UNROLL
        for (int y = -1; y <= 1; ++y) {
          ECHELON_UNROLL
          for (int x = -1; x <= 1; ++x) {
            if (x != 0 || y != 0 || z != 0) f(place(x, y, z), x, y, z);
          }
        }
      }
    } else {
      ECHELON_UNROLL
      for (int d = -1; d <= 1; d += 2) {
        f(place(d, 0, 0), d, 0, 0);
        f(place(0, d, 0), 0, d, 0);
        if (dimensions == 3) f(place(0, 0, d), 0, 0, d);
      }
    }
  }
  /// f(place, index of the neighbour) for all neighbours. For one outside of the grid, whose coefficient is
  /// zero, the index is that of a point of the grid.
  template <class F>
  ECHELON_ANYWHERE static void for_each_neighbour(const GridPoint& p, F f) {
    for_each_offset([&](int slot, int x, int y, int z) {
      f(slot, p.index + step(p, 2, z) + step(p, 1, y) + step(p, 0, x));
    });
  }

 private:
  ECHELON_ANYWHERE static std::int32_t step(const GridPoint& p, int axis, int distance) {
    return distance < 0 ? p.before[axis] : distance > 0 ? p.after[axis] : 0;
  }
};

/// Distances to the neighbour with this number among 27: 13 is the point itself.
struct NeighbourOffset {
  int x, y, z;
  ECHELON_ANYWHERE explicit constexpr NeighbourOffset(int number)
      : x(number % 3 - 1), y(number / 3 % 3 - 1), z(number / 9 - 1) {}
};

/// Coefficients of a stencil matrix in a backend's memory: of place s at point i in values[s n + i], or if
/// they are constant of region g in values[s grid_regions + g]. Those of neighbours outside of the grid are
/// zero.
template <class T>
struct StencilCoefficients {
  const T* values;
  std::int64_t stride;
  template <bool is_constant>
  [[nodiscard]] ECHELON_ANYWHERE T at(int place, const GridPoint& p) const {
    return read_only((values + place * stride) + (is_constant ? p.region : p.index));
  }
};

/// Sum of the coefficients times x, which the loop does not write, of the neighbours, the point itself
/// excluded.
template <class Layout, bool is_constant, class T>
ECHELON_ANYWHERE T neighbour_sum(const StencilCoefficients<T>& A, const GridPoint& p, const T* x) {
  T sum{0};
  Layout::for_each_neighbour(
      p, [&](int place, std::int32_t j) { sum += A.template at<is_constant>(place, p) * read_only(x + j); });
  return sum;
}

/// Sum of the coefficients times the differences of x at the neighbours and at the point.
template <class Layout, bool is_constant, class T>
ECHELON_ANYWHERE T difference_sum(const StencilCoefficients<T>& A, const GridPoint& p, const T* x) {
  const T own = read_only(x + p.index);
  T sum{0};
  Layout::for_each_neighbour(p, [&](int place, std::int32_t j) {
    sum += A.template at<is_constant>(place, p) * (read_only(x + j) - own);
  });
  return sum;
}

/// A matrix whose row i has elements in the columns of point i of a grid and its neighbours only.
template <class T>
struct StencilMatrix {
  Grid grid;
  int axes = 3;           ///< 2 or 3, those of the layout
  bool box = false;       ///< with neighbours apart along several axes
  bool constant = false;  ///< equal coefficients within a region of the grid
  int points = 0;         ///< places with a nonzero coefficient anywhere
  Array<T> values;

  [[nodiscard]] int places() const { return !box ? 2 * axes + 1 : axes == 3 ? 27 : 9; }
  [[nodiscard]] std::int64_t rows() const { return grid.size(); }
  [[nodiscard]] std::int64_t stride() const { return constant ? grid_regions : grid.size(); }
  [[nodiscard]] StencilCoefficients<T> coefficients() const { return {values.data(), stride()}; }
  [[nodiscard]] std::size_t bytes() const { return values.owns() ? values.bytes() : 0; }
  /// A matrix that refers to the coefficients of this one, which has to stay in place.
  [[nodiscard]] StencilMatrix borrowed() const {
    return {grid,   axes,
            box,    constant,
            points, Array<T>::borrow(values.device(), const_cast<T*>(values.data()), values.size())};
  }
};

/// Calls f.template operator()<StencilLayout<...>, constant>() for the layout of A.
template <class T, class F>
auto with_layout(const StencilMatrix<T>& A, F&& f) {
  const auto with_axes = [&]<bool box, bool constant>() {
    return A.axes == 3 ? f.template operator()<StencilLayout<box, 3>, constant>()
                       : f.template operator()<StencilLayout<box, 2>, constant>();
  };
  if (A.box) {
    return A.constant ? with_axes.template operator()<true, true>()
                      : with_axes.template operator()<true, false>();
  }
  return A.constant ? with_axes.template operator()<false, true>()
                    : with_axes.template operator()<false, false>();
}

/// Text such as "7-point, 256 x 256 x 256, constant coefficients".
template <class T>
[[nodiscard]] std::string to_string(const StencilMatrix<T>& A);

/// A in CSR on the host, without zeros.
template <class T>
[[nodiscard]] Csr<T> to_csr(const StencilMatrix<T>& A);

extern template std::string to_string(const StencilMatrix<float>&);
extern template std::string to_string(const StencilMatrix<double>&);
extern template Csr<float> to_csr(const StencilMatrix<float>&);
extern template Csr<double> to_csr(const StencilMatrix<double>&);

}  // namespace echelon
