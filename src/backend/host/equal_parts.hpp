// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

namespace echelon {

/// Division of [0, n) into `count` consecutive parts of about equal size, of which the last ones may be
/// empty. It does not change while a loop runs, whatever number of threads OpenMP provides.
struct EqualParts {
  std::int64_t n;
  int count;
  [[nodiscard]] std::int64_t begin(int part) const { return std::min(part * size(), n); }
  [[nodiscard]] std::int64_t end(int part) const { return begin(part + 1); }

 private:
  [[nodiscard]] std::int64_t size() const { return (n + count - 1) / count; }
};

}  // namespace echelon
