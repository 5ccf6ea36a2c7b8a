// SPDX-License-Identifier: BSD-3-Clause
/// Weights D_i of subdomains on their boundaries, whose sum over all subdomains is the identity.
#pragma once

#include "domain_decomposition/bddc/subdomains/interface.hpp"

#include <echelon/matrix/dense.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace echelon::bddc {

/// The weights of one subdomain: a diagonal, and for deluxe scaling a dense block for each class.
struct LocalWeights {
  struct Block {
    std::vector<std::int32_t> places;  ///< along the boundary
    Dense<double> matrix;
  };
  std::vector<double> diagonal;  ///< zero in the places of blocks
  std::vector<Block> blocks;

  /// y = D x, or D^T x.
  void apply(bool transposed, const double* x, double* y) const;
  [[nodiscard]] std::size_t bytes() const;
};

/// D_i for the subdomains of a class from their blocks S_i of the Schur complements: (sum_j S_j)^-1 S_i.
/// Empty if the sum is not positive definite to working precision, as it is for two floating subdomains with
/// one face and no other neighbour.
[[nodiscard]] std::vector<Dense<double>> deluxe_blocks(std::vector<Dense<double>> blocks);

}  // namespace echelon::bddc
