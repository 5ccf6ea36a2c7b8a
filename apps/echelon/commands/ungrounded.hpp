// SPDX-License-Identifier: BSD-3-Clause
/// Components of a network without a ground, by their rows, in reports.
#pragma once

#include "output/json.hpp"

#include <echelon/matrix/matrix.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace echelon::tool {

/// Rows of each component, from 0, see graph::ungrounded_components().
using RowsOfComponents = std::vector<std::vector<std::int32_t>>;

/// Components of A without a ground. Empty unless A is square and symmetric, and sparse or of at most 4096
/// rows.
template <class T>
[[nodiscard]] std::optional<RowsOfComponents> find_ungrounded(MatrixRef<T> A);

/// First rows of the first few components: "rows 3, 4, 7, 8, 9, ... (12 rows); row 20".
[[nodiscard]] std::string ungrounded_text(const RowsOfComponents& components);
/// Number of rows and first rows of each of the first hundred components.
[[nodiscard]] Json ungrounded_json(const RowsOfComponents& components);

/// Sentence about the component of A without a ground over which a column of b sums to the most, relative to
/// rounding; empty if there is none.
template <class T>
[[nodiscard]] std::string imbalance_text(MatrixRef<T> A, DenseView<const T> b);

}  // namespace echelon::tool
