// SPDX-License-Identifier: BSD-3-Clause
/// Gaussian elimination to mapped echelon form, in rounds.
#pragma once

#include "backend/store.hpp"
#include "exact/local_slices.hpp"
#include "exact/record.hpp"
#include "exact/reduction.hpp"
#include "exact/slices.hpp"

#include <echelon/cancellation.hpp>
#include <echelon/error.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/methods/mapped_echelon.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace echelon::mapped {

namespace elimination_detail {

/// Elements of a row that differ from zero.
template <class Field, class T>
struct CountFieldNonzeros {
  Field field;
  const std::int64_t* offsets;
  const T* values;
  std::int64_t* counts;
  ECHELON_ANYWHERE void operator()(std::int64_t row) const {
    std::int64_t count = 0;
    for (std::int64_t k = offsets[row]; k < offsets[row + 1]; ++k) {
      count += field.element(values[k]).value != 0 ? 1 : 0;
    }
    counts[row] = count;
  }
};

/// Copies the elements of a row that differ from zero.
template <class Field, class T>
struct LoadFieldRow {
  Field field;
  const std::int64_t* offsets;
  const std::int32_t* column_indices;
  const T* values;
  RowsView<typename Field::Element> rows;
  const std::int64_t* starts;
  double* norm;
  ECHELON_ANYWHERE void operator()(std::int64_t row) const {
    std::int64_t place = starts[row];
    double largest = 0;
    for (std::int64_t k = offsets[row]; k < offsets[row + 1]; ++k) {
      const auto element = field.element(values[k]);
      if (element.value == 0) continue;
      largest = std::fmax(largest, field.size(element));
      rows.columns[place] = column_indices[k];
      rows.elements[place++] = element;
    }
    rows.start[row] = starts[row];
    rows.length[row] = static_cast<std::int32_t>(place - starts[row]);
    norm[row] = largest;
  }
};

/// Flags rows that remain for the next level: neither zero nor owners.
template <class Field>
struct IsLeft {
  MapView<Field> map;
  const std::int32_t* rows;
  std::int64_t limit;
  std::uint8_t* flags;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    flags[i] = map.rows.length[rows[i]] > 0 && map.rows.lead(rows[i]) >= limit ? 1 : 0;
  }
};

/// Records the owner of an unknown and the unknown's name in the order of elimination, and renames the
/// unknowns of the owner's row.
template <class Field>
struct RenameOwner {
  MapView<Field> map;
  std::int64_t first;
  std::int32_t* order;
  std::int32_t* result;
  template <class Lanes>
  ECHELON_ANYWHERE void operator()(std::int64_t i, Lanes lanes) const {
    const std::int64_t unknown = first + i;
    const std::int32_t row = map.owner[unknown];
    if (lanes.lane() == 0) {
      order[i] = map.name[unknown];
      result[map.name[unknown]] = row;
    }
    if (row == no_row) return;
    std::int32_t* columns = map.rows.columns + map.rows.start[row];
    for (std::int32_t k = lanes.lane(); k < map.rows.length[row]; k += Lanes::lanes) {
      columns[k] = map.name[columns[k]];
    }
  }
};

/// Rows that wait for their leading unknown, in a list for each unknown.
template <class Field>
struct WaitingRows {
  MapView<Field> map;
  std::int32_t* first;  ///< by unknown
  std::int32_t* next;   ///< by row
};

template <class Field>
struct Wait {
  WaitingRows<Field> waiting;
  const std::int32_t* rows;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const std::int32_t row = rows[i];
    waiting.next[row] = atomic_exchange(waiting.first + waiting.map.rows.lead(row), row);
  }
};

/// Collects the rows that wait for an unknown. Their order does not matter.
template <class Field>
struct TakeWaiting {
  WaitingRows<Field> waiting;
  std::int64_t unknown;
  std::int32_t* rows;
  std::int64_t* count;
  ECHELON_ANYWHERE void operator()(std::int64_t /*i*/) const {
    std::int64_t taken = 0;
    for (std::int32_t row = waiting.first[unknown]; row != no_row; row = waiting.next[row])
      rows[taken++] = row;
    *count = taken;
  }
};

struct CountOwned {
  const std::int32_t* owner;
  ECHELON_ANYWHERE Sum operator()(std::int64_t unknown) const {
    return {owner[unknown] == no_row ? 0.0 : 1.0};
  }
};

}  // namespace elimination_detail

/// Reduces the rows of A until each one owns the unknown of its leading element, or is zero.
///
/// The map says for each unknown which row owns it. In a round, every active row claims the unknown of its
/// leading element. Those that lose, and the owners that are replaced, are reduced by the owner and are the
/// active rows of the next round. If owners can be replaced, the best claimant wins (see Field::priority,
/// ties by the smaller row number): the result does not depend on the order of claims, and multipliers are
/// bounded by the ratio of the rows' norms. Otherwise the first claim wins, and on several threads the result
/// depends on their order.
///
/// With ClaimRule::ordered, the rows that lead the first unknown of all claim it, and the others wait: this
/// is partial pivoting, in as many rounds as there are unknowns.
///
/// A row is reduced at most once in a round, and its leading element moves to the right every time, so that
/// at most m n reductions are made.
template <class B, class Field>
class MappedElimination {
 public:
  using Element = typename Field::Element;
  using Value = typename Field::Value;

  /// `free`: by unknown, not zero if no row may own it; empty: none.
  MappedElimination(B& backend, const Field& field, ClaimRule claim, UnknownOrder order, std::int64_t rows,
                    std::int64_t columns, std::span<const std::uint8_t> free = {})
      : backend_(backend),
        field_(field),
        claim_(claim),
        order_of_unknowns_(order),
        columns_(columns),
        rows_(backend, rows),
        record_(backend),
        norm_(backend.device(), rows),
        priority_(backend.device(), rows),
        rejected_(backend.device(), rows),
        owner_(backend.device(), columns),
        free_(backend.device(), free),
        active_(backend.device(), rows),
        losers_(backend.device(), rows),
        before_(backend.device(), rows),
        flags_(backend.device(), rows),
        sizes_(backend.device(), rows + 1),
        order_(backend.device(), columns),
        level_{columns, columns, 0, Array<std::int32_t>(backend.device(), columns)},
        slices_(backend, rows_, order == UnknownOrder::slices ? columns : 0) {
    backend_.for_each(columns, Iota{level_.name.data()});
  }

  /// Lets rounds go over the rows of all slices, instead of each slice being eliminated by a team: the same
  /// result, for measurements.
  void disable_teams() { uses_teams_ = false; }

  /// Reduces A, with finite elements, to mapped echelon form. Returns false if `cancel` was requested. Throws
  /// OutOfMemory when the rows fill the memory.
  template <class T>
  bool run(const Csr<T>& A, const CancellationToken& cancel) {
    using namespace elimination_detail;
    load(A);
    Array<std::int32_t> result(backend_.device(), columns_);
    Array<std::int32_t> pending(backend_.device(), rows_.count());
    backend_.fill(columns_, no_row, result.data());
    std::int64_t count = find_active(rows_.count(), nullptr, columns_);
    backend_.copy(count, active_.data(), pending.data());
    while (count > 0) {
      if (order_of_unknowns_ == UnknownOrder::slices) {
        level_ = slices_.next(std::move(level_), count, pending.data());
        levels_ += 1;
      }
      backend_.fill(level_.unknowns, no_row, owner_.data());
      if (!run_level(count, pending.data(), cancel)) return false;
      // Flag the remaining rows before finish_level restores the numbers of the owners' unknowns.
      backend_.for_each(count, IsLeft<Field>{map(), pending.data(), level_.limit, flags_.data()});
      finish_level(result);
      count = backend_.select(count, flags_.data(), pending.data(), active_.data());
      backend_.copy(count, active_.data(), pending.data());
    }
    owner_.swap(result);
    return true;
  }

  [[nodiscard]] B& backend() const { return backend_; }
  [[nodiscard]] const Field& field() const { return field_; }
  [[nodiscard]] std::int64_t columns() const { return columns_; }
  [[nodiscard]] std::int64_t rounds() const { return rounds_; }
  [[nodiscard]] Record<B, Value>& record() { return record_; }
  /// Number of levels of slices; 0 in natural order.
  [[nodiscard]] std::int64_t levels() const { return levels_; }
  /// Number of slices of all levels that were eliminated by one team each, in its memory.
  [[nodiscard]] std::int64_t slices_of_teams() const { return slices_of_teams_; }
  /// The map, after run().
  [[nodiscard]] const Array<std::int32_t>& owner() const { return owner_; }
  /// Unknowns of the rows in the order of their elimination.
  [[nodiscard]] std::vector<std::int32_t> order() const {
    std::vector<std::int32_t> order = order_.to_vector();
    order.resize(static_cast<std::size_t>(ordered_));
    return order;
  }
  [[nodiscard]] const Array<std::int32_t>& length() const { return rows_.length(); }
  /// Rank of A. Waits.
  [[nodiscard]] std::int64_t rank() {
    Array<Sum> sum(backend_.device(), 1);
    backend_.reduce(columns_, elimination_detail::CountOwned{owner_.data()}, Store<Sum>{sum.data()});
    return static_cast<std::int64_t>(backend_.read(sum.data()).value);
  }
  [[nodiscard]] const Array<double>& rejected() const { return rejected_; }
  [[nodiscard]] MapView<Field> map() {
    return {rows_.view(),       norm_.data(),  priority_.data(),
            rejected_.data(),   owner_.data(), free_.size() > 0 ? free_.data() : nullptr,
            level_.name.data(), field_};
  }

 private:
  template <class T>
  void load(const Csr<T>& A) {
    using namespace elimination_detail;
    const std::int64_t* offsets = A.row_offsets().data();
    const std::int64_t m = rows_.count();
    backend_.for_each(m, CountFieldNonzeros<Field, T>{field_, offsets, A.values().data(), sizes_.data()});
    const std::int64_t total = backend_.exclusive_scan(m, sizes_.data(), sizes_.data());
    backend_.fill(m, std::int32_t{0}, rows_.view().length);
    rows_.reserve(total);
    rows_.append(total);
    backend_.for_each(m, LoadFieldRow<Field, T>{field_, offsets, A.column_indices().data(), A.values().data(),
                                                rows_.view(), sizes_.data(), norm_.data()});
    backend_.fill(m, 0.0, rejected_.data());
  }

  /// Eliminates the unknowns before the level's limit. `pending`: the level's rows.
  bool run_level(std::int64_t count, const std::int32_t* pending, const CancellationToken& cancel) {
    const std::int64_t before = rounds_;
    std::int64_t active = find_active(count, pending, level_.limit);
    if (claim_ == ClaimRule::ordered) return run_ordered(active, cancel);
    const std::int64_t first_round = record_.rounds();
    std::int64_t rounds_of_teams = 0;
    if constexpr (has_teams<B>) {
      if (uses_teams_ && level_.slice_rows > 0 && active > 0) {
        rounds_of_teams = run_teams(count, pending);
        active = backend_.select(count, flags_.data(), pending, active_.data());
      }
    }
    const std::int64_t middle = record_.rounds();
    while (active > 0) {
      if (cancel.stop_requested()) return false;
      active = round(active);
    }
    if (first_round < middle && middle < record_.rounds()) {
      merge_rounds(first_round, middle, count, pending);
    }
    rounds_ = std::max(rounds_, before + rounds_of_teams);
    return true;
  }

  /// Orders the reductions of a level of which teams eliminated some slices, in rounds up to `middle`, and
  /// not others, as rounds over the rows of all slices do.
  void merge_rounds(std::int64_t first, std::int64_t middle, std::int64_t count,
                    const std::int32_t* pending) {
    Array<std::int32_t> slice(backend_.device(), rows_.count());
    backend_.for_each(count, local_slices_detail::NumberOfSlice{pending, level_.slice_rows, slice.data()});
    record_.merge_rounds(first, middle, slice.data());
  }

  /// Eliminates the slices that fit into the memory of a team, and clears the flags of their rows. Returns
  /// the number of rounds.
  std::int64_t run_teams(std::int64_t count, const std::int32_t* pending) {
    LocalSlices<B, Field> local(backend_, rows_, level_, count);
    local.run([this] { return map(); }, pending, claim_ != ClaimRule::first, record_);
    if (local.finished_slices() > 0) local.clear_finished(flags_.data());
    slices_of_teams_ += local.finished_slices();
    return local.rounds();
  }

  /// Moves the owners of the level's unknowns to the result, and restores the numbers of the unknowns.
  void finish_level(Array<std::int32_t>& result) {
    using namespace elimination_detail;
    const std::int64_t unknowns = level_.limit - level_.first;
    for_each_row(backend_, unknowns, rows_.count(),
                 RenameOwner<Field>{map(), level_.first, order_.data() + ordered_, result.data()});
    ordered_ += unknowns;
    level_.first = level_.limit;
  }

  /// Performs one round for each unknown that rows wait for.
  bool run_ordered(std::int64_t active, const CancellationToken& cancel) {
    using namespace elimination_detail;
    Array<std::int32_t> first(backend_.device(), columns_);
    Array<std::int32_t> next(backend_.device(), rows_.count());
    backend_.fill(columns_, no_row, first.data());
    const auto waiting = [&] { return WaitingRows<Field>{map(), first.data(), next.data()}; };
    backend_.for_each(active, Wait<Field>{waiting(), active_.data()});
    for (std::int64_t unknown = 0; unknown < level_.limit; ++unknown) {
      if (cancel.stop_requested()) return false;
      backend_.for_each(1, TakeWaiting<Field>{waiting(), unknown, active_.data(), sizes_.data()});
      const std::int64_t rows = backend_.read(sizes_.data());
      if (rows == 0) continue;
      active = round(rows);
      backend_.for_each(active, Wait<Field>{waiting(), active_.data()});
    }
    return true;
  }

  /// Collects in active_ the rows among `selected` (null: all) that lead an unknown before `limit`. Returns
  /// their number.
  std::int64_t find_active(std::int64_t count, const std::int32_t* selected, std::int64_t limit) {
    backend_.for_each(count, FindLead<Field>{map(), selected, limit, flags_.data()});
    if (selected == nullptr) {
      backend_.for_each(count, Iota{losers_.data()});
      selected = losers_.data();
    }
    return backend_.select(count, flags_.data(), selected, active_.data());
  }

  /// Lets the active rows claim their unknowns, and reduces those that lose. Returns the number of rows that
  /// are active afterwards.
  std::int64_t round(std::int64_t active) {
    ++rounds_;
    backend_.for_each(active, NoteOwner<Field>{map(), active_.data(), before_.data()});
    backend_.for_each(active, mapped::Claim<Field>{map(), active_.data(), claim_ != ClaimRule::first});
    backend_.for_each(active,
                      FindLoser<Field>{map(), active_.data(), before_.data(), before_.data(), flags_.data()});
    const std::int64_t losers = backend_.select(active, flags_.data(), before_.data(), losers_.data());
    backend_.for_each(losers, BoundLength<Field>{map(), losers_.data(), level_.unknowns, sizes_.data()});
    const std::int64_t elements = backend_.exclusive_scan(losers, sizes_.data(), sizes_.data());
    rows_.reserve(elements);
    const std::int64_t first = rows_.append(elements);
    const RecordView<std::int32_t, Value> record = record_.append(losers);
    for_each_row(backend_, losers, elements,
                 Reduce<Field>{map(), losers_.data(), sizes_.data(), first, record});
    return find_active(losers, losers_.data(), level_.limit);
  }

  B& backend_;
  Field field_;
  ClaimRule claim_;
  UnknownOrder order_of_unknowns_;
  std::int64_t columns_;
  std::int64_t rounds_ = 0;
  RowPool<B, Element> rows_;
  Record<B, Value> record_;
  Array<double> norm_;
  Array<std::uint64_t> priority_;
  Array<double> rejected_;
  Array<std::int32_t> owner_;
  Array<std::uint8_t> free_;
  Array<std::int32_t> active_, losers_, before_;
  Array<std::uint8_t> flags_;
  Array<std::int64_t> sizes_;
  Array<std::int32_t> order_;  // names of the unknowns as they were eliminated
  std::int64_t ordered_ = 0;
  SliceLevel level_;
  Slices<B, Element> slices_;
  std::int64_t levels_ = 0;
  bool uses_teams_ = true;
  std::int64_t slices_of_teams_ = 0;
};

}  // namespace echelon::mapped
