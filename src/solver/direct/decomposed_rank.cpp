// SPDX-License-Identifier: BSD-3-Clause
#include "solver/direct/decomposed_rank.hpp"

#include "support/text.hpp"

#include <fmt/format.h>

namespace echelon {

std::string doubt(const DecomposedRank& rank) {
  return fmt::format(
      "the rank {} of A is doubtful: of the pivots relative to the largest, the smallest accepted is {} and "
      "the largest rejected {}, with the tolerance {}",
      rank.rank, short_number(rank.smallest_accepted), short_number(rank.largest_rejected),
      short_number(rank.tolerance));
}

}  // namespace echelon
