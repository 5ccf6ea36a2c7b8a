// SPDX-License-Identifier: BSD-3-Clause
#include "backend/opencl/pool.hpp"

#include <iterator>

namespace echelon::opencl {

void BlockPool::add_block(void* address, std::size_t bytes) {
  auto* const begin = static_cast<char*>(address);
  blocks_.emplace(begin, bytes);
  mark_free(ranges_.emplace(begin, RangeState{bytes, true, no_queue}).first);
  total_ += bytes;
}

std::optional<BlockPool::Allocation> BlockPool::take(std::size_t bytes) {
  const std::size_t size = (bytes + alignment - 1) / alignment * alignment;
  const auto found = free_.lower_bound({size, nullptr});
  if (found == free_.end()) return std::nullopt;
  const auto range = ranges_.find(found->second);
  free_.erase(found);
  if (range->second.bytes > size) {
    const RangeState rest{range->second.bytes - size, true, range->second.last_user};
    range->second.bytes = size;
    mark_free(ranges_.emplace_hint(std::next(range), range->first + size, rest));
  }
  range->second.is_free = false;
  used_ += size;
  return Allocation{range->first, range->second.last_user};
}

void BlockPool::release(void* address, Queue queue) {
  const auto range = ranges_.find(static_cast<char*>(address));
  used_ -= range->second.bytes;
  range->second.last_user = queue;
  mark_free(range);
  join_next(range);
  if (range != ranges_.begin()) join_next(std::prev(range));
}

std::optional<void*> BlockPool::remove_free_block() {
  for (auto found = free_.rbegin(); found != free_.rend(); ++found) {
    const auto block = blocks_.find(found->second);
    if (block == blocks_.end() || block->second != found->first) continue;
    void* const address = block->first;
    total_ -= block->second;
    ranges_.erase(block->first);
    free_.erase(std::next(found).base());
    blocks_.erase(block);
    return address;
  }
  return std::nullopt;
}

void BlockPool::mark_free(Ranges::iterator range) {
  range->second.is_free = true;
  free_.emplace(range->second.bytes, range->first);
}

void BlockPool::join_next(Ranges::iterator range) {
  const auto next = std::next(range);
  if (next == ranges_.end() || !range->second.is_free || !next->second.is_free) return;
  if (blocks_.contains(next->first)) return;
  free_.erase({range->second.bytes, range->first});
  free_.erase({next->second.bytes, next->first});
  if (range->second.last_user != next->second.last_user) range->second.last_user = any_queue();
  range->second.bytes += next->second.bytes;
  ranges_.erase(next);
  free_.emplace(range->second.bytes, range->first);
}

}  // namespace echelon::opencl
