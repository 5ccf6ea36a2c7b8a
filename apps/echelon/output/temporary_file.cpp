// SPDX-License-Identifier: BSD-3-Clause
#include "output/temporary_file.hpp"

#include "terminal/terminal.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace echelon::tool {

namespace {

/// The permissions that `target` has, or that a new file gets.
mode_t permissions_of(const std::string& target) {
  struct stat status = {};
  constexpr mode_t permission_bits = 07777;
  if (::stat(target.c_str(), &status) == 0) return status.st_mode & permission_bits;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  constexpr mode_t read_write = 0666;
  return read_write & ~mask;
}

}  // namespace

NamelessFile::NamelessFile() : path_((std::filesystem::temp_directory_path() / "echelon.XXXXXX").string()) {
  descriptor_ = ::mkstemp(path_.data());
  if (descriptor_ < 0) throw WriteError(path_, system_reason(errno));
  ::unlink(path_.c_str());
  path_ = fmt::format("/proc/self/fd/{}", descriptor_);
}

NamelessFile::~NamelessFile() {
  ::close(descriptor_);
}

TemporaryFile::TemporaryFile(const std::string& target) : path_(target + ".XXXXXX") {
  descriptor_ = ::mkstemp(path_.data());
  if (descriptor_ < 0) throw WriteError(target, system_reason(errno));
}

TemporaryFile::~TemporaryFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!path_.empty()) ::unlink(path_.c_str());
}

void TemporaryFile::commit(const std::string& target) {
  ::chmod(path_.c_str(), permissions_of(target));
  if (std::rename(path_.c_str(), target.c_str()) != 0) {
    throw WriteError(target, system_reason(errno));
  }
  path_.clear();
}

TemporaryFolder::TemporaryFolder()
    : path_((std::filesystem::temp_directory_path() / "echelon.XXXXXX").string()) {
  if (::mkdtemp(path_.data()) == nullptr) throw WriteError(path_, system_reason(errno));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace echelon::tool
