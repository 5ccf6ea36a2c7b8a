// SPDX-License-Identifier: BSD-3-Clause
// Sub-allocation of OpenCL memory: addresses alone, so that no driver is needed.
#include "backend/opencl/pool.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <random>
#include <vector>

namespace echelon::test {
namespace {

using opencl::BlockPool;

constexpr std::size_t unit = BlockPool::alignment;

/// Addresses of a block, at multiples of the alignment.
char* block_at(std::size_t place) {
  return reinterpret_cast<char*>((place + 1) << 30);
}

TEST(BlockPool, Empty_TakesNothing) {
  BlockPool pool;
  EXPECT_FALSE(pool.take(1));
  EXPECT_FALSE(pool.remove_free_block());
  EXPECT_EQ(pool.total(), 0U);
}

TEST(BlockPool, SmallestFreeRangeIsTaken) {
  BlockPool pool;
  pool.add_block(block_at(0), 16 * unit);
  pool.add_block(block_at(1), 4 * unit);
  const auto first = pool.take(3 * unit + 1);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->address, block_at(1));
  EXPECT_EQ(first->last_user, BlockPool::no_queue);
  EXPECT_EQ(pool.used(), 4 * unit);
  const auto second = pool.take(1);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->address, block_at(0));
  EXPECT_FALSE(pool.take(16 * unit));
}

TEST(BlockPool, ReleasedRanges_JoinWithinBlock) {
  BlockPool pool;
  pool.add_block(block_at(0), 4 * unit);
  std::vector<void*> taken;
  for (int k = 0; k < 4; ++k) taken.push_back(pool.take(unit)->address);
  EXPECT_FALSE(pool.take(1));
  const int first = 0;
  const int second = 0;
  for (const int k : {1, 3, 0}) pool.release(taken[static_cast<std::size_t>(k)], &first);
  EXPECT_FALSE(pool.take(3 * unit)) << "range 2 is in use";
  EXPECT_FALSE(pool.remove_free_block());
  pool.release(taken[2], &second);
  const auto all = pool.take(4 * unit);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->address, block_at(0));
  EXPECT_EQ(all->last_user, BlockPool::any_queue());
}

TEST(BlockPool, LastUser_IsReleasingQueue) {
  BlockPool pool;
  pool.add_block(block_at(0), 2 * unit);
  const int queue = 0;
  void* const a = pool.take(2 * unit)->address;
  pool.release(a, &queue);
  EXPECT_EQ(pool.take(2 * unit)->last_user, &queue);
}

TEST(BlockPool, FreeBlock_LargestIsRemoved) {
  BlockPool pool;
  pool.add_block(block_at(0), 2 * unit);
  pool.add_block(block_at(1), 8 * unit);
  EXPECT_EQ(pool.remove_free_block(), static_cast<void*>(block_at(1)));
  EXPECT_EQ(pool.total(), 2 * unit);
  EXPECT_FALSE(pool.take(3 * unit));
  EXPECT_EQ(pool.remove_free_block(), static_cast<void*>(block_at(0)));
  EXPECT_TRUE(pool.blocks().empty());
}

TEST(BlockPool, RandomSequence_NoOverlap) {
  BlockPool pool;
  for (std::size_t block = 0; block < 3; ++block) pool.add_block(block_at(block), 1000 * unit);
  std::mt19937 random(1);
  std::map<char*, std::size_t> live;
  for (int step = 0; step < 20'000; ++step) {
    if (random() % 2 == 0 || live.empty()) {
      const std::size_t bytes = 1 + random() % (50 * unit);
      const auto found = pool.take(bytes);
      if (!found) continue;
      auto* const begin = static_cast<char*>(found->address);
      EXPECT_EQ(reinterpret_cast<std::size_t>(begin) % unit, 0U);
      const auto after = live.lower_bound(begin);
      ASSERT_TRUE(after == live.end() || begin + bytes <= after->first);
      ASSERT_TRUE(after == live.begin() || std::prev(after)->first + std::prev(after)->second <= begin);
      live[begin] = bytes;
    } else {
      auto victim = live.begin();
      std::advance(victim, random() % live.size());
      pool.release(victim->first, nullptr);
      live.erase(victim);
    }
  }
  for (const auto& [address, bytes] : live) pool.release(address, nullptr);
  EXPECT_EQ(pool.used(), 0U);
  int removed = 0;
  while (pool.remove_free_block()) ++removed;
  EXPECT_EQ(removed, 3) << "all ranges have been joined";
}

}  // namespace
}  // namespace echelon::test
