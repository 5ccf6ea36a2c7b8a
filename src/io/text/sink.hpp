// SPDX-License-Identifier: BSD-3-Clause
/// Destinations of output: a file (OutputFile) or memory.
#pragma once

#include <string>
#include <string_view>

namespace echelon::io {

class TextSink {
 public:
  virtual ~TextSink() = default;
  virtual void write(std::string_view text) = 0;
};

class MemorySink : public TextSink {
 public:
  void write(std::string_view text) override { text_ += text; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace echelon::io
