// SPDX-License-Identifier: BSD-3-Clause
/// Names of the orderings in which sparse direct methods eliminate.
#pragma once

#include <echelon/enum_words.hpp>

#include <array>

namespace echelon {

/// Order in which rows and columns of a sparse matrix are eliminated. The fewer entries it adds to the
/// factor, the fill, the less a factorisation costs.
enum class Ordering {
  automatic,  ///< the one of `amd` and `metis` with fewer predicted flops
  amd,        ///< approximate minimum degree: fast, best for small and irregular matrices
  metis,      ///< nested dissection by METIS: less fill for large meshes, at several times the time
  rcm,        ///< reverse Cuthill-McKee: a small bandwidth
  natural,    ///< the order of the rows
};
constexpr std::array<EnumWord<Ordering>, 5> words_of(Ordering) {
  return {{{Ordering::automatic, "auto"},
           {Ordering::amd, "amd"},
           {Ordering::metis, "metis"},
           {Ordering::rcm, "rcm"},
           {Ordering::natural, "natural"}}};
}

}  // namespace echelon
