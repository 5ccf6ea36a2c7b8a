// SPDX-License-Identifier: BSD-3-Clause
// Gustavson's row-by-row product, as on the host. A group of threads computes a row of C: it traverses the
// products a_ik b_kj in ascending k, one per thread, and adds them to a hash table in shared memory, so that
// every c_ij is summed in ascending k and the result does not depend on timing. Rows with more elements get a
// larger group and table; short rows of a right factor are merged by a thread each; rows too long for any
// table, or with too many elements of A for one group, are computed in windows of columns that are dense in
// the shared memory of a block. Values of a known pattern are computed in the same way, or, where positions
// are stored, as sums of products whose operands are read from their places. Memory movement: A once, the
// offsets of C twice, C once, and a row of B once per row of A that refers to it, from the L2 cache where
// nearby rows of A share it.
#include "backend/backend.hpp"
#include "backend/cuda/cuda.cuh"
#include "backend/targets.hpp"
#include "linalg/spgemm/merged_rows.cuh"
#include "linalg/spgemm/predicted_rows.cuh"
#include "linalg/spgemm/product.hpp"
#include "linalg/spgemm/stored_positions.cuh"
#include "linalg/spgemm/windows.cuh"

#include <echelon/error.hpp>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace echelon {

namespace {

using namespace product_kernels;

/// Grid size for this number of windows; a block processes several, one after another.
unsigned blocks_for_windows(std::int64_t items) {
  constexpr std::int64_t max_blocks = 1 << 14;
  return static_cast<unsigned>(std::min(items, max_blocks));
}

/// C = A B on a GPU: the pattern of C, and its rows sorted by bin.
template <class T>
class CudaProduct {
 public:
  /// Finds the pattern and, unless `values` is null, the values. Synchronises, twice for the sizes of the
  /// bins and once for that of C.
  CudaProduct(Cuda& backend, const View<T>& A, const View<T>& B, Array<T>* values)
      : windows_((B.columns + window - 1) / window), pattern_{A.rows, B.columns, {}, {}} {
    const std::int64_t nonzeros = find_offsets(backend, A, B, {});
    const std::int64_t* offsets = pattern_.row_offsets.data();
    pattern_.column_indices = Array<std::int32_t>(backend.device(), nonzeros);
    binned_ = bin_rows(backend, A.rows, BinByElements<T>{A, offsets});
    if (values == nullptr) {
      fill<Compute::columns>(backend, A, B, nullptr);
    } else {
      *values = Array<T>(backend.device(), nonzeros);
      fill<Compute::both>(backend, A, B, values->data());
    }
  }

  /// Finds the pattern and the values, in rows with room for more elements. Rows are not counted first: they
  /// have room for all products if these are few, and otherwise for as many elements as a sample of the rows
  /// predicts, if that leaves most of the memory free. Synchronises up to five times, and twice as often if a
  /// row has more elements than predicted.
  CudaProduct(Cuda& backend, const View<T>& A, const View<T>& B, Array<T>& values)
      : windows_((B.columns + window - 1) / window), pattern_{A.rows, B.columns, {}, {}} {
    UncountedRows uncounted{FillByFew::capacity, predict_elements(backend, A, B)};
    if (fill_with_room(backend, A, B, uncounted, values)) return;
    uncounted.elements = 0;
    fill_with_room(backend, A, B, uncounted, values);
  }

  /// The product as a right factor, with these values.
  [[nodiscard]] View<T> view(const Array<T>& values) const {
    return {pattern_.rows,
            pattern_.columns,
            pattern_.column_indices.size(),
            pattern_.row_offsets.data(),
            ends_.size() > 0 ? ends_.data() : pattern_.row_offsets.data() + 1,
            pattern_.column_indices.data(),
            values.data()};
  }

  /// The product with these values, without room.
  [[nodiscard]] Csr<T> compact(Cuda& backend, const Array<T>& values) const {
    const Device& device = backend.device();
    const std::int64_t rows = pattern_.rows;
    Array<std::int64_t> offsets(device, rows + 1);
    backend.for_each(rows, MeasureRows{pattern_.row_offsets.data(), ends_.data(), offsets.data()});
    const std::int64_t nonzeros = backend.exclusive_scan(rows, offsets.data(), offsets.data());
    Array<std::int32_t> compact_columns(device, nonzeros);
    Array<T> compact_values(device, nonzeros);
    backend.segmented_for_each(
        rows, offsets.data(),
        CopyElement<T>{pattern_.row_offsets.data(), offsets.data(), pattern_.column_indices.data(),
                       values.data(), compact_columns.data(), compact_values.data()});
    return Csr<T>::unchecked(rows, pattern_.columns, std::move(offsets), std::move(compact_columns),
                             std::move(compact_values));
  }

  /// Stores the positions of the operands for updates, if they leave most of the memory free. Synchronises.
  void store_positions(Cuda& backend, const View<T>& A, const View<T>& B) {
    positions_ = StoredPositions<T>::make(backend.device(), A, B, pattern_, binned_);
  }

  [[nodiscard]] typename ProductPlan<T>::Pattern& pattern() { return pattern_; }
  [[nodiscard]] const typename ProductPlan<T>::Pattern& pattern() const { return pattern_; }

  void update(const View<T>& A, const View<T>& B, T* values) {
    if (positions_) positions_->update(A, B, values);
    fill_tables<Compute::values>(A, B, values);
    if (binned_.size(by_windows) == 0) return;
    const std::int64_t items = binned_.size(by_windows) * windows_;
    update_windows<<<blocks_for_windows(items), block_size, 0, stream()>>>(
        items, windows_, binned_.begin(by_windows), A, B, pattern_.row_offsets.data(),
        pattern_.column_indices.data(), values);
    check(cudaGetLastError());
  }

  /// Bytes, excluding the pattern.
  [[nodiscard]] std::size_t bytes() const {
    return binned_.rows.bytes() + (positions_ ? positions_->bytes() : 0);
  }

 private:
  /// Elements that no row is expected to exceed, from a sample of rows; 0 if there are few rows, or if rows
  /// are too long or their lengths too different. Synchronises.
  std::int64_t predict_elements(Cuda& backend, const View<T>& A, const View<T>& B) {
    if (A.rows < least_predicted_rows) return 0;
    Array<std::int64_t> counts(backend.device(), sampled_rows);
    allow_shared_memory(count_sample<T>);
    count_sample<T><<<sampled_rows, block_size, CountByBlock::slots * sizeof(std::int32_t), stream()>>>(
        A, B, counts.data());
    check(cudaGetLastError());
    return predicted_room(counts.to_vector());
  }

  /// Computes the product in rows with room for more elements; false if a row has more than that.
  bool fill_with_room(Cuda& backend, const View<T>& A, const View<T>& B, const UncountedRows& uncounted,
                      Array<T>& values) {
    constexpr double always = 1 << 28;
    constexpr double most_of_memory = 0.25;
    const Device& device = backend.device();
    std::int64_t room = find_offsets(backend, A, B, uncounted);
    const double bytes = static_cast<double>(room) * static_cast<double>(sizeof(T) + sizeof(std::int32_t));
    if (bytes > always && bytes > most_of_memory * static_cast<double>(memory(device).available)) {
      room = find_offsets(backend, A, B, {});
    }
    const std::int64_t* offsets = pattern_.row_offsets.data();
    pattern_.column_indices = Array<std::int32_t>(device, room);
    values = Array<T>(device, room);
    ends_ = Array<std::int64_t>(device, A.rows);
    backend.copy(A.rows, offsets + 1, ends_.data());
    overflow_ = Array<unsigned>(device, 1);
    backend.fill(1, 0U, overflow_.data());
    const bool merges = B.nonzeros <= std::numeric_limits<std::uint32_t>::max();
    binned_ = bin_rows(backend, A.rows,
                       BinWithMerging<T>{BinByElements<T>{A, offsets}, merges ? FillByFew::capacity : 0});
    merge(A, B, values.data());
    fill<Compute::both>(backend, A, B, values.data());
    return uncounted.elements == 0 || backend.read(overflow_.data()) == 0;
  }

  /// Writes the offsets of the rows, and returns the room for all elements.
  std::int64_t find_offsets(Cuda& backend, const View<T>& A, const View<T>& B,
                            const UncountedRows& uncounted) {
    if (A.rows > std::numeric_limits<unsigned>::max()) {
      throw InvalidMatrix("a product of " + std::to_string(A.rows) + " rows: on a GPU at most 2^32 - 1");
    }
    pattern_.row_offsets = Array<std::int64_t>(backend.device(), A.rows + 1);
    std::int64_t* offsets = pattern_.row_offsets.data();
    count(backend, A, B, uncounted, offsets);
    return backend.exclusive_scan(A.rows, offsets, offsets);
  }

  void count(Cuda& backend, const View<T>& A, const View<T>& B, const UncountedRows& uncounted,
             std::int64_t* counts) {
    const BinnedRows binned = bin_rows(backend, A.rows, BinByProducts<T>{A, B, uncounted, counts});
    auto* sums = reinterpret_cast<unsigned long long*>(counts);
    const auto launch_for = [&]<class Group>(Bin bin) {
      launch<Group>(count_rows<Group, T>, Group::slots * sizeof(std::int32_t), binned.size(bin),
                    binned.begin(bin), A, B, sums);
    };
    launch_for.template operator()<CountByFew>(by_few);
    launch_for.template operator()<CountByWarp>(by_warp);
    launch_for.template operator()<CountByBlock>(by_block);
    count_in_windows(binned, A, B, nullptr, sums);
  }

  void count_in_windows(const BinnedRows& binned, const View<T>& A, const View<T>& B, int* window_counts,
                        unsigned long long* counts) {
    const std::int64_t items = binned.size(by_windows) * windows_;
    if (items == 0) return;
    count_windows<<<blocks_for_windows(items), block_size, 0, stream()>>>(
        items, windows_, binned.begin(by_windows), A, B, window_counts, counts);
    check(cudaGetLastError());
  }

  template <Compute compute>
  void fill(Cuda& backend, const View<T>& A, const View<T>& B, T* values) {
    fill_tables<compute>(A, B, values);
    const std::int64_t items = binned_.size(by_windows) * windows_;
    if (items == 0) return;
    Array<int> window_counts(backend.device(), items);
    count_in_windows(binned_, A, B, window_counts.data(), nullptr);
    fill_windows<compute><<<blocks_for_windows(items), block_size, 0, stream()>>>(
        items, windows_, binned_.begin(by_windows), A, B, window_counts.data(), pattern_.row_offsets.data(),
        pattern_.column_indices.data(), values);
    check(cudaGetLastError());
  }

  void merge(const View<T>& A, const View<T>& B, T* values) {
    const unsigned size = binned_.size(by_thread);
    if (size == 0) return;
    merge_rows<T><<<blocks_for(size, block_size), block_size, 0, stream()>>>(
        size, binned_.begin(by_thread), A, B, pattern_.row_offsets.data(),
        RowEnds{ends_.data(), overflow_.data()}, pattern_.column_indices.data(), values);
    check(cudaGetLastError());
  }

  template <Compute compute>
  void fill_tables(const View<T>& A, const View<T>& B, T* values) {
    const auto launch_for = [&]<class Group>(Bin bin) {
      launch<Group>(fill_rows<compute, Group, T>, sizeof(FillMemory<Group, T>), binned_.size(bin),
                    binned_.begin(bin), A, B, pattern_.row_offsets.data(),
                    RowEnds{ends_.data(), overflow_.data()}, pattern_.column_indices.data(), values);
    };
    launch_for.template operator()<FillByFew>(by_few);
    launch_for.template operator()<FillBySmallWarp>(by_small_warp);
    launch_for.template operator()<FillByWarp>(by_warp);
    launch_for.template operator()<FillByBlock>(by_block);
  }

  std::int64_t windows_;
  typename ProductPlan<T>::Pattern pattern_;
  Array<std::int64_t> ends_;  // of the rows, if they may have room for more elements
  Array<unsigned> overflow_;  // 1 if a row has more elements than room
  BinnedRows binned_;         // rows without stored positions
  std::unique_ptr<StoredPositions<T>> positions_;
};

/// The product of all factors but the last, from left to right.
template <class T>
class CudaChain {
 public:
  CudaChain(Cuda& backend, Factors<T> factors, bool store_positions) : view_(view_of(*factors[0])) {
    steps_.reserve(factors.size());
    for (const Csr<T>* factor : factors.subspan(1, factors.size() - 2)) {
      Array<T> values;
      CudaProduct<T> product(backend, view_, view_of(*factor), &values);
      if (store_positions) product.store_positions(backend, view_, view_of(*factor));
      steps_.push_back({std::move(product), std::move(values)});
      set_view(steps_.back());
    }
  }

  [[nodiscard]] const View<T>& view() const { return view_; }

  /// Recomputes the values for factors with new values.
  void update(Factors<T> factors) {
    view_ = view_of(*factors[0]);
    for (std::size_t f = 0; f < steps_.size(); ++f) {
      steps_[f].product.update(view_, view_of(*factors[f + 1]), steps_[f].values.data());
      set_view(steps_[f]);
    }
  }

  [[nodiscard]] std::size_t bytes() const {
    std::size_t total = 0;
    for (const Step& step : steps_) {
      const auto& pattern = step.product.pattern();
      total += step.product.bytes() + step.values.bytes() + pattern.row_offsets.bytes() +
               pattern.column_indices.bytes();
    }
    return total;
  }

 private:
  struct Step {
    CudaProduct<T> product;
    Array<T> values;
  };
  void set_view(const Step& step) { view_ = step.product.view(step.values); }

  std::vector<Step> steps_;
  View<T> view_;
};

template <class T>
class CudaProductPlan final : public ProductPlan<T> {
 public:
  CudaProductPlan(Cuda& backend, Factors<T> factors, bool store_positions)
      : ProductPlan<T>(shapes_of(factors)),
        left_(backend, factors, store_positions),
        last_(backend, left_.view(), view_of(*factors.back()), nullptr) {
    if (store_positions) last_.store_positions(backend, left_.view(), view_of(*factors.back()));
  }

  [[nodiscard]] const typename ProductPlan<T>::Pattern& pattern() const override { return last_.pattern(); }
  bool update(Factors<T> factors, T* values) override {
    const CurrentDevice current(factors[0]->device().id());
    left_.update(factors);
    last_.update(left_.view(), view_of(*factors.back()), values);
    return true;
  }
  [[nodiscard]] std::size_t extra_bytes() const override { return left_.bytes() + last_.bytes(); }

 private:
  CudaChain<T> left_;
  CudaProduct<T> last_;
};

}  // namespace

template <class Target, class T>
std::unique_ptr<ProductPlan<T>> plan_product_on(Factors<T> factors, const ProductOptions& options) {
  const CurrentDevice current(factors[0]->device().id());
  Cuda backend(factors[0]->device());
  return std::make_unique<CudaProductPlan<T>>(backend, factors, options.store_positions);
}

template <class Target, class T>
Csr<T> product_on(Factors<T> factors) {
  const CurrentDevice current(factors[0]->device().id());
  Cuda backend(factors[0]->device());
  const CudaChain<T> left(backend, factors, false);
  Array<T> values;
  CudaProduct<T> last(backend, left.view(), view_of(*factors.back()), &values);
  auto& pattern = last.pattern();
  return Csr<T>::unchecked(pattern.rows, pattern.columns, std::move(pattern.row_offsets),
                           std::move(pattern.column_indices), std::move(values));
}

template <class Target, class T>
Csr<T> right_product_on(const Csr<T>& R, const Csr<T>& A, const Csr<T>& P) {
  const CurrentDevice current(A.device().id());
  Cuda backend(A.device());
  Array<T> values;
  std::unique_ptr<CudaProduct<T>> whole;
  const bool has_room = R.rows() >= least_predicted_rows;
  {
    Array<T> right_values;
    const CudaProduct<T> right(backend, view_of(A), view_of(P), right_values);
    const View<T> factor = right.view(right_values);
    whole = has_room ? std::make_unique<CudaProduct<T>>(backend, view_of(R), factor, values)
                     : std::make_unique<CudaProduct<T>>(backend, view_of(R), factor, &values);
  }
  if (has_room) return whole->compact(backend, values);
  auto& pattern = whole->pattern();
  return Csr<T>::unchecked(pattern.rows, pattern.columns, std::move(pattern.row_offsets),
                           std::move(pattern.column_indices), std::move(values));
}

template std::unique_ptr<ProductPlan<float>> plan_product_on<CudaTarget>(Factors<float>,
                                                                         const ProductOptions&);
template std::unique_ptr<ProductPlan<double>> plan_product_on<CudaTarget>(Factors<double>,
                                                                          const ProductOptions&);
template Csr<float> product_on<CudaTarget>(Factors<float>);
template Csr<double> product_on<CudaTarget>(Factors<double>);
template Csr<float> right_product_on<CudaTarget>(const Csr<float>&, const Csr<float>&, const Csr<float>&);
template Csr<double> right_product_on<CudaTarget>(const Csr<double>&, const Csr<double>&, const Csr<double>&);

}  // namespace echelon
