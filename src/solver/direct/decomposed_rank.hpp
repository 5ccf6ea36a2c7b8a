// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "support/setup_control.hpp"

#include <echelon/device.hpp>
#include <echelon/matrix/matrix.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace echelon {

/// A matrix to be decomposed, and how.
template <class T>
struct DecompositionTask {
  const Device& device;
  const MatrixRef<T>& A;
  const MatrixRef<T>& transpose;    ///< of A
  std::optional<double> tolerance;  ///< on pivots, relative to the largest; none: by rounding errors
  bool basic;                       ///< x has at most as many elements other than zero as the rank
  const SetupControl& control;
};

/// Pivots that differ by less than this factor from the largest rejected one, or the tolerance, leave a doubt
/// about the rank.
inline constexpr double clear_rank_gap = 1000;

/// The rank that a decomposition found, and how it was decided.
struct DecomposedRank {
  std::int64_t rank = 0;
  double tolerance = 0;          ///< on pivots relative to the largest
  double smallest_accepted = 0;  ///< pivot, relative to the largest; 0: none
  double largest_rejected = 0;   ///< the same; 0: none
  bool doubtful = false;         ///< no clear gap between accepted and rejected pivots, or the tolerance
};

/// Warning about a doubtful rank.
[[nodiscard]] std::string doubt(const DecomposedRank& rank);

}  // namespace echelon
