// SPDX-License-Identifier: BSD-3-Clause
/// Pictures, as SVG text.
#pragma once

#include "output/solve_outcome.hpp"

#include <echelon/matrix.hpp>

#include <string>

namespace echelon::tool {

/// The relative residual over the iterations, on a logarithmic axis, with the tolerance and the residual
/// that was measured at the end.
[[nodiscard]] std::string history_svg(const SolveOutcome& outcome);

/// Where the nonzeros of A (on the host) are: squares for a small matrix, the density of cells for a large
/// one.
template <class T>
[[nodiscard]] std::string spy_svg(const std::string& title, MatrixRef<T> A);

extern template std::string spy_svg<double>(const std::string&, MatrixRef<double>);

}  // namespace echelon::tool
