// SPDX-License-Identifier: BSD-3-Clause
/// Choice of methods by `auto`: the list of choose(), and the candidates when A turns out to be singular.
#pragma once

#include "solver/band_prediction.hpp"

#include <echelon/matrix/structure.hpp>
#include <echelon/solve.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace echelon {

/// Facts on which the choice of methods depends.
struct MethodSelection {
  Device device;
  Structure structure;
  std::size_t element_size = 8;
  bool sparse = true;
  /// Prediction for a band factorisation of a square sparse A.
  std::optional<BandPrediction> band = {};
  /// Cost of a sparse factorisation; unset for a dense A and for an A with a narrow band.
  std::optional<CostPrediction> factor = {};
  /// Whether A is the Laplacian of a graph; `band` and `factor` are then unset.
  bool laplacian = false;

  /// Analyses A. Throws NotBuilt or NoDevice if `device` cannot be used.
  template <class T>
  [[nodiscard]] static MethodSelection of(MatrixRef<T> A, const std::optional<Device>& device);

  /// Whether LU of a band is expected to be faster than other direct methods.
  [[nodiscard]] bool has_narrow_band() const;
  /// Candidates in the order in which to try them.
  [[nodiscard]] std::vector<Candidate> candidates() const;
  /// Candidates for a square A that is known to be singular: Krylov methods that find a solution of a
  /// consistent system, then, if n^3 flops are affordable, elimination with a rank decision.
  [[nodiscard]] std::vector<Candidate> singular_candidates() const;
};

}  // namespace echelon
