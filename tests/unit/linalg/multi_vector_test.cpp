// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/vector/multi_vector.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace echelon {
namespace {

/// First elements and widths of the matrices into which for_matrices() divides the columns.
std::vector<std::pair<std::int64_t, std::int64_t>> matrices(const MultiVector<const double>& r,
                                                            const MultiVector<double>& z, const double* base,
                                                            int most) {
  std::vector<std::pair<std::int64_t, std::int64_t>> found;
  int column = 0;
  for_matrices(r, z, most, Device::serial(), [&](DenseView<const double> R, DenseView<double> Z) {
    EXPECT_EQ(R.columns(), Z.columns());
    for (std::int64_t j = 0; j < R.columns(); ++j, ++column) {
      EXPECT_EQ(R.column(j), r[column]);
      EXPECT_EQ(Z.column(j), z[column]);
    }
    found.emplace_back(R.data() - base, R.columns());
  });
  EXPECT_EQ(column, r.columns());
  return found;
}

TEST(MultiVector, Columns_AnyPlaces) {
  std::vector<double> a(20);
  std::vector<double> b(5);
  MultiVector<double> x(5);
  EXPECT_EQ(x.columns(), 0);
  x.add(a.data() + 10);
  x.add(b.data());
  x.add(a.data());
  const MultiVector<const double> y = x;
  EXPECT_EQ(y.rows(), 5);
  ASSERT_EQ(y.columns(), 3);
  EXPECT_EQ(y[0], a.data() + 10);
  EXPECT_EQ(y[1], b.data());
  EXPECT_EQ(y[2], a.data());
  EXPECT_EQ(y.first(2).columns(), 2);
  EXPECT_EQ(y.column(1).columns(), 1);
  EXPECT_EQ(y.column(1)[0], b.data());
}

TEST(MultiVector, MatricesOfColumns_EqualDistances) {
  using List = std::vector<std::pair<std::int64_t, std::int64_t>>;
  std::vector<double> a(100);
  std::vector<double> b(100);
  const MultiVector<const double> r(a.data(), 7, 9, 6);
  const MultiVector<double> z(b.data(), 7, 8, 6);
  EXPECT_EQ(matrices(r, z, a.data(), 32), (List{{0, 6}}));
  EXPECT_EQ(matrices(r, z, a.data(), 4), (List{{0, 4}, {36, 2}}));
  EXPECT_EQ(matrices(r, z, a.data(), 1), (List{{0, 1}, {9, 1}, {18, 1}, {27, 1}, {36, 1}, {45, 1}}));

  MultiVector<const double> with_gap(7);  // column 2 has left
  for (const int j : {0, 1, 3, 4, 5}) with_gap.add(r[j]);
  EXPECT_EQ(matrices(with_gap, z.first(5), a.data(), 32), (List{{0, 2}, {27, 3}}));

  MultiVector<const double> backwards(7);
  for (const int j : {2, 1, 0}) backwards.add(r[j]);
  EXPECT_EQ(matrices(backwards, z.first(3), a.data(), 32), (List{{18, 1}, {9, 1}, {0, 1}}));
  MultiVector<const double> repeated(7);
  for (int j = 0; j < 3; ++j) repeated.add(a.data());
  EXPECT_EQ(matrices(repeated, z.first(3), a.data(), 32), (List{{0, 1}, {0, 1}, {0, 1}}));
}

TEST(MultiVectorArray, Room_GrowsAndStays) {
  for (const std::int64_t n : {0, 1, 31, 33, 1025}) {
    MultiVectorArray<float> memory(Device::serial(), n);
    EXPECT_EQ(memory.bytes(), static_cast<std::size_t>(n) * sizeof(float));
    memory.make_room(3);
    const MultiVector<float> x = memory.first(3);
    EXPECT_EQ(x.rows(), n);
    for (int c = 0; c < 3; ++c) {
      for (std::int64_t i = 0; i < n; ++i) x[c][i] = static_cast<float>(100 * c);
    }
    memory.make_room(2);
    EXPECT_EQ(memory.first(2)[1], x[1]);
    for (int c = 0; c < 3; ++c) {
      for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(x[c][i], static_cast<float>(100 * c));
    }
  }
}

}  // namespace
}  // namespace echelon
