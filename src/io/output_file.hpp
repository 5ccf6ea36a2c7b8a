// SPDX-License-Identifier: BSD-3-Clause
/// Files that appear whole or not at all.
#pragma once

#include "io/text/sink.hpp"

#include <string>
#include <string_view>

namespace echelon::io {

/// Writes to a temporary file beside `path`, which commit() renames to `path`; without commit() it is
/// removed. The new file gets the permissions of the one that it replaces. A pipe or a device such as
/// /dev/stdout is written directly. gzip if the name ends in .gz. All members throw ParseError if writing
/// fails.
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
  std::string target_;     // `path` with symbolic links resolved
  std::string temporary_;  // empty when written directly
  int file_ = -1;
  void* gzip_ = nullptr;
};

}  // namespace echelon::io
