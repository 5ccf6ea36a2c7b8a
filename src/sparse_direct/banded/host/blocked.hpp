// SPDX-License-Identifier: BSD-3-Clause
/// Elimination of a node's columns on one core, a few columns at a time.
#pragma once

#include "sparse_direct/banded/factors.hpp"
#include "sparse_direct/banded/host/panel.hpp"
#include "sparse_direct/banded/host/vector.hpp"
#include "sparse_direct/banded/partition_rule.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace echelon::banded {

/// Elimination with partial pivoting in a window. A block of columns is factored in a copy of the window's
/// first columns, stored by columns; then the rest of the window is updated with its pivot rows in one pass,
/// which also moves the columns to the left by the width of the block. `fixed_slots` and `fixed_ahead`:
/// elements of a column of the panel and columns of the window, or 0 where these are known only at run time.
template <class T, std::int64_t bytes, class Loader, std::int64_t fixed_slots, std::int64_t fixed_ahead>
class BlockedBandElimination {
  using Types = VectorOf<T, bytes>;
  using Bits = typename Types::BitsOfOne;
  using Vector = typename Types::Type;
  using VectorBits = typename Types::Bits;
  static constexpr std::int64_t lanes = Types::lanes;

 public:
  BlockedBandElimination(const BandNode& node, const Loader& rows, const FactorView<T>& factors,
                         std::int64_t k, const EliminationControl& control)
      : node_(node),
        control_(control),
        rows_(rows),
        k_(k),
        pivots_(factors.pivots + node.first_step),
        lower_(factors.lower + node.lower_offset),
        upper_(factors.upper + node.upper_offset),
        blocks_(factors.blocks),
        kept_(factors.kept),
        ahead_(fixed_ahead > 0 ? fixed_ahead : node.ahead + block_columns - 1),
        ahead_pitch_(round_up_to_vector(ahead_, lanes) + lanes),
        pitch_(ahead_pitch_ + round_up_to_vector(node.left, lanes)),
        slots_(fixed_slots > 0 ? fixed_slots : round_up_to_vector(node.slots, lanes)),
        window_(std::max(fixed_slots, (node.slots + std::int64_t{7}) / 8 * 8) * pitch_),
        pivot_rows_(block_columns * pitch_),
        panel_(block_columns * slots_),
        multipliers_(block_columns * slots_),
        slots_in_use_(static_cast<std::size_t>(node.slots)),
        slot_mask_(static_cast<Bits>(std::bit_ceil(static_cast<std::uint64_t>(slots_)) - 1)) {}

  NodeFacts eliminate() {
    for (std::int32_t s = 0; s < node_.slots; ++s) take_row(s, 0);
    accept_rows();
    std::int64_t step = 0;
    if constexpr (fixed_slots > 0) {
      for (; node_.left == 0 && step + block_columns + overrun <= node_.steps; step += block_columns) {
        if (control_.stops_at(node_.first_step + step)) return facts_;
        eliminate_block(step);
      }
    }
    for (; step < node_.steps; step += block_columns) {
      if (control_.stops_at(node_.first_step + step)) return facts_;
      const std::int64_t columns = std::min<std::int64_t>(block_columns, node_.steps - step);
      factor_panel(step, columns);
      update_rows(columns);
    }
    store_block();
    facts_.largest = largest_magnitude();
    return facts_;
  }

 private:
  /// State of a slot: without a row, with a row in the columns of the block, or with one that begins after
  /// them.
  enum class Slot : std::int8_t { empty, active, entering };
  /// Steps after those that are eliminated in registers: whole vectors are stored to the factors, where
  /// later steps follow.
  static constexpr std::int64_t overrun = 64;
  /// Vectors of a row after the panel, of a column of it, and of a row of it, where these are known.
  static constexpr int row_vectors = static_cast<int>((fixed_ahead - block_columns + lanes - 1) / lanes);
  static constexpr int panel_vectors = static_cast<int>(fixed_slots / lanes);
  static constexpr int panel_row_vectors = static_cast<int>((block_columns + lanes - 1) / lanes);

  [[nodiscard]] T* row(std::int64_t slot) { return window_.data() + slot * pitch_; }
  [[nodiscard]] T* pivot_row(std::int64_t t) { return pivot_rows_.data() + t * pitch_; }
  [[nodiscard]] T* panel_column(std::int64_t t) { return panel_.data() + t * slots(); }
  [[nodiscard]] T* multipliers(std::int64_t t) { return multipliers_.data() + t * slots(); }
  [[nodiscard]] std::int64_t slots() const { return fixed_slots > 0 ? fixed_slots : slots_; }
  [[nodiscard]] std::int64_t ahead() const { return fixed_ahead > 0 ? fixed_ahead : ahead_; }

  /// Moves the next row into a slot of the window that begins at `column`.
  void take_row(std::int32_t slot, std::int64_t column) {
    T* target = row(slot);
    set_zero<Vector>(target, pitch_);
    rows_.load(next_row_, column, ahead(), target, node_.left, target + ahead_pitch_);
    slots_in_use_[static_cast<std::size_t>(slot)] = next_row_ < node_.rows ? Slot::entering : Slot::empty;
    ++next_row_;
  }
  void accept_rows() {
    for (Slot& slot : slots_in_use_) slot = slot == Slot::empty ? Slot::empty : Slot::active;
  }

  /// Eliminates a block of columns in registers, in a window without a left interface.
  void eliminate_block(std::int64_t step) {
    alignas(64) T panel_rows[block_columns * block_columns + panel_row_vectors * lanes];
    std::array<std::int32_t, block_columns> p{};
    factor_panel_in_registers(p, panel_rows, std::make_integer_sequence<int, block_columns>());
    for (int t = 0; t < block_columns; ++t) {
      if (panel_rows[t * (block_columns + 1)] == 0 && facts_.zero_column < 0) {
        facts_.zero_column = node_column(node_, step + t);
      }
    }
    finish_pivot_rows(p);
    store_factors(step, p, panel_rows);
    for (const std::int32_t slot : p) take_row(slot, step + block_columns);
    update_rows_in_registers();
  }

  template <int... t>
  [[gnu::always_inline]] void factor_panel_in_registers(std::array<std::int32_t, block_columns>& p,
                                                        T* panel_rows,
                                                        std::integer_sequence<int, t...> /*columns*/) {
    RegisterPanel<T, bytes, panel_vectors> panel(window_.data(), pitch_);
    ((p[t] = panel.template eliminate<t>(multipliers(t), panel_rows + t * block_columns, largest_)), ...);
  }

  /// Completes the pivot rows of a block after the panel.
  void finish_pivot_rows(const std::array<std::int32_t, block_columns>& p) {
    Vector rows[block_columns][row_vectors];
#pragma GCC unroll 8
    for (int t = 0; t < block_columns; ++t) {
      const T* source = row(p[t]) + block_columns;
#pragma GCC unroll 8
      for (int w = 0; w < row_vectors; ++w) load(rows[t][w], source + w * lanes);
#pragma GCC unroll 8
      for (int s = 0; s < t; ++s) {
        const T multiplier = multipliers(s)[p[t]];
#pragma GCC unroll 8
        for (int w = 0; w < row_vectors; ++w) rows[t][w] -= rows[s][w] * multiplier;
      }
#pragma GCC unroll 8
      for (int w = 0; w < row_vectors; ++w) {
        store(rows[t][w], pivot_row(t) + w * lanes);
        VectorBits magnitudes;
        load_magnitudes(magnitudes, &rows[t][w]);
        take_larger(largest_, magnitudes);
      }
    }
  }

  /// Stores whole vectors: elements that are written beyond a step's factors are overwritten by later steps.
  void store_factors(std::int64_t step, const std::array<std::int32_t, block_columns>& p,
                     const T* panel_rows) {
    for (int t = 0; t < block_columns; ++t) {
      pivots_[step + t] = p[t];
      store_vectors<panel_vectors>(multipliers(t), lower_ + (step + t) * node_.slots);
      T* upper = upper_ + (step + t) * node_.ahead;
      store_vectors<panel_row_vectors>(panel_rows + t * (block_columns + 1), upper);
      store_vectors<row_vectors>(pivot_row(t), upper + block_columns - t);
    }
  }
  template <int count>
  [[gnu::always_inline]] static void store_vectors(const T* from, T* to) {
    Vector v;
    for (int i = 0; i < count; ++i) {
      load(v, from + i * lanes);
      store(v, to + i * lanes);
    }
  }

  /// Updates rows, with all columns of a group of rows in registers: 32 of 64 bytes, or 16 smaller ones.
  void update_rows_in_registers() {
    constexpr int rows = std::max(1, static_cast<int>(bytes == most_vector_bytes ? 4 : 8 / row_vectors));
    std::array<std::int32_t, rows> slots{};
    int found = 0;
    for (std::int32_t s = 0; s < node_.slots; ++s) {
      if (slots_in_use_[static_cast<std::size_t>(s)] != Slot::active) continue;
      slots[static_cast<std::size_t>(found++)] = s;
      if (found < rows) continue;
      update_in_registers<rows>(slots.data());
      found = 0;
    }
    for (int i = 0; i < found; ++i) update_in_registers<1>(slots.data() + i);
    accept_rows();
  }

  template <int rows>
  void update_in_registers(const std::int32_t* slots) {
    Vector sums[rows][row_vectors];
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
      for (int w = 0; w < row_vectors; ++w) load(sums[r][w], row(slots[r]) + block_columns + w * lanes);
    }
    for (int t = 0; t < block_columns; ++t) {
      Vector pivot[row_vectors];
#pragma GCC unroll 8
      for (int w = 0; w < row_vectors; ++w) load(pivot[w], pivot_row(t) + w * lanes);
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) {
        const T multiplier = multipliers(t)[slots[r]];
#pragma GCC unroll 8
        for (int w = 0; w < row_vectors; ++w) sums[r][w] -= pivot[w] * multiplier;
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      T* target = row(slots[r]);
#pragma GCC unroll 8
      for (int w = 0; w < row_vectors; ++w) store(sums[r][w], target + w * lanes);
      set_zero<Vector>(target + row_vectors * lanes,
                       round_up_to_vector(fixed_ahead, lanes) - row_vectors * lanes);
    }
  }

  /// Factors the first columns of the window, completes their pivot rows, and moves the next rows into the
  /// slots of these. Each column waits for the preceding one; the processor overlaps that with the other
  /// work.
  void factor_panel(std::int64_t step, std::int64_t columns) {
    copy_transposed<bytes>(node_.slots, window_.data(), pitch_, panel_.data(), slots());
    for (std::int64_t t = 0; t < columns; ++t) {
      const std::int32_t p = find_pivot(panel_column(t));
      pivots_[step + t] = p;
      const T pivot = panel_column(t)[p];
      const bool zero = !(std::abs(pivot) >= smallest_pivot<T>);
      if (zero && facts_.zero_column < 0) facts_.zero_column = node_column(node_, step + t);
      note_magnitude(pivot);
      eliminate_panel_column(step, t, columns, p, zero ? T{0} : 1 / pivot);
      finish_pivot_row(step, t, columns);
      take_row(p, step + columns);
    }
  }

  /// Finds the row with the largest magnitude. Magnitudes are compared without their last bits, which are
  /// replaced by the slot, counted from the end.
  [[nodiscard]] std::int32_t find_pivot(const T* column) const {
    VectorBits largest{};
    VectorBits magnitudes;
    VectorBits index;
    count_lanes(index);
    for (std::int64_t s = 0; s < slots(); s += lanes) {
      load_magnitudes(magnitudes, column + s);
      magnitudes = (magnitudes & ~slot_mask_) | (static_cast<Bits>(slot_mask_ - s) - index);
      take_larger(largest, magnitudes);
    }
    return static_cast<std::int32_t>(slot_mask_ - (largest_lane(largest) & slot_mask_));
  }

  /// Computes the multipliers of a column of the panel, and updates the columns after it. The pivot row's
  /// elements move to the factor; zeros in their place, by a multiplier of 1, keep the slot from being chosen
  /// again.
  void eliminate_panel_column(std::int64_t step, std::int64_t t, std::int64_t columns, std::int32_t p,
                              T inverse) {
    scale_column(panel_column(t), inverse, p, multipliers(t));
    copy_elements<Vector>(multipliers(t), node_.slots, lower_ + (step + t) * node_.slots);
    T* upper = upper_ + (step + t) * node_.width();
    upper[0] = inverse;
    for (std::int64_t u = t + 1; u < columns; ++u) {
      const T element = panel_column(u)[p];
      if (u - t < node_.ahead) upper[u - t] = element;
      note_magnitude(element);
      Vector v;
      Vector l;
      for (std::int64_t s = 0; s < slots(); s += lanes) {
        load(v, panel_column(u) + s);
        load(l, multipliers(t) + s);
        v -= l * element;
        store(v, panel_column(u) + s);
      }
    }
  }

  /// Computes multiplier = column * inverse, but 1 in slot p.
  void scale_column(const T* column, T inverse, std::int32_t p, T* multiplier) const {
    VectorBits index;
    count_lanes(index);
    Vector v;
    const Vector one = Vector{} + T{1};
    for (std::int64_t s = 0; s < slots(); s += lanes) {
      load(v, column + s);
      v = index + static_cast<Bits>(s) == static_cast<Bits>(p) ? one : v * inverse;
      store(v, multiplier + s);
    }
  }

  void note_magnitude(T value) {
    largest_in_panels_ = std::max(largest_in_panels_, magnitude_bits(value));
  }

  /// Completes the elements of a pivot row after the panel.
  void finish_pivot_row(std::int64_t step, std::int64_t t, std::int64_t columns) {
    const std::int32_t p = pivots_[step + t];
    const T* source = row(p);
    T* target = pivot_row(t);
    subtract_pivot_rows(p, t, source + columns, target, trailing(columns));
    subtract_pivot_rows(p, t, source + ahead_pitch_, target + ahead_pitch_, pitch_ - ahead_pitch_);
    T* upper = upper_ + (step + t) * node_.width();
    const std::int64_t panel = std::min<std::int64_t>(columns - t, node_.ahead);
    copy_elements<Vector>(target, node_.ahead - panel, upper + panel);
    copy_elements<Vector>(target + ahead_pitch_, node_.left, upper + node_.ahead);
  }

  /// Number of columns after the panel, rounded up to whole vectors.
  [[nodiscard]] std::int64_t trailing(std::int64_t columns) const {
    return round_up_to_vector(ahead() - columns, lanes);
  }

  /// Computes target = source - sum of multiplier times pivot row for the first `count` of a block.
  void subtract_pivot_rows(std::int32_t slot, std::int64_t count, const T* source, T* target,
                           std::int64_t size) {
    const std::int64_t offset = target - pivot_row(count);
    Vector v;
    Vector pivot;
    VectorBits magnitudes;
    for (std::int64_t c = 0; c < size; c += lanes) {
      load(v, source + c);
      for (std::int64_t t = 0; t < count; ++t) {
        load(pivot, pivot_row(t) + offset + c);
        v -= pivot * multipliers(t)[slot];
      }
      store(v, target + c);
      load_magnitudes(magnitudes, target + c);
      take_larger(largest_, magnitudes);
    }
  }

  /// Subtracts the block's pivot rows from the rows that remain.
  void update_rows(std::int64_t columns) {
    constexpr int rows = 4;
    std::array<std::int32_t, rows> slots{};
    int found = 0;
    for (std::int32_t s = 0; s < node_.slots; ++s) {
      if (slots_in_use_[static_cast<std::size_t>(s)] != Slot::active) continue;
      slots[static_cast<std::size_t>(found++)] = s;
      if (found < rows) continue;
      update_some_rows<rows>(slots.data(), columns);
      found = 0;
    }
    for (int i = 0; i < found; ++i) update_some_rows<1>(slots.data() + i, columns);
    accept_rows();
  }

  template <int rows>
  void update_some_rows(const std::int32_t* slots, std::int64_t columns) {
    std::array<std::array<T, rows>, block_columns> l;
    std::array<T*, rows> targets;
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      targets[r] = row(slots[r]);
      for (std::int64_t t = 0; t < columns; ++t) l[t][r] = multipliers(t)[slots[r]];
      for (std::int64_t t = columns; t < block_columns; ++t) l[t][r] = 0;
    }
    update_columns<rows>(targets, l, columns, 0, trailing(columns));
    update_columns<rows>(targets, l, 0, ahead_pitch_, pitch_);
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      set_zero<Vector>(targets[r] + trailing(columns),
                       round_up_to_vector(ahead(), lanes) - trailing(columns));
    }
  }

  /// Updates columns [begin, end) of some rows, read from `shift` columns further right.
  template <int rows>
  void update_columns(const std::array<T*, rows>& targets,
                      const std::array<std::array<T, rows>, block_columns>& l, std::int64_t shift,
                      std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; c += lanes) {
      Vector sums[rows];
      Vector pivot;
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) load(sums[r], targets[r] + c + shift);
      for (std::int64_t t = 0; t < block_columns; ++t) {
        load(pivot, pivot_row(t) + c);
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r) sums[r] -= pivot * l[t][r];
      }
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) store(sums[r], targets[r] + c);
    }
  }

  /// Stores the remaining rows, by slot, with their interfaces in the order of A's columns.
  void store_block() {
    std::int64_t r = 0;
    const bool reversed = node_.direction < 0;
    for (std::int32_t s = 0; s < node_.slots && r < node_.block_rows; ++s) {
      if (slots_in_use_[static_cast<std::size_t>(s)] == Slot::empty) continue;
      const T* source = row(s);
      T* target = blocks_ + (node_.block_row + r) * 2 * k_;
      for (std::int64_t c = 0; c < k_; ++c) {
        target[reversed ? k_ - 1 - c : k_ + c] = c + node_.steps < node_.columns ? source[c] : T{0};
        target[reversed ? k_ + c : c] = node_.left > 0 ? source[ahead_pitch_ + c] : T{0};
      }
      kept_[node_.block_row + r] = s;
      ++r;
    }
  }

  /// Largest magnitude in the pivot rows; NaN if there is one.
  [[nodiscard]] double largest_magnitude() const {
    const Bits bits = std::max(largest_in_panels_, largest_lane(largest_));
    return static_cast<double>(std::bit_cast<T>(bits));
  }

  VectorBits largest_{};  // magnitudes in the pivot rows after the panels
  const BandNode& node_;
  EliminationControl control_;
  const Loader& rows_;
  std::int64_t k_;
  std::int32_t* pivots_;
  T* lower_;
  T* upper_;
  T* blocks_;
  std::int32_t* kept_;
  std::int64_t ahead_;        // columns of the window
  std::int64_t ahead_pitch_;  // elements of a row before its left interface; zeros after the columns
  std::int64_t pitch_;        // elements of a row
  std::int64_t slots_;        // elements of a column of the panel
  std::int64_t next_row_ = 0;
  NodeFacts facts_;
  VectorArray<T> window_, pivot_rows_, panel_, multipliers_;
  std::vector<Slot> slots_in_use_;
  Bits slot_mask_;  // bits that hold the number of a slot
  Bits largest_in_panels_ = 0;
};

}  // namespace echelon::banded
