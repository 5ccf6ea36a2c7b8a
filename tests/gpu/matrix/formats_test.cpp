// SPDX-License-Identifier: BSD-3-Clause
// Conversions and transposition on the GPU, compared with an ordered map: the same bits as there.
#include "gpu/gpu_fixture.hpp"
#include "support/entries.hpp"

#include <echelon/error.hpp>
#include <echelon/linalg.hpp>
#include <echelon/matrix/matrix.hpp>
#include <echelon/matrix/transform.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace echelon::test {
namespace {

class GpuFormats : public GpuTest {
 protected:
  template <class T>
  void check(const EntryList& list) const {
    SCOPED_TRACE(list.name);
    const Elements<T> elements = elements_of<T>(list);
    const Csr<T> expected = csr_of(list.rows, list.columns, elements);
    const Csr<T> flipped = csr_of(list.columns, list.rows, transposed(elements));
    const Coo<T> coo = list.coo<T>(gpu);
    const Csr<T> csr = to_csr(coo);
    EXPECT_EQ(csr.device(), gpu);
    EXPECT_TRUE(equal_bits(csr, expected));
    EXPECT_TRUE(equal_bits(to_csr(coo), expected)) << "repeated";
    EXPECT_TRUE(equal_bits(transpose(csr), flipped));
    EXPECT_TRUE(equal_bits(to_csc(coo).transpose(), flipped));
    EXPECT_TRUE(equal_bits(to_csr(to_coo(csr)), expected));
    EXPECT_TRUE(equal_bits(to_csr(to_csc(csr)), expected));
    EXPECT_TRUE(equal_bits(to_csr(to_coo(to_csc(csr))), expected));
  }
};

TEST_F(GpuFormats, AwkwardShapes_Double) {
  for (const EntryList& list : awkward_lists(20'011, 5)) check<double>(list);
}

TEST_F(GpuFormats, AwkwardShapes_Float) {
  for (const EntryList& list : awkward_lists(20'011, 6)) check<float>(list);
}

TEST_F(GpuFormats, LargeShapes) {
  for (const EntryList& list : awkward_lists(150'013, 7)) {
    if (list.entries.size() > 100'000) check<double>(list);
  }
}

TEST_F(GpuFormats, SymmetricAndNearlySymmetricPatterns) {
  std::mt19937 random(10);
  for (const std::int64_t n : {1, 2, 33, 1025, 30'011}) {
    EntryList list = mirrored(n, 4 * n, random);
    check<double>(list);
    check<float>(list);
    if (n == 1) continue;
    break_mirror(list);
    check<double>(list);
  }
}

TEST_F(GpuFormats, SortedLists) {
  std::mt19937 random(11);
  const auto by_rows = [](const auto& a, const auto& b) {
    return std::pair(a.row, a.column) < std::pair(b.row, b.column);
  };
  const auto by_columns = [](const auto& a, const auto& b) {
    return std::pair(a.column, a.row) < std::pair(b.column, b.row);
  };
  for (const std::int64_t n : {2, 33, 20'011}) {
    EntryList list{"by rows", n, n + 5, {}};
    scatter(list, 3 * n, random);
    list.entries.insert(list.entries.end(), {list.entries.front(), list.entries.back()});
    std::ranges::stable_sort(list.entries, by_rows);
    check<double>(list);
    list.name = "by columns";
    std::ranges::stable_sort(list.entries, by_columns);
    check<double>(list);
    list.name = "by columns, distinct";
    const auto same = [](const auto& a, const auto& b) { return a.row == b.row && a.column == b.column; };
    list.entries.erase(std::ranges::unique(list.entries, same).begin(), list.entries.end());
    check<double>(list);
    list.name = "by columns but for the last";
    std::swap(list.entries.front(), list.entries.back());
    check<double>(list);
  }
}

TEST_F(GpuFormats, Dense_RoundTrip) {
  const auto lists = awkward_lists(20'011, 8);
  for (const EntryList& list : lists) {
    if (list.rows * list.columns > 2'000'000) continue;
    const Elements<double> elements = elements_of<double>(list);
    const Csr<double> expected = csr_of(list.rows, list.columns, elements);
    const Dense<double> dense = to_dense(list.coo<double>(gpu));
    EXPECT_EQ(dense.to_vector(), to_dense<double>(expected).to_vector());
    EXPECT_TRUE(equal_bits(to_csr(to_coo<double>(dense)), expected));
    EXPECT_TRUE(equal_bits(to_csr(to_csc<double>(dense)), expected));
  }
}

TEST_F(GpuFormats, CooInvalidEntry_ErrorNamesFirst) {
  const Array<std::int32_t> rows(gpu, std::vector<std::int32_t>{0, 1, 2, 5});
  const Array<std::int32_t> columns(gpu, std::vector<std::int32_t>{0, 1, -3, 9});
  const Array<double> values(gpu, std::vector<double>{1, 2, 3, 4});
  try {
    Coo<double>(5, 5, rows, columns, values);
    FAIL() << "column -3 was taken";
  } catch (const InvalidMatrix& error) {
    EXPECT_NE(std::string(error.what()).find("entry 2: element (2, -3)"), std::string::npos) << error.what();
  }
  EXPECT_THROW(Coo<double>(5, 5, rows.to(Device()), columns, values), DeviceMismatch);
}

TEST_F(GpuFormats, Product_SharedAndNewPatterns) {
  const EntryList list = awkward_lists(5'003, 9).back();
  const Csr<double> a = to_csr(list.coo<double>(gpu));
  const Csr<double> copy = a;
  const std::vector<double> ones(static_cast<std::size_t>(list.columns), 1.0);
  const Dense<double> x(gpu, std::span<const double>(ones));
  std::vector<std::vector<double>> products(4);
  {
    std::vector<std::jthread> workers;  // all ask for the plan of the pattern at once
    for (std::size_t t = 0; t < products.size(); ++t) {
      workers.emplace_back([&, t] {
        Dense<double> y(gpu, list.rows, 1);
        multiply<double>(1.0, t % 2 == 0 ? a : copy, x, 0.0, y);
        products[t] = y.to_vector();
      });
    }
  }
  for (const auto& product : products) EXPECT_EQ(product, products.front());
  Dense<double> y(Device(), list.rows, 1);
  multiply<double>(1.0, a.to(Device()), x.to(Device()), 0.0, y);
  for (std::int64_t i = 0; i < list.rows; ++i) {
    EXPECT_NEAR(products.front()[static_cast<std::size_t>(i)], y[i], 1e-12);
  }
}

}  // namespace
}  // namespace echelon::test
