// SPDX-License-Identifier: BSD-3-Clause
#include "support/workspace_pool.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>

namespace echelon::test {
namespace {

struct Numbered {
  int number;
};

class WorkspacePoolTest : public ::testing::Test {
 protected:
  template <class F>
  auto with_workspace(const F& f) {
    return pool.with_workspace([this] { return std::make_unique<Numbered>(Numbered{++made}); }, f);
  }
  int idle() const {
    int count = 0;
    pool.for_each_idle([&](const Numbered&) { ++count; });
    return count;
  }

  WorkspacePool<Numbered> pool;
  int made = 0;
};

TEST_F(WorkspacePoolTest, RepeatedCall_ReusesWorkspace) {
  const auto number = [](const Numbered& workspace) { return workspace.number; };
  EXPECT_EQ(with_workspace(number), 1);
  EXPECT_EQ(with_workspace(number), 1);
  EXPECT_EQ(idle(), 1);
}

TEST_F(WorkspacePoolTest, OverlappingCalls_GetOneEach) {
  const int inner = with_workspace([&](const Numbered& outer) {
    EXPECT_EQ(outer.number, 1);
    EXPECT_EQ(idle(), 0);
    return with_workspace([](const Numbered& workspace) { return workspace.number; });
  });
  EXPECT_EQ(inner, 2);
  EXPECT_EQ(idle(), 2);
}

TEST_F(WorkspacePoolTest, ThrowingCall_DestroysWorkspace) {
  EXPECT_THROW(with_workspace([](const Numbered&) -> int { throw std::runtime_error("broken"); }),
               std::runtime_error);
  EXPECT_EQ(idle(), 0);
}

TEST_F(WorkspacePoolTest, Take_EmptyPool_IsNull) {
  EXPECT_EQ(pool.take(), nullptr);
  pool.give_back(std::make_unique<Numbered>(Numbered{7}));
  EXPECT_EQ(pool.take()->number, 7);
  EXPECT_EQ(pool.take(), nullptr);
}

TEST_F(WorkspacePoolTest, Clear_DestroysIdleWorkspaces) {
  with_workspace([](const Numbered&) { return 0; });
  pool.clear();
  EXPECT_EQ(idle(), 0);
  EXPECT_EQ(with_workspace([](const Numbered& workspace) { return workspace.number; }), 2);
}

}  // namespace
}  // namespace echelon::test
