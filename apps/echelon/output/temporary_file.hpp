// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <utility>

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

/// A new file, removed by the destructor unless commit() has renamed it. All members throw WriteError.
class TemporaryFile {
 public:
  /// Creates the file beside `target`, which must be a path without symbolic links in its last part.
  explicit TemporaryFile(const std::string& target);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Hands the open descriptor over to the caller, who closes it.
  [[nodiscard]] int release_descriptor() { return std::exchange(descriptor_, -1); }
  /// Replaces `target` by this file, which gets the permissions of `target`, or those of any new file.
  void commit(const std::string& target);

 private:
  std::string path_;
  int descriptor_ = -1;
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
