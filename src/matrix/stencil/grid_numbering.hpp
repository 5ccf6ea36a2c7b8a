// SPDX-License-Identifier: BSD-3-Clause
/// Loops over the points of a grid.
#pragma once

#include "backend/backend.hpp"
#include "backend/unroll.hpp"
#include "matrix/stencil/grid.hpp"

#include <echelon/annotate.hpp>

#include <cstdint>

namespace echelon {

/// Quotients of integers below 2^31 by a divisor that is known before a loop, by a product and a shift.
/// T. Granlund, P. Montgomery, Division by invariant integers using multiplication, PLDI 1994.
class FixedDivisor {
 public:
  explicit FixedDivisor(std::int64_t divisor) {
    while (std::int64_t{1} << (shift_ - 31) < divisor) ++shift_;
    const auto d = static_cast<std::uint64_t>(divisor);
    multiplier_ = ((std::uint64_t{1} << static_cast<unsigned>(shift_)) + d - 1) / d;
  }
  [[nodiscard]] ECHELON_ANYWHERE std::int32_t quotient(std::int64_t n) const {
    return static_cast<std::int32_t>(static_cast<std::uint64_t>(n) * multiplier_ >>
                                     static_cast<unsigned>(shift_));
  }

 private:
  std::uint64_t multiplier_ = 0;
  int shift_ = 31;
};

/// A point of a grid.
struct GridPoint {
  std::int32_t index;
  std::int32_t at[3];  ///< coordinates
  /// In each axis 0 for the first point, 2 for the last of several, 1 for those between; the number to the
  /// base 3. Rows of constant coefficients are alike within a region.
  std::int32_t region;
  /// Index of the neighbour before, and after, the point in each axis, less its own; 0 where there is none.
  /// From the first point of a periodic axis to the one before, the last, it is positive; from the last one
  /// to the one after negative.
  std::int32_t before[3];
  std::int32_t after[3];
};

/// Number of regions of a grid.
inline constexpr std::int64_t grid_regions = 27;

/// Numbering of the points of a grid of fewer than 2^31 points, for functors.
struct GridNumbering {
  std::int32_t points[3];
  std::int32_t strides[3];
  bool periodic[3];
  FixedDivisor line;
  FixedDivisor plane;

  explicit GridNumbering(const Grid& grid)
      : points{static_cast<std::int32_t>(grid.points[0]), static_cast<std::int32_t>(grid.points[1]),
               static_cast<std::int32_t>(grid.points[2])},
        strides{1, points[0], points[0] * points[1]},
        periodic{grid.periodic[0], grid.periodic[1], grid.periodic[2]},
        line(points[0]),
        plane(std::int64_t{points[0]} * points[1]) {}

  [[nodiscard]] ECHELON_ANYWHERE std::int64_t size() const {
    return std::int64_t{points[0]} * points[1] * points[2];
  }
  [[nodiscard]] ECHELON_ANYWHERE std::int32_t index(const std::int32_t* at) const {
    return at[0] + points[0] * (at[1] + points[1] * at[2]);
  }
  ECHELON_ANYWHERE void coordinates(std::int64_t index, std::int32_t* at) const {
    at[2] = plane.quotient(index);
    const std::int64_t in_plane = index - at[2] * (std::int64_t{points[0]} * points[1]);
    at[1] = line.quotient(in_plane);
    at[0] = static_cast<std::int32_t>(in_plane - at[1] * std::int64_t{points[0]});
  }
  /// The coordinate beside one along an axis: -1 or points[axis] at the end of one that is not periodic.
  [[nodiscard]] ECHELON_ANYWHERE std::int32_t moved(int axis, std::int32_t at, int distance) const {
    const std::int32_t next = at + distance;
    if (!periodic[axis]) return next;
    return next < 0 ? next + points[axis] : next < points[axis] ? next : next - points[axis];
  }
  [[nodiscard]] ECHELON_ANYWHERE std::int32_t region(const std::int32_t* at) const {
    std::int32_t region = 0;
    for (int a = 2; a >= 0; --a) region = 3 * region + part(a, at[a]);
    return region;
  }
  /// Region of a point with this coordinate along the axis and the first along the others.
  [[nodiscard]] ECHELON_ANYWHERE std::int32_t region_along(int axis, std::int32_t at) const {
    return part(axis, at) * (axis == 0 ? 1 : axis == 1 ? 3 : 9);
  }
  /// Coordinates of a point of a region, if there is one.
  ECHELON_ANYWHERE void coordinates_in_region(std::int64_t region, std::int32_t* at) const {
    for (int a = 0; a < 3; ++a) {
      const auto own = static_cast<std::int32_t>(region % 3);
      region /= 3;
      const std::int32_t last = points[a] - 1;
      at[a] = own == 0 ? 0 : own == 2 ? last : (last < 1 ? last : 1);
    }
  }
  /// Number of points of a region.
  [[nodiscard]] ECHELON_ANYWHERE std::int64_t region_size(std::int64_t region) const {
    std::int64_t size = 1;
    for (const std::int32_t count : points) {
      const auto own = region % 3;
      region /= 3;
      const std::int32_t between = count > 2 ? count - 2 : 0;
      size *= own == 0 ? 1 : own == 2 ? (count > 1 ? 1 : 0) : between;
    }
    return size;
  }
  [[nodiscard]] ECHELON_ANYWHERE GridPoint point(const std::int32_t* at) const {
    GridPoint p{};
    p.index = index(at);
    for (int a = 0; a < 3; ++a) {
      p.at[a] = at[a];
      const std::int32_t around = periodic[a] ? (points[a] - 1) * strides[a] : 0;
      p.before[a] = at[a] > 0 ? -strides[a] : around;
      p.after[a] = at[a] + 1 < points[a] ? strides[a] : -around;
    }
    p.region = region(at);
    return p;
  }
  [[nodiscard]] ECHELON_ANYWHERE GridPoint point(std::int64_t index) const {
    std::int32_t at[3];
    coordinates(index, at);
    return point(at);
  }

 private:
  [[nodiscard]] ECHELON_ANYWHERE std::int32_t part(int axis, std::int32_t at) const {
    return at == 0 ? 0 : at + 1 == points[axis] ? 2 : 1;
  }
};

/// Loop body for the point that stands for a region.
template <class F>
struct AtRegion {
  GridNumbering grid;
  F f;
  ECHELON_ANYWHERE void operator()(std::int64_t region) const {
    std::int32_t at[3];
    grid.coordinates_in_region(region, at);
    f(grid.point(at));
  }
};

/// Loop body for the point of an index.
template <class F>
struct AtGridPoint {
  GridNumbering grid;
  F f;
  ECHELON_ANYWHERE auto operator()(std::int64_t i) const { return f(grid.point(i)); }
};

/// Loop body for parts of the lines along an axis, 1 or 2: threads with consecutive numbers have points
/// beside each other, and each goes along its part. Between the ends of a line all but the index and a
/// coordinate of the points is the same, so that what several of them read is read once.
template <class F, int axis>
struct AlongLines {
  static constexpr int across = 3 - axis;  ///< the third axis
  static constexpr int batch = 4;          ///< points that share what they read
  GridNumbering grid;
  FixedDivisor across_points;
  std::int32_t length;  ///< points of a part
  F f;

  AlongLines(const GridNumbering& numbering, const F& body)
      : grid(numbering), across_points(numbering.points[across]), f(body) {
    constexpr std::int64_t enough_threads = 1 << 16;
    constexpr std::int64_t longest = 4 * batch;
    const std::int64_t shared = numbering.size() / enough_threads;
    length = static_cast<std::int32_t>(shared < batch ? 1 : shared < longest ? shared : longest);
  }
  [[nodiscard]] std::int64_t size() const {
    const std::int64_t parts = (grid.points[axis] + length - 1) / length;
    return std::int64_t{grid.points[0]} * grid.points[across] * parts;
  }
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const std::int32_t line = grid.line.quotient(i);
    const std::int32_t part = across_points.quotient(line);
    std::int32_t at[3];
    at[0] = static_cast<std::int32_t>(i - line * std::int64_t{grid.points[0]});
    at[across] = line - part * grid.points[across];
    const std::int32_t begin = part * length;
    const std::int32_t last = grid.points[axis] - 1;
    const std::int32_t end = begin + length < last + 1 ? begin + length : last + 1;
    ECHELON_UNROLL_BY(1)
    for (int side = 0; side < 2; ++side) {
      const std::int32_t k = side * last;
      if (k < begin || k >= end || (side == 1 && last == 0)) continue;
      at[axis] = k;
      f(grid.point(at));
    }
    go_between(at, begin > 0 ? begin : 1, end < last ? end : last);
  }

 private:
  /// f at points of a line that are not at its ends.
  ECHELON_ANYWHERE void go_between(std::int32_t* at, std::int32_t begin, std::int32_t end) const {
    if (begin >= end) return;
    at[axis] = begin;
    GridPoint p = grid.point(at);
    const std::int32_t step = grid.strides[axis];
    p.before[axis] = -step;
    p.after[axis] = step;
    std::int32_t k = begin;
    for (; k + batch <= end; k += batch) {
      ECHELON_UNROLL
      for (int u = 0; u < batch; ++u) {
        p.at[axis] = k + u;
        f(p);
        p.index += step;
      }
    }
    ECHELON_UNROLL_BY(1)
    for (; k < end; ++k) {
      p.at[axis] = k;
      f(p);
      p.index += step;
    }
  }
};

/// f at the points of a line, in a form that compilers vectorise: for all but the first and last point, what
/// depends on the boundary is the same.
template <class F>
void for_each_in_line(const GridNumbering& grid, std::int64_t line, const F& f) {
  const auto z = static_cast<std::int32_t>(line / grid.points[1]);
  const std::int32_t first[3] = {0, static_cast<std::int32_t>(line - z * std::int64_t{grid.points[1]}), z};
  f(grid.point(first));
  const std::int32_t last = grid.points[0] - 1;
  if (last == 0) return;
  if (last > 1) {
    const std::int32_t second[3] = {1, first[1], z};
    const GridPoint start = grid.point(second);
    ECHELON_INDEPENDENT
    for (std::int32_t x = 1; x < last; ++x) {
      GridPoint p = start;
      p.index += x - 1;
      p.at[0] = x;
      f(p);
    }
  }
  const std::int32_t end[3] = {last, first[1], z};
  f(grid.point(end));
}

/// Calls f with each GridPoint, in any order, possibly concurrently. `reuses`: most of what f reads at a
/// point it reads at the next ones of a line, too, as with constant coefficients, so that a GPU goes along
/// lines.
template <bool reuses = false, class B, class F>
void for_each_point(B& backend, const GridNumbering& grid, F f) {
  if constexpr (B::on_host) {
    constexpr std::int64_t worth_threads = 1 << 15;
    const std::int64_t lines = std::int64_t{grid.points[1]} * grid.points[2];
    backend.for_each_range(lines, grid.size() > worth_threads, [&](std::int64_t begin, std::int64_t end) {
      const F own = f;
      for (std::int64_t line = begin; line < end; ++line) for_each_in_line(grid, line, own);
    });
  } else if constexpr (reuses) {
    const auto go_along = [&](const auto& lines) { backend.for_each(lines.size(), lines); };
    if (grid.points[2] > 1) {
      go_along(AlongLines<F, 2>(grid, f));
    } else {
      go_along(AlongLines<F, 1>(grid, f));
    }
  } else {
    backend.for_each(grid.size(), AtGridPoint<F>{grid, f});
  }
}

/// Calls f with each GridPoint, or for constant coefficients with one of each region.
template <bool is_constant, class B, class F>
void for_each_place(B& backend, const GridNumbering& grid, F f) {
  if constexpr (is_constant) {
    backend.for_each(grid_regions, AtRegion<F>{grid, f});
  } else {
    for_each_point(backend, grid, f);
  }
}

}  // namespace echelon
