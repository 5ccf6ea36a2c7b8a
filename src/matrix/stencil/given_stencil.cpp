// SPDX-License-Identifier: BSD-3-Clause
// The loops over points that make a stencil matrix of given coefficients.
#include "matrix/stencil/given_stencil.hpp"

#include "backend/store.hpp"
#include "backend/target.hpp"
#include "matrix/stencil/stencil_product.hpp"

#include <cmath>

namespace echelon {

namespace {

template <class T>
struct FormRegionRow {
  GivenStencil<T> given;
  GridNumbering grid;
  RegionRows<T>* rows;
  ECHELON_ANYWHERE void operator()(std::int64_t region) const {
    std::int32_t at[3];
    grid.coordinates_in_region(region, at);
    given.form_row(grid, grid.point(at), rows->values + 27 * region);
  }
};

/// Compares a row with that of its region; for `of_regions` the row that stands for one.
template <class T, bool of_regions>
struct CheckGivenRow {
  GivenStencil<T> given;
  GridNumbering grid;
  const RegionRows<T>* rows;
  ECHELON_ANYWHERE StencilCheck operator()(std::int64_t i) const {
    StencilCheck check;
    std::int32_t at[3];
    if constexpr (of_regions) {
      if (grid.region_size(i) == 0) return check;
      grid.coordinates_in_region(i, at);
    } else {
      grid.coordinates(i, at);
    }
    const GridPoint p = grid.point(at);
    T row[27];
    check.wraps = given.form_row(grid, p, row);
    for (int number = 0; number < 27; ++number) {
      if (row[number] != T{0}) check.used |= std::uint32_t{1} << static_cast<unsigned>(number);
      if (row[number] != rows->values[27 * p.region + number]) check.differing.value = p.index;
    }
    return check;
  }
};

template <class T, class Layout>
struct CopyGivenRow {
  GivenStencil<T> given;
  GridNumbering grid;
  T* values;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    T row[27];
    given.form_row(grid, grid.point(i), row);
    for (int number = 0; number < 27; ++number) {
      const NeighbourOffset offset(number);
      const int place = Layout::place(offset.x, offset.y, offset.z);
      if (place >= 0) values[place * grid.size() + i] = row[number];
    }
  }
};

/// The transposed row of a point, with coefficients by points.
template <class T, class Layout, bool is_constant>
struct TransposeRow {
  StencilCoefficients<T> A;
  GridNumbering grid;
  T* values;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const std::int64_t n = grid.size();
    const GridPoint p = grid.point(i);
    values[Layout::center * n + i] = A.template at<is_constant>(Layout::center, p);
    Layout::for_each_offset([&](int place, int x, int y, int z) {
      const std::int32_t other[3] = {grid.moved(0, p.at[0], x), grid.moved(1, p.at[1], y),
                                     grid.moved(2, p.at[2], z)};
      bool is_inside = true;
      for (int a = 0; a < 3; ++a) is_inside = is_inside && other[a] >= 0 && other[a] < grid.points[a];
      values[place * n + i] =
          is_inside ? A.template at<is_constant>(Layout::points - 1 - place, grid.point(other)) : T{0};
    });
  }
};

/// Sums of one row, or of all rows of a region.
struct SumsOfRows {
  Largest largest;
  double smallest = HUGE_VAL;
  double sum = 0;
  double squares = 0;
  friend ECHELON_ANYWHERE SumsOfRows combine(const SumsOfRows& a, const SumsOfRows& b) {
    return {combine(a.largest, b.largest), a.smallest < b.smallest ? a.smallest : b.smallest, a.sum + b.sum,
            a.squares + b.squares};
  }
};
template <class T, bool is_constant>
struct SumStencilRow {
  StencilCoefficients<T> A;
  GridNumbering grid;
  int places;
  ECHELON_ANYWHERE SumsOfRows operator()(std::int64_t i) const {
    const auto rows = is_constant ? static_cast<double>(grid.region_size(i)) : 1.0;
    if (rows == 0) return {};
    double magnitudes = 0;
    double sum = 0;
    for (int place = 0; place < places; ++place) {
      const auto value = static_cast<double>(A.values[place * A.stride + i]);
      magnitudes += value < 0 ? -value : value;
      sum += value;
    }
    return {{magnitudes}, magnitudes > 0 ? magnitudes : HUGE_VAL, rows * sum, rows * sum * sum};
  }
};

template <class T>
struct FindNonfiniteCoefficient {
  const T* values;
  ECHELON_ANYWHERE FirstIndex operator()(std::int64_t i) const {
    return {values[i] - values[i] == T{0} ? FirstIndex::none : i};
  }
};

template <class B, class T>
StencilCheck check_given(B& backend, const GivenStencil<T>& given, const GridNumbering& grid,
                         RegionRows<T>* rows) {
  bool varies = false;
  for (int k = 0; k < given.count; ++k) varies = varies || given.arrays[k] != nullptr;
  Array<StencilCheck> found(backend.device(), 1);
  const Store<StencilCheck> store{found.data()};
  backend.for_each(grid_regions, FormRegionRow<T>{given, grid, rows});
  if (varies) {
    backend.reduce(grid.size(), CheckGivenRow<T, false>{given, grid, rows}, store);
  } else {
    backend.reduce(grid_regions, CheckGivenRow<T, true>{given, grid, rows}, store);
  }
  return backend.read(found.data());
}

}  // namespace

template <class Target, class T>
StencilMatrix<T> assemble_stencil(const Device& device, const GivenStencil<T>& given, const Grid& grid) {
  return on_backend(device, [&]<class B>() {
    B backend(device);
    const GridNumbering numbering(grid);
    Array<RegionRows<T>> rows(device, 1);
    const StencilCheck check = check_given(backend, given, numbering, rows.data());
    StencilMatrix<T> made = make_stencil(backend, check, grid, rows.data(), [&]<class Layout>(T* values) {
      backend.for_each(grid.size(), CopyGivenRow<T, Layout>{given, numbering, values});
    });
    backend.synchronize();  // other threads may use it
    return made;
  });
}

template <class Target, class T>
StencilMatrix<T> transpose_stencil(const StencilMatrix<T>& A) {
  const Device& device = A.values.device();
  return on_backend(device, [&]<class B>() {
    B backend(device);
    StencilMatrix<T> result{A.grid, A.axes, A.box, false, A.points, {}};
    result.values = Array<T>(device, A.places() * A.rows());
    with_layout(A, [&]<class Layout, bool constant>() {
      backend.for_each(A.rows(), TransposeRow<T, Layout, constant>{A.coefficients(), GridNumbering(A.grid),
                                                                   result.values.data()});
    });
    backend.synchronize();
    return result;
  });
}

template <class Target, class T>
StencilSums sum_stencil_rows(const StencilMatrix<T>& A) {
  const Device& device = A.values.device();
  return on_backend(device, [&]<class B>() {
    B backend(device);
    const GridNumbering grid(A.grid);
    Array<SumsOfRows> sums(device, 1);
    const Store<SumsOfRows> store{sums.data()};
    if (A.constant) {
      backend.reduce(grid_regions, SumStencilRow<T, true>{A.coefficients(), grid, A.places()}, store);
    } else {
      backend.reduce(A.rows(), SumStencilRow<T, false>{A.coefficients(), grid, A.places()}, store);
    }
    const SumsOfRows found = backend.read(sums.data());
    return StencilSums{found.largest.value, std::isfinite(found.smallest) ? found.smallest : 0, found.sum,
                       found.squares};
  });
}

template <class Target, class T>
std::int64_t first_nonfinite_coefficient(const Device& device, std::int64_t n, const T* values) {
  return on_backend(device, [&]<class B>() {
    B backend(device);
    Array<FirstIndex> found(device, 1);
    backend.reduce(n, FindNonfiniteCoefficient<T>{values}, Store<FirstIndex>{found.data()});
    return backend.read(found.data()).value;
  });
}

template <class Target, class T>
void apply_stencil(const StencilMatrix<T>& A, const T* x, T* y) {
  on_backend(A.values.device(), [&]<class B>() {
    B backend(A.values.device());
    multiply_stencil(backend, A, T{1}, x, T{0}, y);
  });
}

#define ECHELON_INSTANTIATE(T)                                                                          \
  template StencilMatrix<T> assemble_stencil<ThisTarget>(const Device&, const GivenStencil<T>&,         \
                                                         const Grid&);                                  \
  template StencilMatrix<T> transpose_stencil<ThisTarget>(const StencilMatrix<T>&);                     \
  template StencilSums sum_stencil_rows<ThisTarget>(const StencilMatrix<T>&);                           \
  template std::int64_t first_nonfinite_coefficient<ThisTarget>(const Device&, std::int64_t, const T*); \
  template void apply_stencil<ThisTarget>(const StencilMatrix<T>&, const T*, T*);
ECHELON_INSTANTIATE(float)
ECHELON_INSTANTIATE(double)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
