// SPDX-License-Identifier: BSD-3-Clause
/// Reports as pages in HTML.
#pragma once

#include <echelon/export.h>
#include <echelon/matrix/matrix.hpp>
#include <echelon/matrix/structure.hpp>
#include <echelon/methods/multigrid/hierarchy.hpp>
#include <echelon/page/page.hpp>
#include <echelon/report.hpp>
#include <echelon/solver/report_rows.hpp>
#include <echelon/sparse_direct.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace echelon {

/// Number of elements whose magnitudes are at least 10^first and less than 10^end.
struct ECHELON_API MagnitudeCount {
  int first = 0;
  int end = 1;
  std::int64_t elements = 0;
};

/// The facts about a matrix that a page shows.
struct ECHELON_API MatrixPortrait {
  Structure structure;
  std::int64_t structural_rank = 0;
  std::optional<std::int64_t> components;  ///< of the graph of a sparse A with a symmetric pattern
  std::optional<std::int64_t> blocks;      ///< of the block triangular form of another square sparse A
  /// Finite elements that are not zero by their magnitudes, at most 24 ranges, ascending and adjoining.
  std::vector<MagnitudeCount> magnitudes;
  std::string spy;  ///< the sparsity pattern in SVG
};

/// Looks at A in O(nonzeros sqrt(rows)) time, most of it for the structural rank. A on a GPU is copied to the
/// host. Throws Error for an operator, which has no elements.
template <class T>
[[nodiscard]] ECHELON_API MatrixPortrait portrait(MatrixRef<T> A);

/// Parts of a page in addition to a report; all of them are optional.
struct ECHELON_API PageDetails {
  std::string title = {};    ///< heading of the page, such as the name of the system; default: the method
  std::string command = {};  ///< repeats the computation; default: made from the report
  std::vector<ReportRow> system = {};  ///< facts about A and b that the caller knows, such as their files
  std::optional<MatrixPortrait> matrix = {};
  std::optional<FactorPattern> factor = {};            ///< drawn where a direct method was used
  std::optional<HierarchyDescription> hierarchy = {};  ///< default: by the report's statistics
  std::vector<PageBar> times = {};                     ///< in seconds, before those of the report
  std::vector<PageBar> memory = {};                    ///< in bytes, before that of the solver
  std::string json = {};                               ///< data of the page; default: to_json(report)
};

/// The report as a page in HTML that needs no other file: the outcome and the accuracy of x first, then the
/// matrix, the method and the reason for its choice, attempts, the convergence history with the tolerance,
/// the hierarchy or the factor, times, memory, the certificate, and the command that repeats it. At most 1
/// MB. It contains nothing that a browser would run or load.
[[nodiscard]] ECHELON_API std::string to_html(const Report& report, const PageDetails& details = {});

/// The facts about a matrix as `echelon info` prints them: "size", "nonzeros", "symmetry", "definiteness",
/// "bandwidth", "diagonal", "diagonal dominance", "structural rank", "empty" and "magnitudes".
[[nodiscard]] ECHELON_API std::vector<ReportRow> matrix_rows(const Structure& structure,
                                                             std::int64_t structural_rank);

/// Adds the facts and pictures of a matrix to a page.
ECHELON_API void add_matrix(Page& page, const MatrixPortrait& matrix,
                            const std::vector<ReportRow>& system = {});
/// Adds the levels of a hierarchy.
ECHELON_API void add_hierarchy(Page& page, const HierarchyDescription& hierarchy);
/// Adds the figures and the picture of a predicted factor.
ECHELON_API void add_factor(Page& page, const FactorPattern& factor);

}  // namespace echelon
