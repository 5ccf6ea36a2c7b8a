// SPDX-License-Identifier: BSD-3-Clause
/// Sources of text: a file, plain or gzip, or memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace echelon::io {

/// Failure to read further; `what()` gives the reason. Used in this folder only: the parser, which knows the
/// line, converts it to a ParseError.
class SourceFailure : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Bytes in sequence, which can be read again. Holds a small buffer at most, however much a gzip file expands
/// to.
class TextSource {
 public:
  virtual ~TextSource() = default;
  /// Reads up to `size` bytes; returns 0 at the end only. Throws SourceFailure.
  virtual std::size_t read(char* target, std::size_t size) = 0;
  /// Returns to the first byte.
  virtual void rewind() = 0;
  /// Moves to byte `position`, from 0, or to the end if that comes first. Unless overridden, reads all bytes
  /// before it. Throws SourceFailure.
  virtual void seek(std::int64_t position);
  /// Length of the stored file in bytes, compressed or not.
  [[nodiscard]] virtual std::int64_t stored_bytes() const = 0;
  /// Number of bytes that read() delivers from the first to the end; a gzip file is unpacked to count them.
  /// Leaves the source at its first byte. Throws SourceFailure.
  [[nodiscard]] virtual std::int64_t total_bytes();
};

/// Opens a file, or a pipe, whose data is kept in a temporary file since it is read twice. Unpacks gzip,
/// recognised by its first bytes, and skips a UTF-8 byte-order mark. Throws ParseError.
std::unique_ptr<TextSource> open_text(const std::string& path);
/// Opens `text`, which must outlive the result, in the same way.
std::unique_ptr<TextSource> text_in_memory(std::string_view text);

}  // namespace echelon::io
