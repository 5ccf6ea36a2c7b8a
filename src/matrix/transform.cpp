// SPDX-License-Identifier: BSD-3-Clause
#include "matrix/transform.hpp"

#include "backend/store.hpp"
#include "backend/target.hpp"
#include "matrix/compression/compress.hpp"
#include "matrix/rows.hpp"

#include <support/scalar_list.hpp>

#include <algorithm>
#include <utility>

namespace echelon {

namespace {

// Each operation provides count(i), the number of elements of row i of its result, and fill(i, k), which
// writes them from position k on. The result is allocated between the two passes.

template <class Operation>
struct CountRows {
  Operation operation;
  std::int64_t* counts;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { counts[i] = operation.count(i); }
};

template <class Operation, class T>
struct FillRows {
  Operation operation;
  const std::int64_t* offsets;
  std::int32_t* columns;
  T* values;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    operation.fill(i, columns + offsets[i], values + offsets[i]);
  }
};

template <class T, class Backend, class Operation>
Csr<T> make_rows(Backend& backend, std::int64_t rows, std::int64_t columns, const Operation& operation) {
  const Device& device = backend.device();
  Array<std::int64_t> offsets(device, rows + 1);
  backend.for_each(rows, CountRows<Operation>{operation, offsets.data()});
  const std::int64_t nonzeros = backend.exclusive_scan(rows, offsets.data(), offsets.data());
  Array<std::int32_t> column_indices(device, nonzeros);
  Array<T> values(device, nonzeros);
  backend.for_each(rows,
                   FillRows<Operation, T>{operation, offsets.data(), column_indices.data(), values.data()});
  return Csr<T>::unchecked(rows, columns, std::move(offsets), std::move(column_indices), std::move(values));
}

/// Rows of a window: its elements are contiguous in each row.
template <class T>
struct WindowOfRow {
  SparseRows<T> A;
  Window window;
  /// First element of row i with a column not less than j.
  ECHELON_ANYWHERE std::int64_t first_from(std::int64_t i, std::int64_t j) const {
    std::int64_t low = A.begin(i);
    std::int64_t high = A.end(i);
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (A.column(middle) < j) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
  ECHELON_ANYWHERE std::int64_t begin(std::int64_t i) const {
    const std::int64_t diagonal = i + window.low;
    return first_from(i, diagonal > window.column_begin ? diagonal : window.column_begin);
  }
  ECHELON_ANYWHERE std::int64_t end(std::int64_t i) const {
    const std::int64_t past = i + window.high + 1;
    return first_from(i, past < window.column_end ? past : window.column_end);
  }
  ECHELON_ANYWHERE std::int64_t count(std::int64_t row) const {
    const std::int64_t i = window.row_begin + row;
    const std::int64_t length = end(i) - begin(i);
    return length > 0 ? length : 0;
  }
  ECHELON_ANYWHERE void fill(std::int64_t row, std::int32_t* columns, T* values) const {
    const std::int64_t i = window.row_begin + row;
    const std::int64_t stop = end(i);
    for (std::int64_t k = begin(i); k < stop; ++k) {
      *columns++ = static_cast<std::int32_t>(A.column(k) - window.column_begin);
      *values++ = A.values[k];
    }
  }
};

template <class T>
struct SelectedRow {
  SparseRows<T> A;
  const std::int32_t* rows;
  ECHELON_ANYWHERE std::int64_t count(std::int64_t i) const { return A.end(rows[i]) - A.begin(rows[i]); }
  ECHELON_ANYWHERE void fill(std::int64_t i, std::int32_t* columns, T* values) const {
    for (std::int64_t k = A.begin(rows[i]); k < A.end(rows[i]); ++k) {
      *columns++ = A.column_indices[k];
      *values++ = A.values[k];
    }
  }
};

/// Column j of A becomes columns places[places_of[j]], ... of the result.
template <class T>
struct SelectedColumns {
  SparseRows<T> A;
  const std::int64_t* places_of;
  const std::int32_t* places;
  ECHELON_ANYWHERE std::int64_t count(std::int64_t i) const {
    std::int64_t count = 0;
    for (std::int64_t k = A.begin(i); k < A.end(i); ++k) {
      count += places_of[A.column(k) + 1] - places_of[A.column(k)];
    }
    return count;
  }
  ECHELON_ANYWHERE void fill(std::int64_t i, std::int32_t* columns, T* values) const {
    for (std::int64_t k = A.begin(i); k < A.end(i); ++k) {
      for (std::int64_t p = places_of[A.column(k)]; p < places_of[A.column(k) + 1]; ++p) {
        *columns++ = places[p];
        *values++ = A.values[k];
      }
    }
  }
};

/// Merges rows i of A and B.
template <class T>
struct Symmetrized {
  SparseRows<T> A;
  SparseRows<T> B;  ///< A's transpose
  bool pattern_only;
  /// f(column, value of A, value of B) for the columns that either stores, in ascending order.
  template <class F>
  ECHELON_ANYWHERE void merge(std::int64_t i, F&& f) const {
    std::int64_t a = A.begin(i);
    std::int64_t b = B.begin(i);
    while (a < A.end(i) || b < B.end(i)) {
      const bool from_a = b == B.end(i) || (a < A.end(i) && A.column(a) <= B.column(b));
      const bool from_b = a == A.end(i) || (b < B.end(i) && B.column(b) <= A.column(a));
      const std::int32_t column = from_a ? A.column_indices[a] : B.column_indices[b];
      f(column, from_a ? A.values[a] : T{0}, from_b ? B.values[b] : T{0});
      a += from_a ? 1 : 0;
      b += from_b ? 1 : 0;
    }
  }
  struct Counter {
    std::int64_t* count;
    ECHELON_ANYWHERE void operator()(std::int32_t, T, T) const { ++*count; }
  };
  struct Writer {
    bool pattern_only;
    std::int32_t* columns;
    T* values;
    ECHELON_ANYWHERE void operator()(std::int32_t column, T a, T b) {
      *columns++ = column;
      *values++ = pattern_only ? a : a / T{2} + b / T{2};
    }
  };
  ECHELON_ANYWHERE std::int64_t count(std::int64_t i) const {
    std::int64_t count = 0;
    merge(i, Counter{&count});
    return count;
  }
  // NOLINTNEXTLINE(readability-non-const-parameter): Writer writes to it
  ECHELON_ANYWHERE void fill(std::int64_t i, std::int32_t* columns, T* values) const {
    merge(i, Writer{pattern_only, columns, values});
  }
};

/// Sorts the columns of each row in ascending order.
template <class T, class Backend>
Csr<T> sort_rows(Backend& backend, const Csr<T>& A) {
  Array<std::int32_t> row_indices(A.device(), A.nonzeros());
  backend.for_each(A.rows(), RepeatRow{A.row_offsets().data(), row_indices.data()});
  const CooEntries<T> entries(row_indices.data(), A.column_indices().data(), A.values().data(), A.nonzeros());
  CompressedRows<T> rows = compress(backend, entries, A.rows(), A.columns());
  return Csr<T>::unchecked(A.rows(), A.columns(), std::move(rows.offsets), std::move(rows.columns),
                           std::move(rows.values));
}

struct TwoPlaces {
  FirstIndex out_of_range;
  FirstIndex descent;
  friend ECHELON_ANYWHERE TwoPlaces combine(TwoPlaces a, TwoPlaces b) {
    return {combine(a.out_of_range, b.out_of_range), combine(a.descent, b.descent)};
  }
};

struct InspectList {
  const std::int32_t* list;
  std::int64_t bound;
  ECHELON_ANYWHERE TwoPlaces operator()(std::int64_t place) const {
    TwoPlaces found;
    if (list[place] < 0 || list[place] >= bound) found.out_of_range.value = place;
    if (place > 0 && list[place] <= list[place - 1]) found.descent.value = place;
    return found;
  }
};

struct MarkPlace {
  const std::int32_t* list;
  std::int32_t* place_of;
  ECHELON_ANYWHERE void operator()(std::int64_t place) const {
    place_of[list[place]] = static_cast<std::int32_t>(place);
  }
};

/// Finds positions whose index was marked by another position.
struct NotMarked {
  const std::int32_t* list;
  const std::int32_t* place_of;
  ECHELON_ANYWHERE FirstIndex operator()(std::int64_t place) const {
    return place_of[list[place]] == place ? FirstIndex{} : FirstIndex{place};
  }
};

std::int64_t or_minus_one(FirstIndex first) {
  return first.value == FirstIndex::none ? -1 : first.value;
}

template <class T>
struct TakeDiagonal {
  SparseRows<T> A;
  T* target;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { target[i] = A.at(i, i); }
};

template <class T>
struct TakeBlockRow {
  WindowOfRow<T> A;
  std::int64_t n;
  std::int64_t block;
  T* target;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const std::int64_t first = i / block * block;
    const std::int64_t stop = A.first_from(i, first + block < n ? first + block : n);
    for (std::int64_t k = A.first_from(i, first); k < stop; ++k) {
      target[first * block + (A.A.column(k) - first) * block + i - first] = A.A.values[k];
    }
  }
};

}  // namespace

template <class Target, class T>
Csr<T> window_on(const Csr<T>& A, const Window& window) {
  return on_backend(A.device(), [&]<class B>() {
    B backend(A.device());
    return make_rows<T>(backend, window.row_end - window.row_begin, window.column_end - window.column_begin,
                        WindowOfRow<T>{SparseRows<T>(A), window});
  });
}

template <class Target>
ListFacts list_facts_on(const Array<std::int32_t>& list, std::int64_t bound, bool find_repetition) {
  return on_backend(list.device(), [&]<class B>() {
    B backend(list.device());
    Array<TwoPlaces> places(list.device(), 1);
    backend.reduce(list.size(), InspectList{list.data(), bound}, Store<TwoPlaces>{places.data()});
    const TwoPlaces found = backend.read(places.data());
    ListFacts facts{or_minus_one(found.out_of_range), or_minus_one(found.descent), -1};
    if (!find_repetition || facts.out_of_range >= 0 || facts.descent < 0) return facts;
    Array<std::int32_t> place_of(list.device(), bound);
    Array<FirstIndex> repetition(list.device(), 1);
    backend.for_each(list.size(), MarkPlace{list.data(), place_of.data()});
    backend.reduce(list.size(), NotMarked{list.data(), place_of.data()},
                   Store<FirstIndex>{repetition.data()});
    facts.repetition = or_minus_one(backend.read(repetition.data()));
    return facts;
  });
}

template <class Target, class T>
Csr<T> select_rows_on(const Csr<T>& A, const Array<std::int32_t>& rows) {
  return on_backend(A.device(), [&]<class B>() {
    B backend(A.device());
    return make_rows<T>(backend, rows.size(), A.columns(), SelectedRow<T>{SparseRows<T>(A), rows.data()});
  });
}

template <class Target, class T>
Csr<T> select_columns_on(const Csr<T>& A, const Array<std::int32_t>& columns, bool ascending) {
  return on_backend(A.device(), [&]<class B>() {
    B backend(A.device());
    const Device& device = A.device();
    Array<std::int32_t> numbers(device, columns.size());
    Array<float> unused(device, columns.size());
    backend.for_each(columns.size(), Iota{numbers.data()});
    backend.fill(columns.size(), 0.0F, unused.data());
    const CooEntries<float> list(columns.data(), numbers.data(), unused.data(), columns.size());
    const auto places = compress(backend, list, A.columns(), columns.size());
    Csr<T> selected =
        make_rows<T>(backend, A.rows(), columns.size(),
                     SelectedColumns<T>{SparseRows<T>(A), places.offsets.data(), places.columns.data()});
    return ascending ? std::move(selected) : sort_rows(backend, selected);
  });
}

template <class Target, class T>
Csr<T> symmetrize_on(const Csr<T>& A, const Csr<T>& transpose, Symmetrization kind) {
  return on_backend(A.device(), [&]<class B>() {
    B backend(A.device());
    return make_rows<T>(
        backend, A.rows(), A.columns(),
        Symmetrized<T>{SparseRows<T>(A), SparseRows<T>(transpose), kind == Symmetrization::pattern});
  });
}

template <class Target, class T>
Dense<T> diagonal_on(const Csr<T>& A) {
  return on_backend(A.device(), [&]<class B>() {
    Dense<T> result(A.device(), std::min(A.rows(), A.columns()), 1);
    B(A.device()).for_each(result.rows(), TakeDiagonal<T>{SparseRows<T>(A), result.data()});
    return result;
  });
}

template <class Target, class T>
Dense<T> block_diagonal_on(const Csr<T>& A, std::int64_t block) {
  return on_backend(A.device(), [&]<class B>() {
    B backend(A.device());
    const std::int64_t n = std::min(A.rows(), A.columns());
    Dense<T> result(A.device(), block, n == 0 ? 0 : (n - 1) / block * block + block);
    backend.fill(result.rows() * result.columns(), T{0}, result.data());
    backend.for_each(n, TakeBlockRow<T>{WindowOfRow<T>{SparseRows<T>(A), {}}, n, block, result.data()});
    return result;
  });
}

template ListFacts list_facts_on<ThisTarget>(const Array<std::int32_t>&, std::int64_t, bool);
#define ECHELON_INSTANTIATE(T)                                                                    \
  template Csr<T> window_on<ThisTarget>(const Csr<T>&, const Window&);                            \
  template Csr<T> select_rows_on<ThisTarget>(const Csr<T>&, const Array<std::int32_t>&);          \
  template Csr<T> select_columns_on<ThisTarget>(const Csr<T>&, const Array<std::int32_t>&, bool); \
  template Csr<T> symmetrize_on<ThisTarget>(const Csr<T>&, const Csr<T>&, Symmetrization);        \
  template Dense<T> diagonal_on<ThisTarget>(const Csr<T>&);                                       \
  template Dense<T> block_diagonal_on<ThisTarget>(const Csr<T>&, std::int64_t);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
