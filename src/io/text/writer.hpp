// SPDX-License-Identifier: BSD-3-Clause
/// Writer of lines of numbers: shortest decimals that read back to the same bits.
#pragma once

#include "io/text/sink.hpp"

#include <charconv>
#include <cstddef>
#include <string>

namespace echelon::io {

/// Buffers short pieces of text, so that the sink is called with long ones; flush() writes the last.
class TextWriter {
 public:
  explicit TextWriter(TextSink& sink) : sink_(sink) { buffer_.reserve(flush_at + longest_number); }

  template <class V>
  TextWriter& number(V value) {
    const std::size_t size = buffer_.size();
    buffer_.resize(size + longest_number);
    const auto result = std::to_chars(buffer_.data() + size, buffer_.data() + buffer_.size(), value);
    buffer_.resize(static_cast<std::size_t>(result.ptr - buffer_.data()));
    return *this;
  }
  TextWriter& put(char c) {
    buffer_ += c;
    return *this;
  }
  TextWriter& space() { return put(' '); }
  TextWriter& tab() { return put('\t'); }
  void end_line() {
    buffer_ += '\n';
    if (buffer_.size() >= flush_at) flush();
  }
  void flush() {
    sink_.write(buffer_);
    buffer_.clear();
  }

 private:
  static constexpr std::size_t longest_number = 32;
  static constexpr std::size_t flush_at = std::size_t{1} << 18;
  TextSink& sink_;
  std::string buffer_;
};

}  // namespace echelon::io
