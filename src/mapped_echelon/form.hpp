// SPDX-License-Identifier: BSD-3-Clause
/// Mapped echelon form of a matrix, with the record of its elimination.
#pragma once

#include "backend/store.hpp"
#include "exact/elimination.hpp"
#include "mapped_echelon/factor.hpp"
#include "mapped_echelon/solution.hpp"

#include <echelon/array.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace echelon::mapped {

/// Facts about an elimination.
struct Facts {
  std::int64_t rounds = 0;
  std::int64_t levels = 0;  ///< of slices
  std::int64_t slices_of_teams = 0;
  double smallest_accepted = 1;  ///< least |value| / size of a leading element in the map
  double smallest_of_row = 1;    ///< least |value| of one relative to the largest element of its row in A
  double largest_rejected = 0;   ///< largest of a leading element that counted as zero
  std::vector<std::int64_t> dependent_rows;
  std::vector<std::int64_t> free_unknowns;
  std::optional<std::int64_t> overflow;  ///< the first unknown whose leading element is infinite or NaN
};

/// Magnitude of a leading element in the map, relative to the sum of its terms and to the largest element of
/// its row as it was given.
struct PivotSize {
  double of_terms = 1;
  double of_row = 1;
};

namespace form_detail {

/// Size of a pivot: 1 for a free unknown, NaN for an infinity.
template <class Field>
struct MeasurePivot {
  MapView<Field> map;
  PivotSize* sizes;
  ECHELON_ANYWHERE void operator()(std::int64_t unknown) const {
    const std::int32_t row = map.owner[unknown];
    sizes[unknown] = {};
    if (row == no_row) return;
    const typename Field::Element lead = map.rows.lead_element(row);
    const double magnitude = std::fabs(static_cast<double>(map.field.number(lead.value)));
    sizes[unknown] = {map.field.relative_size(lead), magnitude / map.norm[row]};
    if (!map.field.is_finite(lead)) sizes[unknown].of_terms = NAN;
  }
};

}  // namespace form_detail

template <class B, class Field>
class MappedForm {
 public:
  using Element = typename Field::Element;
  using Value = typename Field::Value;

  /// Copies the parts of a completed elimination that solving needs, and takes its record.
  explicit MappedForm(MappedElimination<B, Field>& elimination)
      : field_(elimination.field()),
        owner_(elimination.owner().to_vector()),
        order_(elimination.order()),
        pivot_sizes_(measure_pivots(elimination)),
        record_(std::move(elimination.record())) {
    const Device& device = elimination.backend().device();
    record_.shrink();
    rounds_ = Steps(device, record_.ends());
    const std::vector<std::int32_t> length = elimination.length().to_vector();
    rows_ = elimination.length().size();
    factor_ = MappedFactor<Value>(elimination.backend(), elimination.map().rows, length, owner_, order_);
    collect_facts(length);
    facts_.rounds = elimination.rounds();
    facts_.levels = elimination.levels();
    facts_.slices_of_teams = elimination.slices_of_teams();
    for (const double rejected : elimination.rejected().to_vector()) {
      facts_.largest_rejected = std::max(facts_.largest_rejected, rejected);
    }
    const std::vector<std::int32_t> dependent(facts_.dependent_rows.begin(), facts_.dependent_rows.end());
    dependent_ = Array<std::int32_t>(device, std::span<const std::int32_t>(dependent));
  }

  [[nodiscard]] const Field& field() const { return field_; }
  [[nodiscard]] const Facts& facts() const { return facts_; }
  [[nodiscard]] std::int64_t rank() const { return factor_.rank(); }
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t columns() const { return static_cast<std::int64_t>(owner_.size()); }
  [[nodiscard]] const Record<B, Value>& record() const { return record_; }
  [[nodiscard]] const MappedFactor<Value>& factor() const { return factor_; }
  /// Unknowns in the order of their elimination.
  [[nodiscard]] const std::vector<std::int32_t>& order() const { return order_; }
  /// Owner of each unknown; no_row if it is free.
  [[nodiscard]] const std::vector<std::int32_t>& owner() const { return owner_; }
  /// Pivot of each unknown; 1 if it is free.
  [[nodiscard]] const std::vector<PivotSize>& pivot_sizes() const { return pivot_sizes_; }
  [[nodiscard]] std::size_t bytes() const {
    return record_.bytes() + rounds_.bytes() + factor_.bytes() + dependent_.bytes();
  }

  /// Computes x, with zeros in the free unknowns, from a right-hand side in `reduced`, which is replaced by
  /// the right-hand side of the mapped echelon form. Queued.
  void solve(B& backend, Element* reduced, Value* x) const {
    backend.fill(columns(), Value{0}, x);
    for_each_step(backend, rounds_, Replay<Field>{field_, record_.view(), reduced});
    factor_.substitute(backend, field_, reduced, x);
  }

  /// Queues the search for the dependent row with the worst right-hand side, after solve().
  void find_contradiction(B& backend, const Element* reduced, LargestRowError* worst) const {
    backend.reduce(dependent_.size(), Contradiction<Field>{field_, dependent_.data(), reduced},
                   Store<LargestRowError>{worst});
  }

 private:
  static std::vector<PivotSize> measure_pivots(MappedElimination<B, Field>& elimination) {
    B& backend = elimination.backend();
    Array<PivotSize> sizes(backend.device(), elimination.columns());
    backend.for_each(sizes.size(), form_detail::MeasurePivot<Field>{elimination.map(), sizes.data()});
    backend.synchronize();
    return sizes.to_vector();
  }

  void collect_facts(const std::vector<std::int32_t>& length) {
    for (std::size_t row = 0; row < length.size(); ++row) {
      if (length[row] == 0) facts_.dependent_rows.push_back(static_cast<std::int64_t>(row));
    }
    for (std::size_t unknown = 0; unknown < owner_.size(); ++unknown) {
      if (owner_[unknown] == no_row) facts_.free_unknowns.push_back(static_cast<std::int64_t>(unknown));
      const PivotSize size = pivot_sizes_[unknown];
      if (std::isnan(size.of_terms) && !facts_.overflow) facts_.overflow = static_cast<std::int64_t>(unknown);
      facts_.smallest_accepted = std::min(facts_.smallest_accepted, size.of_terms);
      facts_.smallest_of_row = std::min(facts_.smallest_of_row, size.of_row);
    }
  }

  Field field_;
  std::vector<std::int32_t> owner_, order_;
  std::vector<PivotSize> pivot_sizes_;
  Record<B, Value> record_;
  Steps rounds_;
  MappedFactor<Value> factor_;
  Array<std::int32_t> dependent_;
  Facts facts_;
  std::int64_t rows_ = 0;
};

}  // namespace echelon::mapped
