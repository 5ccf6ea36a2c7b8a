// SPDX-License-Identifier: BSD-3-Clause
#include <echelon/device.hpp>
#include <echelon/error.hpp>

#include <gtest/gtest.h>
#include <omp.h>

#include <string>

namespace echelon::test {
namespace {

TEST(Device, Name_ParsesToSameDevice) {
  for (const Device& device :
       {Device(), Device::serial(), Device::openmp(), Device::openmp(1), Device::openmp(7), Device::cuda(),
        Device::cuda(3), Device::opencl(), Device::opencl(2)}) {
    EXPECT_EQ(Device::parse(device.name()), device) << device.name();
  }
  EXPECT_EQ(Device::parse("cuda:0"), Device::cuda());
  EXPECT_EQ(Device::parse("opencl:0"), Device::opencl());
  EXPECT_EQ(Device::parse("openmp:4").threads(), 4);
}

TEST(Device, Threads) {
  EXPECT_EQ(Device::serial().threads(), 1);
  EXPECT_EQ(Device::openmp(5).threads(), 5);
  EXPECT_GE(Device::openmp().threads(), 1);
  EXPECT_LE(Device::openmp().threads(), omp_get_max_threads());
}

TEST(Device, Parse_InvalidNames_Throw) {
  for (const char* text : {"", ":", "gpu", "serial:2", "openmp:", "openmp:0", "openmp:-1", "openmp:4x",
                           "openmp: 4", "openmp:99999999999", "cuda:-1", "cuda:x", "CUDA", "cuda:1:2",
                           "opencl:", "opencl:-1", "opencl:x", "OpenCL"}) {
    EXPECT_THROW(Device::parse(text), BadOption) << "'" << text << "'";
  }
  EXPECT_THROW(Device::openmp(-1), BadOption);
  EXPECT_THROW(Device::cuda(-1), BadOption);
  EXPECT_THROW(Device::opencl(-1), BadOption);
  try {
    Device::parse("opnemp");
    FAIL();
  } catch (const BadOption& error) {
    EXPECT_EQ(error.did_you_mean(), "openmp");
    EXPECT_EQ(error.path(), "device");
    EXPECT_NE(std::string(error.what()).find("opnemp"), std::string::npos);
  }
}

TEST(Device, SameMemory) {
  EXPECT_TRUE(same_memory(Device::serial(), Device::openmp(3)));
  EXPECT_FALSE(same_memory(Device::serial(), Device::cuda()));
  EXPECT_FALSE(same_memory(Device::cuda(), Device::openmp()));
  EXPECT_TRUE(same_memory(Device::cuda(1), Device::cuda(1)));
  EXPECT_FALSE(same_memory(Device::cuda(0), Device::cuda(1)));
  EXPECT_FALSE(same_memory(Device::cuda(0), Device::opencl(0)));
  EXPECT_FALSE(same_memory(Device::opencl(), Device::openmp()));
  EXPECT_TRUE(same_memory(Device::opencl(1), Device::opencl(1)));
}

TEST(Device, Host_IsAvailable) {
  EXPECT_NO_THROW(require(Device::serial()));
  EXPECT_NO_THROW(require(Device::openmp(3)));
  EXPECT_EQ(hardware(Device::serial()), "host, 1 thread");
  EXPECT_EQ(hardware(Device::openmp(2)), "host, 2 threads");
  const MemoryInfo info = memory(Device());
  EXPECT_GT(info.available, 0u);
  EXPECT_LE(info.available, info.total);
}

TEST(Device, NoGpu_ErrorExplains) {
  const auto complaint = [] {
    try {
      require(Device::cuda(cuda_device_count()));
    } catch (const NotBuilt& error) {
      EXPECT_FALSE(cuda_built());
      return std::string(error.what());
    } catch (const NoDevice& error) {
      EXPECT_TRUE(cuda_built());
      return std::string(error.what());
    }
    return std::string();
  }();
  EXPECT_NE(complaint, "");
  EXPECT_TRUE(cuda_device_count() > 0 || complaint.find("openmp") != std::string::npos) << complaint;
  EXPECT_THROW(static_cast<void>(memory(Device::cuda(cuda_device_count()))), Error);
  EXPECT_THROW(static_cast<void>(hardware(Device::cuda(cuda_device_count()))), Error);
}

TEST(Device, NoOpenClDevice_ErrorExplains) {
  const auto absent = static_cast<int>(opencl_devices().size());
  EXPECT_LE(opencl_device_count(), absent);
  try {
    require(Device::opencl(absent));
    FAIL() << "accepted";
  } catch (const NotBuilt& error) {
    EXPECT_FALSE(opencl_built());
    EXPECT_NE(std::string(error.what()).find("preset 'opencl'"), std::string::npos) << error.what();
  } catch (const NoDevice& error) {
    EXPECT_TRUE(opencl_built());
    EXPECT_NE(std::string(error.what()).find("OpenCL"), std::string::npos) << error.what();
  }
  EXPECT_THROW(static_cast<void>(memory(Device::opencl(absent))), Error);
  EXPECT_THROW(static_cast<void>(hardware(Device::opencl(absent))), Error);
}

}  // namespace
}  // namespace echelon::test
