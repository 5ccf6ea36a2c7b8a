// SPDX-License-Identifier: BSD-3-Clause
// The run time of OpenCL: memory, queues of threads, programs. Needs no optimisation, and runs under
// Valgrind.
#include "backend/opencl/context.hpp"
#include "backend/opencl/program.hpp"
#include "opencl/opencl_fixture.hpp"

#include <echelon/error.hpp>
#include <echelon/generate.hpp>
#include <echelon/solver.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace echelon::test {
namespace {

class OpenClRuntime : public OpenClTest {};

TEST_F(OpenClRuntime, DevicesAreDescribed) {
  const std::vector<OpenClDeviceInfo> devices = opencl_devices();
  ASSERT_FALSE(devices.empty());
  for (const OpenClDeviceInfo& device : devices) {
    EXPECT_NE(device.platform, "");
    EXPECT_NE(device.name, "");
    EXPECT_NE(device.driver, "");
  }
  const auto usable = [](const OpenClDeviceInfo& device) { return device.refusal.empty(); };
  EXPECT_TRUE(std::is_partitioned(devices.begin(), devices.end(), usable));
  EXPECT_EQ(std::count_if(devices.begin(), devices.end(), usable), opencl_device_count());
  EXPECT_NE(hardware(Device::opencl()).find(devices.front().name), std::string::npos);
}

TEST_F(OpenClRuntime, Memory_IsReused) {
  const auto address = [] {
    const Array<double> array(Device::opencl(), 1000);
    return array.data();
  };
  const double* const first = address();
  EXPECT_EQ(address(), first);
  EXPECT_EQ(reinterpret_cast<std::size_t>(first) % 128, 0U);
  const MemoryInfo info = memory(Device::opencl());
  EXPECT_GT(info.available, 0U);
}

TEST_F(OpenClRuntime, EmptyArray_NoMemory) {
  const Array<double> empty(Device::opencl(), 0);
  EXPECT_EQ(empty.data(), nullptr);
  EXPECT_TRUE(empty.to_vector().empty());
}

TEST_F(OpenClRuntime, TooMuchMemory_Throws) {
  try {
    const Array<double> array(Device::opencl(), std::int64_t{1} << 50);
    FAIL() << "allocated";
  } catch (const OutOfMemory& error) {
    EXPECT_NE(std::string(error.what()).find("opencl"), std::string::npos) << error.what();
    EXPECT_EQ(error.asked(), std::size_t{8} << 50);
    EXPECT_LT(error.available(), error.asked());
  }
  const Array<double> usable(Device::opencl(), 1000);
  EXPECT_NE(usable.data(), nullptr) << "the device stays usable";
}

TEST_F(OpenClRuntime, LargeCopies_KeepElements) {
  std::vector<double> values(5'000'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  const Array<double> on_device = there(values);
  const Array<double> copy = on_device;
  EXPECT_EQ(copy.to_vector(), values);
}

/// PoCL reads beyond the end of modules that are shorter than the header of its own.
TEST_F(OpenClRuntime, InvalidModule_Throws) {
  opencl::DeviceContext& context = opencl::DeviceContext::of(0);
  const std::vector<unsigned char> text(4096, 'x');
  try {
    static_cast<void>(opencl::build_program(context.get(), context.device(), {text, text}, {}));
    FAIL() << "built";
  } catch (const OpenClError& error) {
    EXPECT_NE(std::string(error.what()).find("OpenCL"), std::string::npos) << error.what();
  }
}

TEST_F(OpenClRuntime, UnknownKernel_Throws) {
  const int nothing = 0;
  EXPECT_THROW(static_cast<void>(opencl::kernel_name(&nothing)), OpenClError);
}

TEST_F(OpenClRuntime, ThreadsHaveQueues) {
  opencl::DeviceContext& context = opencl::DeviceContext::of(0);
  const cl_command_queue own = context.queue().get();
  EXPECT_EQ(context.queue().get(), own);
  cl_command_queue other = nullptr;
  std::thread([&] { other = context.queue().get(); }).join();
  EXPECT_NE(other, own);
}

/// Two threads solve at the same time, and free memory that the other one takes.
TEST_F(OpenClRuntime, TwoThreads_SameBits) {
  const Csr<double> A = generate::poisson_2d<double>(40, 40);
  const std::vector<double> ones(1600, 1.0);
  const auto solved = [&] {
    Solver<double> solver = make_solver<double>("cg", Device::opencl());
    const Csr<double> on_device = A.to(Device::opencl());
    EXPECT_TRUE(solver.setup(on_device).ready());
    const Dense<double> b(Device::opencl(), std::span<const double>(ones));
    Dense<double> x(Device::opencl(), 1600, 1);
    EXPECT_TRUE(solver.solve(b, x).solved());
    return x.to_vector();
  };
  const std::vector<double> expected = solved();
  std::atomic<int> equal{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (int repetition = 0; repetition < 5; ++repetition) equal += solved() == expected ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(equal, 10);
}

TEST_F(OpenClRuntime, ArraysPassBetweenThreads) {
  const std::vector<double> values(10'000, 2.5);
  Array<double> array;
  std::thread([&] { array = there(values); }).join();
  EXPECT_EQ(array.to_vector(), values);
}

}  // namespace
}  // namespace echelon::test
