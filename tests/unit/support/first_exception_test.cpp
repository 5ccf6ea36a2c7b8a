// SPDX-License-Identifier: BSD-3-Clause
#include "support/first_exception.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

namespace echelon {
namespace {

TEST(FirstException, ThrownByThreads_SeenByOthersAndRethrownOnce) {
  FirstException exception;
  std::atomic<int> calls = 0;
#pragma omp parallel for num_threads(3)
  for (int i = 0; i < 12; ++i) {
    exception.catch_from([&] {
      ++calls;
      if (i % 2 == 0) throw std::runtime_error("even");
    });
  }
  EXPECT_EQ(calls, 12);
  EXPECT_TRUE(exception.caught());
  EXPECT_THROW(exception.rethrow(), std::runtime_error);
  EXPECT_FALSE(exception.caught());
  EXPECT_NO_THROW(exception.rethrow());
}

TEST(FirstException, SeveralOnOneThread_TheFirstIsRethrown) {
  FirstException exception;
  EXPECT_FALSE(exception.caught());
  exception.catch_from([] { throw std::runtime_error("first"); });
  exception.catch_from([] { throw std::logic_error("second"); });
  EXPECT_THROW(exception.rethrow(), std::runtime_error);
}

}  // namespace
}  // namespace echelon
