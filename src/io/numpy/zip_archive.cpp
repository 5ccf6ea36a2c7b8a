// SPDX-License-Identifier: BSD-3-Clause
#include "io/numpy/zip_archive.hpp"

#include "io/support/binary_reader.hpp"
#include "io/text/numbers.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>
#include <string_view>
#include <utility>

namespace echelon::io {

namespace {

using namespace std::string_view_literals;

constexpr std::string_view end_signature = "PK\5\6"sv;
constexpr std::string_view end64_signature = "PK\6\6"sv;
constexpr std::string_view locator64_signature = "PK\6\7"sv;
constexpr std::string_view directory_signature = "PK\1\2"sv;
constexpr std::string_view local_signature = "PK\3\4"sv;
constexpr std::int64_t end_bytes = 22;
constexpr std::int64_t end64_bytes = 56;
constexpr std::int64_t locator64_bytes = 20;
constexpr std::int64_t entry_bytes = 46;
constexpr std::int64_t local_bytes = 30;
constexpr std::uint32_t in_extra_field = 0xffffffff;  // a 32-bit size or position that is stored elsewhere

[[noreturn]] void corrupt(const char* what) {
  throw SourceFailure(fmt::format("a corrupt ZIP archive: {}", what));
}

/// Little-endian integers in a record.
class ZipRecord {
 public:
  explicit ZipRecord(std::string_view bytes) : bytes_(bytes) {}

  template <class V>
  [[nodiscard]] V at(std::int64_t position) const {
    V value{};
    std::memcpy(&value, part(position, sizeof(V)).data(), sizeof(V));
    return in_order(value, std::endian::little);
  }
  [[nodiscard]] std::string_view part(std::int64_t position, std::int64_t size) const {
    if (position > std::ssize(bytes_) || size > std::ssize(bytes_) - position) corrupt("a record is cut off");
    return bytes_.substr(static_cast<std::size_t>(position), static_cast<std::size_t>(size));
  }

 private:
  std::string_view bytes_;
};

std::string read_part(TextSource& source, std::int64_t position, std::int64_t size) {
  std::string bytes(static_cast<std::size_t>(size), '\0');
  source.seek(position);
  for (std::size_t done = 0; done < bytes.size();) {
    const std::size_t count = source.read(bytes.data() + done, bytes.size() - done);
    if (count == 0) corrupt("it is cut off");
    done += count;
  }
  return bytes;
}

struct Directory {
  std::int64_t position = 0;
  std::int64_t bytes = 0;
  std::int64_t entries = 0;
};

/// A 64-bit size or position, which must lie in the archive.
std::int64_t bounded(std::uint64_t value, std::int64_t most) {
  if (most < 0 || value > static_cast<std::uint64_t>(most)) corrupt("a size or position is beyond its end");
  return static_cast<std::int64_t>(value);
}

Directory read_directory64(TextSource& source, std::int64_t total, const ZipRecord& locator) {
  const std::int64_t position = bounded(locator.at<std::uint64_t>(8), total - end64_bytes);
  const std::string bytes = read_part(source, position, end64_bytes);
  if (!bytes.starts_with(end64_signature)) corrupt("its 64-bit end record is missing");
  const ZipRecord end(bytes);
  return {bounded(end.at<std::uint64_t>(48), total), bounded(end.at<std::uint64_t>(40), total),
          bounded(end.at<std::uint64_t>(32), total)};
}

/// Finds the directory by the record at the archive's end, which a comment of up to 65,535 bytes may follow.
Directory find_directory(TextSource& source, std::int64_t total) {
  constexpr std::int64_t longest_comment = 65535;
  const std::int64_t size = std::min(total, locator64_bytes + end_bytes + longest_comment);
  const std::string tail = read_part(source, total - size, size);
  const std::size_t found = tail.rfind(end_signature);
  if (found == std::string::npos) corrupt("its end record is missing; is the file cut off?");
  const auto at = static_cast<std::int64_t>(found);
  const ZipRecord record(std::string_view(tail).substr(found));
  static_cast<void>(record.part(0, end_bytes + record.at<std::uint16_t>(20)));  // with the comment
  if (at >= locator64_bytes) {
    const std::string_view locator = std::string_view(tail).substr(found - locator64_bytes, locator64_bytes);
    if (locator.starts_with(locator64_signature)) return read_directory64(source, total, ZipRecord(locator));
  }
  return {bounded(record.at<std::uint32_t>(16), total), bounded(record.at<std::uint32_t>(12), total),
          record.at<std::uint16_t>(10)};
}

/// Replaces what the 32-bit fields could not hold by the 64-bit numbers of the extra field.
void read_extra_field(std::string_view extra, bool unpacked, bool packed, bool position, ZipEntry& entry,
                      std::int64_t total) {
  constexpr std::uint16_t zip64 = 1;
  while (extra.size() >= 4) {
    const ZipRecord record(extra);
    const auto size = std::int64_t{record.at<std::uint16_t>(2)};
    const ZipRecord data(record.part(4, size));
    if (record.at<std::uint16_t>(0) == zip64) {
      constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
      std::int64_t at = 0;
      const auto next = [&](std::int64_t bound) {
        return bounded(data.at<std::uint64_t>(std::exchange(at, at + 8)), bound);
      };
      if (unpacked) entry.unpacked_bytes = next(most);
      if (packed) entry.packed_bytes = next(total);
      if (position) entry.header_position = next(total);
      return;
    }
    extra.remove_prefix(static_cast<std::size_t>(4 + size));
  }
  if (unpacked || packed || position) corrupt("the 64-bit size of a member is missing");
}

/// The entry at the start of `bytes`, which is taken off.
ZipEntry take_entry(std::string_view& bytes, std::int64_t total) {
  if (!bytes.starts_with(directory_signature)) corrupt("an entry of its directory is missing");
  const ZipRecord record(bytes);
  ZipEntry entry;
  entry.flags = record.at<std::uint16_t>(8);
  entry.method = record.at<std::uint16_t>(10);
  entry.checksum = record.at<std::uint32_t>(16);
  const auto packed = record.at<std::uint32_t>(20);
  const auto unpacked = record.at<std::uint32_t>(24);
  const auto position = record.at<std::uint32_t>(42);
  const auto name_bytes = std::int64_t{record.at<std::uint16_t>(28)};
  const auto extra_bytes = std::int64_t{record.at<std::uint16_t>(30)};
  const auto comment_bytes = std::int64_t{record.at<std::uint16_t>(32)};
  entry.name = record.part(entry_bytes, name_bytes);
  entry.packed_bytes = packed;
  entry.unpacked_bytes = unpacked;
  entry.header_position = position;
  read_extra_field(record.part(entry_bytes + name_bytes, extra_bytes), unpacked == in_extra_field,
                   packed == in_extra_field, position == in_extra_field, entry, total);
  const std::int64_t size = entry_bytes + name_bytes + extra_bytes + comment_bytes;
  static_cast<void>(record.part(0, size));
  bytes.remove_prefix(static_cast<std::size_t>(size));
  return entry;
}

std::vector<ZipEntry> read_entries(TextSource& source, std::int64_t total) {
  if (total < end_bytes) corrupt("it is cut off");
  const Directory directory = find_directory(source, total);
  if (directory.bytes > total - directory.position) corrupt("its directory is beyond its end");
  const std::string text = read_part(source, directory.position, directory.bytes);
  std::string_view bytes = text;
  std::vector<ZipEntry> entries;
  for (std::int64_t k = 0; k < directory.entries; ++k) entries.push_back(take_entry(bytes, total));
  return entries;
}

/// A member's data, from `position` on.
class ZipMember : public TextSource {
 public:
  ZipMember(TextSource& archive, std::int64_t position, ZipEntry entry)
      : archive_(archive), position_(position), entry_(std::move(entry)) {
    if (deflated() && inflateInit2(&stream_, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
    if (deflated()) input_.resize(std::size_t{1} << 16);
  }
  ZipMember(const ZipMember&) = delete;
  ZipMember& operator=(const ZipMember&) = delete;
  ~ZipMember() override {
    if (deflated()) inflateEnd(&stream_);
  }

  std::size_t read(char* target, std::size_t size) override {
    if (size == 0) return 0;
    const std::size_t count = deflated() ? inflate_some(target, size) : read_packed(target, size);
    checksum_ = crc32_z(checksum_, reinterpret_cast<const Bytef*>(target), count);
    unpacked_ += static_cast<std::int64_t>(count);
    if (unpacked_ > entry_.unpacked_bytes || (count == 0 && unpacked_ < entry_.unpacked_bytes)) {
      corrupt("the length of a member differs from that in its directory");
    }
    if (count == 0 && checksum_ != entry_.checksum) corrupt("the checksum of a member is wrong");
    return count;
  }
  void rewind() override {
    archive_.seek(position_);
    taken_ = 0;
    unpacked_ = 0;
    checksum_ = 0;
    stream_.avail_in = 0;
    at_end_ = false;
    if (deflated()) inflateReset(&stream_);
  }
  [[nodiscard]] std::int64_t stored_bytes() const override { return entry_.packed_bytes; }

 private:
  [[nodiscard]] bool deflated() const { return entry_.method == 8; }

  std::size_t read_packed(char* target, std::size_t size) {
    const auto left = static_cast<std::size_t>(entry_.packed_bytes - taken_);
    const std::size_t count = archive_.read(target, std::min(size, left));
    taken_ += static_cast<std::int64_t>(count);
    return count;
  }

  std::size_t inflate_some(char* target, std::size_t size) {
    const auto wanted =
        static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<std::int32_t>::max()));
    stream_.next_out = reinterpret_cast<Bytef*>(target);
    stream_.avail_out = wanted;
    while (stream_.avail_out == wanted && !at_end_) {
      if (stream_.avail_in == 0) {
        stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
        stream_.avail_in = static_cast<uInt>(read_packed(input_.data(), input_.size()));
        if (stream_.avail_in == 0) corrupt("a member's deflated data ends too early");
      }
      const int result = inflate(&stream_, Z_NO_FLUSH);
      at_end_ = result == Z_STREAM_END;
      if (result == Z_MEM_ERROR) throw std::bad_alloc();
      if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
        corrupt("a member's deflated data cannot be unpacked");
      }
    }
    return wanted - stream_.avail_out;
  }

  TextSource& archive_;
  std::int64_t position_;
  ZipEntry entry_;
  std::int64_t taken_ = 0;  // packed bytes
  std::int64_t unpacked_ = 0;
  uLong checksum_ = 0;
  std::vector<char> input_;
  z_stream stream_{};
  bool at_end_ = false;
};

}  // namespace

ZipArchive::ZipArchive(TextSource& source, std::string name) : source_(source), name_(std::move(name)) {
  try {
    total_bytes_ = source_.total_bytes();
    entries_ = read_entries(source_, total_bytes_);
  } catch (const SourceFailure& failure) {
    throw ParseError(name_, 0, 0, failure.what());
  }
}

std::unique_ptr<TextSource> ZipArchive::open(const ZipEntry& entry) const {
  constexpr std::uint16_t encrypted = 1;
  try {
    if ((entry.flags & encrypted) != 0) throw SourceFailure("an encrypted archive");
    if (entry.method != 0 && entry.method != 8) {
      throw SourceFailure(
          fmt::format("compression method {}: stored (0) and deflated (8) members are read", entry.method));
    }
    if (entry.header_position > total_bytes_ - local_bytes) corrupt("a member is beyond its end");
    const std::string header = read_part(source_, entry.header_position, local_bytes);
    if (!header.starts_with(local_signature)) corrupt("a member's header is missing");
    const ZipRecord record(header);
    const std::int64_t position =
        entry.header_position + local_bytes + record.at<std::uint16_t>(26) + record.at<std::uint16_t>(28);
    if (entry.packed_bytes > total_bytes_ - position) corrupt("a member is beyond its end");
    auto member = std::make_unique<ZipMember>(source_, position, entry);
    member->rewind();
    return member;
  } catch (const SourceFailure& failure) {
    throw ParseError(name_, 0, 0, fmt::format("{}: {}", quoted(entry.name), failure.what()));
  }
}

}  // namespace echelon::io
