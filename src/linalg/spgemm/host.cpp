// SPDX-License-Identifier: BSD-3-Clause
// Gustavson's algorithm (ACM TOMS 4, 1978): row i of A B is the sum of the rows of B with the columns of row
// i of A, times its elements.
#include "backend/openmp/openmp.hpp"
#include "backend/targets.hpp"
#include "linalg/dynamic_rows.hpp"
#include "linalg/spgemm/product.hpp"
#include "linalg/spgemm/row_accumulator.hpp"
#include "matrix/rows.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace echelon {

namespace {

template <class T>
struct Row {
  const std::int32_t* columns;
  const T* values;
  std::int64_t size;
};

template <class T>
Row<T> row_of(const SparseRows<T>& matrix, std::int64_t i) {
  const std::int64_t begin = matrix.begin(i);
  return {matrix.column_indices + begin, matrix.values + begin, matrix.end(i) - begin};
}

/// Multiplies rows by a matrix B.
template <class T>
class RowTimes {
 public:
  explicit RowTimes(const Csr<T>& B) : B_(B), sum_(B.columns()) {}

  /// Number of elements of row * B.
  std::int64_t count(const Row<T>& row) {
    if (row.size == 1) return row_of(B_, row.columns[0]).size;
    mark(row);
    const std::int64_t count = sum_.count();
    sum_.clear();
    return count;
  }

  /// The columns of row * B, ascending if `sorted`; written to `columns` unless they are a row of B.
  Row<T> write_columns(const Row<T>& row, bool sorted, std::int32_t* columns) {
    if (row.size == 1) return row_of(B_, row.columns[0]);
    mark(row);
    const std::int64_t count = sum_.count();
    sum_.read_columns(sorted, columns);
    return {columns, nullptr, count};
  }

  /// row * B in ascending columns.
  Row<T> write(const Row<T>& row, std::int32_t* columns, T* values) {
    for (std::int64_t k = 0; k < row.size; ++k) {
      const Row<T> b = row_of(B_, row.columns[k]);
      sum_.add(row.values[k], b.columns, b.values, b.size);
    }
    const std::int64_t count = sum_.count();
    sum_.read_columns(true, columns);
    sum_.read_values(columns, count, values);
    return {columns, values, count};
  }

  /// The values of row * B for its known columns. False if it has other columns.
  bool update(const Row<T>& row, const std::int32_t* columns, std::int64_t count, T* values) {
    sum_.expect(columns, count);
    bool is_known = true;
    for (std::int64_t k = 0; k < row.size; ++k) {
      const Row<T> b = row_of(B_, row.columns[k]);
      is_known &= sum_.add_expected(row.values[k], b.columns, b.values, b.size);
    }
    sum_.read_values(columns, count, values);
    sum_.clear();
    return is_known;
  }

 private:
  void mark(const Row<T>& row) {
    for (std::int64_t k = 0; k < row.size; ++k) {
      const Row<T> b = row_of(B_, row.columns[k]);
      sum_.mark(b.columns, b.size);
    }
  }

  SparseRows<T> B_;
  RowAccumulator<T> sum_;
};

/// A thread's workspace for rows of F_0 F_1 ... F_m: row i of F_0 times F_1, that times F_2 and so on.
template <class T>
class RowProduct {
 public:
  explicit RowProduct(Factors<T> factors) : first_(*factors[0]) {
    times_.reserve(factors.size() - 1);
    partial_.reserve(factors.size() - 2);
    for (const Csr<T>* factor : factors.subspan(1)) times_.emplace_back(*factor);
    for (const Csr<T>* factor : factors.subspan(1, factors.size() - 2))
      partial_.emplace_back(factor->columns());
  }

  std::int64_t count(std::int64_t i) { return times_.back().count(columns_of_left(i)); }
  void write_columns(std::int64_t i, std::int32_t* columns) {
    const Row<T> row = times_.back().write_columns(columns_of_left(i), true, columns);
    if (row.columns != columns) std::copy_n(row.columns, row.size, columns);
  }
  void write(std::int64_t i, std::int32_t* columns, T* values) {
    times_.back().write(left(i), columns, values);
  }
  bool update(std::int64_t i, const std::int32_t* columns, std::int64_t count, T* values) {
    return times_.back().update(left(i), columns, count, values);
  }

 private:
  struct Partial {
    explicit Partial(std::int64_t size)
        : columns(zeroed_pages<std::int32_t>(size)), values(zeroed_pages<T>(size)) {}
    ZeroedPages<std::int32_t> columns;
    ZeroedPages<T> values;
  };

  /// Row i of the product of all factors but the last.
  Row<T> left(std::int64_t i) {
    Row<T> row = row_of(first_, i);
    for (std::size_t f = 0; f < partial_.size(); ++f) {
      row = times_[f].write(row, partial_[f].columns.get(), partial_[f].values.get());
    }
    return row;
  }
  /// The columns of that row, in any order.
  Row<T> columns_of_left(std::int64_t i) {
    Row<T> row = row_of(first_, i);
    for (std::size_t f = 0; f < partial_.size(); ++f) {
      row = times_[f].write_columns(row, false, partial_[f].columns.get());
    }
    return row;
  }

  SparseRows<T> first_;
  std::vector<RowTimes<T>> times_;
  std::vector<Partial> partial_;  // the rows between the first factor and the product
};

/// Rough work of a product in the units of for_dynamic_rows: an element causes several products, and sorting.
template <class T>
std::int64_t work_in(Factors<T> factors) {
  constexpr std::int64_t merges_per_element = 8;
  std::int64_t elements = 0;
  for (const Csr<T>* factor : factors) elements += factor->nonzeros();
  return merges_per_element * elements;
}

/// A workspace for each thread.
template <class T>
std::vector<RowProduct<T>> workspaces(Factors<T> factors) {
  const int threads = factors[0]->device().threads();
  std::vector<RowProduct<T>> result;
  result.reserve(static_cast<std::size_t>(threads));
  for (int thread = 0; thread < threads; ++thread) result.emplace_back(factors);
  return result;
}

/// Computes the pattern of the product and, unless null, its values.
template <class T>
typename ProductPlan<T>::Pattern make_product(Factors<T> factors, Array<T>* values) {
  const Device& device = factors.front()->device();
  const std::int64_t rows = factors.front()->rows();
  std::vector<RowProduct<T>> work = workspaces(factors);
  typename ProductPlan<T>::Pattern pattern{
      rows, factors.back()->columns(), Array<std::int64_t>(device, rows + 1), {}};
  std::int64_t* offsets = pattern.row_offsets.data();
  for_dynamic_rows(device.threads(), rows, work_in(factors),
                   [&](int thread, std::int64_t begin, std::int64_t end) {
                     RowProduct<T>& product = work[static_cast<std::size_t>(thread)];
                     for (std::int64_t i = begin; i < end; ++i) offsets[i] = product.count(i);
                   });
  const std::int64_t nonzeros = OpenMp(device).exclusive_scan(rows, offsets, offsets);
  pattern.column_indices = Array<std::int32_t>(device, nonzeros);
  if (values != nullptr) *values = Array<T>(device, nonzeros);
  for_dynamic_rows(device.threads(), rows, work_in(factors),
                   [&](int thread, std::int64_t begin, std::int64_t end) {
                     RowProduct<T>& product = work[static_cast<std::size_t>(thread)];
                     for (std::int64_t i = begin; i < end; ++i) {
                       std::int32_t* columns = pattern.column_indices.data() + offsets[i];
                       if (values != nullptr) {
                         product.write(i, columns, values->data() + offsets[i]);
                       } else {
                         product.write_columns(i, columns);
                       }
                     }
                   });
  return pattern;
}

template <class T>
class HostProductPlan final : public ProductPlan<T> {
 public:
  explicit HostProductPlan(Factors<T> factors)
      : ProductPlan<T>(shapes_of(factors)), pattern_(make_product<T>(factors, nullptr)) {}

  [[nodiscard]] const typename ProductPlan<T>::Pattern& pattern() const override { return pattern_; }

  bool update(Factors<T> factors, T* values) override {
    std::vector<RowProduct<T>> work = workspaces(factors);
    const std::int64_t* offsets = pattern_.row_offsets.data();
    const std::int32_t* columns = pattern_.column_indices.data();
    std::atomic<bool> is_known = true;
    for_dynamic_rows(factors[0]->device().threads(), pattern_.rows, work_in(factors),
                     [&](int thread, std::int64_t begin, std::int64_t end) {
                       RowProduct<T>& product = work[static_cast<std::size_t>(thread)];
                       for (std::int64_t i = begin; i < end; ++i) {
                         const std::int64_t count = offsets[i + 1] - offsets[i];
                         if (!product.update(i, columns + offsets[i], count, values + offsets[i]))
                           is_known = false;
                       }
                     });
    return is_known;
  }

 private:
  typename ProductPlan<T>::Pattern pattern_;
};

}  // namespace

template <class Target, class T>
std::unique_ptr<ProductPlan<T>> plan_product_on(Factors<T> factors) {
  return std::make_unique<HostProductPlan<T>>(factors);
}

template <class Target, class T>
Csr<T> product_on(Factors<T> factors) {
  Array<T> values;
  typename ProductPlan<T>::Pattern pattern = make_product<T>(factors, &values);
  return Csr<T>::unchecked(pattern.rows, pattern.columns, std::move(pattern.row_offsets),
                           std::move(pattern.column_indices), std::move(values));
}

template std::unique_ptr<ProductPlan<float>> plan_product_on<HostTarget>(Factors<float>);
template std::unique_ptr<ProductPlan<double>> plan_product_on<HostTarget>(Factors<double>);
template Csr<float> product_on<HostTarget>(Factors<float>);
template Csr<double> product_on<HostTarget>(Factors<double>);

}  // namespace echelon
