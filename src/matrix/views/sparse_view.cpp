// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "matrix/shape.hpp"
#include "matrix/views/borrowed_arrays.hpp"
#include "matrix/views/sparse_view_state.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/sparse_view.hpp>

#include <fmt/format.h>
#include <support/scalar_list.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace echelon {

namespace {

/// A stored element: its row and column, from 0, and its index in the caller's arrays.
struct StoredElement {
  std::int64_t row;
  std::int64_t column;
  std::int64_t source;
};

/// Integers of either width on the host, copied from a GPU.
class HostIndices {
 public:
  HostIndices(const Device& device, const IndexArray& array, std::int64_t size, const char* name) {
    if (size > 0 && array.narrow() == nullptr && array.wide() == nullptr) {
      throw InvalidMatrix(fmt::format("the array of {} {} is given by a null pointer", size, name));
    }
    narrow_ = on_host(device, array.narrow(), size, narrow_copy_);
    wide_ = on_host(device, array.wide(), size, wide_copy_);
  }
  HostIndices(const HostIndices&) = delete;
  HostIndices& operator=(const HostIndices&) = delete;

  [[nodiscard]] std::int64_t operator[](std::int64_t k) const {
    return narrow_ != nullptr ? narrow_[k] : wide_[k];
  }

 private:
  template <class I>
  static const I* on_host(const Device& device, const I* data, std::int64_t size, std::vector<I>& copy) {
    if (data == nullptr || device.on_host()) return data;
    copy.resize(static_cast<std::size_t>(size));
    memory_detail::copy(Device(), copy.data(), device, data, copy.size() * sizeof(I));
    return copy.data();
  }

  std::vector<std::int32_t> narrow_copy_;
  std::vector<std::int64_t> wide_copy_;
  const std::int32_t* narrow_ = nullptr;
  const std::int64_t* wide_ = nullptr;
};

void check_pattern(const SparsePattern& pattern) {
  check_shape(pattern.rows, pattern.columns);
  if (pattern.nonzeros < 0) throw InvalidMatrix(fmt::format("{} nonzeros", pattern.nonzeros));
  if (pattern.base != 0 && pattern.base != 1) {
    throw InvalidMatrix(fmt::format("indices count from {}; they count from 0 or from 1", pattern.base));
  }
  const bool half = pattern.stored != StoredElements::all;
  if ((half || pattern.symmetric) && pattern.rows != pattern.columns) {
    throw InvalidMatrix(fmt::format("a matrix of {} by {} is not symmetric", pattern.rows, pattern.columns));
  }
}

std::string_view half_name(StoredElements stored) {
  return stored == StoredElements::lower ? "lower" : "upper";
}

/// Reads the arrays of a pattern, and checks what it reads.
class EntryReader {
 public:
  EntryReader(const Device& device, const SparsePattern& pattern)
      : pattern_(pattern),
        lines_(pattern.layout == SparseLayout::csr ? pattern.rows : pattern.columns),
        first_(device, pattern.offsets_or_rows,
               pattern.layout == SparseLayout::coo ? pattern.nonzeros : lines_ + 1,
               pattern.layout == SparseLayout::coo ? "row indices" : "offsets"),
        second_(device, pattern.indices, pattern.nonzeros, "indices") {
    if (pattern.layout == SparseLayout::csc) check_row_indices(pattern.rows);
    if (pattern.layout != SparseLayout::coo) check_offsets();
  }

  /// Calls f(entry) for all elements of the matrix, in the order of the arrays; those of a missing half after
  /// the ones that they mirror.
  template <class F>
  void for_each(const F& f) const {
    const auto both = [&](StoredElement entry) {
      check(entry);
      f(entry);
      if (pattern_.stored != StoredElements::all && entry.row != entry.column) {
        f(StoredElement{entry.column, entry.row, entry.source});
      }
    };
    if (pattern_.layout == SparseLayout::coo) {
      for (std::int64_t k = 0; k < pattern_.nonzeros; ++k) {
        both({first_[k] - pattern_.base, second_[k] - pattern_.base, k});
      }
      return;
    }
    for (std::int64_t line = 0; line < lines_; ++line) {
      for (std::int64_t k = first_[line] - pattern_.base; k < first_[line + 1] - pattern_.base; ++k) {
        const std::int64_t other = second_[k] - pattern_.base;
        both(pattern_.layout == SparseLayout::csr ? StoredElement{line, other, k}
                                                  : StoredElement{other, line, k});
      }
    }
  }

 private:
  void check_offsets() const {
    std::int64_t previous = pattern_.base;
    for (std::int64_t line = 0; line <= lines_; ++line) {
      const std::int64_t offset = first_[line];
      const bool ends = line < lines_ || offset == pattern_.nonzeros + pattern_.base;
      if (offset < previous || !ends || (line == 0 && offset != pattern_.base)) {
        throw InvalidMatrix(fmt::format("offset {} of {}s is {}; offsets ascend from {} to {}", line,
                                        pattern_.layout == SparseLayout::csr ? "row" : "column", offset,
                                        pattern_.base, pattern_.nonzeros + pattern_.base));
      }
      previous = offset;
    }
  }

  void check(const StoredElement& entry) const {
    if (entry.row < 0 || entry.row >= pattern_.rows || entry.column < 0 || entry.column >= pattern_.columns) {
      throw InvalidMatrix(
          fmt::format("element {} is in row {} and column {}, counted from {}, of a matrix of "
                      "{} by {}",
                      entry.source, entry.row + pattern_.base, entry.column + pattern_.base, pattern_.base,
                      pattern_.rows, pattern_.columns));
    }
    const bool wrong_half = pattern_.stored == StoredElements::lower
                                ? entry.column > entry.row
                                : pattern_.stored == StoredElements::upper && entry.column < entry.row;
    if (wrong_half) {
      throw InvalidMatrix(
          fmt::format("element {} is in row {} and column {}, counted from {}, which the {} half "
                      "of a matrix does not have",
                      entry.source, entry.row + pattern_.base, entry.column + pattern_.base, pattern_.base,
                      half_name(pattern_.stored)));
    }
  }

  const SparsePattern& pattern_;
  std::int64_t lines_;
  HostIndices first_, second_;
};

/// The pattern of a Csr on the host, and where its values come from.
struct ConvertedPattern {
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> columns;
  std::vector<std::int64_t> sources;         ///< of the elements, in the order of the Csr
  std::vector<std::int64_t> source_offsets;  ///< empty: one source for each element
};

/// Sorts the elements of a row by column; those of one column keep their order.
void sort_row(std::span<std::int32_t> columns, std::span<std::int64_t> sources) {
  if (std::is_sorted(columns.begin(), columns.end())) return;
  std::vector<std::pair<std::int32_t, std::int64_t>> row;
  row.reserve(columns.size());
  for (std::size_t k = 0; k < columns.size(); ++k) row.emplace_back(columns[k], sources[k]);
  std::stable_sort(row.begin(), row.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t k = 0; k < row.size(); ++k) std::tie(columns[k], sources[k]) = row[k];
}

/// Makes one element of those of one position.
void merge_repeated_positions(ConvertedPattern& pattern) {
  std::vector<std::int64_t> starts;
  std::size_t kept = 0;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i + 1 < pattern.offsets.size(); ++i) {
    const std::int64_t end = pattern.offsets[i + 1];
    for (std::int64_t k = begin; k < end; ++k) {
      const std::int32_t column = pattern.columns[static_cast<std::size_t>(k)];
      if (k > begin && column == pattern.columns[static_cast<std::size_t>(k - 1)]) continue;
      starts.push_back(k);
    }
    begin = end;
    pattern.offsets[i + 1] = std::ssize(starts);
  }
  if (starts.size() == pattern.columns.size()) return;
  for (const std::int64_t start : starts) {
    pattern.columns[kept++] = pattern.columns[static_cast<std::size_t>(start)];
  }
  pattern.columns.resize(kept);
  starts.push_back(std::ssize(pattern.sources));
  pattern.source_offsets = std::move(starts);
}

/// A counting sort by rows, and a sort of each row.
ConvertedPattern convert(const Device& device, const SparsePattern& given) {
  const EntryReader reader(device, given);
  ConvertedPattern result;
  result.offsets.assign(static_cast<std::size_t>(given.rows) + 1, 0);
  std::int64_t count = 0;
  reader.for_each([&](const StoredElement& entry) {
    ++result.offsets[static_cast<std::size_t>(entry.row) + 1];
    ++count;
  });
  std::partial_sum(result.offsets.begin(), result.offsets.end(), result.offsets.begin());
  result.columns.resize(static_cast<std::size_t>(count));
  result.sources.resize(static_cast<std::size_t>(count));
  std::vector<std::int64_t> next(result.offsets.begin(), result.offsets.end() - 1);
  reader.for_each([&](const StoredElement& entry) {
    const auto place = static_cast<std::size_t>(next[static_cast<std::size_t>(entry.row)]++);
    result.columns[place] = static_cast<std::int32_t>(entry.column);
    result.sources[place] = entry.source;
  });
  for (std::size_t i = 0; i + 1 < result.offsets.size(); ++i) {
    const auto begin = static_cast<std::size_t>(result.offsets[i]);
    const auto length = static_cast<std::size_t>(result.offsets[i + 1]) - begin;
    sort_row(std::span(result.columns).subspan(begin, length),
             std::span(result.sources).subspan(begin, length));
  }
  merge_repeated_positions(result);
  return result;
}

/// Whether the arrays have the form of a Csr, up to the order of their columns.
bool has_csr_form(const SparsePattern& pattern) {
  const bool by_rows =
      pattern.layout == SparseLayout::csr || (pattern.layout == SparseLayout::csc && pattern.symmetric);
  return by_rows && pattern.base == 0 && pattern.stored == StoredElements::all &&
         (pattern.indices.narrow() != nullptr || pattern.nonzeros == 0);
}

/// Whether columns ascend strictly within each row. Those on a GPU are taken to do so, as by CsrView.
bool columns_ascend(const Device& device, const SparsePattern& pattern) {
  if (!device.on_host()) return true;
  const std::int64_t lines = pattern.layout == SparseLayout::csr ? pattern.rows : pattern.columns;
  const HostIndices offsets(device, pattern.offsets_or_rows, lines + 1, "offsets");
  const std::int32_t* const columns = pattern.indices.narrow();
  for (std::int64_t i = 0; i < lines; ++i) {
    const std::int64_t end = std::min(offsets[i + 1], pattern.nonzeros);
    for (std::int64_t k = std::max<std::int64_t>(offsets[i], 0) + 1; k < end; ++k) {
      if (columns[k] <= columns[k - 1]) return false;
    }
  }
  return true;
}

/// The matrix of arrays that have the form of a Csr.
template <class T>
Csr<T> in_place(const Device& device, const SparsePattern& pattern, const T* values) {
  const IndexArray& offsets = pattern.offsets_or_rows;
  const std::int64_t count = pattern.rows + 1;
  return Csr<T>(pattern.rows, pattern.columns,
                offsets.wide() != nullptr ? borrow(device, offsets.wide(), count)
                                          : widen(device, offsets.narrow(), count),
                borrow(device, pattern.indices.narrow(), pattern.nonzeros),
                borrow(device, values, pattern.nonzeros));
}

}  // namespace

template <class T>
SparseView<T>::SparseView(const Device& device, const SparsePattern& pattern, const T* values) {
  at_api_boundary([&] {
    check_pattern(pattern);
    check_array(values, pattern.nonzeros);
    if (has_csr_form(pattern) && columns_ascend(device, pattern)) {
      state_ = std::make_shared<SparseViewState<T>>(
          SparseViewState<T>{in_place<T>(device, pattern, values), pattern.nonzeros, true, GatherMap{}});
      return;
    }
    const ConvertedPattern converted = convert(device, pattern);
    const auto on_device = [&device](const auto& list) {
      using V = typename std::decay_t<decltype(list)>::value_type;
      return Array<V>(device, std::span<const V>(list));
    };
    const std::int64_t count = std::ssize(converted.columns);
    state_ = std::make_shared<SparseViewState<T>>(
        SparseViewState<T>{Csr<T>::unchecked(pattern.rows, pattern.columns, on_device(converted.offsets),
                                             on_device(converted.columns), Array<T>(device, count)),
                           pattern.nonzeros, false,
                           GatherMap{converted.source_offsets.empty() ? Array<std::int64_t>()
                                                                      : on_device(converted.source_offsets),
                                     on_device(converted.sources)}});
    update_values(values);
  });
}

template <class T>
const Csr<T>& SparseView<T>::csr() const {
  return state_->csr;
}

template <class T>
bool SparseView<T>::is_in_place() const {
  return state_->in_place;
}

template <class T>
void SparseView<T>::update_values(const T* values) {
  SparseViewState<T>& own = *state_;
  if (own.in_place) {
    own.csr.values() = own.values_of(values);
  } else {
    own.gather_into(own.csr.values(), values);
  }
}

#define ECHELON_INSTANTIATE(T) template class SparseView<T>;
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
