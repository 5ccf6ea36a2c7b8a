// SPDX-License-Identifier: BSD-3-Clause
/// Where text comes from: a file, plain or gzip, or memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace echelon::io {

/// The source stops here, for the reason that `what()` gives. Only this folder sees it: who knows the line
/// makes a ParseError of it.
class SourceFailure : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Bytes in sequence, as often as wanted. Holds a small buffer at most, however much a gzip file expands to.
class TextSource {
 public:
  virtual ~TextSource() = default;
  /// Up to `size` bytes; 0 at the end only. Throws SourceFailure.
  virtual std::size_t read(char* target, std::size_t size) = 0;
  /// Back to the first byte.
  virtual void rewind() = 0;
  /// The length of what is stored, compressed or not.
  [[nodiscard]] virtual std::int64_t stored_bytes() const = 0;
  /// The number of bytes that read() delivers in all; for a gzip file they are unpacked to be counted. Leaves
  /// the source at its first byte. Throws SourceFailure.
  [[nodiscard]] virtual std::int64_t total_bytes();
};

/// A file, or what a pipe delivers (kept in a temporary file, since it is read twice). gzip is recognised by
/// its first bytes. Throws ParseError.
std::unique_ptr<TextSource> open_text(const std::string& path);
/// `text`, which must outlive the result.
std::unique_ptr<TextSource> text_in_memory(std::string_view text);

}  // namespace echelon::io
