// SPDX-License-Identifier: BSD-3-Clause
#include "support/problems.hpp"
#include "support/stopwatch.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>
#include <thread>

namespace echelon::test {
namespace {

/// The partitions of a band matrix take nearly all the time; the request is checked within them.
TEST(BandedCancel, DuringTheElimination) {
  const Csr<double> A = poisson(300);
  BandedLu<double> solver(Device::openmp(2));
  ASSERT_EQ(solver.setup(A).status,
            Status::ready);  // starts threads, and writes to memory for the first time
  const Stopwatch whole;
  ASSERT_EQ(solver.setup(A).status, Status::ready);
  const double seconds = whole.seconds();
  std::stop_source source;
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::duration<double>(0.1 * seconds));
    source.request_stop();
  });
  const Stopwatch cancelled;
  EXPECT_EQ(solver.setup(A, {.cancel = source.get_token()}).status, Status::cancelled);
  EXPECT_LT(cancelled.seconds(), 0.7 * seconds);
  canceller.join();
  EXPECT_EQ(solver.setup(A).status, Status::ready);
}

TEST(BandedCancel, BeforeTheSetUp) {
  const Csr<double> A = poisson(20);
  for (const Device& device : {Device::serial(), Device::openmp(2)}) {
    BandedLu<double> solver(device);
    std::stop_source source;
    source.request_stop();
    EXPECT_EQ(solver.setup(A, {.cancel = source.get_token()}).status, Status::cancelled);
  }
}

}  // namespace
}  // namespace echelon::test
