// SPDX-License-Identifier: BSD-3-Clause
/// Names of the orderings in which sparse direct methods eliminate.
#pragma once

#include <echelon/enum_words.hpp>

#include <array>

namespace echelon {

/// Order in which rows and columns of a sparse matrix are eliminated. The less fill (entries that elimination
/// adds to the factor) an order causes, the less a factorisation costs.
enum class Ordering {
  automatic,   ///< the one with the fewest predicted flops: amd, dissection or, if worth its time, metis
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
