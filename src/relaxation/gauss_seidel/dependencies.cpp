// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "matrix/host_copy.hpp"
#include "matrix/rows.hpp"
#include "matrix/shape.hpp"

#include <echelon/sweep.hpp>

#include <algorithm>
#include <vector>

namespace echelon {

namespace {

/// Computes the level of each row in the order of a sweep.
template <class Rows>
Dependencies follow(const Rows& rows, std::int64_t n, bool forward) {
  Dependencies found;
  std::vector<std::int32_t> level(static_cast<std::size_t>(n), 0);  // from 0
  std::vector<std::int64_t> sizes;
  for (std::int64_t step = 0; step < n; ++step) {
    const std::int64_t i = forward ? step : n - 1 - step;
    std::int64_t count = 0;
    std::int32_t own = 0;
    for (std::int64_t k = rows.begin(i); k < rows.end(i); ++k) {
      const std::int64_t j = rows.column(k);
      if (forward ? j >= i : j <= i) continue;
      ++count;
      own = std::max(own, level[static_cast<std::size_t>(j)] + 1);
    }
    level[static_cast<std::size_t>(i)] = own;
    if (static_cast<std::size_t>(own) == sizes.size()) sizes.push_back(0);
    ++sizes[static_cast<std::size_t>(own)];
    found.total += count;
    found.most = std::max(found.most, count);
    if (count > 0) ++found.dependent_rows;
  }
  found.levels = found.launches = static_cast<std::int64_t>(sizes.size());
  if (sizes.empty()) return found;
  found.largest_level = *std::max_element(sizes.begin(), sizes.end());
  found.smallest_level = *std::min_element(sizes.begin(), sizes.end());
  return found;
}

}  // namespace

template <class T>
SweepDependencies analyze_dependencies(MatrixRef<T> A) {
  return at_api_boundary([&] {
    require_square(A.rows(), A.columns(), "sweeps need");
    const HostCopy<T> host(A);
    return with_rows(host.matrix(), [&](const auto& rows) {
      return SweepDependencies{follow(rows, A.rows(), true), follow(rows, A.rows(), false)};
    });
  });
}

template SweepDependencies analyze_dependencies(MatrixRef<float>);
template SweepDependencies analyze_dependencies(MatrixRef<double>);

}  // namespace echelon
