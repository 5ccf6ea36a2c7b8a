// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "backend/host/host.hpp"
#include "linalg/components.hpp"
#include "matrix/host_copy.hpp"
#include "matrix/rows.hpp"
#include "page/layouts.hpp"

#include <echelon/page/report_page.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>

namespace echelon {

namespace {

constexpr std::int64_t most_ranges = 24;

/// Decimal exponents of the finite elements that are not zero, with the number of elements of each.
template <class T>
std::map<int, std::int64_t> count_exponents(const MatrixRef<T>& A) {
  std::map<int, std::int64_t> counts;
  with_rows(A, [&](const auto& rows) {
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      for (std::int64_t k = rows.begin(i); k < rows.end(i); ++k) {
        const double magnitude = std::abs(static_cast<double>(rows.value(i, k)));
        if (magnitude > 0 && std::isfinite(magnitude))
          ++counts[static_cast<int>(std::floor(std::log10(magnitude)))];
      }
    }
  });
  return counts;
}

/// Joins powers of ten until there are at most `most_ranges` ranges.
std::vector<MagnitudeCount> ranges_of(const std::map<int, std::int64_t>& counts) {
  std::vector<MagnitudeCount> ranges;
  if (counts.empty()) return ranges;
  const int first = counts.begin()->first;
  const int last = counts.rbegin()->first;
  const int width = static_cast<int>((last - first + most_ranges) / most_ranges);
  for (int begin = first; begin <= last; begin += width) ranges.push_back({begin, begin + width, 0});
  for (const auto& [exponent, number] : counts)
    ranges[static_cast<std::size_t>((exponent - first) / width)].elements += number;
  return ranges;
}

}  // namespace

template <class T>
MatrixPortrait portrait(MatrixRef<T> A) {
  return at_api_boundary([&] {
    const HostCopy<T> host(A);
    const MatrixRef<T>& matrix = host.matrix();
    MatrixPortrait result;
    result.structure = analyze_structure(matrix);
    result.structural_rank = structural_rank(matrix);
    if (matrix.is_sparse() && result.structure.symmetric_pattern) {
      Host backend{Device()};
      result.components = find_components(backend, *matrix.csr()).count;
    } else if (matrix.is_sparse() && matrix.rows() == matrix.columns()) {
      result.blocks = block_triangular_form(*matrix.csr()).blocks();
    }
    result.magnitudes = ranges_of(count_exponents(matrix));
    result.spy = draw_spy("Sparsity pattern of A", matrix, spy_on_page);
    return result;
  });
}

template MatrixPortrait portrait(MatrixRef<float>);
template MatrixPortrait portrait(MatrixRef<double>);

}  // namespace echelon
