// SPDX-License-Identifier: BSD-3-Clause
#include "arguments/nearest.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace echelon::tool {

namespace {

/// Levenshtein distance, computed one row of the dynamic-programming table at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& names) {
  std::string best;
  std::size_t best_distance = std::numeric_limits<std::size_t>::max();
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(word, name);
    const bool similar = distance <= std::max<std::size_t>(1, std::max(word.size(), name.size()) / 2);
    if (similar && distance < best_distance) {
      best = name;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace echelon::tool
