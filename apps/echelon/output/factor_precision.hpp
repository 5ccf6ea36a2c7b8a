// SPDX-License-Identifier: BSD-3-Clause
/// What a report says about an elimination in a lower precision.
#pragma once

#include "output/json.hpp"
#include "terminal/text.hpp"

#include <echelon/report.hpp>

#include <vector>

namespace echelon::tool {

/// Null where no lower precision was asked for.
[[nodiscard]] Json factor_precision_json(const Report& report);
/// A row where a lower precision was asked for.
void add_factor_precision(std::vector<Row>& rows, const Report& report);

}  // namespace echelon::tool
