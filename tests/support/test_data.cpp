// SPDX-License-Identifier: BSD-3-Clause
/// The only file of the tests that knows where the source tree is: the compiler cache can serve the others to
/// any copy.
#include "support/test_data.hpp"

#include <cstdlib>

namespace echelon::test {

std::filesystem::path source_directory() {
  return ECHELON_SOURCE_DIR;
}

std::filesystem::path data_directory() {
  return source_directory() / "data";
}

std::filesystem::path test_data_directory() {
  return source_directory() / "tests/data";
}

std::filesystem::path real_matrices() {
  const char* const folder = std::getenv("ECHELON_TEST_DATA");
  return folder == nullptr ? "" : folder;
}

void RealMatrices::SetUp() {
  if (real_matrices().empty()) GTEST_SKIP() << "ECHELON_TEST_DATA is not set";
  ASSERT_TRUE(std::filesystem::exists(real_matrices() / "catalogue.csv"))
      << "ECHELON_TEST_DATA names " << real_matrices() << ", which has no catalogue.csv";
}

}  // namespace echelon::test
