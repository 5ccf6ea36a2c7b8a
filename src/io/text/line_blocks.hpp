// SPDX-License-Identifier: BSD-3-Clause
/// Blocks of whole lines, parsed by several threads and consumed in file order.
#pragma once

#include "io/text/source.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string>

namespace echelon::io {

/// Makes every carriage return from `begin` on that ends a line a newline; one before a newline is part of
/// that line end and stays. Carriage returns at the end of the text stay as well unless it is the `last`
/// text.
void unify_line_ends(std::string& text, std::size_t begin, bool last);

/// Divides a source into blocks at line ends: LF, CR LF, or CR alone, which is returned as LF. Holds at most
/// two blocks: a line longer than a block is an error.
class LineBlocks {
 public:
  /// Starts at the first byte of `source`.
  LineBlocks(TextSource& source, std::size_t block_bytes);

  /// Reads one line without its end, for headers.
  bool next_line(std::string& line);
  /// Reads whole lines of about `block_bytes` in all. Returns false at the end of the text or at a failure.
  bool next(std::string& block);

  struct Failure {
    std::string reason;
    std::int64_t column = 0;  ///< from 1, in the line after the last one returned
  };
  /// Reason why reading stopped before the end of the text.
  [[nodiscard]] const std::optional<Failure>& failure() const { return failure_; }

 private:
  void fill();
  void stop(const std::string& reason);

  TextSource& source_;
  std::size_t block_bytes_;
  std::string ahead_;  // text that was read; from begin_ on, not yet returned
  std::size_t begin_ = 0;
  bool at_end_ = false;
  std::optional<Failure> failure_;
};

/// Each thread reads the next block, calls `parse(text, result)` with a Result of its own, waits until all
/// earlier blocks are consumed, and calls `consume(text, result)`. An exception, that of the first block to
/// throw one, stops all threads and is rethrown.
template <class Result, class Parse, class Consume>
void for_each_block(LineBlocks& blocks, int threads, Parse parse, Consume consume) {
  std::mutex reading;
  std::int64_t blocks_read = 0;
  std::atomic<std::int64_t> next_consumed = 0;
  std::atomic<bool> stopped = false;
  std::exception_ptr thrown;

  const auto take = [&](std::string& text) -> std::int64_t {
    const std::lock_guard lock(reading);
    return !stopped && blocks.next(text) ? blocks_read++ : -1;
  };
  const auto wait_for_earlier = [&](std::int64_t block) {
    for (std::int64_t next = next_consumed; next != block; next = next_consumed) next_consumed.wait(next);
  };
  const auto work = [&] {
    std::string text;
    Result result;
    for (std::int64_t block = take(text); block >= 0; block = take(text)) {
      std::exception_ptr problem;
      try {
        parse(text, result);
      } catch (...) {
        problem = std::current_exception();
      }
      wait_for_earlier(block);
      try {
        if (problem) std::rethrow_exception(problem);
        if (!stopped) consume(text, result);
      } catch (...) {
        if (!stopped.exchange(true)) thrown = std::current_exception();
      }
      next_consumed = block + 1;
      next_consumed.notify_all();
    }
  };
#pragma omp parallel num_threads(threads)
  {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(reading);
      if (!stopped.exchange(true)) thrown = std::current_exception();
    }
  }
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace echelon::io
