// SPDX-License-Identifier: BSD-3-Clause
#include "io/support/binary_reader.hpp"

#include "io/support/complex_numbers.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>

#include <utility>

namespace echelon::io {

BinaryReader::BinaryReader(TextSource& source, std::string name) : source_(source), name_(std::move(name)) {
  try {
    total_ = source_.total_bytes();
  } catch (const SourceFailure& failure) {
    throw ParseError(name_, 0, 0, failure.what());
  }
}

void BinaryReader::require(std::int64_t count, std::int64_t size, const std::string& what) const {
  if (count <= left() / size) return;
  fail(fmt::format("{} {} take more than the {} bytes that are left; is the file cut off?", count, what,
                   left()));
}

void BinaryReader::read(char* target, std::int64_t bytes) {
  while (bytes > 0) {
    std::size_t count = 0;
    try {
      count = source_.read(target, static_cast<std::size_t>(bytes));
    } catch (const SourceFailure& failure) {
      fail(failure.what());
    }
    if (count == 0) fail("the file ends here, too early; is it cut off?");
    target += count;
    bytes -= static_cast<std::int64_t>(count);
    position_ += static_cast<std::int64_t>(count);
  }
}

void BinaryReader::skip(std::int64_t bytes) {
  std::vector<char> buffer(static_cast<std::size_t>(std::min<std::int64_t>(bytes, std::int64_t{1} << 18)));
  while (bytes > 0) {
    const auto size = std::min(bytes, static_cast<std::int64_t>(buffer.size()));
    read(buffer.data(), size);
    bytes -= size;
  }
}

void BinaryReader::fail_at(std::int64_t position, const std::string& reason) const {
  throw ParseError(name_, 0, 0, fmt::format("at byte {}: {}", position, reason));
}

void BinaryReader::fail_complex(std::int64_t position) const {
  throw ComplexNumbers(name_, 0, position + 1);
}

void BinaryReader::fail_value(std::int64_t position, double value, bool single) const {
  if (std::isfinite(value)) {
    fail_at(position,
            fmt::format("{} is more than {} precision can hold", value, single ? "single" : "double"));
  }
  fail_at(position, fmt::format("{}: entries must be finite", value));
}

}  // namespace echelon::io
