// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace echelon::opencl {

/// Memory in large blocks, from which allocations are taken: a kernel is told all blocks whose memory it may
/// use, so that there should be few. Knows addresses only, and never touches the memory. Not thread-safe.
///
/// A free range remembers the queue whose work may still use it.
class BlockPool {
 public:
  /// Sizes and addresses are multiples of it, as long as those of blocks are. OpenCL grants no more.
  static constexpr std::size_t alignment = 128;
  using Queue = const void*;
  static constexpr Queue no_queue = nullptr;
  /// Several queues.
  [[nodiscard]] static Queue any_queue() { return &any_queue_; }

  struct Allocation {
    void* address;
    Queue last_user;  ///< whose work has to end before another queue uses the memory
  };

  /// Adds a block of free memory.
  void add_block(void* address, std::size_t bytes);
  /// Takes the smallest free range that is large enough; nothing if there is none. bytes > 0.
  [[nodiscard]] std::optional<Allocation> take(std::size_t bytes);
  /// Returns an allocation, which work of `queue` may still use.
  void release(void* address, Queue queue);
  /// Removes a block that is free as a whole, the largest one; nothing if there is none.
  std::optional<void*> remove_free_block();

  [[nodiscard]] std::size_t used() const { return used_; }    ///< bytes of allocations
  [[nodiscard]] std::size_t total() const { return total_; }  ///< bytes of blocks
  /// Address and size of each block.
  [[nodiscard]] const std::map<char*, std::size_t>& blocks() const { return blocks_; }

 private:
  struct RangeState {
    std::size_t bytes;
    bool is_free;
    Queue last_user;
  };
  using Ranges = std::map<char*, RangeState>;

  void mark_free(Ranges::iterator range);
  /// Joins a range with the next one, if both are free and in one block.
  void join_next(Ranges::iterator range);

  inline static char any_queue_ = 0;
  std::map<char*, std::size_t> blocks_;
  Ranges ranges_;                                 // cover the blocks
  std::set<std::pair<std::size_t, char*>> free_;  // free ranges by size
  std::size_t used_ = 0;
  std::size_t total_ = 0;
};

}  // namespace echelon::opencl
