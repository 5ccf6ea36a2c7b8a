// SPDX-License-Identifier: BSD-3-Clause
/// Linear combinations of the given rows, recovered from the record of an elimination. Host code.
#pragma once

#include "exact/record.hpp"
#include "support/text.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace echelon::mapped {

/// Coefficients w, one for each given row, such that the sum of w_i times row i is the row `row` as the
/// elimination left it. The reductions are undone from the last to the first: with row' = row - m pivot, a
/// coefficient of row' is one of row, and -m times it one of pivot.
template <class Field>
std::vector<typename Field::Value> combination_of(const Field& field,
                                                  const HostRecord<typename Field::Value>& record,
                                                  std::int64_t rows, std::int64_t row) {
  using Value = typename Field::Value;
  std::vector<typename Field::Element> w(static_cast<std::size_t>(rows));
  w[static_cast<std::size_t>(row)] = {Value{1}};
  for (std::size_t k = record.row.size(); k-- > 0;) {
    const Value coefficient = w[static_cast<std::size_t>(record.row[k])].value;
    if (coefficient == 0) continue;
    auto& pivot = w[static_cast<std::size_t>(record.pivot[k])];
    pivot = field.reduced(pivot, record.multiplier[k], coefficient);
  }
  std::vector<Value> coefficients;
  coefficients.reserve(w.size());
  for (const auto& element : w) coefficients.push_back(element.value);
  return coefficients;
}

/// Text of a combination, such as "1 * row 3 - 2 * row 1 + ...": the first eight terms.
template <class Field>
std::string combination_text(const Field& field, const std::vector<typename Field::Value>& coefficients) {
  constexpr int most_terms = 8;
  std::string text;
  int terms = 0;
  for (std::size_t i = 0; i < coefficients.size(); ++i) {
    if (coefficients[i] == 0) continue;
    if (++terms > most_terms) continue;
    const auto number = static_cast<double>(field.signed_number(coefficients[i]));
    text += number < 0 ? (text.empty() ? "-" : " - ") : (text.empty() ? "" : " + ");
    text += short_number(number < 0 ? -number : number) + " * row " + std::to_string(i);
  }
  if (terms > most_terms) text += " + " + std::to_string(terms - most_terms) + " more";
  return text;
}

}  // namespace echelon::mapped
