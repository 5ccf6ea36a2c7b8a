// SPDX-License-Identifier: BSD-3-Clause
/// The symbolic factorisation of a matrix whose pattern need not be symmetric: that of A + A^T.
#pragma once

#include "sparse_direct/multifrontal/symmetry.hpp"
#include "sparse_direct/pattern/pattern.hpp"
#include "sparse_direct/symbolic/symbolic_factor.hpp"

#include <echelon/matrix/csr.hpp>

#include <cstdint>
#include <span>

namespace echelon::sparse_direct {

/// Returns f(pattern of A + A^T), which is that of A in place if it is symmetric, for a square A on the host
/// whose rows ascend.
template <class T, class F>
[[nodiscard]] auto with_symmetric_pattern(const Csr<T>& A, const F& f) {
  if (has_symmetric_pattern(A)) return f(pattern_of(A));
  const PatternStorage symmetrized = symmetrized_pattern(A);
  return f(symmetrized.view());
}

template <class T>
[[nodiscard]] SymbolicFactor analyze_symmetric(const Csr<T>& A, const AnalysisOptions& options) {
  return with_symmetric_pattern(A,
                                [&](const Pattern& pattern) { return analyze_symmetric(pattern, options); });
}

template <class T>
[[nodiscard]] SymbolicFactor analyze_bordered(const Csr<T>& A, std::span<const std::int32_t> border,
                                              const AnalysisOptions& options) {
  return with_symmetric_pattern(
      A, [&](const Pattern& pattern) { return analyze_bordered(pattern, border, options); });
}

}  // namespace echelon::sparse_direct
