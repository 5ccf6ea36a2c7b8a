// SPDX-License-Identifier: BSD-3-Clause
#include "io/output_file.hpp"

#include <echelon/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace echelon::io {

namespace fs = std::filesystem;

namespace {
constexpr mode_t permissions = 0666;  // before the umask

gzFile gz(void* handle) {
  return static_cast<gzFile>(handle);
}
}  // namespace

OutputFile::OutputFile(const std::string& path) : path_(path), target_(path) {
  std::error_code none;
  const fs::file_status status = fs::status(path, none);
  if (fs::is_directory(status)) throw ParseError(path, 0, 0, "cannot be written: is a directory");
  if (fs::is_regular_file(status)) target_ = fs::canonical(path, none).string();
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    file_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);  // NOLINT(cppcoreguidelines-pro-type-vararg)
  } else {
    open_beside();
  }
  if (file_ < 0) fail("cannot be written");
  if (path.ends_with(".gz")) {
    gzip_ = gzdopen(file_, "wb6");
    if (gzip_ == nullptr) fail("cannot be written");
    gzbuffer(gz(gzip_), 1U << 18);
  }
}

void OutputFile::open_beside() {
  for (int attempt = 0; file_ < 0 && (attempt == 0 || errno == EEXIST); ++attempt) {
    temporary_ = fmt::format("{}.{}-{}.tmp", target_, ::getpid(), attempt);
    file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,  // NOLINT(*-vararg)
                   permissions);
  }
  if (file_ < 0) temporary_.clear();
  struct stat replaced = {};
  constexpr mode_t permission_bits = 07777;
  if (file_ >= 0 && ::stat(target_.c_str(), &replaced) == 0)
    ::fchmod(file_, replaced.st_mode & permission_bits);
}

OutputFile::~OutputFile() {
  if (gzip_ != nullptr) {
    gzclose(gz(gzip_));
  } else if (file_ >= 0) {
    ::close(file_);
  }
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::write(std::string_view text) {
  while (!text.empty()) {
    const auto size = std::min<std::size_t>(text.size(), std::size_t{1} << 30);
    const auto count = gzip_ != nullptr ? gzwrite(gz(gzip_), text.data(), static_cast<unsigned>(size))
                                        : ::write(file_, text.data(), size);
    if (count <= 0 && errno != EINTR) fail("writing failed");
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
  }
}

void OutputFile::commit() {
  const int closed = gzip_ != nullptr ? gzclose(gz(std::exchange(gzip_, nullptr))) : ::close(file_);
  file_ = -1;
  if (closed != 0) fail("writing failed");
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("cannot be written");
  temporary_.clear();
}

void OutputFile::fail(const std::string& what) const {
  throw ParseError(path_, 0, 0, fmt::format("{}: {}", what, std::strerror(errno)));  // NOLINT(concurrency-*)
}

}  // namespace echelon::io
