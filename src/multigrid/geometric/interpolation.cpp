// SPDX-License-Identifier: BSD-3-Clause
#include "multigrid/geometric/interpolation.hpp"

#include "backend/target.hpp"

#include <echelon/annotate.hpp>
#include <echelon/matrix/scalar.hpp>

#include <support/scalar_list.hpp>

#include <array>
#include <cstdint>
#include <utility>

namespace echelon::multigrid {

namespace {

/// Coarse points from which a fine point interpolates in one dimension: one with weight 1, or up to two with
/// weight 1/2, in ascending order.
struct AxisWeights {
  std::int64_t first = 0;
  int count = 1;
  double weight = 1;
};

ECHELON_ANYWHERE AxisWeights axis_weights(std::int64_t point, std::int64_t points) {
  if (points == 1) return {};
  const std::int64_t half = point / 2;
  if (point % 2 == 1) return {half, 1, 1};
  const bool before = half > 0;
  const bool after = half < points / 2;
  return {before ? half - 1 : half, (before ? 1 : 0) + (after ? 1 : 0), 0.5};
}

/// Weights of a fine point in all dimensions.
struct PointWeights {
  AxisWeights axes[3];

  ECHELON_ANYWHERE PointWeights(const std::int64_t* points, std::int64_t i)
      : axes{axis_weights(i % points[0], points[0]), axis_weights(i / points[0] % points[1], points[1]),
             axis_weights(i / points[0] / points[1], points[2])} {}
  [[nodiscard]] ECHELON_ANYWHERE std::int64_t count() const {
    return std::int64_t{axes[0].count} * axes[1].count * axes[2].count;
  }
};

/// Points of a grid, for functors.
struct GridPoints {
  std::int64_t of[3];
  explicit GridPoints(const Grid& grid) : of{grid.points[0], grid.points[1], grid.points[2]} {}
};

struct CountWeights {
  GridPoints fine;
  std::int64_t* counts;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { counts[i] = PointWeights(fine.of, i).count(); }
};

template <class T>
struct FillWeights {
  GridPoints fine;
  GridPoints coarse;
  const std::int64_t* offsets;
  std::int32_t* columns;
  T* values;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const PointWeights weights(fine.of, i);
    const auto& [x, y, z] = weights.axes;
    std::int64_t k = offsets[i];
    for (int c = 0; c < z.count; ++c) {
      for (int b = 0; b < y.count; ++b) {
        for (int a = 0; a < x.count; ++a, ++k) {
          const std::int64_t row = (z.first + c) * coarse.of[1] + y.first + b;
          columns[k] = static_cast<std::int32_t>(row * coarse.of[0] + x.first + a);
          values[k] = T{static_cast<Real<T>>(x.weight * y.weight * z.weight)};
        }
      }
    }
  }
};

}  // namespace

template <class Target, class T>
Csr<T> interpolation(const Device& device, const Grid& grid) {
  static_assert(std::is_same_v<Target, ThisTarget>);
  return on_backend(device, [&]<class B>() {
    B backend(device);
    const Grid coarse = grid.coarse();
    const std::int64_t n = grid.size();
    Array<std::int64_t> offsets(device, n + 1);
    backend.for_each(n, CountWeights{GridPoints(grid), offsets.data()});
    const std::int64_t nonzeros = backend.exclusive_scan(n, offsets.data(), offsets.data());
    Array<std::int32_t> columns(device, nonzeros);
    Array<T> values(device, nonzeros);
    backend.for_each(n, FillWeights<T>{GridPoints(grid), GridPoints(coarse), offsets.data(), columns.data(),
                                       values.data()});
    return Csr<T>::unchecked(n, coarse.size(), std::move(offsets), std::move(columns), std::move(values));
  });
}

#define ECHELON_INSTANTIATE(T) template Csr<T> interpolation<ThisTarget>(const Device&, const Grid&);
ECHELON_FOR_EACH_SCALAR_OF_HOST(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::multigrid
