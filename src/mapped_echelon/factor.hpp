// SPDX-License-Identifier: BSD-3-Clause
/// Mapped echelon form of a matrix, for back substitution.
#pragma once

#include "backend/steps.hpp"
#include "exact/lanes.hpp"
#include "exact/reduction.hpp"

#include <echelon/array.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace echelon::mapped {

/// A row of the map: its place among the elements of the factor. The first of them is the leading one.
struct OwnedUnknown {
  std::int32_t unknown = 0;
  std::int32_t row = 0;  ///< the owner
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

namespace factor_detail {

template <class Element, class Value>
struct CopyOwner {
  RowsView<Element> rows;
  const OwnedUnknown* owned;
  std::int32_t* columns;
  Value* values;
  template <class Lanes>
  ECHELON_ANYWHERE void operator()(std::int64_t k, Lanes lanes) const {
    const OwnedUnknown& target = owned[k];
    const std::int64_t from = rows.start[target.row] - target.begin;
    for (std::int64_t e = target.begin + lanes.lane(); e < target.end; e += Lanes::lanes) {
      columns[e] = rows.columns[from + e];
      values[e] = rows.elements[from + e].value;
    }
  }
};

/// Computes x at an owned unknown from those that precede it in back substitution. One thread sums the row in
/// the order of its elements, so that every device returns the same bits.
template <class Field>
struct Substitute {
  Field field;
  const OwnedUnknown* owned;
  const std::int32_t* columns;
  const typename Field::Value* values;
  const typename Field::Element* reduced;
  typename Field::Value* x;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    const OwnedUnknown& row = owned[k];
    typename Field::Element sum = reduced[row.row];
    for (std::int64_t e = row.begin + 1; e < row.end; ++e) {
      sum = field.reduced(sum, values[e], x[columns[e]]);
    }
    x[row.unknown] = field.quotient(sum.value, values[row.begin]);
  }
};

}  // namespace factor_detail

/// The map from unknowns to rows, with the rows, in steps of back substitution: the unknowns of a step depend
/// on those of earlier steps only.
template <class Value>
class MappedFactor {
 public:
  MappedFactor() = default;

  /// Copies the rows of the owners. `order`: the unknowns as they were eliminated; `owner`, `length`: by
  /// unknown and by row. The steps are determined on the host.
  template <class B, class Element>
  MappedFactor(B& backend, const RowsView<Element>& rows, const std::vector<std::int32_t>& length,
               const std::vector<std::int32_t>& owner, const std::vector<std::int32_t>& order) {
    std::vector<OwnedUnknown> owned;
    std::int64_t elements = 0;
    for (std::size_t step = order.size(); step-- > 0;) {
      const std::int32_t unknown = order[step];
      const std::int32_t row = owner[static_cast<std::size_t>(unknown)];
      if (row == no_row) continue;
      const std::int64_t begin = elements;
      elements += length[static_cast<std::size_t>(row)];
      owned.push_back({unknown, row, begin, elements});
    }
    const Device& device = backend.device();
    owned_ = Array<OwnedUnknown>(device, std::span<const OwnedUnknown>(owned));
    columns_ = Array<std::int32_t>(device, elements);
    values_ = Array<Value>(device, elements);
    for_each_row(
        backend, rank(), elements,
        factor_detail::CopyOwner<Element, Value>{rows, owned_.data(), columns_.data(), values_.data()});
    backend.synchronize();
    schedule(device, owned, owner.size());
  }

  [[nodiscard]] std::int64_t rank() const { return owned_.size(); }
  [[nodiscard]] std::int64_t elements() const { return columns_.size(); }
  [[nodiscard]] const Steps& steps() const { return steps_; }
  [[nodiscard]] const Array<OwnedUnknown>& owned() const { return owned_; }
  [[nodiscard]] const Array<std::int32_t>& columns() const { return columns_; }
  [[nodiscard]] const Array<Value>& values() const { return values_; }
  [[nodiscard]] std::size_t bytes() const {
    return owned_.bytes() + columns_.bytes() + values_.bytes() + steps_.bytes();
  }

  /// Computes x at the owned unknowns from the reduced right-hand side; x has values at the free ones.
  /// Queued.
  template <class B, class Field>
  void substitute(B& backend, const Field& field, const typename Field::Element* reduced, Value* x) const {
    for_each_step(
        backend, steps_,
        factor_detail::Substitute<Field>{field, owned_.data(), columns_.data(), values_.data(), reduced, x});
  }

 private:
  /// Sorts the owned unknowns by step. An unknown is one step later than the latest unknown of its row.
  /// `owned` begins with the unknown that was eliminated last.
  void schedule(const Device& device, const std::vector<OwnedUnknown>& owned, std::size_t unknowns) {
    const std::vector<std::int32_t> columns = columns_.to_vector();
    std::vector<std::int32_t> depth(unknowns, 0);  // 0: free, hence known from the beginning
    std::vector<std::int64_t> ends;
    for (const OwnedUnknown& row : owned) {
      std::int32_t latest = 0;
      for (std::int64_t e = row.begin + 1; e < row.end; ++e) {
        latest = std::max(latest, depth[static_cast<std::size_t>(columns[static_cast<std::size_t>(e)])]);
      }
      depth[static_cast<std::size_t>(row.unknown)] = latest + 1;
      if (ends.size() == static_cast<std::size_t>(latest)) ends.push_back(0);
      ++ends[static_cast<std::size_t>(latest)];
    }
    std::int64_t sum = 0;
    for (std::int64_t& end : ends)
      sum += std::exchange(end, sum);  // positions where the steps begin, which the loop below advances
    std::vector<OwnedUnknown> sorted(owned.size());
    for (const OwnedUnknown& row : owned) {
      std::int64_t& place = ends[static_cast<std::size_t>(depth[static_cast<std::size_t>(row.unknown)]) - 1];
      sorted[static_cast<std::size_t>(place++)] = row;
    }
    owned_ = Array<OwnedUnknown>(device, std::span<const OwnedUnknown>(sorted));
    steps_ = Steps(device, std::move(ends));
  }

  Array<OwnedUnknown> owned_;
  Array<std::int32_t> columns_;
  Array<Value> values_;
  Steps steps_;
};

}  // namespace echelon::mapped
