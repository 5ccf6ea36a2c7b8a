// SPDX-License-Identifier: BSD-3-Clause
/// Text in blocks of whole lines, worked on by several threads, the results taken in file order.
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

/// Cuts a source at line ends. Holds two blocks at most: a line longer than a block ends the text.
class LineBlocks {
 public:
  /// From the first byte of `source` on.
  LineBlocks(TextSource& source, std::size_t block_bytes);

  /// One line without its end, for headers.
  bool next_line(std::string& line);
  /// Whole lines, about `block_bytes` of them. False when there are no more, or none that can be read.
  bool next(std::string& block);

  struct Failure {
    std::string reason;
    std::int64_t column = 0;  ///< from 1, in the line behind the last one handed out
  };
  /// Why the text stopped, unless it simply came to its end.
  [[nodiscard]] const std::optional<Failure>& failure() const { return failure_; }

 private:
  void fill();
  void stop(const std::string& reason);

  TextSource& source_;
  std::size_t block_bytes_;
  std::string ahead_;  // read and, from begin_ on, not yet handed out
  std::size_t begin_ = 0;
  bool at_end_ = false;
  std::optional<Failure> failure_;
};

/// Each thread takes the next block, calls `parse(text, result)` with a Result of its own, waits until all
/// blocks before have been consumed, and calls `consume(text, result)`. An exception, of the first block
/// that throws one, ends the work and is passed on.
template <class Result, class Parse, class Consume>
void for_each_block(LineBlocks& blocks, int threads, Parse parse, Consume consume) {
  std::mutex reading;
  std::int64_t handed_out = 0;
  std::atomic<std::int64_t> turn = 0;
  std::atomic<bool> stopped = false;
  std::exception_ptr thrown;

  const auto take = [&](std::string& text) -> std::int64_t {
    const std::lock_guard lock(reading);
    return !stopped && blocks.next(text) ? handed_out++ : -1;
  };
  const auto wait_for_turn = [&](std::int64_t mine) {
    for (std::int64_t now = turn; now != mine; now = turn) turn.wait(now);
  };
  const auto work = [&] {
    std::string text;
    Result result;
    for (std::int64_t mine = take(text); mine >= 0; mine = take(text)) {
      std::exception_ptr problem;
      try {
        parse(text, result);
      } catch (...) {
        problem = std::current_exception();
      }
      wait_for_turn(mine);
      try {
        if (problem) std::rethrow_exception(problem);
        if (!stopped) consume(text, result);
      } catch (...) {
        if (!stopped.exchange(true)) thrown = std::current_exception();
      }
      turn = mine + 1;
      turn.notify_all();
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
