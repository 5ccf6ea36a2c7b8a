// SPDX-License-Identifier: BSD-3-Clause
#include "backend/device/memory_limits.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <optional>

namespace echelon {

namespace {

/// Number that follows `key` in a file of keys and numbers; 0 if the key is absent.
std::size_t number_of_key(const std::string& key, const std::string& path) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    std::size_t number = 0;
    if (word == key && file >> number) return number;
    file.clear();
  }
  return 0;
}

/// Number at the beginning of a file; nothing if the file is absent or holds no number ("max").
std::optional<std::size_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::size_t value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

/// Names of the files of a control group.
struct GroupFiles {
  const char* limit;
  const char* used;
  const char* active_cache;
  const char* inactive_cache;
};
constexpr GroupFiles version_1 = {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_active_file",
                                  "total_inactive_file"};
constexpr GroupFiles version_2 = {"memory.max", "memory.current", "active_file", "inactive_file"};

void apply_limit(HostMemory& memory, std::size_t total, std::size_t used, const std::string& name) {
  const std::size_t available = total - std::min(total, used);
  memory.info.total = std::min(memory.info.total, total);
  if (available >= memory.info.available) return;
  memory.info.available = available;
  memory.limit = name;
}

/// Applies the limits of a control group, "/" or "/a/b", and of those around it, up to the one in `mount`. In
/// a container the groups of the path may be absent, and `mount` is the process's own group.
void apply_groups(HostMemory& memory, const std::string& mount, std::string group, const GroupFiles& files) {
  while (!group.empty()) {
    while (group.size() > 1 && group.back() == '/') group.pop_back();
    const std::string folder = mount + group + "/";
    const auto limit = number_in(folder + files.limit);
    const auto used = number_in(folder + files.used);
    if (limit && used) {
      const std::string statistics = folder + "memory.stat";
      const std::size_t cached =
          number_of_key(files.active_cache, statistics) + number_of_key(files.inactive_cache, statistics);
      apply_limit(memory, *limit, *used - std::min(*used, cached), "control group " + group);
    }
    group.resize(group == "/" ? 0 : group.rfind('/') + 1);
  }
}

/// Applies the groups in /proc/self/cgroup: lines ID:CONTROLLERS:PATH, without controllers for version 2.
void apply_control_groups(HostMemory& memory, const std::string& root) {
  const std::string groups = root + "/sys/fs/cgroup";
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers(1, ',');
    controllers.append(line, first + 1, second - first - 1).push_back(',');
    const std::string path = line.substr(second + 1);
    if (controllers == ",,") {
      apply_groups(memory, groups, path, version_2);
      apply_groups(memory, groups + "/unified", path, version_2);
    } else if (controllers.find(",memory,") != std::string::npos) {
      apply_groups(memory, groups + "/memory", path, version_1);
    }
  }
}

/// A limit that the process has on memory of one kind.
struct ProcessLimit {
  decltype(RLIMIT_AS) resource;
  std::size_t field;  ///< of /proc/self/statm: pages in use
  const char* name;
};
constexpr std::array<ProcessLimit, 2> process_limits = {
    {{RLIMIT_AS, 0, "the limit of the address space, ulimit -v"},
     {RLIMIT_DATA, 5, "the limit of private memory, ulimit -d"}}};

/// Value of a limit; nothing if there is none.
std::optional<std::size_t> value_of(const ProcessLimit& limit) {
  rlimit value = {};
  if (::getrlimit(limit.resource, &value) != 0 || value.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return value.rlim_cur;
}

void apply_process_limits(HostMemory& memory, const std::string& root) {
  for (const ProcessLimit& limit : process_limits) {
    const std::optional<std::size_t> value = value_of(limit);
    if (!value) continue;
    std::ifstream file(root + "/proc/self/statm");
    std::size_t pages = 0;
    for (std::size_t field = 0; field <= limit.field; ++field) file >> pages;
    apply_limit(memory, *value, pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)), limit.name);
  }
}

}  // namespace

bool is_memory_of_process_limited() {
  return std::any_of(process_limits.begin(), process_limits.end(),
                     [](const ProcessLimit& limit) { return value_of(limit).has_value(); });
}

HostMemory host_memory(const std::string& root) {
  const std::string meminfo = root + "/proc/meminfo";
  HostMemory memory;
  memory.info = {number_of_key("MemTotal:", meminfo) * 1024, number_of_key("MemAvailable:", meminfo) * 1024};
  constexpr std::size_t unknown = std::numeric_limits<std::size_t>::max();
  if (memory.info.total == 0) memory.info = {unknown, unknown};
  apply_control_groups(memory, root);
  apply_process_limits(memory, root);
  return memory;
}

OutOfMemory host_out_of_memory(std::size_t bytes) {
  const HostMemory memory = host_memory();
  return {memory.limit.empty() ? "host" : "host (" + memory.limit + ")", bytes, memory.info.available};
}

}  // namespace echelon
