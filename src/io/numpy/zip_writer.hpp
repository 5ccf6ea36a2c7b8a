// SPDX-License-Identifier: BSD-3-Clause
/// Writer of ZIP archives whose members are stored as they are:
/// https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
#pragma once

#include "io/numpy/zip_archive.hpp"
#include "io/text/sink.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace echelon::io {

class ZipWriter {
 public:
  explicit ZipWriter(TextSink& sink) : sink_(sink) {}

  /// Adds a member. `write` is called twice, the first time for the length and the checksum, which precede
  /// the data: it writes the same both times.
  void add(const std::string& name, const std::function<void(TextSink&)>& write);
  /// Writes the directory. No member may follow.
  void finish();

 private:
  void put(std::string_view bytes);

  TextSink& sink_;
  std::int64_t position_ = 0;
  std::vector<ZipEntry> entries_;
};

}  // namespace echelon::io
