// SPDX-License-Identifier: BSD-3-Clause
#include "io/text/source.hpp"

#include <echelon/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

namespace echelon::io {

namespace {

std::string system_reason(int error) {
  return std::strerror(error);
}  // NOLINT(concurrency-mt-unsafe)

class FileDescriptor {
 public:
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~FileDescriptor() {
    if (number_ >= 0) ::close(number_);
  }
  [[nodiscard]] int number() const { return number_; }

  std::size_t read(char* target, std::size_t size) const {
    for (;;) {
      const ssize_t count = ::read(number_, target, size);
      if (count >= 0) return static_cast<std::size_t>(count);
      if (errno != EINTR) throw SourceFailure("reading failed: " + system_reason(errno));
    }
  }
  [[nodiscard]] struct stat status() const {
    struct stat result {};
    if (::fstat(number_, &result) != 0) throw SourceFailure(system_reason(errno));
    return result;
  }

 private:
  int number_;
};

class FileSource : public TextSource {
 public:
  explicit FileSource(FileDescriptor file) : file_(std::move(file)), status_(file_.status()) {}

  std::size_t read(char* target, std::size_t size) override {
    const std::size_t count = file_.read(target, size);
    if (count == 0 && size > 0) check_unchanged();
    return count;
  }
  void rewind() override { seek(0); }
  void seek(std::int64_t position) override {
    if (::lseek(file_.number(), position, SEEK_SET) != position) throw SourceFailure(system_reason(errno));
  }
  [[nodiscard]] std::int64_t stored_bytes() const override { return status_.st_size; }
  [[nodiscard]] std::int64_t total_bytes() override {
    rewind();
    return stored_bytes();
  }

 private:
  /// Fails if the file was modified: it is read twice, and the second pass relies on the first.
  void check_unchanged() const {
    const struct stat now = file_.status();
    if (now.st_size != status_.st_size || now.st_mtim.tv_sec != status_.st_mtim.tv_sec ||
        now.st_mtim.tv_nsec != status_.st_mtim.tv_nsec) {
      throw SourceFailure("the file was changed while it was being read");
    }
  }

  FileDescriptor file_;
  struct stat status_;
};

class MemorySource : public TextSource {
 public:
  explicit MemorySource(std::string_view text) : text_(text) {}

  std::size_t read(char* target, std::size_t size) override {
    const std::size_t count = text_.copy(target, size, position_);
    position_ += count;
    return count;
  }
  void rewind() override { position_ = 0; }
  void seek(std::int64_t position) override {
    position_ = std::min(text_.size(), static_cast<std::size_t>(position));
  }
  [[nodiscard]] std::int64_t stored_bytes() const override { return static_cast<std::int64_t>(text_.size()); }
  [[nodiscard]] std::int64_t total_bytes() override {
    rewind();
    return stored_bytes();
  }

 private:
  std::string_view text_;
  std::size_t position_ = 0;
};

/// Unpacks one or more gzip members in sequence.
class GzipSource : public TextSource {
 public:
  explicit GzipSource(std::unique_ptr<TextSource> packed) : packed_(std::move(packed)), input_(input_bytes) {
    constexpr int gzip_only = 16;
    if (inflateInit2(&stream_, MAX_WBITS + gzip_only) != Z_OK) throw std::bad_alloc();
  }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;
  ~GzipSource() override { inflateEnd(&stream_); }

  std::size_t read(char* target, std::size_t size) override {
    const auto wanted = static_cast<uInt>(std::min<std::size_t>(size, input_bytes));
    stream_.next_out = reinterpret_cast<Bytef*>(target);
    stream_.avail_out = wanted;
    while (stream_.avail_out == wanted && wanted > 0) {
      if (stream_.avail_in == 0 && !refill()) {
        if (between_members_) return 0;
        throw SourceFailure("the gzip data ends too early; is the file cut off?");
      }
      inflate_some();
    }
    return wanted - stream_.avail_out;
  }
  void rewind() override {
    packed_->rewind();
    stream_.avail_in = 0;
    inflateReset(&stream_);
    between_members_ = true;
  }
  [[nodiscard]] std::int64_t stored_bytes() const override { return packed_->stored_bytes(); }

 private:
  static constexpr std::size_t input_bytes = std::size_t{1} << 18;

  bool refill() {
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(packed_->read(input_.data(), input_.size()));
    return stream_.avail_in > 0;
  }
  void inflate_some() {
    between_members_ = false;
    const int result = inflate(&stream_, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      inflateReset(&stream_);
      between_members_ = true;
    } else if (result == Z_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      throw SourceFailure(fmt::format("corrupt gzip data ({})", stream_.msg != nullptr ? stream_.msg : "?"));
    }
  }

  std::unique_ptr<TextSource> packed_;
  std::vector<char> input_;
  z_stream stream_{};
  bool between_members_ = true;
};

constexpr std::string_view gzip_magic = "\x1f\x8b";
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

/// A source without its first bytes.
class SourceBehind : public TextSource {
 public:
  SourceBehind(std::unique_ptr<TextSource> whole, std::int64_t skipped)
      : whole_(std::move(whole)), skipped_(skipped) {
    whole_->seek(skipped_);
  }
  std::size_t read(char* target, std::size_t size) override { return whole_->read(target, size); }
  void rewind() override { seek(0); }
  void seek(std::int64_t position) override { whole_->seek(skipped_ + position); }
  [[nodiscard]] std::int64_t stored_bytes() const override { return whole_->stored_bytes(); }

 private:
  std::unique_ptr<TextSource> whole_;
  std::int64_t skipped_;
};

/// Whether `source` starts with `bytes`. False also if reading fails: the parser encounters the failure again
/// and reports it with its position.
bool starts_with(TextSource& source, std::string_view bytes) {
  std::array<char, 4> first{};
  std::size_t size = 0;
  try {
    while (size < bytes.size()) {
      const std::size_t count = source.read(first.data() + size, bytes.size() - size);
      if (count == 0) break;
      size += count;
    }
  } catch (const SourceFailure&) {
    size = 0;
  }
  source.rewind();
  return std::string_view(first.data(), size) == bytes;
}

std::unique_ptr<TextSource> unpacked(std::unique_ptr<TextSource> source) {
  if (starts_with(*source, gzip_magic)) source = std::make_unique<GzipSource>(std::move(source));
  if (!starts_with(*source, byte_order_mark)) return source;
  return std::make_unique<SourceBehind>(std::move(source), byte_order_mark.size());
}

/// A temporary file without a name that holds everything the pipe delivers.
FileDescriptor kept(const FileDescriptor& pipe) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
  if (!file) throw SourceFailure("no temporary file for a pipe's data: " + system_reason(errno));
  std::vector<char> buffer(std::size_t{1} << 18);
  while (const std::size_t count = pipe.read(buffer.data(), buffer.size())) {
    if (std::fwrite(buffer.data(), 1, count, file.get()) != count) {
      throw SourceFailure("keeping a pipe's data in a temporary file failed: " + system_reason(errno));
    }
  }
  if (std::fflush(file.get()) != 0) {
    throw SourceFailure("keeping a pipe's data in a temporary file failed: " + system_reason(errno));
  }
  FileDescriptor result(::fcntl(::fileno(file.get()), F_DUPFD_CLOEXEC, 0));
  if (::lseek(result.number(), 0, SEEK_SET) != 0) throw SourceFailure(system_reason(errno));
  return result;
}

}  // namespace

void TextSource::seek(std::int64_t position) {
  rewind();
  std::vector<char> buffer(static_cast<std::size_t>(std::min<std::int64_t>(position, std::int64_t{1} << 18)));
  while (position > 0) {
    const std::size_t count =
        read(buffer.data(), static_cast<std::size_t>(std::min<std::int64_t>(position, std::ssize(buffer))));
    if (count == 0) return;
    position -= static_cast<std::int64_t>(count);
  }
}

std::int64_t TextSource::total_bytes() {
  rewind();
  std::vector<char> buffer(std::size_t{1} << 18);
  std::int64_t total = 0;
  while (const std::size_t count = read(buffer.data(), buffer.size())) {
    total += static_cast<std::int64_t>(count);
  }
  rewind();
  return total;
}

std::unique_ptr<TextSource> open_text(const std::string& path) {
  FileDescriptor file(
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC));  // NOLINT(cppcoreguidelines-pro-type-vararg)
  if (file.number() < 0) throw ParseError(path, 0, 0, "cannot be opened: " + system_reason(errno));
  try {
    const mode_t mode = file.status().st_mode;
    if (S_ISDIR(mode)) throw SourceFailure("is a directory, not a file");
    if (S_ISFIFO(mode) || S_ISSOCK(mode)) file = kept(file);
    if (S_ISCHR(mode) || S_ISBLK(mode)) throw SourceFailure("is a device, not a file");
    return unpacked(std::make_unique<FileSource>(std::move(file)));
  } catch (const SourceFailure& failure) {
    throw ParseError(path, 0, 0, failure.what());
  }
}

std::unique_ptr<TextSource> text_in_memory(std::string_view text) {
  return unpacked(std::make_unique<MemorySource>(text));
}

}  // namespace echelon::io
