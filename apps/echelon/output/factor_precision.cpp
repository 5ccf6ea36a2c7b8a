// SPDX-License-Identifier: BSD-3-Clause
#include "output/factor_precision.hpp"

#include <fmt/format.h>

namespace echelon::tool {

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
