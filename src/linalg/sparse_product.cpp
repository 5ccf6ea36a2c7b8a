// SPDX-License-Identifier: BSD-3-Clause
// Row by row (Gustavson, ACM TOMS 4, 1978): row i of A B adds up the rows of B that row i of A names.
#include "linalg/sparse_product.hpp"

#include "backend/dispatch.hpp"
#include "backend/openmp/openmp.hpp"
#include "linalg/row_accumulator.hpp"
#include "linalg/row_shares.hpp"
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

template <class T>
std::int64_t longest_row(const Csr<T>& matrix) {
  std::int64_t longest = 0;
#pragma omp parallel for num_threads(matrix.device().threads()) \
    reduction(max                                               \
              : longest) if (matrix.rows() > 32768)
  for (std::int64_t i = 0; i < matrix.rows(); ++i) {
    longest = std::max(longest, matrix.row_offsets()[i + 1] - matrix.row_offsets()[i]);
  }
  return longest;
}

/// A row times a matrix B.
template <class T>
class RowTimes {
 public:
  /// For rows of at most `longest` elements.
  RowTimes(std::int64_t longest, const Csr<T>& B, std::int64_t longest_of_B)
      : B_(B), columns_(B.columns()), sum_(std::min(longest * longest_of_B, B.columns()), B.columns()) {}

  /// How many elements row * B has.
  std::int64_t count(const Row<T>& row) {
    if (row.size == 1) return row_of(B_, row.columns[0]).size;
    start(row);
    add_columns(row);
    return sum_.count();
  }

  /// row * B in ascending columns, in the arrays given, which have room. Null values are not computed.
  Row<T> write(const Row<T>& row, std::int32_t* columns, T* values) {
    if (row.size == 1) return write_single(row, columns, values);
    start(row);
    if (values != nullptr) {
      add(row);
    } else {
      add_columns(row);
    }
    sum_.read_sorted(columns, values);
    return {columns, values, sum_.count()};
  }

  /// The values of row * B, whose columns are known. False if there are others.
  bool update(const Row<T>& row, const std::int32_t* columns, std::int64_t count, T* values) {
    sum_.start(count);
    for (std::int64_t e = 0; e < count; ++e) sum_.add(columns[e], -T{0});  // what changes no sum, nor -0
    for (std::int64_t k = 0; k < row.size; ++k) {
      const Row<T> b = row_of(B_, row.columns[k]);
      for (std::int64_t e = 0; e < b.size; ++e) {
        if (!sum_.add_to_known(b.columns[e], row.values[k] * b.values[e])) return false;
      }
    }
    sum_.read(count, values);
    return true;
  }

 private:
  void start(const Row<T>& row) {
    std::int64_t bound = 0;
    for (std::int64_t k = 0; k < row.size; ++k) bound += row_of(B_, row.columns[k]).size;
    sum_.start(std::min(bound, columns_));
  }

  void add(const Row<T>& row) {
    for (std::int64_t k = 0; k < row.size; ++k) {
      const Row<T> b = row_of(B_, row.columns[k]);
      for (std::int64_t e = 0; e < b.size; ++e) sum_.add(b.columns[e], row.values[k] * b.values[e]);
    }
  }

  void add_columns(const Row<T>& row) {
    for (std::int64_t k = 0; k < row.size; ++k) {
      const Row<T> b = row_of(B_, row.columns[k]);
      for (std::int64_t e = 0; e < b.size; ++e) sum_.add(b.columns[e], T{0});
    }
  }

  Row<T> write_single(const Row<T>& row, std::int32_t* columns, T* values) {
    const Row<T> b = row_of(B_, row.columns[0]);
    std::copy_n(b.columns, b.size, columns);
    if (values != nullptr) {
      for (std::int64_t e = 0; e < b.size; ++e) values[e] = row.values[0] * b.values[e];
    }
    return {columns, values, b.size};
  }

  SparseRows<T> B_;
  std::int64_t columns_;
  RowAccumulator<T> sum_;
};

/// A thread's workspace for rows of F_0 F_1 ... F_m: row i of F_0 times F_1, that times F_2 and so on.
template <class T>
class RowProduct {
 public:
  RowProduct(Factors<T> factors, std::span<const std::int64_t> longest) : first_(*factors[0]) {
    std::int64_t bound = longest[0];
    for (std::size_t f = 1; f < factors.size(); ++f) {
      times_.emplace_back(bound, *factors[f], longest[f]);
      bound = std::min(bound * longest[f], factors[f]->columns());
      if (f + 1 < factors.size()) {
        partial_.push_back({zeroed_pages<std::int32_t>(bound), zeroed_pages<T>(bound)});
      }
    }
  }

  std::int64_t count(std::int64_t i) { return times_.back().count(all_but_last(i, false)); }
  void write(std::int64_t i, std::int32_t* columns, T* values) {
    times_.back().write(all_but_last(i, values != nullptr), columns, values);
  }
  bool update(std::int64_t i, const std::int32_t* columns, std::int64_t count, T* values) {
    return times_.back().update(all_but_last(i, true), columns, count, values);
  }

 private:
  struct Partial {
    ZeroedPages<std::int32_t> columns;
    ZeroedPages<T> values;
  };

  Row<T> all_but_last(std::int64_t i, bool with_values) {
    Row<T> row = row_of(first_, i);
    for (std::size_t f = 0; f < partial_.size(); ++f) {
      row = times_[f].write(row, partial_[f].columns.get(), with_values ? partial_[f].values.get() : nullptr);
    }
    return row;
  }

  SparseRows<T> first_;
  std::vector<RowTimes<T>> times_;
  std::vector<Partial> partial_;  // the rows between the first factor and the product
};

/// A rough measure of the work that a product makes.
template <class T>
std::int64_t work_in(Factors<T> factors) {
  std::int64_t elements = 0;
  for (const Csr<T>* factor : factors) elements += factor->nonzeros();
  return elements;
}

/// A workspace for each thread.
template <class T>
std::vector<RowProduct<T>> workspaces(Factors<T> factors) {
  std::vector<std::int64_t> longest;
  for (const Csr<T>* factor : factors) longest.push_back(longest_row(*factor));
  std::vector<RowProduct<T>> result;
  for (int thread = 0; thread < factors[0]->device().threads(); ++thread) {
    result.emplace_back(factors, longest);
  }
  return result;
}

/// The pattern of the product and, unless null, its values.
template <class T>
typename ProductPlan<T>::Pattern make_product(Factors<T> factors, Array<T>* values) {
  const Device& device = factors.front()->device();
  const std::int64_t rows = factors.front()->rows();
  std::vector<RowProduct<T>> work = workspaces(factors);
  typename ProductPlan<T>::Pattern pattern{
      rows, factors.back()->columns(), Array<std::int64_t>(device, rows + 1), {}};
  std::int64_t* offsets = pattern.row_offsets.data();
  share_rows(device.threads(), rows, work_in(factors), [&](int thread, std::int64_t begin, std::int64_t end) {
    RowProduct<T>& product = work[static_cast<std::size_t>(thread)];
    for (std::int64_t i = begin; i < end; ++i) offsets[i] = product.count(i);
  });
  const std::int64_t nonzeros = OpenMp(device).exclusive_scan(rows, offsets, offsets);
  pattern.column_indices = Array<std::int32_t>(device, nonzeros);
  if (values != nullptr) *values = Array<T>(device, nonzeros);
  share_rows(device.threads(), rows, work_in(factors), [&](int thread, std::int64_t begin, std::int64_t end) {
    RowProduct<T>& product = work[static_cast<std::size_t>(thread)];
    for (std::int64_t i = begin; i < end; ++i) {
      product.write(i, pattern.column_indices.data() + offsets[i],
                    values != nullptr ? values->data() + offsets[i] : nullptr);
    }
  });
  return pattern;
}

template <class T>
class HostProductPlan final : public ProductPlan<T> {
 public:
  explicit HostProductPlan(Factors<T> factors)
      : ProductPlan<T>(shapes_of(factors), make_product<T>(factors, nullptr)) {}

  bool update(Factors<T> factors, T* values) override {
    std::vector<RowProduct<T>> work = workspaces(factors);
    const std::int64_t* offsets = this->pattern().row_offsets.data();
    const std::int32_t* columns = this->pattern().column_indices.data();
    std::atomic<bool> is_known = true;
    share_rows(factors[0]->device().threads(), this->pattern().rows, work_in(factors),
               [&](int thread, std::int64_t begin, std::int64_t end) {
                 RowProduct<T>& product = work[static_cast<std::size_t>(thread)];
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t count = offsets[i + 1] - offsets[i];
                   if (!product.update(i, columns + offsets[i], count, values + offsets[i])) is_known = false;
                 }
               });
    return is_known;
  }
};

}  // namespace

template <class Side, class T>
std::unique_ptr<ProductPlan<T>> plan_product_on(Factors<T> factors) {
  return std::make_unique<HostProductPlan<T>>(factors);
}

template <class Side, class T>
Csr<T> product_on(Factors<T> factors) {
  Array<T> values;
  typename ProductPlan<T>::Pattern pattern = make_product<T>(factors, &values);
  return Csr<T>::unchecked(pattern.rows, pattern.columns, std::move(pattern.row_offsets),
                           std::move(pattern.column_indices), std::move(values));
}

template std::unique_ptr<ProductPlan<float>> plan_product_on<HostSide>(Factors<float>);
template std::unique_ptr<ProductPlan<double>> plan_product_on<HostSide>(Factors<double>);
template Csr<float> product_on<HostSide>(Factors<float>);
template Csr<double> product_on<HostSide>(Factors<double>);

}  // namespace echelon
