// SPDX-License-Identifier: BSD-3-Clause
#include "support/table.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/matrix.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace echelon::test {
namespace {

const std::vector<Device> devices = {Device::serial(), Device::openmp(1), Device::openmp(3)};

/// Bit for bit, so that NaN equals itself and 0 does not equal -0.
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <class T>
std::vector<T> column_after_column(const Table& table) {
  std::vector<T> elements;
  for (std::int64_t j = 0; j < table.columns; ++j) {
    for (std::int64_t i = 0; i < table.rows; ++i) elements.push_back(static_cast<T>(table(i, j)));
  }
  return elements;
}

template <class T>
void expect_nonzeros_of(const Table& table, const Csr<T>& got) {
  ASSERT_EQ(got.rows(), table.rows);
  ASSERT_EQ(got.columns(), table.columns);
  std::vector<std::int64_t> offsets = {0};
  std::vector<std::int32_t> columns;
  std::vector<T> values;
  for (std::int64_t i = 0; i < table.rows; ++i) {
    for (std::int64_t j = 0; j < table.columns; ++j) {
      if (table(i, j) == 0) continue;
      columns.push_back(static_cast<std::int32_t>(j));
      values.push_back(static_cast<T>(table(i, j)));
    }
    offsets.push_back(static_cast<std::int64_t>(values.size()));
  }
  EXPECT_EQ(got.row_offsets().to_vector(), offsets);
  EXPECT_EQ(got.column_indices().to_vector(), columns);
  EXPECT_TRUE(same_bits(got.values().to_vector(), values));
}

/// The table in memory with gaps of NaN between the lines, none of which may be read.
template <class T>
std::vector<T> with_gaps(const Table& table, Layout layout, std::int64_t leading) {
  const bool by_column = layout == Layout::column_major;
  std::vector<T> memory(static_cast<std::size_t>(leading * (by_column ? table.columns : table.rows)),
                        std::numeric_limits<T>::quiet_NaN());
  for (std::int64_t i = 0; i < table.rows; ++i) {
    for (std::int64_t j = 0; j < table.columns; ++j) {
      memory[static_cast<std::size_t>(by_column ? i + j * leading : i * leading + j)] =
          static_cast<T>(table(i, j));
    }
  }
  return memory;
}

template <class T>
class Convert : public testing::Test {};
using Values = testing::Types<float, double>;
TYPED_TEST_SUITE(Convert, Values);

TYPED_TEST(Convert, SparseToDense_RoundTrip) {
  using T = TypeParam;
  std::mt19937 random(1);
  for (int trial = 0; trial < 500 && !this->HasFailure(); ++trial) {
    const Table table = random_table(random, false, trial % 4 == 0);
    for (const Device& device : devices) {
      const Csr<T> csr = table.csr<T>().to(device);
      const Dense<T> dense = to_dense<T>(csr);
      EXPECT_EQ(dense.device(), device);
      EXPECT_TRUE(same_bits(dense.to_vector(), column_after_column<T>(table)));
      const Csr<T> back = to_csr<T>(dense);
      EXPECT_EQ(back.device(), device);
      expect_nonzeros_of(table, back);
      expect_nonzeros_of(table, to_csr<T>(csr));
    }
  }
}

TYPED_TEST(Convert, StridedViews_BothLayouts) {
  using T = TypeParam;
  std::mt19937 random(2);
  for (int trial = 0; trial < 200 && !this->HasFailure(); ++trial) {
    const Table table = random_table(random, false, trial % 4 == 0);
    for (const Layout layout : {Layout::column_major, Layout::row_major}) {
      const std::int64_t line = layout == Layout::column_major ? table.rows : table.columns;
      const std::int64_t leading = line + 1 + trial % 3;
      const std::vector<T> memory = with_gaps<T>(table, layout, leading);
      for (const Device& device : devices) {
        const DenseView<const T> view(memory.data(), table.rows, table.columns, leading, device, layout);
        EXPECT_TRUE(same_bits(to_dense<T>(view).to_vector(), column_after_column<T>(table)));
        expect_nonzeros_of(table, to_csr<T>(view));
      }
    }
  }
}

TYPED_TEST(Convert, AwkwardSizes) {
  using T = TypeParam;
  for (const std::int64_t rows : {0, 1, 31, 33, 1025, 50'000}) {
    for (const std::int64_t columns : {0, 1, 3}) {
      Table table(rows, columns);
      for (std::int64_t e = 0; e < rows * columns; e += 1 + e % 3) {
        table.set(e / columns, e % columns, static_cast<double>(e % 7 - 3));
      }
      for (const Device& device : devices) {
        const Dense<T> dense = to_dense<T>(table.csr<T>().to(device));
        EXPECT_TRUE(same_bits(dense.to_vector(), column_after_column<T>(table)));
        expect_nonzeros_of(table, to_csr<T>(dense));
      }
    }
  }
}

TYPED_TEST(Convert, Zeros_AreDropped_NaNIsKept) {
  using T = TypeParam;
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const Csr<T> csr(1, 4, {0, 4}, {0, 1, 2, 3}, {T{0}, -T{0}, nan, T{5}});
  const Csr<T> packed = to_csr<T>(csr);
  EXPECT_EQ(packed.column_indices().to_vector(), (std::vector<std::int32_t>{2, 3}));
  EXPECT_TRUE(same_bits(packed.values().to_vector(), {nan, T{5}}));
  EXPECT_EQ(csr.nonzeros(), 4) << "the original stays as it was";
}

TYPED_TEST(Convert, MatrixRef_SparseOrDense) {
  using T = TypeParam;
  const Table table(2, 3, {1, 0, 2, 0, 3, 0});
  const Matrix<T> sparse = table.csr<T>();
  const Matrix<T> dense = to_dense<T>(sparse);
  expect_nonzeros_of(table, to_csr<T>(dense));
  EXPECT_TRUE(same_bits(to_dense<T>(dense).to_vector(), column_after_column<T>(table)));
}

TEST(ConvertErrors, DenseTooLarge_OutOfMemory) {
  const auto csr = Csr<double>::from_triplets(20'000'000, 20'000'000, {{0, 0, 1.0}});
  try {
    static_cast<void>(to_dense<double>(csr));
    FAIL() << "3.2 PB were to be had";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.asked(), 3'200'000'000'000'000u);
    EXPECT_LT(error.available(), error.asked());
  }
  EXPECT_EQ(csr.nonzeros(), 1);
}

}  // namespace
}  // namespace echelon::test
