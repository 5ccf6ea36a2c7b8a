// SPDX-License-Identifier: BSD-3-Clause
/// Choice of methods by `auto`: the list of choose(), and the candidates when A turns out to be singular.
#pragma once

#include "linalg/dominance.hpp"
#include "solver/band_prediction.hpp"

#include <echelon/matrix/structure.hpp>
#include <echelon/solve.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace echelon {

/// Time of a sparse factorisation below which it precedes all other methods, even if CG would be faster,
/// because its accuracy does not depend on the condition number of A as CG's does.
inline constexpr double direct_first_seconds = 1;

/// Cost of a sparse LU factorisation of any square A of the pattern, by an ordering and a symbolic analysis.
template <class T>
[[nodiscard]] CostPrediction predict_factor_cost(const Csr<T>& A);

/// Facts on which the choice of methods depends.
struct MethodSelection {
  Device device;
  Structure structure;
  std::size_t element_size = 8;
  bool sparse = true;
  /// Prediction for a band factorisation of a square sparse A.
  std::optional<BandPrediction> band = {};
  /// Cost of a sparse factorisation; unset for a dense A, for an A with a narrow band, and if it is deferred.
  std::optional<CostPrediction> factor = {};
  /// Whether `factor` is to be found by complete(), where the candidates before a factorisation have failed:
  /// an ordering alone takes longer than a factorisation that comes first may.
  bool factor_deferred = false;
  /// Class of A if the methods for graphs suit it, a Laplacian or one with excess (SDDM); `band` and `factor`
  /// are then unset.
  DominanceKind graph = DominanceKind::none;
  /// Whether every row of such an A is dominant by a tenth of its diagonal element or more.
  bool strongly_dominant = false;
  /// Whether A is taken as symmetric although rounding errors, as of a computed B^T D B, make it differ from
  /// its transpose.
  bool nearly_symmetric = false;

  /// Analyses A; unless `as_sddm`, an SDDM matrix as any other, for the candidates that follow if the method
  /// for graphs fails. Throws NotBuilt or NoDevice if `device` cannot be used.
  template <class T>
  [[nodiscard]] static MethodSelection of(MatrixRef<T> A, const std::optional<Device>& device,
                                          bool as_sddm = true);

  /// Finds what was deferred: candidates() then has further ones after those that it had.
  template <class T>
  void complete(MatrixRef<T> A);

  /// Whether LU of a band is expected to be faster than other direct methods.
  [[nodiscard]] bool has_narrow_band() const;
  /// Whether A equals its transpose, has a positive diagonal, and nothing shows that it is indefinite.
  [[nodiscard]] bool plausibly_spd() const;
  /// Candidates in the order in which to try them.
  [[nodiscard]] std::vector<Candidate> candidates() const;
  /// Candidates for a square A that is known to be singular: Krylov methods that find a solution of a
  /// consistent system, then, if n^3 flops are affordable, elimination with a rank decision.
  [[nodiscard]] std::vector<Candidate> singular_candidates() const;

 private:
  template <class T>
  void find_factor_cost(const Csr<T>& A);
};

}  // namespace echelon
