// SPDX-License-Identifier: BSD-3-Clause
/// The choice of methods by `auto`: what choose() lists, and what follows when A turns out to be singular.
#pragma once

#include "solver/band_prediction.hpp"

#include <echelon/matrix/structure.hpp>
#include <echelon/solve.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace echelon {

/// The facts that decide.
struct MethodSelection {
  Device device;
  Structure structure;
  std::size_t element_size = 8;
  bool sparse = true;
  /// For a square sparse A.
  std::optional<BandPrediction> band = {};
  /// Cost of a sparse factorisation; unset for a dense A and where A has a narrow band.
  std::optional<CostPrediction> factor = {};
  /// Whether A is the Laplacian of a graph: neither `band` nor `factor` is set then.
  bool laplacian = false;

  /// Throws NotBuilt or NoDevice where `device` cannot be used.
  template <class T>
  [[nodiscard]] static MethodSelection of(MatrixRef<T> A, const std::optional<Device>& device);

  /// Whether LU of a band is expected to be quicker than other direct methods.
  [[nodiscard]] bool has_narrow_band() const;
  /// In the order to try them.
  [[nodiscard]] std::vector<Candidate> candidates() const;
  /// For a square A that is known to be singular: Krylov methods that find a solution of a consistent system,
  /// then, where n^3 flops are affordable, elimination with a rank decision.
  [[nodiscard]] std::vector<Candidate> singular_candidates() const;
};

}  // namespace echelon
