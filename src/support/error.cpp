// SPDX-License-Identifier: BSD-3-Clause
#include "support/text.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace echelon {

namespace {
std::string located(const std::string& file, std::int64_t line, std::int64_t column,
                    const std::string& reason) {
  if (line == 0) return fmt::format("{}: {}", file, reason);
  if (column == 0) return fmt::format("{}:{}: {}", file, line, reason);
  return fmt::format("{}:{}:{}: {}", file, line, column, reason);
}

/// Least number of insertions, deletions, substitutions and exchanges of two neighbours that turn a into b,
/// where no part is edited twice (optimal string alignment), computed row by row of the table.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, substituted});
      const bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}
}  // namespace

ParseError::ParseError(std::string file, std::int64_t line, std::int64_t column, const std::string& reason)
    : Error(located(file, line, column, reason)), file_(std::move(file)), line_(line), column_(column) {}

BadOption::BadOption(std::string path, const std::string& reason, std::string did_you_mean)
    : Error(did_you_mean.empty() ? reason : fmt::format("{}; did you mean '{}'?", reason, did_you_mean)),
      path_(std::move(path)),
      did_you_mean_(std::move(did_you_mean)) {}

std::string nearest_name(std::string_view word, const std::vector<std::string>& names) {
  std::string best;
  std::size_t best_distance = std::numeric_limits<std::size_t>::max();
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(word, name);
    const bool similar = distance < word.size() &&
                         distance <= std::max<std::size_t>(1, std::max(word.size(), name.size()) / 2);
    if (similar && distance < best_distance) {
      best = name;
      best_distance = distance;
    }
  }
  return best;
}

OutOfMemory::OutOfMemory(const std::string& device, std::size_t asked, std::size_t available)
    : Error(fmt::format("out of memory on {}: {} asked for, {} available", device,
                        asked > 0 ? byte_count(asked) : "an unknown amount", byte_count(available))),
      asked_(asked),
      available_(available) {}

}  // namespace echelon
