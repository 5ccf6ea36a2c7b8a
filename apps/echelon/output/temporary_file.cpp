// SPDX-License-Identifier: BSD-3-Clause
#include "output/temporary_file.hpp"

#include "terminal/terminal.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace echelon::tool {

NamelessFile::NamelessFile() : path_((std::filesystem::temp_directory_path() / "echelon.XXXXXX").string()) {
  descriptor_ = ::mkstemp(path_.data());
  if (descriptor_ < 0) throw WriteError(path_, system_reason(errno));
  ::unlink(path_.c_str());
  path_ = fmt::format("/proc/self/fd/{}", descriptor_);
}

NamelessFile::~NamelessFile() {
  ::close(descriptor_);
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
