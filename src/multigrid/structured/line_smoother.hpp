// SPDX-License-Identifier: BSD-3-Clause
/// Damped Jacobi smoothing by lines of a grid: x += omega T^-1 (b - A x), where T has the couplings within
/// the lines along an axis. Along one axis after another it smooths errors of a matrix whose strong
/// connections lie along different axes from place to place. U. Trottenberg, C. Oosterlee, A. Schueller,
/// Multigrid (2001), 5.1.
#pragma once

#include "backend/unroll.hpp"
#include "matrix/stencil/stencil_matrix.hpp"

#include <cstdint>

namespace echelon::multigrid {

/// Factors T = L U of the lines along an axis, whose rows are divided by the diagonal elements of A. Those of
/// a periodic axis are of T less a product u v^T that couples the ends (Sherman, Morrison).
struct LineFactors {
  int axis = 0;
  bool periodic = false;
  Array<float> multipliers;  ///< of L, by points
  Array<float> inverses;     ///< of the diagonal of U
  Array<float> around;       ///< (L U)^-1 u / (1 + v^T (L U)^-1 u) of periodic lines
  [[nodiscard]] std::size_t bytes() const { return multipliers.bytes() + inverses.bytes() + around.bytes(); }
};

/// The lines of a grid along an axis. Consecutive lines are in one group while they lie equally far apart.
struct GridLines {
  std::int64_t length;  ///< points of a line
  std::int64_t step;    ///< between the points of a line
  std::int64_t apart;   ///< between the lines of a group
  std::int64_t group;   ///< lines of a group
  std::int64_t groups;
  std::int64_t groups_apart;

  GridLines(const Grid& grid, int axis)
      : length(grid.points[static_cast<std::size_t>(axis)]),
        step(axis == 0   ? 1
             : axis == 1 ? grid.points[0]
                         : grid.points[0] * grid.points[1]),
        apart(axis == 0 ? grid.points[0] : 1),
        group(axis == 0   ? grid.points[1] * grid.points[2]
              : axis == 1 ? grid.points[0]
                          : grid.points[0] * grid.points[1]),
        groups(axis == 1 ? grid.points[2] : 1),
        groups_apart(axis == 1 ? grid.points[0] * grid.points[1] : 0) {}
};

/// Calls f(first point, lines) for parts of at most `width` lines of a group, possibly concurrently.
template <int width, class F>
struct AtLines {
  GridLines lines;
  std::int64_t parts;  ///< of a group
  F f;
  AtLines(const GridLines& own, const F& body)
      : lines(own), parts((own.group + width - 1) / width), f(body) {}
  [[nodiscard]] std::int64_t size() const { return lines.groups * parts; }
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const std::int64_t number = i / parts;
    const std::int64_t first = (i - number * parts) * width;
    const std::int64_t count = lines.group - first < width ? lines.group - first : width;
    f(number * lines.groups_apart + first * lines.apart, static_cast<int>(count));
  }
};

/// Calls f(first point, lines) for parts of the lines, possibly concurrently.
template <int width, class B, class F>
void for_each_line(B& backend, const GridLines& lines, const F& f) {
  const AtLines<width, F> loop(lines, f);
  if constexpr (B::on_host) {
    constexpr std::int64_t worth_threads = 1 << 15;
    const bool is_large = lines.length * lines.group * lines.groups > worth_threads;
    backend.for_each_range(loop.size(), is_large, [&loop](std::int64_t begin, std::int64_t end) {
      const AtLines<width, F> own = loop;
      for (std::int64_t i = begin; i < end; ++i) own(i);
    });
  } else {
    backend.for_each(loop.size(), loop);
  }
}

/// Place of the neighbour before a point along an axis.
template <class Layout>
[[nodiscard]] int place_before(int axis) {
  return axis == 0 ? Layout::place(-1, 0, 0) : axis == 1 ? Layout::place(0, -1, 0) : Layout::place(0, 0, -1);
}

/// Factors of the line from a point.
template <class T, class Layout>
struct FactorLine {
  StencilCoefficients<T> A;
  GridLines lines;
  int before, after;  ///< places of the neighbours along the axis
  bool periodic;
  float* multipliers;
  float* inverses;
  float* around;

  /// The pivot of U is formed without subtractions, from the connection to the next point and what the row
  /// has in excess of its connections along the line (W. Grassmann, M. Taksar, D. Heyman, Oper. Res. 33,
  /// 1985).
  ECHELON_ANYWHERE void operator()(std::int64_t first, int /*count*/) const {
    constexpr double least_pivot = 1e-6;  // of the diagonal element: float rounds away what is smaller
    const std::int64_t last = first + (lines.length - 1) * lines.step;
    const double first_diagonal = element(Layout::center, first);
    const double ends = periodic ? element(before, first) * element(after, last) / first_diagonal : 0;
    double excess = 0;
    double pivot = 1;
    double diagonal = 1;  // of the row before
    for (std::int64_t i = first; i <= last; i += lines.step) {
      const double own = element(Layout::center, i);
      const double lower = i == first ? 0 : element(before, i);
      const double upper = i == last ? 0 : element(after, i);
      double row_excess = own + lower + upper;
      if (periodic && i == first) row_excess += own;
      if (i == last) row_excess += ends;
      excess = row_excess - lower * excess / pivot;
      multipliers[i] = static_cast<float>(lower / own * (diagonal / pivot));
      pivot = excess - upper > least_pivot * own ? excess - upper : least_pivot * own;
      diagonal = own;
      inverses[i] = static_cast<float>(own / pivot);
    }
    if (periodic) close_line(first, last);
  }

 private:
  [[nodiscard]] ECHELON_ANYWHERE double element(int place, std::int64_t i) const {
    return static_cast<double>(A.values[place * A.stride + i]);
  }
  /// u = (-1, 0, ..., 0, element of the last row around the axis), v = (1, 0, ..., 0, -that of the first
  /// row).
  ECHELON_ANYWHERE void close_line(std::int64_t first, std::int64_t last) const {
    const double of_first = element(before, first) / element(Layout::center, first);
    const double of_last = element(after, last) / element(Layout::center, last);
    double value = -1;
    around[first] = -1;
    for (std::int64_t i = first + lines.step; i <= last; i += lines.step) {
      value = (i == last ? of_last : 0.0) - static_cast<double>(multipliers[i]) * value;
      around[i] = static_cast<float>(value);
    }
    value = 0;
    for (std::int64_t i = last; i >= first; i -= lines.step) {
      const double upper = i == last ? 0 : element(after, i) / element(Layout::center, i);
      value = (static_cast<double>(around[i]) - upper * value) * static_cast<double>(inverses[i]);
      around[i] = static_cast<float>(value);
    }
    constexpr double least = 1e-6;
    const double sum = 1 + static_cast<double>(around[first]) - of_first * static_cast<double>(around[last]);
    const double factor = 1 / (sum > least ? sum : least);
    for (std::int64_t i = first; i <= last; i += lines.step) {
      around[i] = static_cast<float>(factor * static_cast<double>(around[i]));
    }
  }
};

/// x += omega T^-1 r, or x = omega T^-1 r, on adjacent lines; overwrites r.
template <int width, bool is_adjacent, bool adds>
struct SolveLines {
  GridLines lines;
  const float* multipliers;
  const float* inverses;
  const float* upper;     ///< coefficients of the neighbours after each point
  const float* around;    ///< or null
  const float* of_first;  ///< coefficients of the neighbours before each point, for periodic lines
  float omega;
  float* r;
  float* x;

  ECHELON_ANYWHERE void operator()(std::int64_t first, int count) const {
    if (count == width) {
      solve<width>(first);
    } else {
      for (int w = 0; w < count; ++w) solve<1>(first + w * apart());
    }
  }

 private:
  [[nodiscard]] ECHELON_ANYWHERE std::int64_t apart() const { return is_adjacent ? 1 : lines.apart; }

  template <int together>
  ECHELON_ANYWHERE void solve(std::int64_t first) const {
    float value[together];
    for (int w = 0; w < together; ++w) value[w] = r[first + w * apart()];
    const std::int64_t last = first + (lines.length - 1) * lines.step;
    for (std::int64_t i = first + lines.step; i <= last; i += lines.step) {
      ECHELON_INDEPENDENT
      for (int w = 0; w < together; ++w) {
        const std::int64_t k = i + w * apart();
        value[w] = r[k] - multipliers[k] * value[w];
        r[k] = value[w];
      }
    }
    for (int w = 0; w < together; ++w) value[w] = 0;
    for (std::int64_t i = last; i >= first; i -= lines.step) {
      ECHELON_INDEPENDENT
      for (int w = 0; w < together; ++w) {
        const std::int64_t k = i + w * apart();
        value[w] = (r[k] - (i == last ? 0.0F : upper[k]) * value[w]) * inverses[k];
        if (around == nullptr) {
          x[k] = (adds ? x[k] : 0.0F) + omega * value[w];
        } else {
          r[k] = value[w];
        }
      }
    }
    if (around == nullptr) return;
    for (int w = 0; w < together; ++w) value[w] -= of_first[first + w * apart()] * r[last + w * apart()];
    for (std::int64_t i = first; i <= last; i += lines.step) {
      ECHELON_INDEPENDENT
      for (int w = 0; w < together; ++w) {
        const std::int64_t k = i + w * apart();
        x[k] = (adds ? x[k] : 0.0F) + omega * (r[k] - around[k] * value[w]);
      }
    }
  }
};

/// The factors of all lines of A, of variable coefficients, along an axis.
template <class B, class T>
LineFactors factor_lines(B& backend, const StencilMatrix<T>& A, int axis) {
  const Device& device = backend.device();
  const bool periodic = A.grid.periodic[static_cast<std::size_t>(axis)];
  LineFactors factors{axis, periodic, Array<float>(device, A.rows()), Array<float>(device, A.rows()),
                      Array<float>(device, periodic ? A.rows() : 0)};
  const GridLines lines(A.grid, axis);
  with_layout(A, [&]<class Layout, bool constant>() {
    const int before = place_before<Layout>(axis);
    for_each_line<1>(
        backend, lines,
        FactorLine<T, Layout>{A.coefficients(), lines, before, Layout::points - 1 - before, periodic,
                              factors.multipliers.data(), factors.inverses.data(), factors.around.data()});
  });
  return factors;
}

/// x += omega T^-1 r, or x = omega T^-1 r, for A of variable coefficients; overwrites r.
// NOLINTBEGIN(readability-non-const-parameter): the loop writes r and x
template <class Layout, bool adds, class B>
void solve_lines(B& backend, const StencilMatrix<float>& A, const LineFactors& factors, float omega, float* r,
                 float* x) {
  // NOLINTEND(readability-non-const-parameter)
  constexpr int width = B::on_host ? 16 : 1;
  const GridLines lines(A.grid, factors.axis);
  const int before = place_before<Layout>(factors.axis);
  const float* const lower = A.values.data() + before * A.stride();
  const float* const upper = A.values.data() + (Layout::points - 1 - before) * A.stride();
  const float* const around = factors.periodic ? factors.around.data() : nullptr;
  const auto solve = [&]<bool is_adjacent>() {
    for_each_line<width>(
        backend, lines,
        SolveLines<width, is_adjacent, adds>{lines, factors.multipliers.data(), factors.inverses.data(),
                                             upper, around, lower, omega, r, x});
  };
  if (factors.axis == 0) {
    solve.template operator()<false>();
  } else {
    solve.template operator()<true>();
  }
}

}  // namespace echelon::multigrid
