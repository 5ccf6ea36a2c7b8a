// SPDX-License-Identifier: BSD-3-Clause
/// Sparse rows under construction on the host.
#pragma once

#include <echelon/device.hpp>
#include <echelon/error.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace echelon {

struct Free {
  void operator()(void* pointer) const { std::free(pointer); }
};
template <class V>
using ZeroedPages = std::unique_ptr<V[], Free>;

/// n zeros, whose pages take memory once they are written to.
template <class V>
ZeroedPages<V> zeroed_pages(std::int64_t n) {
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(n, 1));
  ZeroedPages<V> pages(static_cast<V*>(std::calloc(count, sizeof(V))));
  if (pages == nullptr) throw OutOfMemory("host", count * sizeof(V), memory(Device()).available);
  return pages;
}

/// Adds up elements of a row that arrive in any order of columns. An open-addressing table of columns, at
/// least twice as large as the row can become; where that covers all columns it is addressed directly.
/// Starting a row costs nothing: a slot belongs to the row whose stamp it carries.
template <class T>
class RowAccumulator {
 public:
  /// For rows of at most `longest` elements out of `columns`.
  RowAccumulator(std::int64_t longest, std::int64_t columns)
      : columns_(columns),
        most_bits_(table_bits(longest)),
        slots_(zeroed_pages<Slot>(std::int64_t{1} << most_bits_)),
        found_(zeroed_pages<std::int32_t>(longest + padding)),
        places_(zeroed_pages<std::uint32_t>(longest)),
        order_(zeroed_pages<std::uint64_t>(longest)) {}

  /// Empties the row; at most `bound` elements come.
  void start(std::int64_t bound) {
    const int bits = table_bits(bound);
    const bool direct = columns_ <= std::int64_t{1} << bits;
    multiplier_ = direct ? 1 : 2654435769U;  // 2^32 over the golden ratio
    shift_ = direct ? 0 : 32 - bits;
    mask_ = static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1);
    count_ = 0;
    if (++stamp_ == 0) {  // after 2^32 rows the oldest slots would be taken for this one's
      std::fill_n(slots_.get(), std::size_t{1} << most_bits_, Slot{});
      stamp_ = 1;
    }
  }

  [[nodiscard]] std::int64_t count() const { return count_; }

  void add(std::int32_t column, T value) {
    const std::uint32_t place = find(column);
    if (slots_[place].key >> 32 == stamp_) {
      slots_[place].value += value;
      return;
    }
    slots_[place] = {key_of(column), value};
    found_[count_] = column;
    places_[count_] = place;
    ++count_;
  }

  /// The same, for a column that the row has. False if it has not.
  bool add_to_known(std::int32_t column, T value) {
    const std::uint32_t place = find(column);
    slots_[place].value += value;
    return slots_[place].key >> 32 == stamp_;
  }

  /// The columns in the order in which they came.
  [[nodiscard]] const std::int32_t* found() const { return found_.get(); }

  /// The values in that order.
  void read(std::int64_t n, T* values) const {
    for (std::int64_t e = 0; e < n; ++e) values[e] = slots_[places_[e]].value;
  }

  /// The row in ascending columns; null values are not asked for.
  void read_sorted(std::int32_t* columns, T* values) {
    if (count_ <= short_row) {
      rank_short_row();
      for (std::int64_t e = 0; e < count_; ++e) put(rank_[e], found_[e], places_[e], columns, values);
    } else if (shift_ == 0 && std::int64_t{mask_} < 16 * count_) {
      std::int64_t target = 0;
      for (std::uint32_t place = 0; place <= mask_; ++place) {
        if (slots_[place].key >> 32 != stamp_) continue;
        put(target++, static_cast<std::int32_t>(place), place, columns, values);
      }
    } else {
      for (std::int64_t e = 0; e < count_; ++e) {
        order_[e] = std::uint64_t{static_cast<std::uint32_t>(found_[e])} << 32 | places_[e];
      }
      std::sort(order_.get(), order_.get() + count_);
      for (std::int64_t e = 0; e < count_; ++e) {
        put(e, static_cast<std::int32_t>(order_[e] >> 32), static_cast<std::uint32_t>(order_[e]), columns,
            values);
      }
    }
  }

 private:
  struct Slot {
    std::uint64_t key = 0;  // the row's stamp and the column
    T value = 0;
  };
  static constexpr std::int64_t short_row = 128;
  static constexpr std::int64_t padding = 8;

  [[nodiscard]] int table_bits(std::int64_t bound) const {
    const auto slots = static_cast<std::uint64_t>(
        std::clamp<std::int64_t>(2 * bound, 2, std::max<std::int64_t>(columns_, 2)));
    return static_cast<int>(std::bit_width(slots - 1));
  }

  [[nodiscard]] std::uint64_t key_of(std::int32_t column) const {
    return std::uint64_t{stamp_} << 32 | static_cast<std::uint32_t>(column);
  }

  /// The column's slot, or the one that it may take.
  [[nodiscard]] std::uint32_t find(std::int32_t column) const {
    const std::uint64_t key = key_of(column);
    std::uint32_t place = (static_cast<std::uint32_t>(column) * multiplier_) >> shift_;
    while (slots_[place].key != key && slots_[place].key >> 32 == stamp_) place = (place + 1) & mask_;
    return place;
  }

  void put(std::int64_t target, std::int32_t column, std::uint32_t place, std::int32_t* columns, T* values) {
    columns[target] = column;
    if (values != nullptr) values[target] = slots_[place].value;
  }

  /// How many columns are less than each: quadratic, but without a branch and in vectors, which beats a sort
  /// of a hundred.
  void rank_short_row() {
    const std::int64_t padded = (count_ + padding - 1) / padding * padding;
    std::fill_n(rank_.data(), padded, 0);
    for (std::int64_t e = 0; e < count_; ++e) {
      const std::int32_t column = found_[e];
      for (std::int64_t f = 0; f < padded; ++f) rank_[f] += static_cast<std::int32_t>(found_[f] > column);
    }
  }

  std::int64_t columns_;
  int most_bits_;
  ZeroedPages<Slot> slots_;
  ZeroedPages<std::int32_t> found_;
  ZeroedPages<std::uint32_t> places_;
  ZeroedPages<std::uint64_t> order_;
  alignas(64) std::array<std::int32_t, short_row> rank_{};
  std::uint32_t stamp_ = 0;
  std::uint32_t multiplier_ = 1;
  int shift_ = 0;
  std::uint32_t mask_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace echelon
