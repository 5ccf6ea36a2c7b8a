// SPDX-License-Identifier: BSD-3-Clause
#include "output/factor_precision.hpp"

#include <fmt/format.h>

namespace echelon::tool {

Json factor_precision_json(const Report& report) {
  if (!report.factor_precision) return nullptr;
  const FactorPrecision& precision = *report.factor_precision;
  return {{"asked", to_string(precision.asked)},
          {"used", to_string(precision.used)},
          {"why", precision.why.empty() ? Json(nullptr) : Json(precision.why)}};
}

void add_factor_precision(std::vector<Row>& rows, const Report& report) {
  if (!report.factor_precision) return;
  const FactorPrecision& precision = *report.factor_precision;
  std::string text(to_string(precision.used));
  if (precision.used != precision.asked) {
    text += fmt::format(", not {}: {}", to_string(precision.asked), precision.why);
  }
  if (report.iterations > 0) text += fmt::format("; steps of refinement: {}", report.iterations);
  rows.emplace_back("factor precision", text);
}

}  // namespace echelon::tool
