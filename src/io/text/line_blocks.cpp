// SPDX-License-Identifier: BSD-3-Clause
#include "io/text/line_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace echelon::io {

namespace {

/// Whether a carriage return from `begin` on is followed by another character than a newline, or by nothing.
/// In vectors, since every character of every file passes through here.
bool has_lone_return(std::string_view text, std::size_t begin) {
  int found = 0;
#pragma omp simd reduction(| : found)
  for (std::size_t k = begin + 1; k < text.size(); ++k) {
    found |= static_cast<int>(text[k - 1] == '\r') & static_cast<int>(text[k] != '\n');
  }
  return found != 0 || text.ends_with('\r');
}

}  // namespace

void unify_line_ends(std::string& text, std::size_t begin, bool last) {
  if (!has_lone_return(text, begin)) return;
  for (std::size_t at = text.find('\r', begin); at != std::string::npos; at = text.find('\r', at)) {
    std::size_t stop = at + 1;
    while (stop < text.size() && text[stop] == '\r') ++stop;
    if (stop == text.size() && !last) return;
    if (stop == text.size() || text[stop] != '\n') text.replace(at, stop - at, stop - at, '\n');
    at = stop;
  }
}

LineBlocks::LineBlocks(TextSource& source, std::size_t block_bytes)
    : source_(source), block_bytes_(block_bytes) {
  source_.rewind();
}

/// Reads until `ahead_` holds a block or the text ends.
void LineBlocks::fill() {
  ahead_.erase(0, begin_);
  begin_ = 0;
  const std::size_t undecided = ahead_.find_last_not_of('\r') + 1;
  std::size_t size = ahead_.size();
  ahead_.resize(std::max(size, block_bytes_));
  std::optional<std::string> problem;
  try {
    while (!at_end_ && size < ahead_.size()) {
      const std::size_t count = source_.read(ahead_.data() + size, ahead_.size() - size);
      size += count;
      at_end_ = count == 0;
    }
  } catch (const SourceFailure& failure) {
    problem = failure.what();
  }
  ahead_.resize(size);
  unify_line_ends(ahead_, undecided, at_end_);
  if (!problem && !at_end_ && ahead_.find('\n') == std::string::npos) {
    problem = fmt::format("a line of more than {} bytes", block_bytes_);
  }
  if (problem) stop(*problem);
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
