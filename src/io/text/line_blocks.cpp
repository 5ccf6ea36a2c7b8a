// SPDX-License-Identifier: BSD-3-Clause
#include "io/text/line_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace echelon::io {

LineBlocks::LineBlocks(TextSource& source, std::size_t block_bytes)
    : source_(source), block_bytes_(block_bytes) {
  source_.rewind();
}

/// Reads until `ahead_` holds a block or the text ends.
void LineBlocks::fill() {
  ahead_.erase(0, begin_);
  begin_ = 0;
  std::size_t size = ahead_.size();
  ahead_.resize(std::max(size, block_bytes_));
  try {
    while (!at_end_ && size < ahead_.size()) {
      const std::size_t count = source_.read(ahead_.data() + size, ahead_.size() - size);
      size += count;
      at_end_ = count == 0;
    }
    ahead_.resize(size);
  } catch (const SourceFailure& failure) {
    ahead_.resize(size);
    stop(failure.what());
  }
  if (!at_end_ && ahead_.find('\n') == std::string::npos) {
    stop(fmt::format("a line of more than {} bytes", block_bytes_));
  }
}

/// Ends the text after the last whole line that was read.
void LineBlocks::stop(const std::string& reason) {
  const std::size_t whole_lines = ahead_.rfind('\n') + 1;
  failure_ = Failure{reason, static_cast<std::int64_t>(ahead_.size() - whole_lines) + 1};
  ahead_.resize(whole_lines);
  at_end_ = true;
}

bool LineBlocks::next_line(std::string& line) {
  std::size_t end = ahead_.find('\n', begin_);
  if (end == std::string::npos) {
    fill();
    end = ahead_.find('\n');
  }
  if (begin_ == ahead_.size()) return false;
  line = ahead_.substr(begin_, end - begin_);
  begin_ = end == std::string::npos ? ahead_.size() : end + 1;
  return true;
}

bool LineBlocks::next(std::string& block) {
  fill();
  const std::size_t whole_lines = at_end_ ? ahead_.size() : ahead_.rfind('\n') + 1;
  block.swap(ahead_);
  ahead_.assign(block, whole_lines);
  block.resize(whole_lines);
  return whole_lines > 0;
}

}  // namespace echelon::io
