// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "support/text.hpp"

#include <echelon/page/report_page.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace echelon {

namespace {

std::string symmetry_text(const Structure& s) {
  if (s.rows != s.columns) return "rectangular";
  if (s.hermitian_values && !s.symmetric_values) return "Hermitian: equal to its adjoint";
  if (s.symmetric_values && !s.hermitian_values)
    return "complex symmetric: equal to its transpose, not Hermitian";
  if (s.symmetric_values) return "symmetric, in pattern and in values";
  const std::string pattern = s.symmetric_pattern ? "symmetric pattern" : "unsymmetric pattern";
  return fmt::format("{}, unsymmetric values: max |a_ij - a_ji| / max |a_ij| = {}", pattern,
                     short_number(s.asymmetry));
}

std::string definiteness_text(Definiteness definiteness) {
  switch (definiteness) {
    case Definiteness::positive_definite:
      return "positive definite (positive diagonal, strictly dominant)";
    case Definiteness::positive_semidefinite:
      return "positive semidefinite (nonnegative diagonal, dominant)";
    case Definiteness::maybe_positive_definite:
      return "possibly positive definite (the diagonal does not rule it out)";
    case Definiteness::indefinite:
      return "indefinite (by the diagonal or a 2-by-2 minor)";
    case Definiteness::unknown:
      break;
  }
  return "unknown";
}

std::string dominance_text(const Structure& s) {
  if (s.strictly_dominant_rows == s.rows) return "strict, in every row";
  if (s.weakly_dominant_rows == s.rows) {
    return fmt::format("weak, in every row; strict in {}", grouped(s.strictly_dominant_rows));
  }
  return fmt::format("in {} of {} rows; strict in {}", grouped(s.weakly_dominant_rows), grouped(s.rows),
                     grouped(s.strictly_dominant_rows));
}

ReportRow rank_row(const Structure& s, std::int64_t structural_rank) {
  ReportRow row{.label = "structural rank"};
  const std::int64_t full = std::min(s.rows, s.columns);
  if (structural_rank == full) {
    row.value = fmt::format("{}, full", grouped(full));
  } else {
    row.value = fmt::format("{} of {}: singular for all values of the nonzeros", grouped(structural_rank),
                            grouped(full));
    row.severity = Severity::warning;
  }
  return row;
}

std::vector<PageBar> magnitude_bars(const std::vector<MagnitudeCount>& magnitudes) {
  std::vector<PageBar> bars;
  bars.reserve(magnitudes.size());
  for (const MagnitudeCount& range : magnitudes) {
    bars.push_back({fmt::format("1e{} to 1e{}", range.first, range.end), static_cast<double>(range.elements),
                    grouped(range.elements)});
  }
  return bars;
}

}  // namespace

std::vector<ReportRow> matrix_rows(const Structure& s, std::int64_t structural_rank) {
  const std::int64_t nonzeros = s.nonzeros - s.explicit_zeros;
  const double elements = static_cast<double>(s.rows) * static_cast<double>(s.columns);
  const double density = elements > 0 ? static_cast<double>(nonzeros) / elements : 0;
  return {{.label = "size", .value = fmt::format("{} x {}", grouped(s.rows), grouped(s.columns))},
          {.label = "nonzeros",
           .value = fmt::format("{} ({:.2g} %), {} to {} per row; {} explicit zeros", grouped(nonzeros),
                                100 * density, s.shortest_row, s.longest_row, grouped(s.explicit_zeros))},
          {.label = "symmetry", .value = symmetry_text(s)},
          {.label = "definiteness", .value = definiteness_text(s.definiteness)},
          {.label = "bandwidth",
           .value = fmt::format("{} below and {} above the diagonal", grouped(s.lower_bandwidth),
                                grouped(s.upper_bandwidth))},
          {.label = "diagonal",
           .value = fmt::format("{} zero or missing, {} positive", grouped(s.zero_diagonals),
                                grouped(s.positive_diagonals))},
          {.label = "diagonal dominance", .value = dominance_text(s)},
          rank_row(s, structural_rank),
          {.label = "empty",
           .value = fmt::format("{} rows, {} columns", grouped(s.empty_rows), grouped(s.empty_columns))},
          {.label = "magnitudes",
           .value = fmt::format("{} to {}", short_number(s.smallest_magnitude),
                                short_number(s.largest_magnitude))}};
}

void add_matrix(Page& page, const MatrixPortrait& matrix, const std::vector<ReportRow>& system) {
  at_api_boundary([&] {
    page.section("Matrix");
    std::vector<ReportRow> rows = system;
    for (ReportRow& row : matrix_rows(matrix.structure, matrix.structural_rank))
      rows.push_back(std::move(row));
    if (matrix.components)
      rows.push_back({.label = "connected components", .value = grouped(*matrix.components)});
    if (matrix.blocks)
      rows.push_back({.label = "diagonal blocks",
                      .value = grouped(*matrix.blocks),
                      .explanation = "Of the block triangular form: one if A is irreducible."});
    page.facts(rows);
    page.picture(matrix.spy,
                 fmt::format("Sparsity pattern of A: {} x {}, {} nonzeros; darker where there are more.",
                             grouped(matrix.structure.rows), grouped(matrix.structure.columns),
                             grouped(matrix.structure.nonzeros - matrix.structure.explicit_zeros)));
    page.bars("Elements by magnitude", magnitude_bars(matrix.magnitudes));
  });
}

}  // namespace echelon
