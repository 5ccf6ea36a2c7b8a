// SPDX-License-Identifier: BSD-3-Clause
/// Orderings that reduce the fill of a symmetric factorisation.
#pragma once

#include "sparse_direct/ordering/pattern.hpp"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace echelon::sparse_direct {

enum class Ordering {
  automatic,  ///< chosen by the predicted flops
  amd,        ///< approximate minimum degree
  metis,      ///< nested dissection by METIS
  rcm,        ///< reverse Cuthill-McKee, which reduces the bandwidth
  natural,    ///< as the rows stand
  given,      ///< OrderingOptions::permutation
};
/// The enumerator's name.
[[nodiscard]] std::string_view to_string(Ordering ordering);

struct OrderingOptions {
  Ordering ordering = Ordering::automatic;
  std::span<const std::int32_t> permutation =
      {};  ///< for Ordering::given: n rows in the order of elimination
};

/// The rows of a pattern in the order of elimination, by any ordering but `automatic`. Throws BadOption for a
/// given permutation that is none, OutOfMemory.
[[nodiscard]] std::vector<std::int32_t> order(const Pattern& a, const OrderingOptions& options);

}  // namespace echelon::sparse_direct
