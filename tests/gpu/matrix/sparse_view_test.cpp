// SPDX-License-Identifier: BSD-3-Clause
// Views of sparse arrays in a GPU's memory: those that are converted, and new values.
#include "gpu/gpu_fixture.hpp"

#include <echelon/matrix/sparse_view.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace echelon::test {
namespace {

class GpuSparseView : public GpuTest {
 protected:
  template <class V>
  Array<V> there(const std::vector<V>& host) const {
    return Array<V>(gpu, std::span<const V>(host));
  }
  /// [1 2; 0 3], and the same times ten after an update.
  void expect_matrix(SparsePattern pattern, const std::vector<double>& values) {
    const Array<double> own = there(values);
    SparseView<double> view(gpu, pattern, own.data());
    expect_values(view.csr(), {1, 2, 3});
    std::vector<double> tenfold = values;
    for (double& value : tenfold) value *= 10;
    const Array<double> next = there(tenfold);
    view.update_values(next.data());
    expect_values(view.csr(), {10, 20, 30});
  }
  static void expect_values(const Csr<double>& A, const std::vector<double>& values) {
    const Csr<double> home = A.to(Device());
    EXPECT_EQ(home.row_offsets().to_vector(), (std::vector<std::int64_t>{0, 2, 3}));
    EXPECT_EQ(home.column_indices().to_vector(), (std::vector<std::int32_t>{0, 1, 1}));
    EXPECT_EQ(home.values().to_vector(), values);
  }
};

TEST_F(GpuSparseView, CompressedColumns) {
  const Array<std::int32_t> offsets = there<std::int32_t>({0, 1, 3});
  const Array<std::int32_t> rows = there<std::int32_t>({0, 0, 1});
  expect_matrix({.layout = SparseLayout::csc,
                 .rows = 2,
                 .columns = 2,
                 .nonzeros = 3,
                 .offsets_or_rows = offsets.data(),
                 .indices = rows.data()},
                {1, 2, 3});
}

TEST_F(GpuSparseView, CoordinatesWithRepeatedPositions) {
  const Array<std::int64_t> rows = there<std::int64_t>({1, 0, 0, 1});
  const Array<std::int64_t> columns = there<std::int64_t>({1, 1, 0, 1});
  expect_matrix({.layout = SparseLayout::coo,
                 .rows = 2,
                 .columns = 2,
                 .nonzeros = 4,
                 .offsets_or_rows = rows.data(),
                 .indices = columns.data()},
                {1, 2, 1, 2});
}

TEST_F(GpuSparseView, WideIndicesOfCompressedRows) {
  const Array<std::int64_t> offsets = there<std::int64_t>({0, 2, 3});
  const Array<std::int64_t> columns = there<std::int64_t>({0, 1, 1});
  expect_matrix({.layout = SparseLayout::csr,
                 .rows = 2,
                 .columns = 2,
                 .nonzeros = 3,
                 .offsets_or_rows = offsets.data(),
                 .indices = columns.data()},
                {1, 2, 3});
}

}  // namespace
}  // namespace echelon::test
