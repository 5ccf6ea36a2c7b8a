// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sparse_direct/pattern/pattern.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace echelon::sparse_direct {

/// Most entries of a row that is not dense, in a pattern of n rows: AMD's rule.
[[nodiscard]] double longest_sparse_row(std::int64_t n);

using OrderingFunction = std::function<std::vector<std::int32_t>(const Pattern&)>;

/// Orders a pattern without its dense rows, those with more than longest_sparse_row entries, and puts these
/// last, by ascending length: they are connected to nearly everything, and hide the structure of the others.
[[nodiscard]] std::vector<std::int32_t> with_dense_rows_last(const Pattern& a, const OrderingFunction& order);

/// The entries of A in some of its rows and the same columns: row k of the result is row rows[k] of A.
[[nodiscard]] PatternStorage induced_pattern(const Pattern& a, std::span<const std::int32_t> rows);

}  // namespace echelon::sparse_direct
