// SPDX-License-Identifier: BSD-3-Clause
/// The tests' main(). Exits with 77, which ctest counts as skipped, if every selected test was skipped.
#include <gtest/gtest.h>

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  const ::testing::UnitTest& tests = *::testing::UnitTest::GetInstance();
  const bool all_skipped = tests.skipped_test_count() > 0 && tests.successful_test_count() == 0;
  return failed == 0 && all_skipped ? 77 : failed;
}
