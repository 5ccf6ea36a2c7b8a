// SPDX-License-Identifier: BSD-3-Clause
/// Files that appear whole or not at all.
#pragma once

#include "backend/api_boundary.hpp"
#include "io/text/sink.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace echelon::io {

/// Writes to a new file, which commit() puts in the place of `path`; without commit() it is removed. The new
/// file has no name until then, so that a process that ends early leaves no file; on a file system
/// without nameless files it is `path`.PID-K.tmp. It gets the permissions of the file that it replaces, and
/// its owner where the process may give files away. A symbolic link is followed, also if the file that it
/// leads to does not exist. A pipe, a device such as /dev/stdout or a file without a name is written
/// directly. gzip if the name ends in .gz. All members throw ParseError if writing fails.
class OutputFile : public TextSink {
 public:
  explicit OutputFile(const std::string& path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() override;

  void write(std::string_view text) override;
  void commit();

 private:
  class Gzip;

  [[noreturn]] void fail(const std::string& what) const;
  void open_beside();
  void keep_ownership() const;
  /// Calls create(name) with temporary names until it succeeds or fails for another reason than that the name
  /// exists; returns whether it succeeded.
  template <class Create>
  bool with_temporary_name(const Create& create);
  void write_bytes(std::string_view bytes);

  std::string path_;       // as the caller gave it
  std::string target_;     // `path` with symbolic links resolved
  std::string temporary_;  // name of the new file, if it has one
  bool replaces_ = false;  // a new file is written, which takes the place of target_
  int file_ = -1;
  std::unique_ptr<Gzip> gzip_;
};

/// Calls write(sink) with a sink for the file, which appears if the call succeeds.
template <class Write>
void write_file(const std::string& path, const Write& write) {
  at_api_boundary([&] {
    OutputFile file(path);
    write(file);
    file.commit();
  });
}

}  // namespace echelon::io
