// SPDX-License-Identifier: BSD-3-Clause
/// Steady states by iteration, for chains whose elimination fills up.
#pragma once

#include "sparse_direct/steady_state/rates.hpp"

#include <cstdint>
#include <vector>

namespace echelon::markov {

struct IteratedVisits {
  std::vector<double> visits;   ///< positive, up to a factor
  std::int64_t iterations = 0;  ///< of Krylov methods
};

/// Numbers of visits y of the states of an irreducible chain with the probabilities P of steps, A y = 0 for
/// the singular M-matrix A = I - P^T: corrections by BiCGStab, or GMRES where that does not converge, with
/// incomplete factors, and Gauss-Seidel sweeps, which keep y positive. The first correction is that of y, for
/// a small ||A y||; later ones are relative to y, with Y^-1 A Y for the diagonal matrix Y of y, so that small
/// components become accurate as well.
[[nodiscard]] IteratedVisits visits_by_iteration(const RateRows& steps);

}  // namespace echelon::markov
