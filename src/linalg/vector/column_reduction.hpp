// SPDX-License-Identifier: BSD-3-Clause
/// Sums of the columns of a dense matrix on a device.
#pragma once

#include "backend/backend.hpp"

#include <echelon/annotate.hpp>
#include <echelon/array.hpp>

#include <algorithm>
#include <cstdint>

namespace echelon {

/// offsets[s] of parts of equal columns: part s is part s % parts of column s / parts.
struct PartOffset {
  std::int64_t rows, part_rows, parts;
  std::int64_t* offsets;
  ECHELON_ANYWHERE void operator()(std::int64_t s) const {
    const std::int64_t begin = s % parts * part_rows;
    offsets[s] = s / parts * rows + (begin < rows ? begin : rows);
  }
};
template <class V>
struct PartSum {
  const V* sums;
  ECHELON_ANYWHERE V operator()(std::int64_t s) const { return sums[s]; }
};

/// Reductions of the columns of contiguous m by n elements, with the same bits on each call. Parts of long
/// columns are summed first: a GPU has more processors than a tall matrix has columns.
template <class B, class V>
class ColumnReduction {
 public:
  ColumnReduction(B& backend, std::int64_t m, std::int64_t n)
      : backend_(backend),
        columns_(n),
        parts_(std::max<std::int64_t>((m + part_rows - 1) / part_rows, 1)),
        offsets_(backend.device(), n * parts_ + 1),
        columns_of_parts_(backend.device(), n + 1),
        sums_(backend.device(), n * parts_) {
    backend.for_each(n * parts_ + 1, PartOffset{m, part_rows, parts_, offsets_.data()});
    backend.for_each(n + 1, PartOffset{parts_, parts_, 1, columns_of_parts_.data()});
  }

  /// sums[j] = f(j m) + ... + f(j m + m - 1) in the sense of V's combine, in the backend's memory; queued.
  template <class F>
  void run(const F& f, V* sums) {
    backend_.segmented_reduce(columns_ * parts_, offsets_.data(), f, sums_.data());
    backend_.segmented_reduce(columns_, columns_of_parts_.data(), PartSum<V>{sums_.data()}, sums);
  }

 private:
  static constexpr std::int64_t part_rows = 2048;

  B& backend_;
  std::int64_t columns_, parts_;
  Array<std::int64_t> offsets_, columns_of_parts_;
  Array<V> sums_;
};

}  // namespace echelon
