// SPDX-License-Identifier: BSD-3-Clause
#include "io/support/output_file.hpp"

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
#include <memory>
#include <utility>
#include <vector>

namespace echelon::io {

namespace fs = std::filesystem;

namespace {

constexpr mode_t permissions = 0666;  // before the umask

/// The file that `path` leads to, which need not exist.
std::string follow_links(const std::string& path) {
  std::error_code none;
  fs::path target = path;
  constexpr int most_links = 40;
  for (int links = 0; links < most_links && fs::is_symlink(fs::symlink_status(target, none)); ++links) {
    target = target.parent_path() / fs::read_symlink(target, none);
  }
  return target.string();
}

}  // namespace

/// Compresses a stream of bytes.
class OutputFile::Gzip {
 public:
  Gzip()
      : ready_(deflateInit2(&stream_, level, Z_DEFLATED, gzip_window, memory_level, Z_DEFAULT_STRATEGY) ==
               Z_OK) {
    if (!ready_) throw OutOfMemory("host", 0, 0);
  }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;
  ~Gzip() {
    if (ready_) deflateEnd(&stream_);
  }

  /// Calls write(bytes) with the compressed bytes as they become available; all of them if `last`.
  template <class Write>
  void compress(std::string_view text, bool last, const Write& write) {
    // zlib's type of the input is not const, but it does not change it.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // NOLINT(*-const-cast)
    stream_.avail_in = static_cast<uInt>(text.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(buffer_.data());
      stream_.avail_out = static_cast<uInt>(buffer_.size());
      deflate(&stream_, last ? Z_FINISH : Z_NO_FLUSH);
      write(std::string_view(buffer_.data(), buffer_.size() - stream_.avail_out));
    } while (stream_.avail_out == 0);
  }

 private:
  static constexpr int level = 6;
  static constexpr int gzip_window = 15 + 16;  // the largest window; 16 stands for gzip
  static constexpr int memory_level = 8;

  std::vector<char> buffer_ = std::vector<char>(std::size_t{1} << 18);
  z_stream stream_ = {};
  bool ready_;
};

OutputFile::OutputFile(const std::string& path) : path_(path), target_(follow_links(path)) {
  std::error_code none;
  if (path.ends_with(".gz")) gzip_ = std::make_unique<Gzip>();
  const fs::file_status status = fs::status(path, none);
  if (fs::is_directory(status)) throw ParseError(path, 0, 0, "cannot be written: is a directory");
  if (fs::is_symlink(fs::symlink_status(target_, none))) {
    errno = ELOOP;
    fail("cannot be written");
  }
  const bool has_no_name = fs::is_regular_file(status) && fs::hard_link_count(path, none) == 0;
  if (has_no_name || (fs::exists(status) && !fs::is_regular_file(status))) {
    file_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);  // NOLINT(cppcoreguidelines-pro-type-vararg)
  } else {
    open_beside();
  }
  if (file_ < 0) fail("cannot be written");
}

template <class Create>
bool OutputFile::with_temporary_name(const Create& create) {
  for (int attempt = 0;; ++attempt) {
    temporary_ = fmt::format("{}.{}-{}.tmp", target_, ::getpid(), attempt);
    if (create(temporary_.c_str())) return true;
    if (errno != EEXIST) break;
  }
  temporary_.clear();
  return false;
}

void OutputFile::open_beside() {
  replaces_ = true;
  const std::string folder = fs::path(target_).parent_path().string();
  if (::access("/proc/self/fd", X_OK) == 0) {  // commit() names the file by its entry there
    file_ =
        ::open(folder.empty() ? "." : folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC,  // NOLINT(*-vararg)
               permissions);
  }
  if (file_ < 0) {
    with_temporary_name([&](const char* name) {
      file_ = ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, permissions);  // NOLINT(*-vararg)
      return file_ >= 0;
    });
  }
  if (file_ >= 0) keep_ownership();
}

void OutputFile::keep_ownership() const {
  struct stat replaced = {};
  if (::stat(target_.c_str(), &replaced) != 0) return;
  constexpr mode_t permission_bits = 07777;
  // Only root may give files away. A file of another owner gets no set-user-ID bit.
  const bool same_owner = ::fchown(file_, replaced.st_uid, replaced.st_gid) == 0;
  const mode_t kept = same_owner ? permission_bits : permission_bits & ~(S_ISUID | S_ISGID);
  ::fchmod(file_, replaced.st_mode & kept);
}

OutputFile::~OutputFile() {
  if (file_ >= 0) ::close(file_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::write(std::string_view text) {
  if (gzip_ == nullptr) return write_bytes(text);
  while (!text.empty()) {
    const std::string_view part = text.substr(0, std::size_t{1} << 30);
    gzip_->compress(part, false, [&](std::string_view bytes) { write_bytes(bytes); });
    text.remove_prefix(part.size());
  }
}

void OutputFile::write_bytes(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto count =
        ::write(file_, bytes.data(), std::min<std::size_t>(bytes.size(), std::size_t{1} << 30));
    if (count < 0 && errno != EINTR) fail("writing failed");
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

void OutputFile::commit() {
  if (gzip_ != nullptr) gzip_->compress({}, true, [&](std::string_view bytes) { write_bytes(bytes); });
  const std::string entry = fmt::format("/proc/self/fd/{}", file_);
  const bool named = !replaces_ || !temporary_.empty() || with_temporary_name([&](const char* name) {
    return ::linkat(AT_FDCWD, entry.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
  });
  if (!named) fail("cannot be written");
  const int closed = ::close(std::exchange(file_, -1));
  if (closed != 0 && errno != EINTR) fail("writing failed");
  if (!replaces_) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("cannot be written");
  temporary_.clear();
}

void OutputFile::fail(const std::string& what) const {
  throw ParseError(path_, 0, 0, fmt::format("{}: {}", what, std::strerror(errno)));  // NOLINT(concurrency-*)
}

}  // namespace echelon::io
