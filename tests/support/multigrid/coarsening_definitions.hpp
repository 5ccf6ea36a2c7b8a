// SPDX-License-Identifier: BSD-3-Clause
/// Strength and splittings of classical coarsening by their definitions, for dense matrices.
#pragma once

#include "multigrid/coarsening/classical/independent_set.hpp"
#include "support/classical_coarsening.hpp"

#include <echelon/device.hpp>
#include <echelon/matrix/csr.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace echelon::test {

inline const std::vector<Device> coarsening_devices = {Device::serial(), Device::openmp(1), Device::openmp(2),
                                                       Device::openmp(4)};

/// A small dense matrix, for definitions.
using Table = std::vector<std::vector<double>>;

inline Table table_of(const Csr<double>& A) {
  Table table(static_cast<std::size_t>(A.rows()),
              std::vector<double>(static_cast<std::size_t>(A.columns()), 0));
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      table[static_cast<std::size_t>(i)][static_cast<std::size_t>(A.column_indices()[k])] = A.values()[k];
    }
  }
  return table;
}

/// strong[i][j]: the definition, for a matrix with every row's diagonal stored.
inline std::vector<std::vector<bool>> strong_of(const Table& a, double threshold, double max_row_sum) {
  const std::size_t n = a.size();
  std::vector<std::vector<bool>> strong(n, std::vector<bool>(n, false));
  for (std::size_t i = 0; i < n; ++i) {
    const double sign = a[i][i] > 0 ? -1 : 1;
    double largest = 0;
    for (std::size_t j = 0; j < n; ++j) {
      if (j != i) largest = std::max(largest, sign * a[i][j]);
    }
    const double sum = std::accumulate(a[i].begin(), a[i].end(), 0.0);
    if (a[i][i] == 0 || largest == 0 || std::fabs(sum) > max_row_sum * std::fabs(a[i][i])) continue;
    for (std::size_t j = 0; j < n; ++j) strong[i][j] = j != i && sign * a[i][j] > threshold * largest;
  }
  return strong;
}

/// Set that rounds of PMIS find: points in descending order of their keys become coarse unless they
/// depend on a coarse point.
inline std::vector<std::int32_t> greedy_states(const std::vector<std::vector<bool>>& depends,
                                               bool isolated_become_coarse) {
  const std::size_t n = depends.size();
  std::vector<std::int32_t> dependents(n, 0);
  std::vector<std::int32_t> states(n, classical::fine_point);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) dependents[j] += depends[i][j] ? 1 : 0;
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (std::find(depends[i].begin(), depends[i].end(), true) == depends[i].end()) {
      states[i] = isolated_become_coarse ? classical::coarse_point : classical::isolated_point;
    } else if (dependents[i] > 0) {
      states[i] = 1;
      order.push_back(i);
    }
  }
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
    return classical::key_of(dependents[i], static_cast<std::int32_t>(i)) >
           classical::key_of(dependents[j], static_cast<std::int32_t>(j));
  });
  const std::vector<std::int32_t> first = states;
  for (const std::size_t i : order) {
    if (states[i] == classical::fine_point) continue;
    for (std::size_t j = 0; j < n; ++j) {
      if (depends[i][j] && first[j] == classical::coarse_point) states[i] = classical::fine_point;
    }
    if (states[i] == classical::fine_point) continue;
    states[i] = classical::coarse_point;
    for (std::size_t k = 0; k < n; ++k) {
      if (states[k] > 0 && depends[k][i]) states[k] = classical::fine_point;
    }
  }
  return states;
}

inline std::vector<std::int32_t> numbered(const std::vector<std::int32_t>& states) {
  std::vector<std::int32_t> numbers;
  numbers.reserve(states.size());
  std::int32_t coarse = 0;
  for (const std::int32_t state : states) {
    numbers.push_back(state == classical::coarse_point     ? coarse++
                      : state == classical::isolated_point ? classical::isolated_index
                                                           : classical::fine_index);
  }
  return numbers;
}

}  // namespace echelon::test
