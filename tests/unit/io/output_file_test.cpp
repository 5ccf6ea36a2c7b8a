// SPDX-License-Identifier: BSD-3-Clause
#include "io/support/output_file.hpp"

#include "unit/io/file_support.hpp"

#include <echelon/error.hpp>
#include <echelon/io/files.hpp>

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <zlib.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace echelon::io {
namespace {

namespace fs = std::filesystem;
using testing::content_of;
using testing::ScratchFolder;

/// Bytes that gzip cannot make shorter.
std::string random_text(std::size_t size) {
  std::mt19937 random(1);
  std::string text(size, ' ');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

std::string unpacked(const fs::path& path) {
  std::string text;
  std::array<char, 4096> buffer = {};
  const gzFile file = gzopen(path.c_str(), "rb");
  for (int count = 0; (count = gzread(file, buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  gzclose(file);
  return text;
}

/// Lets writes beyond `bytes` of a file fail for the lifetime of the object.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    (void)std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_ = {};
  void (*handler_)(int);
};

TEST(OutputFile, FailedWrite_ErrorAndNoFile) {
  for (const char* name : {"text", "text.gz"}) {
    for (const rlim_t limit : {0, 1, 5000, 300'000, 999'000}) {
      SCOPED_TRACE(std::string(name) + ' ' + std::to_string(limit));
      const ScratchFolder folder;
      const fs::path path = folder.file(name);
      const FileSizeLimit full(limit);
      const auto write = [&] {
        OutputFile file(path);
        const std::string text = random_text(1'000'000);  // freed before the file is closed
        file.write(text);
        file.commit();
      };
      EXPECT_THROW(write(), ParseError);
      EXPECT_EQ(folder.names(), std::vector<std::string>());
    }
  }
}

TEST(OutputFile, InterruptedWrite_Continues) {
  struct sigaction before = {};
  struct sigaction action = {};
  action.sa_handler = [](int) {};  // without SA_RESTART
  sigaction(SIGUSR1, &action, &before);
  const std::string text = random_text(300'000);
  for (const char* name : {"pipe", "pipe.gz"}) {
    SCOPED_TRACE(name);
    const ScratchFolder folder;
    const fs::path pipe = folder.file(name);
    const fs::path copy = folder.file("copy");
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    const pthread_t writer = pthread_self();
    std::thread reader([&] {
      std::ifstream source(pipe, std::ios::binary);
      for (int signals = 0; signals < 20; ++signals) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        pthread_kill(writer, SIGUSR1);
      }
      std::ofstream(copy, std::ios::binary) << source.rdbuf();
    });
    {
      OutputFile file(pipe);
      file.write(text);
      file.commit();
    }
    reader.join();
    EXPECT_TRUE((fs::path(name).extension() == ".gz" ? unpacked(copy) : content_of(copy)) == text);
  }
  sigaction(SIGUSR1, &before, nullptr);
}

TEST(OutputFile, Gzip_ReadsBack) {
  for (const std::size_t size : {0, 1, 1000, 262'144, 3'000'000}) {
    const ScratchFolder folder;
    const fs::path path = folder.file("text.gz");
    const std::string text = random_text(size);
    OutputFile file(path);
    file.write(std::string_view(text).substr(0, size / 3));
    file.write(std::string_view(text).substr(size / 3));
    file.commit();
    EXPECT_TRUE(unpacked(path) == text) << size;
  }
}

TEST(OutputFile, WriteBytes_WholeOrError) {
  const ScratchFolder folder;
  const std::string text = random_text(100'000);
  write_bytes(folder.file("plain"), text);
  EXPECT_EQ(content_of(folder.file("plain")), text);
  write_bytes(folder.file("packed.gz"), text);
  EXPECT_EQ(unpacked(folder.file("packed.gz")), text);
  write_bytes(folder.file("empty"), "");
  EXPECT_EQ(fs::file_size(folder.file("empty")), 0);
  const FileSizeLimit limit(1000);
  EXPECT_THROW(write_bytes(folder.file("plain"), text.substr(1)), ParseError);
  EXPECT_EQ(content_of(folder.file("plain")), text);
}

TEST(OutputFile, ProcessEnds_NothingRemains) {
  const ScratchFolder folder;
  const auto die = [&] {
    OutputFile file(folder.file("text"));
    file.write("text");
    (void)raise(SIGKILL);
  };
  EXPECT_EXIT(die(), ::testing::KilledBySignal(SIGKILL), "");
  EXPECT_EQ(folder.names(), std::vector<std::string>());
}

TEST(OutputFile, DanglingLink_Followed) {
  const ScratchFolder folder;
  fs::create_directory(folder.file("data"));
  fs::create_symlink("second", folder.file("first"));
  fs::create_symlink("data/target", folder.file("second"));
  for (const char* text : {"one", "another"}) {  // the second time, the target exists
    OutputFile file(folder.file("first"));
    file.write(text);
    file.commit();
    EXPECT_TRUE(fs::is_symlink(folder.file("first")));
    EXPECT_TRUE(fs::is_symlink(folder.file("second")));
    EXPECT_FALSE(fs::is_symlink(folder.file("data/target")));
    EXPECT_EQ(content_of(folder.file("data/target")), text);
  }
}

TEST(OutputFile, LinkToItself_Refused) {
  const ScratchFolder folder;
  fs::create_symlink("loop", folder.file("loop"));
  EXPECT_THROW(OutputFile(folder.file("loop")), ParseError);
  EXPECT_TRUE(fs::is_symlink(folder.file("loop")));
}

TEST(OutputFile, Permissions_Kept) {
  const ScratchFolder folder;
  const fs::path path = folder.file("text");
  static_cast<void>(folder.file("text", "before"));
  fs::permissions(path, fs::perms(0640));
  OutputFile file(path);
  file.write("after");
  EXPECT_EQ(content_of(path), "before");
  file.commit();
  EXPECT_EQ(content_of(path), "after");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms(0640));
}

}  // namespace
}  // namespace echelon::io
