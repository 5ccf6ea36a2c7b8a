// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/enum_words.hpp>
#include <echelon/export.h>
#include <echelon/matrix/csr.hpp>

#include <array>
#include <cstdint>
#include <vector>

namespace echelon {

enum class SteadyStateMethod {
  automatic,    ///< elimination where that takes at most a few seconds, else iteration
  elimination,  ///< of Grassmann, Taksar and Heyman
  iteration     ///< Krylov methods and Gauss-Seidel sweeps
};
constexpr std::array<EnumWord<SteadyStateMethod>, 3> words_of(SteadyStateMethod) {
  using enum SteadyStateMethod;
  return {{{automatic, "auto"}, {elimination, "gth"}, {iteration, "iteration"}}};
}

struct ECHELON_API SteadyStateOptions {
  SteadyStateMethod method = SteadyStateMethod::automatic;
};

/// The probabilities of the states of a Markov chain that it leaves unchanged.
struct ECHELON_API SteadyState {
  /// n numbers of at least zero with the sum 1; zero for transient states. That of the first closed class, if
  /// there are several.
  std::vector<double> x;
  /// Sets of states that the chain does not leave: the steady state is unique if there is one.
  std::int64_t closed_classes = 0;
  std::int64_t transient_states = 0;
  SteadyStateMethod method = SteadyStateMethod::elimination;  ///< that x is from
  bool converged = true;        ///< false for an iteration whose residual exceeds 1e-12
  std::int64_t iterations = 0;  ///< of Krylov methods
  /// Largest difference between the flows into and out of a state, relative to the largest flow.
  double residual = 0;
  /// Largest difference between the flows into and out of a state, relative to the latter. An elimination has
  /// some n epsilon; after an iteration small components of x may be less accurate than large ones, and this
  /// says whether they are.
  double componentwise_residual = 0;
};

/// The steady state x, x^T Q = 0 or x^T P = x^T, of the Markov chain with the transition rates Q or the
/// transition probabilities P, whose element (i, j) belongs to the step from i to j; or x^T A = 0 for a
/// singular M-matrix A = -Q with zero row sums. A x = 0 is solved by passing the transpose.
///
/// The elimination of Grassmann, Taksar and Heyman has no subtractions, so that each component is accurate to
/// some n epsilon of its own size, however small it is and however stiff the chain. States are eliminated in
/// the order of approximate minimum degree, on the host. Only elements off the diagonal are used; those on it
/// have to agree with them up to 1e-8 of the row. Time and memory are those of a sparse factorisation, by
/// rows and on one thread. Where the elimination would take more than a few seconds, the chain is
/// iterated on: BiCGStab with incomplete factors for the flows, then for their relative changes, with
/// Gauss-Seidel sweeps between, which keep x positive. Where that does not converge, states are eliminated
/// after all.
///
/// Throws DimensionMismatch unless A is square, InvalidMatrix for a row of another kind or with elements that
/// are not finite, OutOfMemory.
///
/// W. K. Grassmann, M. I. Taksar, D. P. Heyman, Regenerative analysis and steady state distributions for
/// Markov chains, Oper. Res. 33 (1985); C. A. O'Cinneide, Entrywise perturbation theory and error analysis
/// for Markov chains, Numer. Math. 65 (1993).
[[nodiscard]] ECHELON_API SteadyState steady_state(const Csr<double>& A,
                                                   const SteadyStateOptions& options = {});

}  // namespace echelon
