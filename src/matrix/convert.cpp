// SPDX-License-Identifier: BSD-3-Clause
#include "matrix/convert.hpp"

#include "backend/store.hpp"
#include "backend/target.hpp"
#include "matrix/compression/compress.hpp"
#include "matrix/compression/merge_duplicates.hpp"
#include "matrix/rows.hpp"

#include <support/scalar_list.hpp>

#include <utility>

namespace echelon {

namespace {

/// Writes row i to a column-major matrix.
template <class Rows>
struct WriteDenseRow {
  Rows rows;
  typename Rows::Value* target;
  std::int64_t leading;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    for (std::int64_t k = rows.begin(i); k < rows.end(i); ++k) {
      target[i + rows.column(k) * leading] = rows.value(i, k);
    }
  }
};

template <class Rows>
struct CountNonzeros {
  Rows rows;
  std::int64_t* counts;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    std::int64_t count = 0;
    for (std::int64_t k = rows.begin(i); k < rows.end(i); ++k) {
      if (rows.value(i, k) != typename Rows::Value{0}) ++count;
    }
    counts[i] = count;
  }
};

/// Writes the nonzeros of row i from row_offsets[i] on.
template <class Rows>
struct PackNonzeros {
  Rows rows;
  const std::int64_t* row_offsets;
  std::int32_t* column_indices;
  typename Rows::Value* values;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    std::int64_t target = row_offsets[i];
    for (std::int64_t k = rows.begin(i); k < rows.end(i); ++k) {
      const typename Rows::Value value = rows.value(i, k);
      if (value != typename Rows::Value{0}) {
        column_indices[target] = static_cast<std::int32_t>(rows.column(k));
        values[target] = value;
        ++target;
      }
    }
  }
};

struct IndexOutOfRange {
  std::int64_t rows;
  std::int64_t columns;
  const std::int32_t* row_indices;
  const std::int32_t* column_indices;
  ECHELON_ANYWHERE FirstIndex operator()(std::int64_t k) const {
    const bool good =
        row_indices[k] >= 0 && row_indices[k] < rows && column_indices[k] >= 0 && column_indices[k] < columns;
    return good ? FirstIndex{} : FirstIndex{k};
  }
};

template <class Backend, class V>
Array<V> copy_of(Backend& backend, const Array<V>& array) {
  Array<V> result(backend.device(), array.size());
  backend.copy(array.size(), array.data(), result.data());
  return result;
}

template <class T>
bool is_contiguous(const DenseView<const T>& a) {
  return a.layout() == Layout::column_major && (a.leading() == a.rows() || a.columns() == 1);
}

}  // namespace

template <class Target, class T>
Dense<T> to_dense_on(const MatrixRef<T>& matrix) {
  return on_backend(matrix.device(), [&]<class B>() {
    B backend(matrix.device());
    Dense<T> result(matrix.device(), matrix.rows(), matrix.columns());
    const std::int64_t size = result.rows() * result.columns();
    if (!matrix.is_sparse() && is_contiguous(matrix.dense())) {
      backend.copy(size, matrix.dense().data(), result.data());
    } else {
      if (matrix.is_sparse()) backend.fill(size, T{0}, result.data());
      with_rows(matrix, [&]<class Rows>(const Rows& rows) {
        backend.for_each(result.rows(), WriteDenseRow<Rows>{rows, result.data(), result.leading()});
      });
    }
    backend.synchronize();
    return result;
  });
}

template <class Target, class T>
Csr<T> to_csr_on(const MatrixRef<T>& matrix) {
  return on_backend(matrix.device(), [&]<class B>() {
    B backend(matrix.device());
    return with_rows(matrix, [&]<class Rows>(const Rows& rows) -> Csr<T> {
      const std::int64_t n = matrix.rows();
      Array<std::int64_t> row_offsets(matrix.device(), n + 1);
      backend.for_each(n, CountNonzeros<Rows>{rows, row_offsets.data()});
      const std::int64_t nonzeros = backend.exclusive_scan(n, row_offsets.data(), row_offsets.data());
      Array<std::int32_t> column_indices(matrix.device(), nonzeros);
      Array<T> values(matrix.device(), nonzeros);
      backend.for_each(n, PackNonzeros<Rows>{rows, row_offsets.data(), column_indices.data(), values.data()});
      return Csr<T>::unchecked(n, matrix.columns(), std::move(row_offsets), std::move(column_indices),
                               std::move(values));
    });
  });
}

template <class Target, class T>
Csr<T> to_csr_on(const Coo<T>& matrix) {
  return on_backend(matrix.device(), [&]<class B>() {
    B backend(matrix.device());
    return merge_repeated(backend, matrix.columns(),
                          compress(backend, CooEntries<T>(matrix), matrix.rows(), matrix.columns()));
  });
}

template <class Target, class T>
Coo<T> to_coo_on(const Csr<T>& matrix) {
  return on_backend(matrix.device(), [&]<class B>() {
    B backend(matrix.device());
    Array<std::int32_t> row_indices(matrix.device(), matrix.nonzeros());
    backend.for_each(matrix.rows(), RepeatRow{matrix.row_offsets().data(), row_indices.data()});
    return Coo<T>::unchecked(matrix.rows(), matrix.columns(), std::move(row_indices), matrix.column_indices(),
                             matrix.values());
  });
}

template <class Target, class T>
Csr<T> transpose_on(const Csr<T>& matrix) {
  return on_backend(matrix.device(), [&]<class B>() {
    B backend(matrix.device());
    CompressedRows<T> rows = compress(backend, TransposedEntries<T>(matrix), matrix.columns(), matrix.rows());
    return Csr<T>::unchecked(matrix.columns(), matrix.rows(), std::move(rows.offsets),
                             std::move(rows.columns), std::move(rows.values));
  });
}

template <class Target, class T>
std::int64_t first_bad_entry_on(const Coo<T>& matrix) {
  return on_backend(matrix.device(), [&]<class B>() {
    B backend(matrix.device());
    Array<FirstIndex> first(matrix.device(), 1);
    backend.reduce(matrix.entries(),
                   IndexOutOfRange{matrix.rows(), matrix.columns(), matrix.row_indices().data(),
                                   matrix.column_indices().data()},
                   Store<FirstIndex>{first.data()});
    const std::int64_t bad = backend.read(first.data()).value;
    return bad == FirstIndex::none ? std::int64_t{-1} : bad;
  });
}

#define ECHELON_INSTANTIATE(T)                                    \
  template Dense<T> to_dense_on<ThisTarget>(const MatrixRef<T>&); \
  template Csr<T> to_csr_on<ThisTarget>(const MatrixRef<T>&);     \
  template Csr<T> to_csr_on<ThisTarget>(const Coo<T>&);           \
  template Coo<T> to_coo_on<ThisTarget>(const Csr<T>&);           \
  template Csr<T> transpose_on<ThisTarget>(const Csr<T>&);        \
  template std::int64_t first_bad_entry_on<ThisTarget>(const Coo<T>&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
