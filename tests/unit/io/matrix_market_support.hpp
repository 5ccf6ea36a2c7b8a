// SPDX-License-Identifier: BSD-3-Clause
/// Helpers of the Matrix Market tests: reading from memory, scratch files, comparison of bits.
#pragma once

#include "io/support/sources.hpp"

#include <echelon/io/matrix_market.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace echelon::testing {

template <class T>
MatrixMarketFile<T> read_text(std::string_view text, const io::ReadOptions& options = {}) {
  return io::read_matrix_market_source<T>(*io::text_in_memory(text), "memory.mtx", options);
}

template <class T>
std::vector<std::uint64_t> bits(const std::vector<T>& values) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  std::vector<std::uint64_t> result;
  result.reserve(values.size());
  for (const T value : values) result.push_back(std::bit_cast<Bits>(value));
  return result;
}

template <class T>
void expect_same_bits(const Csr<T>& a, const Csr<T>& b) {
  EXPECT_EQ(a.rows(), b.rows());
  EXPECT_EQ(a.columns(), b.columns());
  EXPECT_EQ(a.row_offsets().to_vector(), b.row_offsets().to_vector());
  EXPECT_EQ(a.column_indices().to_vector(), b.column_indices().to_vector());
  EXPECT_EQ(bits(a.values().to_vector()), bits(b.values().to_vector()));
}

template <class T>
void expect_same_bits(const Dense<T>& a, const Dense<T>& b) {
  EXPECT_EQ(a.rows(), b.rows());
  EXPECT_EQ(a.columns(), b.columns());
  EXPECT_EQ(bits(a.to_vector()), bits(b.to_vector()));
}

/// A folder for one test, which the destructor removes.
class ScratchFolder {
 public:
  ScratchFolder()
      : path_(std::filesystem::temp_directory_path() /
              ("echelon-" + std::to_string(::getpid()) + "-" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::create_directories(path_);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() { std::filesystem::remove_all(path_); }

  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }
  [[nodiscard]] std::string file(const std::string& name, std::string_view content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
    return file(name);
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      result.push_back(entry.path().filename().string());
    }
    return result;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace echelon::testing
