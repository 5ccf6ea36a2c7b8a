// SPDX-License-Identifier: BSD-3-Clause
/// Elimination of one slice by a team, in the team's memory.
#pragma once

#include "backend/atomic.hpp"
#include "exact/reduction.hpp"
#include "exact/team.hpp"

#include <cstddef>
#include <cstdint>

namespace echelon::mapped {

/// Unused memory for elements of rows, which teams take parts of.
struct ElementPool {
  std::int64_t first = 0;
  std::int64_t size = 0;
  std::int64_t* used = nullptr;
};

/// Reductions of slices with their rounds. Slice s has the places from s * capacity on.
template <class Value>
struct StagedReductions {
  RecordView<std::int32_t, Value> record;
  std::uint32_t* round;
  std::int64_t capacity;
};

/// Slices of a level, and the results of their elimination.
template <class Field>
struct SliceTask {
  MapView<Field> map;
  const std::int32_t* pending;   ///< the level's rows, slice after slice
  std::int64_t count;            ///< of the rows
  std::int64_t slice_rows;       ///< but for the last slice
  const std::int64_t* interior;  ///< by slice, its first interior unknown; one more than slices
  bool replaces;                 ///< whether owners can be replaced
  ElementPool pool;
  StagedReductions<typename Field::Value> staged;
  std::uint8_t* finished;  ///< by slice, 1 if it was eliminated; other slices are unchanged
  std::int64_t* reductions;
  std::int64_t* rounds;
};

/// Takes consecutive arrays from a memory. The types of the arrays come in order of descending alignment.
class MemoryParts {
 public:
  ECHELON_ANYWHERE MemoryParts(std::byte* memory, std::size_t bytes) : next_(memory), bytes_(bytes) {}
  template <class V>
  ECHELON_ANYWHERE V* take(std::int64_t count) {
    const std::size_t size = static_cast<std::size_t>(count) * sizeof(V);
    auto* part = reinterpret_cast<V*>(next_);
    next_ += size;
    bytes_ = size <= bytes_ ? bytes_ - size : 0;
    return part;
  }
  [[nodiscard]] ECHELON_ANYWHERE std::size_t bytes() const { return bytes_; }

 private:
  std::byte* next_;
  std::size_t bytes_;
};

/// Places in a team's memory for each row: `stride` elements. A warp has twice as many for a result, before
/// it replaces the row.
template <class Element>
struct SliceLayout {
  static constexpr std::size_t bytes_per_element = sizeof(Element) + sizeof(std::int32_t);
  static constexpr std::size_t bytes_per_row =
      sizeof(std::int64_t) * 5 + sizeof(std::int32_t) * 5 + sizeof(std::uint8_t);

  std::int64_t rows;
  std::int64_t interior;
  int warps;

  /// Memory without that of the elements, and with gaps between arrays of different types.
  [[nodiscard]] ECHELON_ANYWHERE std::size_t fixed_bytes() const {
    return static_cast<std::size_t>(rows) * bytes_per_row +
           static_cast<std::size_t>(interior) * sizeof(std::int32_t) + 64;
  }
  [[nodiscard]] ECHELON_ANYWHERE std::int64_t places() const { return rows + 2 * warps; }
  [[nodiscard]] ECHELON_ANYWHERE std::size_t bytes(std::int64_t stride) const {
    return fixed_bytes() + static_cast<std::size_t>(places() * stride) * bytes_per_element;
  }
  /// Largest stride for a team's memory; 0 if there is none.
  [[nodiscard]] ECHELON_ANYWHERE std::int64_t stride(std::size_t memory) const {
    if (memory < fixed_bytes()) return 0;
    return static_cast<std::int64_t>((memory - fixed_bytes()) / bytes_per_element) / places();
  }
};

/// A slice in a team's memory: its rows, numbered in the order of their numbers in A, so that ties are
/// resolved alike, and its part of the map. Unknowns are counted from the slice's first interior one.
///
/// The rounds are those of Elimination, in which the rows of different slices do not meet: the rows and the
/// order of the reductions have the same bits.
template <class Field, class Team>
class LocalSlice {
  using Element = typename Field::Element;
  using Lanes = typename Team::Lanes;

 public:
  ECHELON_ANYWHERE LocalSlice(const SliceTask<Field>& task, std::int64_t slice, std::byte* memory,
                              std::size_t bytes, Team team)
      : task_(task),
        team_(team),
        slice_(slice),
        pending_(task.pending + slice * task.slice_rows),
        first_unknown_(task.interior[slice]),
        interior_(task.interior[slice + 1] - first_unknown_) {
    const std::int64_t left = task.count - slice * task.slice_rows;
    rows_ = static_cast<std::int32_t>(left < task.slice_rows ? left : task.slice_rows);
    const SliceLayout<Element> layout{rows_, interior_, Team::warps()};
    stride_ = layout.stride(bytes);
    if (stride_ == 0) return;
    MemoryParts parts(memory, bytes);
    map_ = task.map;
    map_.rows.start = parts.take<std::int64_t>(rows_);
    target_ = parts.take<std::int64_t>(rows_);
    norm_ = parts.take<double>(rows_);
    map_.norm = norm_;
    map_.rejected = parts.take<double>(rows_);
    map_.priority = parts.take<std::uint64_t>(rows_);
    state_ = parts.take<State>(1);
    map_.rows.elements = parts.take<Element>(layout.places() * stride_);
    map_.rows.columns = parts.take<std::int32_t>(layout.places() * stride_);
    map_.rows.length = parts.take<std::int32_t>(rows_);
    number_ = parts.take<std::int32_t>(rows_);
    active_ = parts.take<std::int32_t>(rows_);
    before_ = parts.take<std::int32_t>(rows_);
    losers_ = parts.take<std::int32_t>(rows_);
    map_.owner = parts.take<std::int32_t>(interior_);
    flags_ = parts.take<std::uint8_t>(rows_);
    map_.name += first_unknown_;
  }

  /// Eliminates the slice, or leaves it as it is if it does not fit into the memory.
  ECHELON_ANYWHERE void run() {
    if (stride_ == 0 || !load()) return;
    while (true) {
      if (Team::warp() == 0) claim();
      team_.sync();
      if (state_->active == 0) break;
      for (std::int32_t k = Team::warp(); k < state_->losers; k += Team::warps()) reduce(k);
      team_.sync();
    }
    if (!state_->failed) store();
  }

 private:
  struct State {
    std::int64_t reductions;
    std::int64_t target;  ///< place of the results in the pool; -1: none is left
    std::int32_t rounds, active, losers;
    std::int32_t too_long;  ///< 1 if a row did not fit into its place
    bool failed;
  };

  /// Loads the rows; all that lead an interior unknown become active. Returns false if a row does not fit.
  ECHELON_ANYWHERE bool load() {
    if (Team::thread() == 0) *state_ = {0, 0, 0, 0, rows_, 0, false};
    team_.sync();
    for (std::int32_t i = Team::thread(); i < rows_; i += Team::threads()) load_facts(i);
    for (std::int64_t u = Team::thread(); u < interior_; u += Team::threads()) map_.owner[u] = no_row;
    team_.sync();
    if (state_->too_long != 0) return false;
    for (std::int32_t row = Team::warp(); row < rows_; row += Team::warps()) {
      const std::int64_t from = task_.map.rows.start[number_[row]];
      for (std::int32_t k = Lanes::lane(); k < map_.rows.length[row]; k += Lanes::lanes) {
        const std::int64_t place = map_.rows.start[row] + k;
        map_.rows.columns[place] =
            static_cast<std::int32_t>(task_.map.rows.columns[from + k] - first_unknown_);
        map_.rows.elements[place] = task_.map.rows.elements[from + k];
      }
    }
    team_.sync();
    for (std::int32_t i = Team::thread(); i < rows_; i += Team::threads()) {
      const std::int32_t row = losers_[i];
      flags_[i] = map_.rows.length[row] > 0 && map_.rows.lead(row) < interior_ ? 1 : 0;
    }
    team_.sync();
    return true;
  }

  /// Numbers the i-th row of the slice, and loads all but its elements.
  ECHELON_ANYWHERE void load_facts(std::int32_t i) {
    const std::int32_t global = pending_[i];
    std::int32_t row = 0;
    for (std::int32_t j = 0; j < rows_; ++j) row += pending_[j] < global ? 1 : 0;
    losers_[i] = row;
    number_[row] = global;
    map_.rows.start[row] = row * stride_;
    map_.rows.length[row] = task_.map.rows.length[global];
    norm_[row] = task_.map.norm[global];
    map_.rejected[row] = task_.map.rejected[global];
    map_.priority[row] = task_.map.priority[global];
    if (map_.rows.length[row] > stride_) atomic_store(&state_->too_long, 1);
  }

  /// Copies to `target` the values whose flags are set. Returns their number. By one warp.
  ECHELON_ANYWHERE std::int32_t select(std::int32_t count, const std::int32_t* source,
                                       std::int32_t* target) const {
    std::int32_t selected = 0;
    for (std::int32_t first = 0; first < count; first += Lanes::lanes) {
      const std::int32_t i = first + Lanes::lane();
      const bool mine = i < count && flags_[i] != 0;
      const LaneCount found = Lanes::count(mine);
      if (mine) target[selected + found.before] = source[i];
      selected += found.all;
    }
    Lanes::sync();
    return selected;
  }

  template <class Body>
  ECHELON_ANYWHERE void for_each(std::int32_t count, const Body& body) const {
    for (std::int32_t i = Lanes::lane(); i < count; i += Lanes::lanes) body(i);
    Lanes::sync();
  }

  /// Begins a round: lets the active ones of the rows that were reduced claim their unknowns, and lists the
  /// losers. By one warp.
  ECHELON_ANYWHERE void claim() {
    const std::int32_t active = select(state_->losers, losers_, active_);
    for_each(active, NoteOwner<Field>{map_, active_, before_});
    for_each(active, Claim<Field>{map_, active_, task_.replaces});
    for_each(active, FindLoser<Field>{map_, active_, before_, before_, flags_});
    const std::int32_t losers = select(active, before_, losers_);
    if (Lanes::lane() != 0) return;
    const bool fits = state_->too_long == 0 && state_->reductions + losers <= task_.staged.capacity;
    state_->failed = !fits;
    state_->active = fits ? active : 0;
    state_->losers = losers;
    state_->rounds += active > 0 ? 1 : 0;
    state_->reductions += losers;
  }

  /// Reduces the k-th loser by the owner of its unknown. By one warp.
  ECHELON_ANYWHERE void reduce(std::int32_t k) {
    const RowsView<Element>& rows = map_.rows;
    const std::int32_t row = losers_[k];
    const std::int32_t pivot = map_.owner[rows.lead(row)];
    const auto m = map_.field.quotient(rows.lead_element(row).value, rows.lead_element(pivot).value);
    const std::int64_t result = (rows_ + 2 * std::int64_t{Team::warp()}) * stride_;
    const std::int32_t length = subtract(map_.field, tail_of(rows, row), m, tail_of(rows, pivot),
                                         rows.columns + result, rows.elements + result, Lanes());
    Lanes::sync();
    if (length > stride_) {
      atomic_store(&state_->too_long, 1);
      return;
    }
    const std::int64_t start = row * stride_;
    for (std::int32_t i = Lanes::lane(); i < length; i += Lanes::lanes) {
      rows.columns[start + i] = rows.columns[result + i];
      rows.elements[start + i] = rows.elements[result + i];
    }
    Lanes::sync();
    if (Lanes::lane() == 0) {
      rows.start[row] = start;
      rows.length[row] = length;
      FindLead<Field>{map_, losers_, interior_, flags_}(k);
      stage(k, row, pivot, m);
    }
    Lanes::sync();
  }

  ECHELON_ANYWHERE void stage(std::int32_t k, std::int32_t row, std::int32_t pivot,
                              typename Field::Value m) const {
    const StagedReductions<typename Field::Value>& staged = task_.staged;
    const std::int64_t place = slice_ * staged.capacity + state_->reductions - state_->losers + k;
    staged.record.row[place] = number_[row];
    staged.record.pivot[place] = number_[pivot];
    staged.record.multiplier[place] = m;
    staged.round[place] = static_cast<std::uint32_t>(state_->rounds - 1);
  }

  /// Takes memory of the pool, if there is enough, and determines the places of the rows. By one thread.
  ECHELON_ANYWHERE void take_target() {
    std::int64_t total = 0;
    for (std::int32_t row = 0; row < rows_; ++row) {
      target_[row] = total;
      total += map_.rows.length[row];
    }
    const std::int64_t place = fetch_add(task_.pool.used, total);
    state_->target = place + total <= task_.pool.size ? task_.pool.first + place : -1;
  }

  /// Stores the rows, the map and the facts.
  ECHELON_ANYWHERE void store() {
    if (Team::thread() == 0) take_target();
    team_.sync();
    if (state_->target < 0) return;
    const RowsView<Element>& global = task_.map.rows;
    for (std::int32_t row = Team::warp(); row < rows_; row += Team::warps()) {
      const std::int64_t from = map_.rows.start[row];
      const std::int64_t to = state_->target + target_[row];
      for (std::int32_t k = Lanes::lane(); k < map_.rows.length[row]; k += Lanes::lanes) {
        global.columns[to + k] = static_cast<std::int32_t>(map_.rows.columns[from + k] + first_unknown_);
        global.elements[to + k] = map_.rows.elements[from + k];
      }
    }
    for (std::int32_t row = Team::thread(); row < rows_; row += Team::threads()) {
      global.start[number_[row]] = state_->target + target_[row];
      global.length[number_[row]] = map_.rows.length[row];
      task_.map.rejected[number_[row]] = map_.rejected[row];
    }
    for (std::int64_t u = Team::thread(); u < interior_; u += Team::threads()) {
      const std::int32_t owner = map_.owner[u];
      task_.map.owner[first_unknown_ + u] = owner == no_row ? no_row : number_[owner];
    }
    if (Team::thread() == 0) {
      task_.finished[slice_] = 1;
      task_.reductions[slice_] = state_->reductions;
      task_.rounds[slice_] = state_->rounds;
    }
  }

  const SliceTask<Field>& task_;
  Team team_;
  std::int64_t slice_;
  const std::int32_t* pending_;
  std::int64_t first_unknown_, interior_;
  std::int32_t rows_ = 0;
  std::int64_t stride_ = 0;
  MapView<Field> map_{};  // of the slice
  std::int64_t* target_ = nullptr;
  double* norm_ = nullptr;
  State* state_ = nullptr;
  std::int32_t *number_ = nullptr, *active_ = nullptr, *before_ = nullptr, *losers_ = nullptr;
  std::uint8_t* flags_ = nullptr;
};

/// Eliminates slices that are not finished.
template <class Field>
struct EliminateSlice {
  SliceTask<Field> task;
  template <class Team>
  ECHELON_ANYWHERE void operator()(std::int64_t slice, std::byte* memory, std::size_t bytes,
                                   Team team) const {
    if (task.finished[slice] == 0) LocalSlice<Field, Team>(task, slice, memory, bytes, team).run();
  }
};

}  // namespace echelon::mapped
