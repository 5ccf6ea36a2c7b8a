// SPDX-License-Identifier: BSD-3-Clause
/// Markov chains by the steps from each state to others.
#pragma once

#include <cstdint>
#include <vector>

namespace echelon::markov {

struct Rate {
  std::int32_t state;
  double value;
};
using RateRows = std::vector<std::vector<Rate>>;

}  // namespace echelon::markov
