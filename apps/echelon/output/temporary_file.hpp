// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace echelon::tool {

/// A new file in the system's folder for temporary files ($TMPDIR) that has no name there: the system removes
/// it when the process ends, however it ends.
class NamelessFile {
 public:
  /// Throws WriteError.
  NamelessFile();
  NamelessFile(const NamelessFile&) = delete;
  NamelessFile& operator=(const NamelessFile&) = delete;
  ~NamelessFile();

  /// A path by which this process can open the file.
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  int descriptor_;
  std::string path_;
};

/// A new folder in the system's folder for temporary files ($TMPDIR), removed with its content by the
/// destructor.
class TemporaryFolder {
 public:
  /// Throws WriteError.
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace echelon::tool
