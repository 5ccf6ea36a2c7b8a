// SPDX-License-Identifier: BSD-3-Clause
#include "matrix/convert.hpp"

#include "backend/side.hpp"
#include "matrix/rows.hpp"

#include <utility>

namespace echelon {

namespace {

/// Writes row i into a column-major matrix.
template <class Rows>
struct ScatterRow {
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
      if (rows.value(i, k) != 0) ++count;
    }
    counts[i] = count;
  }
};

/// Writes row i's nonzeros behind one another from row_offsets[i] on.
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
      if (value != 0) {
        column_indices[target] = static_cast<std::int32_t>(rows.column(k));
        values[target] = value;
        ++target;
      }
    }
  }
};

template <class T>
bool is_contiguous(const DenseView<const T>& a) {
  return a.layout == Layout::column_major && (a.leading == a.rows || a.columns == 1);
}

}  // namespace

template <class Side, class T>
Dense<T> to_dense_on(const MatrixRef<T>& matrix) {
  return on_backend(matrix.device(), [&]<class B>() {
    B backend(matrix.device());
    Dense<T> result(matrix.device(), matrix.rows(), matrix.columns());
    const std::int64_t size = result.rows() * result.columns();
    if (!matrix.is_sparse() && is_contiguous(matrix.dense())) {
      backend.copy(size, matrix.dense().data, result.data());
    } else {
      if (matrix.is_sparse()) backend.fill(size, T{0}, result.data());
      with_rows(matrix, [&]<class Rows>(const Rows& rows) {
        backend.for_each(result.rows(), ScatterRow<Rows>{rows, result.data(), result.leading()});
      });
    }
    backend.synchronize();
    return result;
  });
}

template <class Side, class T>
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
      backend.synchronize();
      return {n, matrix.columns(), std::move(row_offsets), std::move(column_indices), std::move(values)};
    });
  });
}

template Dense<float> to_dense_on<ThisSide>(const MatrixRef<float>&);
template Dense<double> to_dense_on<ThisSide>(const MatrixRef<double>&);
template Csr<float> to_csr_on<ThisSide>(const MatrixRef<float>&);
template Csr<double> to_csr_on<ThisSide>(const MatrixRef<double>&);

}  // namespace echelon
