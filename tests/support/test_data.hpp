// SPDX-License-Identifier: BSD-3-Clause
/// Folders that tests read and the fixture of tests on real matrices.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>

namespace echelon::test {

/// Root of the source tree.
std::filesystem::path source_directory();

/// data/: the matrices that the repository ships for users and tests.
std::filesystem::path data_directory();

/// tests/data/: small files that only tests read.
std::filesystem::path test_data_directory();

/// Folder of a larger collection of real matrices, named by the environment variable ECHELON_TEST_DATA; it
/// has a catalogue.csv and one folder per kind of matrix. Empty if the variable is not set.
std::filesystem::path real_matrices();

/// Tests on the collection real_matrices(). Without it all of them are skipped, which ctest
/// counts as one skipped test.
class RealMatrices : public ::testing::Test {
 protected:
  void SetUp() override;
};

}  // namespace echelon::test
