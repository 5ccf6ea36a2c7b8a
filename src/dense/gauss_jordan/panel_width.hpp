// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "dense/panels/panel.hpp"

#include <echelon/methods/dense/gauss_jordan.hpp>

#include <algorithm>
#include <cstdint>

namespace echelon {

/// Columns of a panel: the option's, or selected by the size of A. Wide panels make the multiplications more
/// efficient, but take longer themselves.
template <class T, class B>
std::int64_t panel_width(const B& backend, const GaussJordanOptions& options, std::int64_t rows,
                         std::int64_t columns) {
  if constexpr (queues_panels<B, T>) {
    if (options.block > 0) return std::min(options.block, max_panel_width);
    return select_panel_width<T>(backend, rows, columns);
  } else {
    if (options.block > 0) return options.block;
    return std::clamp(std::min(rows, columns) / 8 / 32 * 32, std::int64_t{32}, std::int64_t{128});
  }
}

}  // namespace echelon
