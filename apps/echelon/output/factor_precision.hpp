// SPDX-License-Identifier: BSD-3-Clause
/// The part of a report about elimination in a lower precision.
#pragma once

#include "terminal/text.hpp"

#include <echelon/report.hpp>

#include <vector>

namespace echelon::tool {

/// Adds a row if a lower precision was requested.
void add_factor_precision(std::vector<Row>& rows, const Report& report);

}  // namespace echelon::tool
