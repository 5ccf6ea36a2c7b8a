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
#include <limits>
#include <memory>

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
/// row in any order of columns. The sums are stored in the order in which columns first appear, and a dense
/// array over all columns has the place of each. No branch depends on whether a column is new, which a
/// processor predicts badly.
template <class T>
class SparseAccumulator {
 public:
  explicit SparseAccumulator(std::int64_t columns)
      : size_(columns),
        places_(zeroed_pages<std::int32_t>(columns)),
        columns_(zeroed_pages<std::int32_t>(columns + block)),
        sums_(zeroed_pages<T>(columns)),
        words_(columns / word_size + 1),
        bits_(zeroed_pages<std::uint64_t>(words_)),
        touched_(zeroed_pages<std::int32_t>(words_ + block)) {}

  /// Number of elements of the row.
  [[nodiscard]] std::int64_t count() const { return count_; }

  /// Adds columns without values.
  void mark(const std::int32_t* columns, std::int64_t size) {
    std::int32_t count = count_;
    for (std::int64_t e = 0; e < size; ++e) {
      const std::int32_t column = columns[e];
      columns_[count] = column;  // overwritten by the next column unless this one is new
      const bool is_new = places_[column] < first_;
      places_[column] = is_new ? first_ + count : places_[column];
      count += static_cast<std::int32_t>(is_new);
    }
    count_ = count;
  }

  /// Adds a row times a factor.
  void add(T factor, const std::int32_t* columns, const T* values, std::int64_t size) {
    const std::int32_t first = first_;
    std::int32_t* const places = places_.get();
    T* const sums = sums_.get();
    std::int32_t count = count_;
    for (std::int64_t e = 0; e < size; ++e) {
      const std::int32_t column = columns[e];
      const bool is_new = places[column] < first;
      const std::int32_t place = is_new ? count : places[column] - first;
      const T sum = is_new ? nothing : sums[place];
      places[column] = first + place;
      columns_[place] = column;
      sums[place] = sum + factor * values[e];
      count += static_cast<std::int32_t>(is_new);
    }
    count_ = count;
  }

  /// Begins a row with these columns, which `add_expected` takes in this order.
  void expect(const std::int32_t* columns, std::int64_t size) {
    clear();
    for (std::int64_t e = 0; e < size; ++e) places_[columns[e]] = first_ + static_cast<std::int32_t>(e);
    count_ = static_cast<std::int32_t>(size);
  }
  /// Adds a row times a factor to the sums of the expected columns; false if there is another column.
  [[nodiscard]] bool add_expected(T factor, const std::int32_t* columns, const T* values, std::int64_t size,
                                  T* sums) const {
    bool is_expected = true;
    for (std::int64_t e = 0; e < size; ++e) {
      const std::int32_t place = places_[columns[e]] - first_;
      if (place >= 0) {
        sums[place] += factor * values[e];
      } else {
        is_expected = false;
      }
    }
    return is_expected;
  }
  /// The sum of no terms: the neutral element of addition, also for -0.
  static constexpr T nothing = -T{0};

  /// Begins another row.
  void clear() {
    if (first_ > std::numeric_limits<std::int32_t>::max() - count_ - size_) {
      std::fill_n(places_.get(), size_, 0);
      first_ = 1;
    } else {
      first_ += count_;
    }
    count_ = 0;
  }

  /// Writes the columns, in ascending order if `sorted`.
  void read_columns(bool sorted, std::int32_t* columns) {
    if (!sorted) {
      std::copy_n(columns_.get(), count_, columns);
    } else if (count_ <= few) {
      for_ranks(columns_.get(), count_,
                [&](std::int64_t e, std::int32_t rank) { columns[rank] = columns_[e]; });
    } else {
      sort_columns(columns);
    }
  }

  /// Writes the columns in ascending order and their sums.
  void read(std::int32_t* columns, T* values) {
    if (count_ <= few) {
      for_ranks(columns_.get(), count_, [&](std::int64_t e, std::int32_t rank) {
        columns[rank] = columns_[e];
        values[rank] = sums_[e];
      });
      return;
    }
    sort_columns(columns);
    for (std::int32_t e = 0; e < count_; ++e) values[e] = sums_[places_[columns[e]] - first_];
  }

 private:
  static constexpr std::int32_t word_size = 64;
  static constexpr std::int64_t few = 48;
  static constexpr std::int64_t block = 8;

  /// f(e, number of smaller keys) for each of different keys: quadratic, but vectorised and without branches.
  /// Reads up to the next multiple of `block`.
  template <class F>
  static void for_ranks(const std::int32_t* keys, std::int64_t count, F f) {
    for (std::int64_t first = 0; first < count; first += block) {
      std::array<std::int32_t, block> before{};
      for (std::int64_t e = 0; e < count; ++e) {
        for (std::int64_t k = 0; k < block; ++k) {
          before[k] += static_cast<std::int32_t>(keys[e] < keys[first + k]);
        }
      }
      const std::int64_t last = std::min(first + block, count);
      for (std::int64_t e = first; e < last; ++e) f(e, before[e - first]);
    }
  }

  /// Writes the columns in ascending order by a bit for each column: sorting the few nonzero words of bits
  /// sorts the row.
  void sort_columns(std::int32_t* columns) {
    std::int64_t touched = 0;
    for (std::int32_t e = 0; e < count_; ++e) {
      const auto position = static_cast<std::uint32_t>(columns_[e]);
      std::uint64_t& word = bits_[position / word_size];
      touched_[touched] = static_cast<std::int32_t>(position / word_size);
      touched += static_cast<std::int64_t>(word == 0);
      word |= std::uint64_t{1} << (position % word_size);
    }
    sort_touched(touched);
    for (std::int64_t t = 0; t < touched; ++t) {
      const std::int32_t first = touched_[t] * word_size;
      for (std::uint64_t word = bits_[touched_[t]]; word != 0; word &= word - 1) {
        *columns++ = first + std::countr_zero(word);
      }
      bits_[touched_[t]] = 0;
    }
  }

  void sort_touched(std::int64_t touched) {
    std::int32_t* words = touched_.get();
    if (touched <= few) {
      std::array<std::int32_t, few + block> unsorted{};
      std::copy_n(words, touched, unsorted.data());
      for_ranks(unsorted.data(), touched,
                [&](std::int64_t e, std::int32_t rank) { words[rank] = unsorted[e]; });
    } else if (words_ < 16 * touched) {
      std::int64_t target = 0;
      for (std::int32_t word = 0; target < touched; ++word) {
        words[target] = word;
        target += static_cast<std::int64_t>(bits_[word] != 0);
      }
    } else {
      std::sort(words, words + touched);
    }
  }

  std::int64_t size_;
  ZeroedPages<std::int32_t> places_;   // for each column `first_` + its place in the row; less: not in it
  ZeroedPages<std::int32_t> columns_;  // at each place
  ZeroedPages<T> sums_;                // at each place
  std::int32_t first_ = 1;
  std::int32_t count_ = 0;
  std::int64_t words_;
  ZeroedPages<std::uint64_t> bits_;
  ZeroedPages<std::int32_t> touched_;
};

}  // namespace echelon
