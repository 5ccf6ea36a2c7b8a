// SPDX-License-Identifier: BSD-3-Clause
/// Line and column of a position in text that is read in blocks.
#pragma once

#include "io/text/line_blocks.hpp"

#include <echelon/error.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace echelon::io {

/// Position where the next block begins.
class TextPosition {
 public:
  TextPosition(std::string name, std::int64_t line) : name_(std::move(name)), line_(line) {}

  /// Advances past `text`, which has `line_ends`.
  void pass(std::string_view text, std::int64_t line_ends) {
    line_ += line_ends;
    column_ = static_cast<std::int64_t>(text.size() - (text.rfind('\n') + 1)) + 1;
  }
  /// Throws the ParseError for the position `at` in the next block.
  [[noreturn]] void fail(std::string_view text, const char* at, const std::string& reason) const {
    const std::string_view before = text.substr(0, static_cast<std::size_t>(at - text.data()));
    const std::int64_t line = line_ + std::count(before.begin(), before.end(), '\n');
    const auto column = static_cast<std::int64_t>(before.size() - (before.rfind('\n') + 1)) + 1;
    throw ParseError(name_, line, column, reason);
  }
  /// Throws the ParseError for the position after all text passed.
  [[noreturn]] void fail(const std::string& reason) const { throw ParseError(name_, line_, column_, reason); }
  /// Throws if reading stopped before the end of the text.
  void finish(const LineBlocks& blocks) const {
    if (blocks.failure()) throw ParseError(name_, line_, blocks.failure()->column, blocks.failure()->reason);
  }

 private:
  std::string name_;
  std::int64_t line_;
  std::int64_t column_ = 1;
};

}  // namespace echelon::io
