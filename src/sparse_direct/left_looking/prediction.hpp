// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/matrix/csr.hpp>
#include <echelon/solver.hpp>

#include <optional>

namespace echelon::sparse_direct {

/// Cost of a left-looking factorisation of a square A on the host, if that is quicker than fronts; empty
/// otherwise, and for an A that is symmetric or structurally singular, whose factorisation by sparse-ldlt or
/// by fronts costs more. Throws OutOfMemory.
template <class T>
[[nodiscard]] std::optional<CostPrediction> predict_left_looking(const Csr<T>& a);

}  // namespace echelon::sparse_direct
