// SPDX-License-Identifier: BSD-3-Clause
#include "support/table.hpp"

#include <echelon/error.hpp>
#include <echelon/linalg.hpp>
#include <echelon/matrix/matrix.hpp>
#include <echelon/matrix/structure.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

class GpuMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (!cuda_built()) GTEST_SKIP() << "this build has no CUDA backend";
    if (cuda_device_count() == 0) GTEST_SKIP() << "no NVIDIA GPU can be used here";
  }
  Device gpu = Device::cuda();
};

/// Bit for bit, so that NaN equals itself.
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <class T>
void expect_same(const Csr<T>& got, const Csr<T>& expected) {
  EXPECT_EQ(got.rows(), expected.rows());
  EXPECT_EQ(got.columns(), expected.columns());
  EXPECT_EQ(got.row_offsets().to_vector(), expected.row_offsets().to_vector());
  EXPECT_EQ(got.column_indices().to_vector(), expected.column_indices().to_vector());
  EXPECT_TRUE(same_bits(got.values().to_vector(), expected.values().to_vector()));
}

std::vector<double> random_values(std::int64_t n) {
  std::mt19937 random(static_cast<unsigned>(n));
  std::vector<double> values(static_cast<std::size_t>(n));
  for (double& value : values) value = static_cast<double>(random()) - 1e9;
  return values;
}

TEST_F(GpuMemory, MemoryAndHardware_AreDescribed) {
  EXPECT_NO_THROW(require(gpu));
  EXPECT_NE(hardware(gpu), "");
  const MemoryInfo info = memory(gpu);
  EXPECT_GT(info.available, 0u);
  EXPECT_LE(info.available, info.total);
  EXPECT_THROW(require(Device::cuda(cuda_device_count())), NoDevice);
}

TEST_F(GpuMemory, Array_RoundTrip) {
  for (const std::int64_t n : {0, 1, 31, 33, 1025, 1'000'000}) {
    const std::vector<double> values = random_values(n);
    const Array<double> there(gpu, values);
    EXPECT_EQ(there.device(), gpu);
    EXPECT_EQ(there.to_vector(), values);
    const Array<double> copy = there;
    EXPECT_TRUE(n == 0 || copy.data() != there.data());
    EXPECT_EQ(copy.to(gpu).to(Device()).to_vector(), values);
    EXPECT_EQ(copy.to(Device::serial()).device(), Device::serial());
  }
}

TEST_F(GpuMemory, Conversion_EqualsHost) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 50 && !HasFailure(); ++trial) {
    const Table table = random_table(random, false, trial % 4 == 0);
    const auto csr = table.csr<double>();
    const Dense<double> dense = to_dense<double>(csr);
    const Dense<double> gpu_dense = to_dense<double>(csr.to(gpu));
    EXPECT_EQ(gpu_dense.device(), gpu);
    EXPECT_TRUE(same_bits(gpu_dense.to_vector(), dense.to_vector()));
    expect_same(to_csr<double>(gpu_dense), to_csr<double>(dense));
    expect_same(to_csr<double>(csr.to(gpu)), to_csr<double>(csr));
  }
}

TEST_F(GpuMemory, Conversion_StridedViews_EqualsHost) {
  const std::vector<double> memory = random_values(std::int64_t{1030} * 130);
  const Array<double> there(gpu, memory);
  for (const Layout layout : {Layout::column_major, Layout::row_major}) {
    for (const std::int64_t lines : {0, 1, 33, 129}) {
      const bool by_column = layout == Layout::column_major;
      const std::int64_t rows = by_column ? 1025 : lines;
      const std::int64_t columns = by_column ? lines : 1025;
      const DenseView<const double> on_host(memory.data(), rows, columns, 1030, Device(), layout);
      const DenseView<const double> on_gpu(there.data(), rows, columns, 1030, gpu, layout);
      EXPECT_TRUE(same_bits(to_dense<double>(on_gpu).to_vector(), to_dense<double>(on_host).to_vector()));
      expect_same(to_csr<double>(on_gpu), to_csr<double>(on_host));
      const Structure expected = analyze_structure<double>(on_host);
      const Structure got = analyze_structure<double>(on_gpu);
      EXPECT_EQ(got.nonzeros, expected.nonzeros);
      EXPECT_EQ(got.largest_magnitude, expected.largest_magnitude);
      EXPECT_EQ(structural_rank<double>(on_gpu), structural_rank<double>(on_host));
    }
  }
}

TEST_F(GpuMemory, Conversion_Large_EqualsHost) {
  std::mt19937 random(2);
  std::vector<Triplet<float>> triplets;
  constexpr std::int32_t rows = 300'000;
  for (std::int32_t i = 0; i < rows; i += 1 + static_cast<std::int32_t>(random() % 3)) {
    triplets.push_back({i, static_cast<std::int32_t>(random() % 19), static_cast<float>(random() % 3)});
  }
  const auto csr = Csr<float>::from_triplets(rows, 19, triplets);
  const Dense<float> dense = to_dense<float>(csr.to(gpu));
  EXPECT_EQ(dense.to_vector(), to_dense<float>(csr).to_vector());
  expect_same(to_csr<float>(dense), to_csr<float>(csr));
}

TEST_F(GpuMemory, OutOfMemory_LeavesGpuUsable) {
  const std::size_t total = memory(gpu).total;
  const std::vector<double> values = random_values(100);
  Array<double> array(gpu, values);
  try {
    array = Array<double>(gpu, static_cast<std::int64_t>(total / 4));
    FAIL() << "twice the GPU's memory was to be had";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.asked(), total / 4 * 8);
    EXPECT_LE(error.available(), total);
    EXPECT_NE(std::string(error.what()).find("cuda"), std::string::npos);
  }
  EXPECT_EQ(array.to_vector(), values);
  EXPECT_EQ(Array<double>(gpu, values).to_vector(), values);
  const auto csr = Table(2, 2, {1, 0, 2, 3}).csr<double>();
  EXPECT_EQ(to_dense<double>(csr.to(gpu)).to_vector(), (std::vector<double>{1, 2, 0, 3}));
}

TEST_F(GpuMemory, Conversion_OutOfMemory) {
  const auto csr = Csr<double>::from_triplets(20'000'000, 20'000'000, {{0, 0, 1.0}}).to(gpu);
  try {
    static_cast<void>(to_dense<double>(csr));
    FAIL() << "3.2 PB were to be had";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.asked(), 3'200'000'000'000'000u);
  }
  EXPECT_EQ(to_csr<double>(csr).nonzeros(), 1);
}

TEST_F(GpuMemory, MixedDevices_ErrorNamesBoth) {
  const auto csr = Table(2, 2, {1, 0, 2, 3}).csr<double>();
  EXPECT_THROW(Csr<double>(2, 2, csr.row_offsets(), csr.column_indices().to(gpu), csr.values().to(gpu)),
               DeviceMismatch);
  EXPECT_THROW(Csr<double>(2, 2, csr.row_offsets().to(gpu), csr.column_indices(), csr.values().to(gpu)),
               DeviceMismatch);
  const std::vector<double> x = {1, 1};
  std::vector<double> y = {0, 0};
  try {
    multiply<double>(1.0, csr.to(gpu), DenseView<const double>(x), 0.0, DenseView<double>(y));
    FAIL() << "a matrix on the GPU times a vector on the host";
  } catch (const DeviceMismatch& error) {
    EXPECT_NE(std::string(error.what()).find("cuda"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("openmp"), std::string::npos);
  }
}

}  // namespace
}  // namespace echelon::test
