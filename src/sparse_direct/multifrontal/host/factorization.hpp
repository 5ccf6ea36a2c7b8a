// SPDX-License-Identifier: BSD-3-Clause
/// Numeric multifrontal factorisation on the host.
#pragma once

#include "sparse_direct/multifrontal/fronts/factors.hpp"
#include "sparse_direct/multifrontal/fronts/panel_layout.hpp"
#include "sparse_direct/multifrontal/host/assembly.hpp"
#include "sparse_direct/multifrontal/host/tree_schedule.hpp"
#include "support/setup_control.hpp"

#include <cstddef>
#include <cstdint>

namespace echelon::sparse_direct {

template <class T>
struct FactorOptions {
  int threads = 1;
  SetupControl control = {};
  PivotThresholds<T> thresholds = {};  ///< of lu and ldlt
};

/// Bytes of the factors, and of the other memory that the factorisation takes, if no pivot is delayed.
struct FactorMemory {
  std::size_t factor_bytes = 0;
  std::size_t work_bytes = 0;
};
template <class T>
[[nodiscard]] FactorMemory predict_memory(const PanelLayout& layout, const TreeSchedule& schedule,
                                          int threads);

/// Factors the matrix with these values, in the places of the CSR arrays for which the layout was made;
/// `schedule` is for the same number of threads. Reuses the memory of `factors` if it is large enough.
/// The bits do not depend on the number of threads. Throws OutOfMemory.
template <class T>
FactorResult factor(const PanelLayout& layout, const TreeSchedule& schedule, const ScaledValues<T>& values,
                    const FactorOptions<T>& options, MultifrontalFactors<T>& factors);

}  // namespace echelon::sparse_direct
