// SPDX-License-Identifier: BSD-3-Clause
/// The elimination of Grassmann, Taksar and Heyman.
#pragma once

#include "sparse_direct/steady_state/rates.hpp"

#include <cstdint>
#include <vector>

namespace echelon::markov {

struct EliminationOrder {
  std::vector<std::int32_t> states;
  double flops = 0;  ///< predicted, of the elimination in this order
};
/// The order of approximate minimum degree of an irreducible chain.
[[nodiscard]] EliminationOrder elimination_order(const RateRows& steps);

/// Numbers of visits of the states of an irreducible chain with these probabilities of steps, up to a factor.
[[nodiscard]] std::vector<double> visits_by_elimination(RateRows steps,
                                                        const std::vector<std::int32_t>& order);

}  // namespace echelon::markov
