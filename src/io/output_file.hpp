// SPDX-License-Identifier: BSD-3-Clause
/// Files that appear whole or not at all.
#pragma once

#include "io/text/sink.hpp"

#include <string>
#include <string_view>

namespace echelon::io {

/// Collects text in a file beside `path`, which takes that name in commit(); without it, nothing remains. A
/// file that is replaced leaves its permissions to the new one.
/// What is not a file (a pipe, /dev/stdout) is written directly. gzip when the name ends in .gz.
/// All members throw ParseError when something cannot be written.
class OutputFile : public TextSink {
 public:
  explicit OutputFile(const std::string& path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() override;

  void write(std::string_view text) override;
  void commit();

 private:
  [[noreturn]] void fail(const std::string& what) const;
  void open_beside();

  std::string path_;       // as the caller gave it
  std::string target_;     // behind symbolic links
  std::string temporary_;  // empty when written directly
  int file_ = -1;
  void* gzip_ = nullptr;
};

}  // namespace echelon::io
