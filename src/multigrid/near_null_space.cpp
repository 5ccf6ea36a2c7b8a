// SPDX-License-Identifier: BSD-3-Clause
#include "solver/nested_solver.hpp"

#include <echelon/error.hpp>
#include <echelon/methods/multigrid/near_null_space.hpp>

#include <fmt/format.h>
#include <support/scalar_list.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace echelon {

namespace {

constexpr std::int64_t most_dimensions = 3;

/// Coordinates relative to their mean, in units of their root mean square.
class Centred {
 public:
  explicit Centred(const Dense<double>& coordinates) : coordinates_(&coordinates) {
    const std::int64_t nodes = coordinates.rows();
    double squares = 0;
    for (std::int64_t d = 0; d < coordinates.columns(); ++d) {
      double sum = 0;
      for (std::int64_t i = 0; i < nodes; ++i) {
        if (!std::isfinite(coordinates(i, d))) {
          throw Error(fmt::format("coordinate {} of node {}, counted from 0, is not finite", d, i));
        }
        sum += coordinates(i, d) / static_cast<double>(nodes);
      }
      centre_.at(static_cast<std::size_t>(d)) = sum;
      for (std::int64_t i = 0; i < nodes; ++i) {
        squares += (coordinates(i, d) - sum) * (coordinates(i, d) - sum) / static_cast<double>(nodes);
      }
    }
    if (squares > 0) scale_ = 1 / std::sqrt(squares);
  }
  [[nodiscard]] double operator()(std::int64_t node, std::int64_t dimension) const {
    return scale_ * ((*coordinates_)(node, dimension) - centre_.at(static_cast<std::size_t>(dimension)));
  }

 private:
  const Dense<double>* coordinates_;
  std::array<double, most_dimensions> centre_ = {};
  double scale_ = 1;
};

/// Lists the coordinate planes in which a body can rotate: pairs of axes, 0, 1 or 3 of them.
std::vector<std::array<std::int64_t, 2>> planes(std::int64_t dimensions) {
  std::vector<std::array<std::int64_t, 2>> pairs;
  for (std::int64_t first = 0; first < dimensions; ++first) {
    for (std::int64_t second = first + 1; second < dimensions; ++second) pairs.push_back({first, second});
  }
  return pairs;
}

}  // namespace

Dense<double> rigid_body_modes(const Dense<double>& coordinates, std::span<const std::int64_t> unknowns) {
  const std::int64_t dimensions = coordinates.columns();
  if (dimensions < 1 || dimensions > most_dimensions) {
    throw DimensionMismatch(
        fmt::format("coordinates have a column for each of 1 to 3 dimensions, not {}", dimensions));
  }
  std::vector<std::int64_t> all;
  if (unknowns.empty()) {
    all.resize(static_cast<std::size_t>(dimensions * coordinates.rows()));
    std::iota(all.begin(), all.end(), std::int64_t{0});
    unknowns = all;
  }
  const Centred centred(coordinates);
  const auto pairs = planes(dimensions);
  const auto rows = static_cast<std::int64_t>(unknowns.size());
  Dense<double> modes(Device(), rows, dimensions + static_cast<std::int64_t>(pairs.size()));
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t unknown = unknowns[static_cast<std::size_t>(i)];
    if (unknown < 0 || unknown >= dimensions * coordinates.rows()) {
      throw Error(fmt::format("row {} is of unknown {}, and {} nodes have unknowns 0 to {}", i, unknown,
                              coordinates.rows(), dimensions * coordinates.rows() - 1));
    }
    const std::int64_t node = unknown / dimensions;
    const std::int64_t component = unknown % dimensions;
    for (std::int64_t d = 0; d < dimensions; ++d) modes(i, d) = component == d ? 1 : 0;
    for (std::size_t p = 0; p < pairs.size(); ++p) {
      const auto [first, second] = pairs[p];
      double& mode = modes(i, dimensions + static_cast<std::int64_t>(p));
      mode = component == first ? -centred(node, second) : component == second ? centred(node, first) : 0;
    }
  }
  return modes;
}

template <class T>
void set_near_null_space(Solver<T>& solver, const Dense<double>& vectors) {
  pass_near_null_space(SolverAccess<T>::implementation(solver), vectors);
}

#define ECHELON_INSTANTIATE(T) template void set_near_null_space(Solver<T>&, const Dense<double>&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
