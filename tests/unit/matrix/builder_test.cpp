// SPDX-License-Identifier: BSD-3-Clause
#include "support/entries.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/builder.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <thread>
#include <vector>

namespace echelon::test {
namespace {

/// Adds the entries from `threads` threads, thread t those with numbers t modulo `threads`; every other
/// thread adds all of its own at once.
template <class T>
Csr<T> built(const EntryList& list, std::size_t threads, const Device& device = {}) {
  CsrBuilder<T> builder(list.rows, list.columns);
  {
    std::vector<std::jthread> workers;
    for (std::size_t t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] {
        std::vector<Triplet<T>> mine;
        for (std::size_t k = t; k < list.entries.size(); k += threads) {
          const auto& entry = list.entries[k];
          mine.push_back({entry.row, entry.column, static_cast<T>(entry.value)});
        }
        if (t % 2 == 1) return builder.add(mine);
        for (const auto& entry : mine) builder.add(entry.row, entry.column, entry.value);
      });
    }
  }
  EXPECT_EQ(builder.entries(), static_cast<std::int64_t>(list.entries.size()));
  return builder.build(device);
}

/// The values of each place summed by magnitude, the negative one of two first.
template <class T>
Elements<T> canonical_sums(const EntryList& list) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<T>> values;
  for (const auto& entry : list.entries) {
    values[{entry.row, entry.column}].push_back(static_cast<T>(entry.value));
  }
  Elements<T> result;
  for (auto& [place, summands] : values) {
    std::sort(summands.begin(), summands.end(),
              [](T a, T b) { return std::abs(a) != std::abs(b) ? std::abs(a) < std::abs(b) : a < b; });
    T sum = summands.front();
    for (std::size_t k = 1; k < summands.size(); ++k) sum += summands[k];
    result[place] = sum;
  }
  return result;
}

template <class T>
class Builder : public testing::Test {};
using Values = testing::Types<float, double>;
TYPED_TEST_SUITE(Builder, Values);

TYPED_TEST(Builder, AnyNumberOfThreads_SameBits) {
  using T = TypeParam;
  for (const EntryList& list : awkward_lists(4'003, 1)) {
    SCOPED_TRACE(list.name);
    const Csr<T> expected = csr_of(list.rows, list.columns, canonical_sums<T>(list));
    for (const std::size_t threads : {1, 2, 5}) EXPECT_TRUE(equal_bits(built<T>(list, threads), expected));
  }
}

TEST(Builder, InsertionOrder_DoesNotMatter) {
  std::mt19937 random(1);
  EntryList list{"", 5, 5, {}};
  scatter(list, 1000, random);
  const Csr<double> expected = built<double>(list, 1);
  for (int trial = 0; trial < 10; ++trial) {
    std::shuffle(list.entries.begin(), list.entries.end(), random);
    EXPECT_TRUE(equal_bits(built<double>(list, 3, Device::serial()), expected));
  }
}

TEST(Builder, Build_MoreEntriesMayFollow) {
  CsrBuilder<double> builder(2, 2);
  EXPECT_EQ(builder.build().nonzeros(), 0);
  builder.add(1, 0, 2.5);
  EXPECT_EQ(builder.build().nonzeros(), 1);
  builder.add(1, 0, -2.5);
  builder.add(0, 1, 1);
  const Csr<double> a = builder.build();
  EXPECT_EQ(a.nonzeros(), 2) << "a place that was added stays stored";
  EXPECT_EQ(a.values().to_vector(), (std::vector<double>{1, 0}));
}

TEST(Builder, NonfiniteValues) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  CsrBuilder<double> builder(1, 2);
  for (const double value : {nan, 1.0, infinity}) builder.add(0, 0, value);
  for (const double value : {infinity, 1.0, -infinity}) builder.add(0, 1, value);
  const Csr<double> a = builder.build();
  EXPECT_TRUE(std::isnan(a.values()[0]));
  EXPECT_TRUE(std::isnan(a.values()[1]));
}

TEST(Builder, InvalidEntries_Throw) {
  EXPECT_THROW(CsrBuilder<double>(-1, 2), InvalidMatrix);
  EXPECT_THROW(CsrBuilder<double>(2, std::int64_t{1} << 31), InvalidMatrix);
  CsrBuilder<double> builder(2, 3);
  EXPECT_THROW(builder.add(2, 0, 1.0), InvalidMatrix);
  EXPECT_THROW(builder.add(0, -1, 1.0), InvalidMatrix);
  const std::vector<Triplet<double>> some = {{0, 0, 1.0}, {0, 3, 1.0}};
  EXPECT_THROW(builder.add(some), InvalidMatrix);
  EXPECT_EQ(builder.entries(), 0) << "none of them was added";
}

}  // namespace
}  // namespace echelon::test
