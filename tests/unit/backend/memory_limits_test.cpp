// SPDX-License-Identifier: BSD-3-Clause
#include "backend/device/memory_limits.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace echelon {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t MiB = std::size_t{1} << 20;

/// A folder with files of /proc and /sys. The machine has 8000 MiB, 4000 MiB of them available.
class HostFiles {
 public:
  HostFiles()
      : root_(fs::temp_directory_path() / ("echelon-" + std::to_string(::getpid()) + "-" +
                                           ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    write("proc/meminfo", "MemTotal: 8192000 kB\nMemFree: 1 kB\nMemAvailable: 4096000 kB\n");
  }
  HostFiles(const HostFiles&) = delete;
  HostFiles& operator=(const HostFiles&) = delete;
  ~HostFiles() { fs::remove_all(root_); }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  /// A group of version 2 with a limit in MiB, or "max", and the use in MiB, `cached` of them page cache.
  void group(const std::string& path, const std::string& limit, std::size_t used, std::size_t cached) const {
    const std::string folder = "sys/fs/cgroup" + path + "/";
    write(folder + "memory.max", limit == "max" ? limit : std::to_string(std::stoul(limit) * MiB));
    write(folder + "memory.current", std::to_string(used * MiB));
    write(folder + "memory.stat",
          "anon 1\nactive_file " + std::to_string(cached * MiB) + "\ninactive_file 0\n");
  }
  [[nodiscard]] HostMemory memory() const { return host_memory(root_.string()); }

 private:
  fs::path root_;
};

TEST(MemoryLimits, NoGroup_Machine) {
  const HostFiles files;
  const HostMemory memory = files.memory();
  EXPECT_EQ(memory.info.total, 8000 * MiB);
  EXPECT_EQ(memory.info.available, 4000 * MiB);
  EXPECT_EQ(memory.limit, "");
}

TEST(MemoryLimits, GroupOfVersion2_CacheIsAvailable) {
  const HostFiles files;
  files.write("proc/self/cgroup", "0::/\n");
  files.group("", "1000", 700, 200);
  EXPECT_EQ(files.memory().info.total, 1000 * MiB);
  EXPECT_EQ(files.memory().info.available, 500 * MiB);
  EXPECT_EQ(files.memory().limit, "control group /");
}

TEST(MemoryLimits, NestedGroups_TightestCounts) {
  const HostFiles files;
  files.write("proc/self/cgroup", "0::/user.slice/job.scope\n");
  files.group("/user.slice", "3000", 2900, 0);
  files.group("/user.slice/job.scope", "2000", 10, 0);
  EXPECT_EQ(files.memory().info.total, 2000 * MiB);
  EXPECT_EQ(files.memory().info.available, 100 * MiB);
  EXPECT_EQ(files.memory().limit, "control group /user.slice");
  files.group("/user.slice", "max", 2900, 0);
  EXPECT_EQ(files.memory().info.available, 1990 * MiB);
  EXPECT_EQ(files.memory().limit, "control group /user.slice/job.scope");
}

TEST(MemoryLimits, GroupOfVersion1_AlsoBesideVersion2) {
  const HostFiles files;
  files.write("proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/batch/7\n0::/\n");
  const std::string folder = "sys/fs/cgroup/memory/batch/7/";
  files.write(folder + "memory.limit_in_bytes", std::to_string(600 * MiB));
  files.write(folder + "memory.usage_in_bytes", std::to_string(500 * MiB));
  files.write(folder + "memory.stat",
              "active_file 7\ntotal_active_file 0\ntotal_inactive_file " + std::to_string(100 * MiB) + "\n");
  files.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  files.write("sys/fs/cgroup/memory/memory.usage_in_bytes", std::to_string(5000 * MiB));
  EXPECT_EQ(files.memory().info.total, 600 * MiB);
  EXPECT_EQ(files.memory().info.available, 200 * MiB);
  EXPECT_EQ(files.memory().limit, "control group /batch/7");
}

TEST(MemoryLimits, ContainerWithoutItsPath_OwnGroup) {
  const HostFiles files;
  files.write("proc/self/cgroup", "0::/docker/0123\n");
  files.group("", "400", 100, 0);
  EXPECT_EQ(files.memory().info.available, 300 * MiB);
}

/// Limits a kind of memory of this process, which uses `field` of /proc/self/statm, to 100 MiB more.
template <class Resource>
void expect_named(Resource resource, std::size_t field, const std::string& name) {
  rlimit before = {};
  getrlimit(resource, &before);
  std::ifstream file("/proc/self/statm");
  std::size_t pages = 0;
  for (std::size_t k = 0; k <= field; ++k) file >> pages;
  const std::size_t used = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const rlimit limit = {used + 100 * MiB, before.rlim_max};
  setrlimit(resource, &limit);
  const HostMemory memory = host_memory();
  const bool limited = is_memory_of_process_limited();
  const std::string text = host_out_of_memory(0).what();
  setrlimit(resource, &before);
  EXPECT_TRUE(limited);
  EXPECT_GT(memory.info.available, 50 * MiB);
  EXPECT_LE(memory.info.available, 101 * MiB);
  EXPECT_EQ(memory.limit, name);
  EXPECT_NE(text.find(name), std::string::npos) << text;
}

TEST(MemoryLimits, LimitsOfTheProcess_Named) {
  expect_named(RLIMIT_AS, 0, "the limit of the address space, ulimit -v");
  expect_named(RLIMIT_DATA, 5, "the limit of private memory, ulimit -d");
}

}  // namespace
}  // namespace echelon
