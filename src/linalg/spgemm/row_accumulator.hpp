// SPDX-License-Identifier: BSD-3-Clause
/// Accumulation of sparse rows on the host.
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
#include <utility>

namespace echelon {

struct Free {
  void operator()(void* pointer) const { std::free(pointer); }
};
template <class V>
using ZeroedPages = std::unique_ptr<V[], Free>;

/// n zeros by calloc: a page takes memory when it is first written.
template <class V>
ZeroedPages<V> zeroed_pages(std::int64_t n) {
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(n, 1));
  ZeroedPages<V> pages(static_cast<V*>(std::calloc(count, sizeof(V))));
  if (pages == nullptr) throw OutOfMemory("host", count * sizeof(V), memory(Device()).available);
  return pages;
}

/// Sparse accumulator (Gilbert, Moler, Schreiber, SIAM J. Matrix Anal. Appl. 13, 1992): sums elements of a
/// row in any order of columns, in a dense array over all columns and a bit per column that marks the columns
/// present. Sorting the few nonzero words of bits sorts the row. No branch depends on whether a column is
/// new, which a processor predicts badly.
template <class T>
class RowAccumulator {
 public:
  explicit RowAccumulator(std::int64_t columns)
      : words_(columns / word_size + 1),
        bits_(zeroed_pages<std::uint64_t>(words_)),
        touched_(zeroed_pages<std::int32_t>(words_ + block)),
        sums_(zeroed_pages<T>(columns)) {}

  /// Number of elements of the row.
  [[nodiscard]] std::int64_t count() const { return count_; }

  /// Adds columns without values.
  void mark(const std::int32_t* columns, std::int64_t size) {
    Bits bits = open();
    for (std::int64_t e = 0; e < size; ++e) bits.mark(columns[e]);
    close(bits);
  }

  /// Adds a row times a factor.
  void add(T factor, const std::int32_t* columns, const T* values, std::int64_t size) {
    Bits bits = open();
    T* sums = sums_.get();
    for (std::int64_t e = 0; e < size; ++e) {
      const bool is_new = bits.mark(columns[e]);
      sums[columns[e]] = (is_new ? nothing : sums[columns[e]]) + factor * values[e];
    }
    close(bits);
  }

  /// Announces the columns of `add_expected`.
  void expect(const std::int32_t* columns, std::int64_t size) {
    mark(columns, size);
    for (std::int64_t e = 0; e < size; ++e) sums_[columns[e]] = nothing;
  }
  /// Adds a row times a factor; false if there is another column.
  [[nodiscard]] bool add_expected(T factor, const std::int32_t* columns, const T* values, std::int64_t size) {
    const Bits bits = open();
    T* sums = sums_.get();
    bool is_expected = true;
    for (std::int64_t e = 0; e < size; ++e) {
      sums[columns[e]] += factor * values[e];
      is_expected &= bits.has(columns[e]);
    }
    return is_expected;
  }

  void read_values(const std::int32_t* columns, std::int64_t size, T* values) const {
    for (std::int64_t e = 0; e < size; ++e) values[e] = sums_[columns[e]];
  }

  void clear() {
    for (std::int64_t t = 0; t < touched_count_; ++t) bits_[touched_[t]] = 0;
    touched_count_ = 0;
    count_ = 0;
  }

  /// Writes the columns, in ascending order if `sorted`, and clears the row.
  void read_columns(bool sorted, std::int32_t* columns) {
    if (sorted) sort_touched();
    for (std::int64_t t = 0; t < touched_count_; ++t) {
      const std::int32_t first = touched_[t] * word_size;
      for (std::uint64_t word = bits_[touched_[t]]; word != 0; word &= word - 1) {
        *columns++ = first + std::countr_zero(word);
      }
    }
    clear();
  }

 private:
  static constexpr T nothing = -T{0};  // the neutral element of addition, also for -0
  static constexpr std::int32_t word_size = 64;
  static constexpr std::int64_t few = 128;
  static constexpr std::int64_t block = 16;

  /// State of a loop over columns, local so that its counters stay in registers.
  struct Bits {
    std::uint64_t* bits;
    std::int32_t* touched;
    std::int64_t touched_count;
    std::int64_t count;

    /// Sets the column's bit. Returns whether the column is new.
    bool mark(std::int32_t column) {
      const auto [index, bit] = place(column);
      const std::uint64_t word = bits[index];
      const bool is_new = (word & bit) == 0;
      touched[touched_count] = static_cast<std::int32_t>(index);
      touched_count += static_cast<std::int64_t>(word == 0);
      count += static_cast<std::int64_t>(is_new);
      bits[index] = word | bit;
      return is_new;
    }
    [[nodiscard]] bool has(std::int32_t column) const {
      const auto [index, bit] = place(column);
      return (bits[index] & bit) != 0;
    }
    static std::pair<std::uint32_t, std::uint64_t> place(std::int32_t column) {
      const auto position = static_cast<std::uint32_t>(column);
      return {position / word_size, std::uint64_t{1} << (position % word_size)};
    }
  };
  [[nodiscard]] Bits open() const { return {bits_.get(), touched_.get(), touched_count_, count_}; }
  void close(const Bits& bits) {
    touched_count_ = bits.touched_count;
    count_ = bits.count;
  }

  void sort_touched() {
    std::int32_t* touched = touched_.get();
    if (touched_count_ <= few) {
      sort_few();
    } else if (words_ < 16 * touched_count_) {
      std::int64_t target = 0;
      for (std::int32_t word = 0; target < touched_count_; ++word) {
        touched[target] = word;
        target += static_cast<std::int64_t>(bits_[word] != 0);
      }
    } else {
      std::sort(touched, touched + touched_count_);
    }
  }

  /// Sorts the words by counting the smaller ones for each: quadratic, but vectorised and without branches.
  void sort_few() {
    std::array<std::int32_t, few> unsorted;
    std::copy_n(touched_.get(), (touched_count_ + block - 1) / block * block, unsorted.data());
    for (std::int64_t first = 0; first < touched_count_; first += block) {
      std::array<std::int32_t, block> before{};
      for (std::int64_t e = 0; e < touched_count_; ++e) {
        const std::int32_t other = unsorted[e];
        for (std::int64_t f = 0; f < block; ++f) {
          before[f] += static_cast<std::int32_t>(other < unsorted[first + f]);
        }
      }
      const std::int64_t last = std::min(first + block, touched_count_);
      for (std::int64_t e = first; e < last; ++e) touched_[before[e - first]] = unsorted[e];
    }
  }

  std::int64_t words_;
  ZeroedPages<std::uint64_t> bits_;
  ZeroedPages<std::int32_t> touched_;
  ZeroedPages<T> sums_;
  std::int64_t touched_count_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace echelon
