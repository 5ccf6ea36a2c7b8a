// SPDX-License-Identifier: BSD-3-Clause
/// Names of the orderings in which sparse direct methods eliminate.
#pragma once

#include <echelon/enum_words.hpp>

#include <array>

namespace echelon {

/// Order in which rows and columns of a sparse matrix are eliminated. The fewer entries it adds to the
/// factor, the fill, the less a factorisation costs.
enum class Ordering {
  automatic,   ///< of `amd`, `dissection` and, where its time pays, `metis`: the fewest predicted flops
  amd,         ///< approximate minimum degree: fast on one core, best for small and irregular matrices
  dissection,  ///< nested dissection, with all threads: less fill for large meshes
  metis,       ///< nested dissection by METIS, on one thread
  rcm,         ///< reverse Cuthill-McKee: a small bandwidth
  natural,     ///< the order of the rows
};
constexpr std::array<EnumWord<Ordering>, 6> words_of(Ordering) {
  return {{{Ordering::automatic, "auto"},
           {Ordering::amd, "amd"},
           {Ordering::dissection, "dissection"},
           {Ordering::metis, "metis"},
           {Ordering::rcm, "rcm"},
           {Ordering::natural, "natural"}}};
}

}  // namespace echelon
