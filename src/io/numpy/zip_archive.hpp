// SPDX-License-Identifier: BSD-3-Clause
/// Members of a ZIP archive, stored or deflated: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
#pragma once

#include "io/text/source.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace echelon::io {

struct ZipEntry {
  std::string name;
  std::uint16_t flags = 0;
  std::uint16_t method = 0;    ///< 0 stored, 8 deflated
  std::uint32_t checksum = 0;  ///< CRC-32 of the unpacked data
  std::int64_t packed_bytes = 0;
  std::int64_t unpacked_bytes = 0;
  std::int64_t header_position = 0;  ///< of the local header, from the archive's first byte
};

/// The archive in a source, which must outlive it. Members read from that source, so only one may be in use.
class ZipArchive {
 public:
  /// Reads the central directory. Throws ParseError; `name` stands for the archive in messages.
  ZipArchive(TextSource& source, std::string name);

  [[nodiscard]] const std::vector<ZipEntry>& entries() const { return entries_; }
  /// The unpacked data. Its end is reached only if the length and the checksum agree with the directory;
  /// otherwise read() throws SourceFailure. Throws ParseError for a method that is not supported.
  [[nodiscard]] std::unique_ptr<TextSource> open(const ZipEntry& entry) const;

 private:
  TextSource& source_;
  std::string name_;
  std::int64_t total_bytes_ = 0;
  std::vector<ZipEntry> entries_;
};

}  // namespace echelon::io
