// SPDX-License-Identifier: BSD-3-Clause
// Gustavson's algorithm (ACM TOMS 4, 1978): row i of A B is the sum of the rows of B with the columns of row
// i of A, times its elements.
#include "backend/host/host.hpp"

#include "backend/targets.hpp"
#include "linalg/dynamic_rows.hpp"
#include "linalg/spgemm/product.hpp"
#include "linalg/spgemm/sparse_accumulator.hpp"
#include "matrix/rows.hpp"
#include "support/first_exception.hpp"

#include <support/scalar_list.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>
#include <vector>

namespace echelon {

namespace {

template <class T>
struct SparseRow {
  const std::int32_t* columns;
  const T* values;
  std::int64_t size;
};

template <class T>
SparseRow<T> row_of(const SparseRows<T>& matrix, std::int64_t i) {
  const std::int64_t begin = matrix.begin(i);
  return {matrix.column_indices + begin, matrix.values + begin, matrix.end(i) - begin};
}

/// Multiplies rows by a matrix B. A row that `repeats` has the columns of the row before it, and so has its
/// product: these columns are not sorted again. In a system of equations the rows of a node repeat.
template <class T>
class RowTimes {
 public:
  explicit RowTimes(const Csr<T>& B) : B_(B), sum_(B.columns()) {}

  /// Number of elements of row * B.
  std::int64_t count(const SparseRow<T>& row) {
    if (row.size == 1) return row_of(B_, row.columns[0]).size;
    mark(row);
    return sum_.count();
  }

  /// The columns of row * B, ascending if `sorted`; written to `columns` unless they are a row of B.
  SparseRow<T> write_columns(const SparseRow<T>& row, bool sorted, std::int32_t* columns) {
    if (row.size == 1) return row_of(B_, row.columns[0]);
    mark(row);
    sum_.read_columns(sorted, columns);
    return {columns, nullptr, sum_.count()};
  }

  /// row * B in ascending columns. If the row repeats, the columns that were written before are in place.
  SparseRow<T> write(const SparseRow<T>& row, bool repeats, std::int32_t* columns, T* values) {
    if (repeats) {
      if (columns != last_) std::copy_n(last_, sum_.count(), columns);
      static_cast<void>(update(row, true, columns, sum_.count(), values));
    } else {
      sum_.clear();
      for (std::int64_t k = 0; k < row.size; ++k) {
        const SparseRow<T> b = row_of(B_, row.columns[k]);
        sum_.add(row.values[k], b.columns, b.values, b.size);
      }
      sum_.read(columns, values);
      is_expected_ = false;
      last_ = columns;
    }
    return {columns, values, sum_.count()};
  }

  /// The values of row * B for its known columns. False if it has other columns.
  bool update(const SparseRow<T>& row, bool repeats, const std::int32_t* columns, std::int64_t count,
              T* values) {
    const bool is_expected =
        repeats && is_expected_ && count == sum_.count() && std::equal(columns, columns + count, last_);
    if (!is_expected) sum_.expect(columns, count);
    is_expected_ = true;
    last_ = columns;
    std::fill_n(values, count, SparseAccumulator<T>::nothing);
    bool is_known = true;
    for (std::int64_t k = 0; k < row.size; ++k) {
      const SparseRow<T> b = row_of(B_, row.columns[k]);
      is_known &= sum_.add_expected(row.values[k], b.columns, b.values, b.size, values);
    }
    return is_known;
  }

 private:
  void mark(const SparseRow<T>& row) {
    sum_.clear();
    for (std::int64_t k = 0; k < row.size; ++k) {
      const SparseRow<T> b = row_of(B_, row.columns[k]);
      sum_.mark(b.columns, b.size);
    }
  }

  SparseRows<T> B_;
  SparseAccumulator<T> sum_;
  const std::int32_t* last_ = nullptr;  // columns of the last product written
  bool is_expected_ = false;            // whether `sum_` expects them
};

/// A thread's workspace for rows of F_0 F_1 ... F_m: row i of F_0 times F_1, that times F_2 and so on. Rows
/// of a block are written in ascending order.
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

  /// Begins a block of rows.
  void begin_block() { last_row_ = -1; }
  std::int64_t count(std::int64_t i) { return times_.back().count(columns_of_left(i)); }
  /// Writes the columns of row i and returns their number.
  std::int64_t write_columns(std::int64_t i, std::int32_t* columns) {
    const SparseRow<T> row = times_.back().write_columns(columns_of_left(i), true, columns);
    if (row.columns != columns) std::copy_n(row.columns, row.size, columns);
    return row.size;
  }
  /// Writes row i and returns its number of elements.
  std::int64_t write(std::int64_t i, std::int32_t* columns, T* values) {
    const bool repeats = repeats_row_before(i);
    return times_.back().write(left(i, repeats), repeats, columns, values).size;
  }
  bool update(std::int64_t i, const std::int32_t* columns, std::int64_t count, T* values) {
    const bool repeats = repeats_row_before(i);
    return times_.back().update(left(i, repeats), repeats, columns, count, values);
  }

 private:
  struct Partial {
    explicit Partial(std::int64_t size)
        : columns(zeroed_pages<std::int32_t>(size)), values(zeroed_pages<T>(size)) {}
    ZeroedPages<std::int32_t> columns;
    ZeroedPages<T> values;
  };

  /// True if row i of the first factor has the columns of the row before it, and that was the last one.
  bool repeats_row_before(std::int64_t i) {
    const bool follows = last_row_ >= 0 && last_row_ == i - 1;
    last_row_ = i;
    if (!follows) return false;
    const SparseRow<T> before = row_of(first_, i - 1);
    const SparseRow<T> row = row_of(first_, i);
    return before.size == row.size && std::equal(row.columns, row.columns + row.size, before.columns);
  }
  /// Row i of the product of all factors but the last.
  SparseRow<T> left(std::int64_t i, bool repeats) {
    SparseRow<T> row = row_of(first_, i);
    for (std::size_t f = 0; f < partial_.size(); ++f) {
      row = times_[f].write(row, repeats, partial_[f].columns.get(), partial_[f].values.get());
    }
    return row;
  }
  /// The columns of that row, in any order.
  SparseRow<T> columns_of_left(std::int64_t i) {
    SparseRow<T> row = row_of(first_, i);
    for (std::size_t f = 0; f < partial_.size(); ++f) {
      row = times_[f].write_columns(row, false, partial_[f].columns.get());
    }
    return row;
  }

  SparseRows<T> first_;
  std::vector<RowTimes<T>> times_;
  std::vector<Partial> partial_;  // the rows between the first factor and the product
  std::int64_t last_row_ = -1;
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

/// Product of two factors in one pass, without counting its elements first: rows are written one after the
/// other into memory for an upper bound of their size.
template <class T>
class OnePassProduct {
 public:
  /// `values` is null if only the pattern is wanted.
  OnePassProduct(Factors<T> factors, Array<T>* values)
      : A_(*factors[0]),
        B_(*factors[1]),
        rows_(factors[0]->rows()),
        columns_(factors[1]->columns()),
        device_(factors[0]->device()),
        work_(work_in(factors)),
        values_(values),
        products_(workspaces(factors)) {}

  /// Sum over rows [begin, end) of the products a_ik b_kj, or of all columns if they are fewer.
  [[nodiscard]] std::int64_t bound(std::int64_t begin, std::int64_t end) const {
    std::int64_t total = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      std::int64_t products = 0;
      for (std::int64_t k = A_.begin(i); k < A_.end(i); ++k) {
        products += B_.row_offsets[A_.column_indices[k] + 1] - B_.row_offsets[A_.column_indices[k]];
      }
      total += std::min(products, columns_);
    }
    return total;
  }

  typename ProductPlan<T>::Pattern run() {
    typename ProductPlan<T>::Pattern pattern{rows_, columns_, Array<std::int64_t>(device_, rows_ + 1), {}};
    offsets_ = pattern.row_offsets.data();
    if (device_.threads() == 1) {
      Block all = multiply(0, 0, rows_);
      Host(device_).exclusive_scan(rows_, offsets_, offsets_);
      pattern.column_indices = std::move(all.columns);
      if (values_ != nullptr) *values_ = std::move(all.values);
      return pattern;
    }
    std::vector<std::vector<Block>> blocks(static_cast<std::size_t>(device_.threads()));
    FirstException exception;
    for_dynamic_rows(device_.threads(), rows_, work_, [&](int thread, std::int64_t begin, std::int64_t end) {
      exception.catch_from(
          [&] { blocks[static_cast<std::size_t>(thread)].push_back(multiply(thread, begin, end)); });
    });
    exception.rethrow();
    const std::int64_t nonzeros = Host(device_).exclusive_scan(rows_, offsets_, offsets_);
    pattern.column_indices = Array<std::int32_t>(device_, nonzeros);
    if (values_ != nullptr) *values_ = Array<T>(device_, nonzeros);
#pragma omp parallel for num_threads(device_.threads()) schedule(static, 1)
    for (std::size_t thread = 0; thread < blocks.size(); ++thread) {  // NOLINT(modernize-loop-convert)
      for (const Block& block : blocks[thread]) copy(block, pattern.column_indices.data());
    }
    return pattern;
  }

 private:
  /// Consecutive rows of the product.
  struct Block {
    std::int64_t begin = 0;  ///< first row
    Array<std::int32_t> columns;
    Array<T> values;
  };

  /// Computes rows [begin, end), and writes the number of elements of each to `offsets_`.
  Block multiply(int thread, std::int64_t begin, std::int64_t end) {
    RowProduct<T>& product = products_[static_cast<std::size_t>(thread)];
    product.begin_block();
    const std::int64_t most = bound(begin, end);
    Block block{begin, Array<std::int32_t>(device_, most), Array<T>(device_, values_ == nullptr ? 0 : most)};
    std::int64_t size = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      offsets_[i] = values_ == nullptr
                        ? product.write_columns(i, block.columns.data() + size)
                        : product.write(i, block.columns.data() + size, block.values.data() + size);
      size += offsets_[i];
    }
    block.columns.shrink(size);
    if (values_ != nullptr) block.values.shrink(size);
    return block;
  }

  void copy(const Block& block, std::int32_t* columns) const {
    std::copy_n(block.columns.data(), block.columns.size(), columns + offsets_[block.begin]);
    if (values_ != nullptr) {
      std::copy_n(block.values.data(), block.values.size(), values_->data() + offsets_[block.begin]);
    }
  }

  SparseRows<T> A_;
  SparseRows<T> B_;
  std::int64_t rows_;
  std::int64_t columns_;
  Device device_;
  std::int64_t work_;
  Array<T>* values_;
  std::vector<RowProduct<T>> products_;
  std::int64_t* offsets_ = nullptr;
};

/// Computes the pattern of the product and, unless null, its values: one pass counts, another one computes.
template <class T>
typename ProductPlan<T>::Pattern make_product_in_two_passes(Factors<T> factors, Array<T>* values) {
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
  const std::int64_t nonzeros = Host(device).exclusive_scan(rows, offsets, offsets);
  pattern.column_indices = Array<std::int32_t>(device, nonzeros);
  if (values != nullptr) *values = Array<T>(device, nonzeros);
  for_dynamic_rows(device.threads(), rows, work_in(factors),
                   [&](int thread, std::int64_t begin, std::int64_t end) {
                     RowProduct<T>& product = work[static_cast<std::size_t>(thread)];
                     product.begin_block();
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

/// Largest part of the available memory that the bound of a product computed in one pass may take.
constexpr double one_pass_part = 0.25;

/// Computes the pattern of the product and, unless null, its values.
template <class T>
typename ProductPlan<T>::Pattern make_product(Factors<T> factors, Array<T>* values) {
  if (factors.size() == 2) {
    OnePassProduct<T> product(factors, values);
    const auto bytes = static_cast<double>(product.bound(0, factors[0]->rows())) *
                       static_cast<double>(sizeof(std::int32_t) + (values == nullptr ? 0 : sizeof(T)));
    constexpr double always = 1 << 26;
    if (bytes <= always || bytes <= one_pass_part * static_cast<double>(memory(Device()).available)) {
      return product.run();
    }
  }
  return make_product_in_two_passes(factors, values);
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
                       product.begin_block();
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
std::unique_ptr<ProductPlan<T>> plan_product_on(Factors<T> factors, const ProductOptions& /*options*/) {
  return std::make_unique<HostProductPlan<T>>(factors);
}

template <class Target, class T>
Csr<T> product_on(Factors<T> factors) {
  Array<T> values;
  typename ProductPlan<T>::Pattern pattern = make_product<T>(factors, &values);
  return Csr<T>::unchecked(pattern.rows, pattern.columns, std::move(pattern.row_offsets),
                           std::move(pattern.column_indices), std::move(values));
}

template <class Target, class T>
Csr<T> right_product_on(const Csr<T>& R, const Csr<T>& A, const Csr<T>& P) {
  const Csr<T> right = product_on<HostTarget, T>(std::array{&A, &P});
  return product_on<HostTarget, T>(std::array{&R, &right});
}

#define ECHELON_INSTANTIATE(T)                                                                             \
  template std::unique_ptr<ProductPlan<T>> plan_product_on<HostTarget>(Factors<T>, const ProductOptions&); \
  template Csr<T> product_on<HostTarget>(Factors<T>);                                                      \
  template Csr<T> right_product_on<HostTarget>(const Csr<T>&, const Csr<T>&, const Csr<T>&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
