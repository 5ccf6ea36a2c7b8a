// SPDX-License-Identifier: BSD-3-Clause
#include "output_file.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace echelon::tool {

namespace fs = std::filesystem;

std::string writable_file(const std::string& path) {
  if (path.empty()) return path;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  // Renaming over a device such as /dev/null would replace it.
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    throw ParseError(path, 0, 0, "is not a regular file; results are written to regular files only");
  }
  const fs::path target = fs::is_symlink(path, error) ? fs::weakly_canonical(path, error) : fs::path(path);
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    throw ParseError(path, 0, 0,
                     fmt::format("cannot be written: folder {}: {}", folder.string(), std::strerror(errno)));
  }
  return target.string();
}

void write_whole(const std::string& path, std::string_view text) {
  const std::string beside = fmt::format("{}.{}.part", path, getpid());
  std::ofstream stream(beside, std::ios::binary);
  stream.write(text.data(), static_cast<std::streamsize>(text.size()));
  stream.close();
  std::error_code error;
  if (stream) fs::rename(beside, path, error);
  if (!stream || error) {
    const std::string reason = error ? error.message() : std::strerror(errno);
    fs::remove(beside, error);
    throw ParseError(path, 0, 0, fmt::format("cannot be written: {}", reason));
  }
}

}  // namespace echelon::tool
