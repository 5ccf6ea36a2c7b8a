// SPDX-License-Identifier: BSD-3-Clause
// The public class Stencil.
#include "backend/api_boundary.hpp"
#include "backend/dispatch.hpp"
#include "matrix/stencil/given_stencil.hpp"
#include "matrix/stencil/stencil_state.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/stencil.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

namespace {

constexpr std::array<char, 3> axis_names = {'x', 'y', 'z'};

BoundaryCondition boundary_of(const StencilGrid& grid, std::size_t axis) {
  if (grid.boundaries.empty()) return BoundaryCondition::dirichlet;
  return grid.boundaries.size() == 1 ? grid.boundaries.front() : grid.boundaries[axis];
}

/// The grid with its periodic axes. Throws InvalidMatrix as the class says.
Grid checked_grid(const StencilGrid& given) {
  const std::size_t axes = given.points.size();
  if (axes < 1 || axes > 3)
    throw InvalidMatrix(fmt::format("the grid of a stencil has {} axes: it needs 1 to 3", axes));
  if (given.boundaries.size() > 1 && given.boundaries.size() != axes) {
    throw InvalidMatrix(
        fmt::format("the grid has {} axes and {} boundary conditions: give one for each axis, or one for all",
                    axes, given.boundaries.size()));
  }
  Grid grid;
  std::int64_t size = 1;
  for (std::size_t a = 0; a < axes; ++a) {
    const std::int64_t points = given.points[a];
    if (points < 1) {
      throw InvalidMatrix(
          fmt::format("axis {} of the grid has {} points: it needs one or more", axis_names[a], points));
    }
    if (points > INT32_MAX / size)
      throw InvalidMatrix(fmt::format("the grid has more than 2^31 - 1 = {} points", INT32_MAX));
    size *= points;
    grid.points[a] = points;
    grid.periodic[a] = boundary_of(given, a) == BoundaryCondition::periodic;
    if (grid.periodic[a] && points < 3) {
      throw InvalidMatrix(
          fmt::format("axis {} of the grid is periodic and has {} points: it needs three or "
                      "more, so that both neighbours of a point differ",
                      axis_names[a], points));
    }
  }
  return grid;
}

/// An offset or the coordinates of a point, such as "(1, 0)".
template <class Integer>
std::string text_of(const std::array<Integer, 3>& numbers, std::size_t axes) {
  std::string text = "(";
  for (std::size_t a = 0; a < axes; ++a) text += (a > 0 ? ", " : "") + std::to_string(numbers[a]);
  return text + ")";
}

std::array<std::int64_t, 3> point_of(const Grid& grid, std::int64_t row) {
  return {row % grid.points[0], row / grid.points[0] % grid.points[1], row / grid.points[0] / grid.points[1]};
}

/// Number among 27 of an offset. Throws InvalidMatrix.
int number_of(const StencilOffset& offset, std::size_t axes) {
  int number = 0;
  for (std::size_t a = 3; a-- > 0;) {
    const bool is_axis = a < axes;
    if (offset[a] < -1 || offset[a] > 1 || (!is_axis && offset[a] != 0)) {
      throw InvalidMatrix(
          is_axis || std::abs(offset[a]) > 1
              ? fmt::format("the offset {} of a stencil is out of range: each distance is -1, 0 or 1",
                            text_of(offset, 3))
              : fmt::format("the offset {} of a stencil leaves the {} of its grid", text_of(offset, 3),
                            axes == 1 ? "one axis" : "two axes"));
    }
    number = 3 * number + offset[a] + 1;
  }
  return number;
}

/// The offsets of the entries, without coefficients yet. Throws InvalidMatrix.
template <class T, class Entries>
GivenStencil<T> checked_offsets(const StencilGrid& grid, const Entries& entries) {
  constexpr int center = 13;
  const std::size_t axes = grid.points.size();
  GivenStencil<T> given;
  for (std::size_t a = 0; a < axes; ++a)
    given.reflects[a] = boundary_of(grid, a) == BoundaryCondition::neumann;
  for (const auto& entry : entries) {
    const int number = number_of(entry.offset, axes);
    const int* const end = given.numbers + given.count;
    if (std::find(static_cast<const int*>(given.numbers), end, number) != end)
      throw InvalidMatrix(
          fmt::format("the offset {} of a stencil is given twice", text_of(entry.offset, axes)));
    given.numbers[given.count++] = number;
  }
  const int* const end = given.numbers + given.count;
  if (std::find(static_cast<const int*>(given.numbers), end, center) == end) {
    throw InvalidMatrix(
        fmt::format("the stencil has no coefficient at the offset {}, that of the point itself",
                    text_of(StencilOffset{}, axes)));
  }
  return given;
}

template <class T>
std::shared_ptr<const StencilState<T>> state_of(StencilMatrix<T> A) {
  const StencilSums sums =
      on_target(A.values.device(), [&]<class Target>() { return sum_stencil_rows<Target, T>(A); });
  return std::make_shared<const StencilState<T>>(std::move(A), sums);
}

template <class T>
std::shared_ptr<const StencilState<T>> assembled(const Device& device, const GivenStencil<T>& given,
                                                 const Grid& grid) {
  return state_of(
      on_target(device, [&]<class Target>() { return assemble_stencil<Target, T>(device, given, grid); }));
}

/// The table of the transpose of a matrix with a table; none if the rows of a region of the transpose differ.
/// On five points along an axis every pair of regions that are neighbours on the grid is one.
template <class T>
std::optional<StencilMatrix<T>> transposed_table(const StencilMatrix<T>& A) {
  const Device host = Device::serial();
  StencilMatrix<T> small{A.grid, A.axes, A.box, true, A.points, A.values.to(host)};
  for (std::int64_t& points : small.grid.points) points = std::min<std::int64_t>(points, 5);
  const StencilMatrix<T> by_points = transpose_stencil<HostTarget, T>(small);
  const GridNumbering grid(small.grid);
  const std::int64_t n = small.rows();
  Array<T>& table = small.values;
  for (int place = 0; place < small.places(); ++place) {
    for (std::int64_t region = 0; region < grid_regions; ++region) {
      std::int32_t at[3];
      grid.coordinates_in_region(region, at);
      table[place * grid_regions + region] = by_points.values[place * n + grid.index(at)];
    }
    for (std::int64_t i = 0; i < n; ++i) {
      if (table[place * grid_regions + grid.point(i).region] != by_points.values[place * n + i]) return {};
    }
  }
  return StencilMatrix<T>{A.grid, A.axes, A.box, true, A.points, table.to(A.values.device())};
}

template <class T>
std::shared_ptr<const StencilState<T>> transpose_of(const StencilState<T>& state) {
  const std::lock_guard<std::mutex> lock(state.transposing);
  if (state.transpose) return state.transpose;
  const StencilMatrix<T>& A = state.matrix;
  std::optional<StencilMatrix<T>> table;
  if (A.constant) table = transposed_table(A);
  state.transpose = state_of(table ? std::move(*table) : on_target(A.values.device(), [&]<class Target>() {
    return transpose_stencil<Target, T>(A);
  }));
  return state.transpose;
}

template <class T>
void apply(const StencilMatrix<T>& A, const T* x, T* y) {
  on_target(A.values.device(), [&]<class Target>() { apply_stencil<Target, T>(A, x, y); });
}

template <class T>
LinearOperator<T> operator_of(const std::shared_ptr<const StencilState<T>>& state) {
  const std::int64_t n = state->matrix.rows();
  return {n, n, [state](const T* x, T* y) { apply(state->matrix, x, y); },
          [state](const T* x, T* y) { apply(transpose_of(*state)->matrix, x, y); },
          state->matrix.values.device()};
}

}  // namespace

template <class T>
Stencil<T>::Stencil(std::shared_ptr<const StencilState<T>> state)
    : state_(std::move(state)), operator_(operator_of<T>(state_)) {}

template <class T>
Stencil<T> Stencil<T>::constant(const StencilGrid& grid, const std::vector<StencilEntry<T>>& entries,
                                const Device& device) {
  return at_api_boundary([&] {
    const Grid checked = checked_grid(grid);
    GivenStencil<T> given = checked_offsets<T>(grid, entries);
    for (std::size_t k = 0; k < entries.size(); ++k) {
      given.constants[k] = entries[k].value;
      if (std::isfinite(entries[k].value)) continue;
      throw InvalidMatrix(fmt::format("the coefficient at the offset {} of a stencil is NaN or Inf",
                                      text_of(entries[k].offset, grid.points.size())));
    }
    return Stencil(assembled(device, given, checked));
  });
}

template <class T>
Stencil<T> Stencil<T>::variable(const StencilGrid& grid, const std::vector<StencilArray<T>>& arrays,
                                const Device& device) {
  return at_api_boundary([&] {
    const Grid checked = checked_grid(grid);
    const std::size_t axes = grid.points.size();
    GivenStencil<T> given = checked_offsets<T>(grid, arrays);
    for (std::size_t k = 0; k < arrays.size(); ++k) {
      const std::int64_t count = std::ssize(arrays[k].values);
      if (count != checked.size()) {
        throw InvalidMatrix(
            fmt::format("the array at the offset {} of a stencil has {} values, the grid {} has "
                        "{} points",
                        text_of(arrays[k].offset, axes), count, to_string(checked), checked.size()));
      }
      const T* const values = given.arrays[k] = arrays[k].values.data();
      const std::int64_t first = on_target(device, [&]<class Target>() {
        return first_nonfinite_coefficient<Target, T>(device, count, values);
      });
      if (first == FirstIndex::none) continue;
      throw InvalidMatrix(
          fmt::format("the coefficient at the offset {} of a stencil is NaN or Inf at the point "
                      "{}, row {}",
                      text_of(arrays[k].offset, axes), text_of(point_of(checked, first), axes), first));
    }
    return Stencil(assembled(device, given, checked));
  });
}

template <class T>
Stencil<T> Stencil<T>::variable(
    const StencilGrid& grid, const std::vector<StencilOffset>& offsets,
    const std::function<T(const std::array<std::int64_t, 3>& point, const StencilOffset& offset)>& f,
    const Device& device) {
  return at_api_boundary([&] {
    if (!f) throw Error("the function of a stencil's coefficients is empty");
    const Grid checked = checked_grid(grid);
    const std::size_t n = static_cast<std::size_t>(checked.size());
    std::vector<std::vector<T>> values(offsets.size(), std::vector<T>(n));
    std::array<std::int64_t, 3> point{};
    std::size_t row = 0;
    for (point[2] = 0; point[2] < checked.points[2]; ++point[2]) {
      for (point[1] = 0; point[1] < checked.points[1]; ++point[1]) {
        for (point[0] = 0; point[0] < checked.points[0]; ++point[0], ++row) {
          for (std::size_t k = 0; k < offsets.size(); ++k) values[k][row] = f(point, offsets[k]);
        }
      }
    }
    std::vector<StencilArray<T>> arrays;
    for (std::size_t k = 0; k < offsets.size(); ++k) arrays.push_back({offsets[k], values[k]});
    Stencil made = variable(grid, arrays);
    return device.on_host() ? made : made.to(device);
  });
}

template <class T>
Stencil<T> Stencil<T>::laplacian(const StencilGrid& grid, int points, const Device& device) {
  return at_api_boundary([&] {
    static_cast<void>(checked_grid(grid));
    const auto axes = static_cast<int>(grid.points.size());
    const int along_axes = 2 * axes + 1;
    const int around = axes == 2 ? 9 : 27;
    if (points == 0) points = along_axes;
    if (points != along_axes && (axes == 1 || points != around)) {
      throw BadOption(
          "points", axes == 1 ? fmt::format("a Laplacian on a grid of one axis has 3 points, not {}", points)
                              : fmt::format("a Laplacian on a grid of {} axes has {} or {} points, not {}",
                                            axes, along_axes, around, points));
    }
    const bool box = points != along_axes;
    std::vector<StencilEntry<T>> entries;
    for (int number = 0; number < 27; ++number) {
      const NeighbourOffset o(number);
      const int apart = std::abs(o.x) + std::abs(o.y) + std::abs(o.z);
      if ((axes < 3 && o.z != 0) || (axes < 2 && o.y != 0) || (!box && apart > 1)) continue;
      const T center = !box ? T(2 * axes) : axes == 2 ? T{20} : T{26};
      const T other = box && axes == 2 && apart == 1 ? T{-4} : T{-1};
      entries.push_back({{o.x, o.y, o.z}, apart == 0 ? center : other});
    }
    return constant(grid, entries, device);
  });
}

template <class T>
std::size_t Stencil<T>::bytes() const {
  return state_->matrix.bytes();
}

template <class T>
std::string Stencil<T>::describe() const {
  return to_string(state_->matrix);
}

template <class T>
Stencil<T> Stencil<T>::to(const Device& device) const {
  return at_api_boundary([&] {
    const StencilMatrix<T>& A = state_->matrix;
    StencilMatrix<T> copy{A.grid, A.axes, A.box, A.constant, A.points, A.values.to(device)};
    return Stencil(std::make_shared<const StencilState<T>>(std::move(copy), state_->sums));
  });
}

template <class T>
Stencil<T> Stencil<T>::transposed() const {
  return at_api_boundary([&] { return Stencil(transpose_of(*state_)); });
}

template <class T>
Csr<T> to_csr(const Stencil<T>& A) {
  return at_api_boundary([&] { return to_csr(StencilAccess::state(A).matrix).to(A.device()); });
}

template <class T>
const StencilSums& sums_of(const Stencil<T>& A) {
  return StencilAccess::state(A).sums;
}

template <class T>
Stencil<T> to_stencil(StencilMatrix<T> A) {
  return StencilAccess::make(state_of(std::move(A)));
}

template Stencil<float> to_stencil(StencilMatrix<float>);
template Stencil<double> to_stencil(StencilMatrix<double>);
template const StencilSums& sums_of(const Stencil<float>&);
template const StencilSums& sums_of(const Stencil<double>&);
template class Stencil<float>;
template class Stencil<double>;
template Csr<float> to_csr(const Stencil<float>&);
template Csr<double> to_csr(const Stencil<double>&);

}  // namespace echelon
