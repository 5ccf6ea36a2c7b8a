// SPDX-License-Identifier: BSD-3-Clause
#include <echelon/error.hpp>
#include <echelon/matrix/csr.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace echelon::test {
namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

Csr<double> make(std::int64_t rows, std::int64_t columns, const std::vector<std::int64_t>& offsets,
                 const std::vector<std::int32_t>& indices) {
  const std::vector<double> values(indices.size(), 1.0);
  return {rows, columns, Array<std::int64_t>(Device(), offsets), Array<std::int32_t>(Device(), indices),
          Array<double>(Device(), values)};
}

/// The message of the InvalidMatrix that making it throws.
std::string complaint(std::int64_t rows, std::int64_t columns, const std::vector<std::int64_t>& offsets,
                      const std::vector<std::int32_t>& indices) {
  try {
    make(rows, columns, offsets, indices);
  } catch (const InvalidMatrix& error) {
    return error.what();
  }
  return "none";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

TEST(Csr, EmptyShapes) {
  EXPECT_EQ(Csr<double>().rows(), 0);
  EXPECT_EQ(Csr<double>().row_offsets().to_vector(), std::vector<std::int64_t>{0});
  EXPECT_EQ(make(0, 5, {0}, {}).columns(), 5);
  EXPECT_EQ(make(3, 0, {0, 0, 0, 0}, {}).nonzeros(), 0);
}

TEST(Csr, InvalidArrays_ErrorNamesFirstPlace) {
  EXPECT_TRUE(contains(complaint(2, 2, {0, 1}, {0}), "3 row offsets, not 2"));
  EXPECT_TRUE(contains(complaint(1, 2, {1, 1}, {0}), "from 1 to 1"));
  EXPECT_TRUE(contains(complaint(1, 2, {0, 2}, {0}), "from 0 to 2"));
  EXPECT_TRUE(contains(complaint(3, 2, {0, 1, 0, 1}, {0}), "row 1"));
  EXPECT_TRUE(contains(complaint(3, 2, {0, 9, 0, 1}, {0}), "row 0"));
  EXPECT_TRUE(contains(complaint(2, 2, {0, 1, 2}, {0, 2}), "row 1: column 2"));
  EXPECT_TRUE(contains(complaint(2, 2, {0, 1, 2}, {-1, 0}), "row 0: column -1"));
  EXPECT_TRUE(contains(complaint(1, 3, {0, 2}, {2, 1}), "column 1 follows column 2"));
  EXPECT_TRUE(contains(complaint(1, 3, {0, 2}, {1, 1}), "column 1 follows column 1"));
  EXPECT_NE(complaint(-1, 2, {}, {}), "none");
  EXPECT_NE(complaint(0, -2, {0}, {}), "none");
  EXPECT_NE(complaint(most, 1, {0}, {}), "none");
  EXPECT_TRUE(contains(complaint(0, std::int64_t{1} << 31, {0}, {}), "32-bit"));
  EXPECT_THROW(Csr<double>(1, 1, {0, 1}, {0}, {1.0, 2.0}), InvalidMatrix);
}

TEST(Csr, FromTriplets_SumsDuplicates) {
  std::mt19937 random(1);
  for (const std::int32_t n : {1, 31, 33, 1025}) {
    std::map<std::pair<std::int32_t, std::int32_t>, double> expected;
    std::vector<Triplet<double>> triplets;
    for (int k = 0; k < 4 * n; ++k) {
      const auto row = static_cast<std::int32_t>(random() % static_cast<unsigned>(n));
      const auto column = static_cast<std::int32_t>(random() % 17);
      const auto value = static_cast<double>(random() % 9) - 4;
      triplets.push_back({row, column, value});
      expected[{row, column}] += value;
    }
    const auto a = Csr<double>::from_triplets(n, 17, triplets);
    ASSERT_EQ(a.nonzeros(), static_cast<std::int64_t>(expected.size()));
    auto next = expected.begin();
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k, ++next) {
        EXPECT_EQ(next->first, std::make_pair(static_cast<std::int32_t>(i), a.column_indices()[k]));
        EXPECT_EQ(next->second, a.values()[k]);
      }
    }
  }
}

TEST(Csr, FromTriplets_SumsInOrderGiven) {
  const double big = 1e16;
  const auto a = Csr<double>::from_triplets(1, 1, {{0, 0, 1}, {0, 0, big}, {0, 0, -big}});
  const auto b = Csr<double>::from_triplets(1, 1, {{0, 0, big}, {0, 0, -big}, {0, 0, 1}});
  EXPECT_EQ(a.values()[0], (1 + big) - big);
  EXPECT_EQ(b.values()[0], 1);
}

TEST(Csr, FromTriplets_OutOfRange_Throws) {
  EXPECT_THROW(Csr<double>::from_triplets(2, 2, {{2, 0, 1.0}}), InvalidMatrix);
  EXPECT_THROW(Csr<double>::from_triplets(2, 2, {{0, 2, 1.0}}), InvalidMatrix);
  EXPECT_THROW(Csr<double>::from_triplets(2, 2, {{-1, 0, 1.0}}), InvalidMatrix);
  EXPECT_THROW(Csr<double>::from_triplets(-1, 2, {}), InvalidMatrix);
  EXPECT_THROW(Csr<double>::from_triplets(most, 2, {}), Error);
  EXPECT_THROW(Csr<double>::from_triplets(std::int64_t{1} << 50, 2, {}), OutOfMemory);
}

TEST(Csr, Copy_IsIndependent) {
  const Csr<double> a(1, 2, {0, 2}, {0, 1}, {1.0, 2.0});
  Csr<double> b = a.to(Device::serial());
  EXPECT_EQ(b.device(), Device::serial());
  b.values()[0] = 7;
  EXPECT_EQ(a.values()[0], 1);
  EXPECT_EQ(b.bytes(), 2 * 8u + 2 * 4u + 2 * 8u);
}

}  // namespace
}  // namespace echelon::test
