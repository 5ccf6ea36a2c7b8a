// SPDX-License-Identifier: BSD-3-Clause
// Coo, Csc and what turns one form into another, compared with an ordered map.
#include "support/entries.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/matrix.hpp>
#include <echelon/matrix/transform.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

const std::vector<Device> devices = {Device::serial(), Device::openmp(3)};
constexpr std::int64_t large = 12'007;

/// Calls f(list, elements, device) for every list and device.
template <class T, class F>
void for_all(F f) {
  for (const EntryList& list : awkward_lists(large, 7)) {
    SCOPED_TRACE(list.name);
    const Elements<T> elements = elements_of<T>(list);
    for (const Device& device : devices) {
      SCOPED_TRACE(device.name());
      f(list, elements, device);
    }
    if (testing::Test::HasFailure()) return;
  }
}

template <class T>
class Formats : public testing::Test {};
using Values = testing::Types<float, double>;
TYPED_TEST_SUITE(Formats, Values);

TYPED_TEST(Formats, CooToCsr) {
  using T = TypeParam;
  for_all<T>([](const EntryList& list, const Elements<T>& elements, const Device& device) {
    const Csr<T> got = to_csr(list.coo<T>(device));
    EXPECT_EQ(got.device(), device);
    EXPECT_TRUE(equal_bits(got, csr_of(list.rows, list.columns, elements)));
  });
}

TYPED_TEST(Formats, CooToCsc) {
  using T = TypeParam;
  for_all<T>([](const EntryList& list, const Elements<T>& elements, const Device& device) {
    const Csc<T> got = to_csc(list.coo<T>(device));
    EXPECT_EQ(got.rows(), list.rows);
    EXPECT_TRUE(equal_bits(got.transpose(), csr_of(list.columns, list.rows, transposed(elements))));
  });
}

TYPED_TEST(Formats, Transpose_SymmetricAndNearlySymmetricPatterns) {
  using T = TypeParam;
  std::mt19937 random(9);
  for (const std::int64_t n : {2, 33, 9'001}) {
    EntryList list = mirrored(n, 4 * n, random);
    for (const bool symmetric : {true, false}) {
      if (!symmetric) break_mirror(list);
      SCOPED_TRACE(list.name);
      const Elements<T> elements = elements_of<T>(list);
      const Csr<T> a = csr_of(n, n, elements);
      for (const Device& device : devices) {
        EXPECT_TRUE(equal_bits(transpose(a.to(device)), csr_of(n, n, transposed(elements)))) << device.name();
      }
    }
  }
}

TYPED_TEST(Formats, Transpose) {
  using T = TypeParam;
  for_all<T>([](const EntryList& list, const Elements<T>& elements, const Device& device) {
    const Csr<T> a = csr_of(list.rows, list.columns, elements).to(device);
    const Csr<T> expected = csr_of(list.columns, list.rows, transposed(elements));
    const Csr<T> got = transpose(a);
    EXPECT_EQ(got.device(), device);
    EXPECT_TRUE(equal_bits(got, expected));
    EXPECT_TRUE(equal_bits(to_csc(a).transpose(), expected));
    EXPECT_TRUE(equal_bits(to_csr(Csc<T>::from_transpose(got)), a));
  });
}

TYPED_TEST(Formats, CsrAndCscToCoo) {
  using T = TypeParam;
  for_all<T>([](const EntryList& list, const Elements<T>& elements, const Device& device) {
    const Csr<T> a = csr_of(list.rows, list.columns, elements).to(device);
    const Coo<T> by_row = to_coo(a);
    EXPECT_EQ(by_row.entries(), a.nonzeros());
    EXPECT_TRUE(equal_bits(by_row.column_indices(), a.column_indices()));
    EXPECT_TRUE(equal_bits(by_row.values(), a.values()));
    const std::vector<std::int32_t> rows = by_row.row_indices().to_vector();
    EXPECT_TRUE(std::equal(rows.begin(), rows.end(), elements.begin(),
                           [](std::int32_t row, const auto& element) { return row == element.first.first; }));
    const Coo<T> by_column = to_coo(to_csc(a));
    const std::vector<std::int32_t> columns = by_column.column_indices().to_vector();
    EXPECT_TRUE(std::is_sorted(columns.begin(), columns.end()));
    EXPECT_TRUE(equal_bits(to_csr(by_column), a));
  });
}

TYPED_TEST(Formats, Dense_RoundTrip) {
  using T = TypeParam;
  std::mt19937 random(3);
  for (const std::int64_t rows : {0, 1, 33}) {
    for (const std::int64_t columns : {0, 1, 31}) {
      EntryList list{"", rows, columns, {}};
      scatter(list, rows * columns, random);
      const Elements<T> elements = elements_of<T>(list);
      const Csr<T> expected = csr_of(rows, columns, elements);
      for (const Device& device : devices) {
        const Dense<T> dense = to_dense(list.coo<T>(device));
        EXPECT_EQ(dense.device(), device);
        ASSERT_EQ(dense.rows(), rows);
        ASSERT_EQ(dense.columns(), columns);
        for (std::int64_t i = 0; i < rows; ++i) {
          for (std::int64_t j = 0; j < columns; ++j) {
            const auto found = elements.find({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j)});
            EXPECT_EQ(dense(i, j), found == elements.end() ? T{0} : found->second);
          }
        }
        EXPECT_TRUE(equal_bits(to_csr(to_coo<T>(dense)), expected));
        EXPECT_TRUE(equal_bits(to_csr(to_csc<T>(dense)), expected));
        EXPECT_EQ(to_dense(to_csc<T>(dense)).to_vector(), dense.to_vector());
        EXPECT_TRUE(equal_bits(to_csr(to_coo<T>(MatrixRef<T>(expected))), expected));
        EXPECT_TRUE(equal_bits(to_csr(to_csc<T>(MatrixRef<T>(expected))), expected));
      }
    }
  }
}

TYPED_TEST(Formats, StoredZeros_AreKept) {
  using T = TypeParam;
  const Coo<T> a(2, 2, {0, 1, 1}, {1, 0, 0}, {T{0}, T{1}, T{-1}});
  const Csr<T> csr = to_csr(a);
  EXPECT_EQ(csr.nonzeros(), 2);
  EXPECT_EQ(transpose(csr).nonzeros(), 2);
  EXPECT_EQ(to_coo(csr).entries(), 2);
  EXPECT_EQ(to_coo<T>(to_dense(a)).entries(), 0);
}

/// The message of the InvalidMatrix that f throws.
template <class F>
std::string complaint(F f) {
  try {
    f();
  } catch (const InvalidMatrix& error) {
    return error.what();
  }
  return "none";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Coo<double> make(std::int64_t rows, std::int64_t columns, const std::vector<std::int32_t>& row_indices,
                 const std::vector<std::int32_t>& column_indices, std::size_t values) {
  return {rows, columns, Array<std::int32_t>(Device(), row_indices),
          Array<std::int32_t>(Device(), column_indices),
          Array<double>(Device(), std::vector<double>(values, 1.0))};
}

TEST(FormatErrors, CooInvalidEntry_ErrorNamesFirst) {
  EXPECT_TRUE(contains(complaint([] { make(2, 3, {0, 2}, {0, 0}, 2); }), "entry 1: element (2, 0)"));
  EXPECT_TRUE(contains(complaint([] { make(2, 3, {0, 1}, {-1, 7}, 2); }), "entry 0: element (0, -1)"));
  EXPECT_TRUE(contains(complaint([] { make(2, 3, {0, -1}, {2, 2}, 2); }), "of a matrix of 2 by 3"));
  EXPECT_TRUE(contains(complaint([] { make(2, 3, {0}, {0, 0}, 2); }), "1 row indices"));
  EXPECT_TRUE(contains(complaint([] { make(2, 3, {0}, {0}, 2); }), "for 2 values"));
  EXPECT_NE(complaint([] { make(-1, 3, {}, {}, 0); }), "none");
}

TEST(FormatErrors, IndicesBeyond32Bits_Throw) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  EXPECT_NO_THROW(make(most, most, {}, {}, 0));
  EXPECT_TRUE(contains(complaint([] { make(most + 1, 1, {}, {}, 0); }), "2147483648 rows"));
  EXPECT_TRUE(contains(complaint([] { make(1, most + 1, {}, {}, 0); }), "2147483648 columns"));
  EXPECT_TRUE(contains(complaint([] { Csc<double>(most + 1, 1, {0, 0}, {}, {}); }), "32-bit"));
  // A Csr with 2^31 rows, simulated: its offsets are claimed, not there, and must not be read.
  const auto tall = Csr<double>::unchecked(most + 1, 1, {0}, {}, {});
  EXPECT_TRUE(contains(complaint([&] { static_cast<void>(transpose(tall)); }), "2147483648 rows"));
  EXPECT_TRUE(contains(complaint([&] { static_cast<void>(to_coo(tall)); }), "2147483648 rows"));
  EXPECT_TRUE(contains(complaint([&] { static_cast<void>(to_csc(tall)); }), "2147483648 rows"));
  double element = 0;
  const DenseView<const double> wide(&element, 0, most + 1, 1);
  EXPECT_TRUE(contains(complaint([&] { static_cast<void>(to_csr<double>(wide)); }), "2147483648 columns"));
}

TEST(FormatErrors, SizeInBytes_DoesNotOverflow) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW(Array<double>(Device(), most / 8 + 1), InvalidMatrix);
  EXPECT_THROW(Dense<float>(Device(), most / 4, 2), InvalidMatrix);
  EXPECT_THROW(Csr<double>::from_triplets(most / 8, 1, {}), InvalidMatrix);
}

TEST(FormatErrors, CscInvalidArrays_Throw) {
  EXPECT_THROW(Csc<double>(2, 1, {0, 2}, {1, 0}, {1.0, 2.0}), InvalidMatrix);
  EXPECT_THROW(Csc<double>(2, 1, {0, 1}, {2}, {1.0}), InvalidMatrix);
  const Csc<double> a(3, 2, {0, 1, 3}, {2, 0, 1}, {5.0, 6.0, 7.0});
  EXPECT_EQ(a.rows(), 3);
  EXPECT_EQ(a.columns(), 2);
  EXPECT_EQ(to_csr(a).row_offsets().to_vector(), (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(to_csr(a).values().to_vector(), (std::vector<double>{6, 7, 5}));
}

}  // namespace
}  // namespace echelon::test
