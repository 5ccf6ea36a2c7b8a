// SPDX-License-Identifier: BSD-3-Clause
#include <echelon/array.hpp>
#include <echelon/error.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace echelon::test {
namespace {

std::vector<double> counting(std::int64_t n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

TEST(Array, AwkwardSizes_CopyAndMove) {
  for (const std::int64_t n : {0, 1, 31, 33, 1025}) {
    const std::vector<double> values = counting(n);
    const Array<double> array(Device::serial(), std::span<const double>(values));
    EXPECT_EQ(array.size(), n);
    EXPECT_EQ(array.bytes(), static_cast<std::size_t>(n) * 8);
    EXPECT_EQ(array.to_vector(), values);
    EXPECT_EQ(array.to(Device()).to_vector(), values);
    EXPECT_EQ(array.to(Device()).device(), Device());

    Array<double> copy = array;
    EXPECT_EQ(copy.to_vector(), values);
    EXPECT_TRUE(n == 0 || copy.data() != array.data());

    const double* elements = copy.data();
    const Array<double> moved = std::move(copy);
    EXPECT_EQ(moved.data(), elements);
    EXPECT_EQ(copy.size(), 0);  // NOLINT(bugprone-use-after-move): promised to be empty
    EXPECT_EQ(copy.data(), nullptr);
  }
}

TEST(Array, Assignment) {
  Array<int> a = {1, 2, 3};
  const Array<int> b = {4};
  a = b;
  EXPECT_EQ(a.to_vector(), (std::vector<int>{4}));
  const Array<int>& same = a;
  a = same;
  EXPECT_EQ(a.to_vector(), (std::vector<int>{4}));
  a = Array<int>();
  EXPECT_EQ(a.size(), 0);
  EXPECT_EQ(b.to_vector(), (std::vector<int>{4}));
}

TEST(Array, IsAligned) {
  for (const std::int64_t n : {1, 7, 1000}) {
    const Array<float> array(Device(), n);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.data()) % 64, 0u);
  }
}

TEST(Array, Shrink_KeepsFirstElements) {
  for (const std::int64_t n : {0, 1, 33, 1025, 3'000'000}) {
    for (const std::int64_t kept : {std::int64_t{0}, n / 3, n}) {
      std::vector<double> values = counting(n);
      Array<double> array(Device::serial(), std::span<const double>(values));
      array.shrink(kept);
      values.resize(static_cast<std::size_t>(kept));
      EXPECT_EQ(array.to_vector(), values);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.data()) % 64, 0u);
    }
  }
}

TEST(Array, ImpossibleSizes_Throw) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW(Array<double>(Device(), -1), InvalidMatrix);
  EXPECT_THROW(Array<double>(Device(), most), InvalidMatrix);
  EXPECT_THROW(Array<double>(Device(), most / 8 + 1), InvalidMatrix);
}

TEST(Array, OutOfMemory_StatesBytes_LeavesArrayUsable) {
  Array<double> array = {1, 2};
  constexpr std::int64_t count = std::int64_t{1} << 50;
  try {
    array = Array<double>(Device(), count);
    FAIL() << "8 PiB were to be had";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.asked(), std::size_t{8} << 50);
    EXPECT_LE(error.available(), memory(Device()).total);
  }
  EXPECT_EQ(array.to_vector(), (std::vector<double>{1, 2}));
}

TEST(Array, NoGpu_ErrorExplains) {
  if (!cuda_built()) {
    EXPECT_THROW(Array<double>(Device::cuda(), 1), NotBuilt);
    EXPECT_THROW(static_cast<void>(Array<double>({1.0}).to(Device::cuda())), NotBuilt);
  } else {
    EXPECT_THROW(Array<double>(Device::cuda(cuda_device_count()), 1), NoDevice);
  }
}

}  // namespace
}  // namespace echelon::test
