// SPDX-License-Identifier: BSD-3-Clause
#include "io/numpy/zip_writer.hpp"

#include "io/support/binary_reader.hpp"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstddef>

namespace echelon::io {

namespace {

using namespace std::string_view_literals;

constexpr std::int64_t elsewhere = 0xffffffff;  // stands for a number that the extra field has
constexpr std::int64_t most_entries = 0xffff;
constexpr std::uint16_t version = 20;    // of the format; directories and stored members
constexpr std::uint16_t version64 = 45;  // with 64-bit sizes
constexpr std::uint16_t first_day = 33;  // 1 January 1980: members have no date

/// A record of little-endian integers.
class RecordBuilder {
 public:
  explicit RecordBuilder(std::string_view signature) : bytes_(signature) {}
  template <class V>
  RecordBuilder& add(V value) {
    const V ordered = in_order(value, std::endian::little);
    bytes_.append(reinterpret_cast<const char*>(&ordered), sizeof(V));
    return *this;
  }
  RecordBuilder& add16(std::int64_t value) { return add(static_cast<std::uint16_t>(value)); }
  RecordBuilder& add32(std::int64_t value) { return add(static_cast<std::uint32_t>(value)); }
  /// A number of 64 bits as far as 32 bits hold it; the rest is elsewhere.
  RecordBuilder& add_limited(std::int64_t value) { return add32(std::min(value, elsewhere)); }
  RecordBuilder& append(std::string_view text) {
    bytes_ += text;
    return *this;
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Computes the length and the checksum of what is written.
class Checksum : public TextSink {
 public:
  void write(std::string_view text) override {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t count = std::min<std::size_t>(text.size() - at, std::size_t{1} << 30);
      value = ::crc32(value, reinterpret_cast<const Bytef*>(text.data() + at), static_cast<uInt>(count));
      at += count;
    }
    length += std::ssize(text);
  }
  uLong value = ::crc32(0, nullptr, 0);
  std::int64_t length = 0;
};

bool is_large(std::int64_t value) {
  return value >= elsewhere;
}

/// The extra field with these numbers of 64 bits; empty without any.
std::string extra_field(const std::vector<std::int64_t>& numbers) {
  if (numbers.empty()) return {};
  constexpr std::uint16_t zip64 = 1;
  RecordBuilder field("");
  field.add(zip64).add16(8 * std::ssize(numbers));
  for (const std::int64_t number : numbers) field.add(static_cast<std::uint64_t>(number));
  return field.bytes();
}

std::string local_header(const ZipEntry& entry) {
  const bool large = is_large(entry.unpacked_bytes);
  const std::string extra = large ? extra_field({entry.unpacked_bytes, entry.packed_bytes}) : "";
  RecordBuilder header("PK\3\4"sv);
  header.add(large ? version64 : version).add16(entry.flags).add16(entry.method).add16(0).add(first_day);
  header.add(entry.checksum).add_limited(entry.packed_bytes).add_limited(entry.unpacked_bytes);
  header.add16(std::ssize(entry.name)).add16(std::ssize(extra));
  return header.append(entry.name).append(extra).bytes();
}

std::string directory_entry(const ZipEntry& entry) {
  std::vector<std::int64_t> numbers;
  if (is_large(entry.unpacked_bytes)) numbers = {entry.unpacked_bytes, entry.packed_bytes};
  if (is_large(entry.header_position)) numbers.push_back(entry.header_position);
  const std::string extra = extra_field(numbers);
  const std::uint16_t needed = numbers.empty() ? version : version64;
  RecordBuilder record("PK\1\2"sv);
  record.add(needed).add(needed).add16(entry.flags).add16(entry.method).add16(0).add(first_day);
  record.add(entry.checksum).add_limited(entry.packed_bytes).add_limited(entry.unpacked_bytes);
  record.add16(std::ssize(entry.name)).add16(std::ssize(extra)).add16(0).add16(0).add16(0).add32(0);
  return record.add_limited(entry.header_position).append(entry.name).append(extra).bytes();
}

}  // namespace

void ZipWriter::put(std::string_view bytes) {
  sink_.write(bytes);
  position_ += std::ssize(bytes);
}

void ZipWriter::add(const std::string& name, const std::function<void(TextSink&)>& write) {
  Checksum checksum;
  write(checksum);
  ZipEntry entry;
  entry.name = name;
  entry.checksum = static_cast<std::uint32_t>(checksum.value);
  entry.packed_bytes = entry.unpacked_bytes = checksum.length;
  entry.header_position = position_;
  put(local_header(entry));
  write(sink_);
  position_ += checksum.length;
  entries_.push_back(std::move(entry));
}

void ZipWriter::finish() {
  const std::int64_t directory = position_;
  for (const ZipEntry& entry : entries_) put(directory_entry(entry));
  const std::int64_t bytes = position_ - directory;
  const std::int64_t count = std::ssize(entries_);
  if (is_large(directory) || is_large(bytes) || count >= most_entries) {
    constexpr std::uint64_t rest_of_record = 44;
    const auto wide = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
    RecordBuilder end("PK\6\6"sv);
    end.add(rest_of_record).add(version64).add(version64).add32(0).add32(0);
    end.add(wide(count)).add(wide(count)).add(wide(bytes)).add(wide(directory));
    RecordBuilder locator("PK\6\7"sv);
    locator.add32(0).add(wide(position_)).add32(1);
    put(end.bytes());
    put(locator.bytes());
  }
  RecordBuilder end("PK\5\6"sv);
  const std::int64_t limited = std::min(count, most_entries);
  end.add16(0).add16(0).add16(limited).add16(limited).add_limited(bytes).add_limited(directory).add16(0);
  put(end.bytes());
}

}  // namespace echelon::io
