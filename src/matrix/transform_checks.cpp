// SPDX-License-Identifier: BSD-3-Clause
// Checks arguments and calls the code for their device.
#include "backend/api_boundary.hpp"
#include "backend/check_same_memory.hpp"
#include "backend/dispatch.hpp"
#include "matrix/convert.hpp"
#include "matrix/shape.hpp"
#include "matrix/transform.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/transform.hpp>

#include <fmt/format.h>
#include <support/scalar_list.hpp>

#include <algorithm>

namespace echelon {

namespace {

template <class T>
void require_square(const Csr<T>& A) {
  if (A.rows() != A.columns()) {
    throw DimensionMismatch(
        fmt::format("a matrix of {} by {} is not symmetrised: it has to be square", A.rows(), A.columns()));
  }
}

std::int32_t element(const Array<std::int32_t>& list, std::int64_t place) {
  std::int32_t result = 0;
  memory_detail::copy(Device(), &result, list.device(), list.data() + place, sizeof result);
  return result;
}

/// `what` is "row" or "column".
template <class T>
ListFacts checked_list(const Csr<T>& A, const Array<std::int32_t>& list, const char* what, std::int64_t bound,
                       bool permutation) {
  check_same_memory(A.device(), "the matrix", list.device(), fmt::format("the list of {}s", what));
  if (permutation && list.size() != bound) {
    throw DimensionMismatch(fmt::format("a permutation of {} {}s for a matrix of {} by {}", list.size(), what,
                                        A.rows(), A.columns()));
  }
  if (list.size() == 0) return {};
  const ListFacts facts =
      on_target(A.device(), [&]<class Target>() { return list_facts_on<Target>(list, bound, permutation); });
  if (facts.out_of_range >= 0) {
    throw InvalidMatrix(fmt::format("place {} of a list of {}s: {} {} of a matrix of {} by {}",
                                    facts.out_of_range, what, what, element(list, facts.out_of_range),
                                    A.rows(), A.columns()));
  }
  if (facts.repetition >= 0) {
    throw InvalidMatrix(fmt::format("place {} of a permutation: {} {} occurs twice", facts.repetition, what,
                                    element(list, facts.repetition)));
  }
  return facts;
}

template <class T>
Csr<T> select(const Csr<T>& A, const Array<std::int32_t>& rows, const Array<std::int32_t>& columns,
              bool permutation) {
  check_shape(rows.size(), columns.size());
  check_row_indices(rows.size());
  checked_list(A, rows, "row", A.rows(), permutation);
  const ListFacts facts = checked_list(A, columns, "column", A.columns(), permutation);
  return at_api_boundary([&] {
    return on_target<targets_of<T>>(A.device(), [&]<class Target>() {
      return select_columns_on<Target, T>(select_rows_on<Target, T>(A, rows), columns, facts.descent < 0);
    });
  });
}

template <class T>
Csr<T> symmetrized(const Csr<T>& A, Symmetrization kind) {
  require_square(A);
  const Csr<T> flipped = transpose(A);
  return at_api_boundary([&] {
    return on_target<targets_of<T>>(
        A.device(), [&]<class Target>() { return symmetrize_on<Target, T>(A, flipped, kind); });
  });
}

template <class T>
Csr<T> window(const Csr<T>& A, const Window& window) {
  return at_api_boundary([&] {
    return on_target<targets_of<T>>(A.device(),
                                    [&]<class Target>() { return window_on<Target, T>(A, window); });
  });
}

/// Bounds of the numbers of diagonals of any matrix; adding a row's number to them does not overflow.
std::int64_t diagonal_within(std::int64_t k) {
  return std::clamp(k, INT64_MIN / 2, INT64_MAX / 2);
}

}  // namespace

template <class T>
Csr<T> transpose(const Csr<T>& A) {
  check_row_indices(A.rows());
  return at_api_boundary([&] {
    return on_target<targets_of<T>>(A.device(), [&]<class Target>() { return transpose_on<Target, T>(A); });
  });
}

template <class T>
Coo<T> transpose(const Coo<T>& A) {
  return Coo<T>::unchecked(A.columns(), A.rows(), A.column_indices(), A.row_indices(), A.values());
}

template <class T>
Csr<T> symmetrize(const Csr<T>& A) {
  return symmetrized(A, Symmetrization::mean);
}

template <class T>
Csr<T> symmetrize_pattern(const Csr<T>& A) {
  return symmetrized(A, Symmetrization::pattern);
}

template <class T>
Csr<T> submatrix(const Csr<T>& A, const Array<std::int32_t>& rows, const Array<std::int32_t>& columns) {
  return select(A, rows, columns, false);
}

template <class T>
Csr<T> submatrix(const Csr<T>& A, std::int64_t row_begin, std::int64_t row_end, std::int64_t column_begin,
                 std::int64_t column_end) {
  const auto within = [](std::int64_t begin, std::int64_t end, std::int64_t bound) {
    return 0 <= begin && begin <= end && end <= bound;
  };
  if (!within(row_begin, row_end, A.rows()) || !within(column_begin, column_end, A.columns())) {
    throw InvalidMatrix(fmt::format("rows [{}, {}) and columns [{}, {}) of a matrix of {} by {}", row_begin,
                                    row_end, column_begin, column_end, A.rows(), A.columns()));
  }
  return window(A, {row_begin, row_end, column_begin, column_end});
}

template <class T>
Csr<T> permute(const Csr<T>& A, const Array<std::int32_t>& rows, const Array<std::int32_t>& columns) {
  return select(A, rows, columns, true);
}

template <class T>
Csr<T> permute_rows(const Csr<T>& A, const Array<std::int32_t>& rows) {
  checked_list(A, rows, "row", A.rows(), true);
  return at_api_boundary([&] {
    return on_target<targets_of<T>>(A.device(),
                                    [&]<class Target>() { return select_rows_on<Target, T>(A, rows); });
  });
}

template <class T>
Csr<T> permute_columns(const Csr<T>& A, const Array<std::int32_t>& columns) {
  check_row_indices(A.rows());
  const ListFacts facts = checked_list(A, columns, "column", A.columns(), true);
  return at_api_boundary([&] {
    return on_target<targets_of<T>>(A.device(), [&]<class Target>() {
      return select_columns_on<Target, T>(A, columns, facts.descent < 0);
    });
  });
}

template <class T>
Csr<T> permute_symmetric(const Csr<T>& A, const Array<std::int32_t>& order) {
  return permute(A, order, order);
}

template <class T>
Csr<T> lower_triangle(const Csr<T>& A, std::int64_t k) {
  return window(A, {.row_end = A.rows(), .column_end = A.columns(), .high = diagonal_within(k)});
}

template <class T>
Csr<T> upper_triangle(const Csr<T>& A, std::int64_t k) {
  return window(A, {.row_end = A.rows(), .column_end = A.columns(), .low = diagonal_within(k)});
}

template <class T>
Dense<T> diagonal(const Csr<T>& A) {
  return at_api_boundary([&] {
    return on_target<targets_of<T>>(A.device(), [&]<class Target>() { return diagonal_on<Target, T>(A); });
  });
}

template <class T>
Dense<T> block_diagonal(const Csr<T>& A, std::int64_t block) {
  if (block < 1) throw InvalidMatrix(fmt::format("diagonal blocks of {} rows", block));
  return at_api_boundary([&] {
    return on_target<targets_of<T>>(A.device(),
                                    [&]<class Target>() { return block_diagonal_on<Target, T>(A, block); });
  });
}

#define ECHELON_INSTANTIATE(T)                                                                      \
  template Csr<T> transpose(const Csr<T>&);                                                         \
  template Coo<T> transpose(const Coo<T>&);                                                         \
  template Csr<T> symmetrize(const Csr<T>&);                                                        \
  template Csr<T> symmetrize_pattern(const Csr<T>&);                                                \
  template Csr<T> submatrix(const Csr<T>&, const Array<std::int32_t>&, const Array<std::int32_t>&); \
  template Csr<T> submatrix(const Csr<T>&, std::int64_t, std::int64_t, std::int64_t, std::int64_t); \
  template Csr<T> permute(const Csr<T>&, const Array<std::int32_t>&, const Array<std::int32_t>&);   \
  template Csr<T> permute_rows(const Csr<T>&, const Array<std::int32_t>&);                          \
  template Csr<T> permute_columns(const Csr<T>&, const Array<std::int32_t>&);                       \
  template Csr<T> permute_symmetric(const Csr<T>&, const Array<std::int32_t>&);                     \
  template Csr<T> lower_triangle(const Csr<T>&, std::int64_t);                                      \
  template Csr<T> upper_triangle(const Csr<T>&, std::int64_t);                                      \
  template Dense<T> diagonal(const Csr<T>&);                                                        \
  template Dense<T> block_diagonal(const Csr<T>&, std::int64_t);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
