// SPDX-License-Identifier: BSD-3-Clause
/// A triangular matrix with prescribed statistics of its dependency graph.
///
/// Row i depends on row j < i when a_ij is stored; level 1 holds the rows without dependencies, level l those
/// whose deepest dependency is in level l - 1. The sizes of the levels are fixed first. Each level is
/// distributed evenly over the matrix: block b of nb gets floor((b + 1) s / nb) - floor(b s / nb) rows of a
/// level of s rows, so that blocks are generated independently. No level from the third on is larger than the
/// one before it, so that every row of level l has a row of level l - 1 before it, in the same block or an
/// earlier one.
#include "generate/assemble.hpp"
#include "generate/functions.hpp"
#include "generate/random.hpp"
#include "support/first_exception.hpp"

#include <echelon/error.hpp>
#include <echelon/generate.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace echelon::generate {

namespace {

/// Numbers of the published matrix.
constexpr std::int64_t published_rows = 51'813'503;
constexpr std::int64_t published_nonzeros = 103'565'681;
constexpr std::int64_t published_largest_level = 17'890'330;
/// Number that follows from the average of 2.092111 dependencies over the rows that have any, if all nonzeros
/// are dependencies.
constexpr std::int64_t published_dependent_rows = 49'502'957;
constexpr std::size_t levels = 91;
constexpr std::int64_t most_dependencies = 36;

constexpr std::int64_t rows_of_a_block = 4096;

enum TrianglePurpose : std::uint32_t { arrangement, dependencies, elements };

std::int64_t in_proportion(std::int64_t rows, std::int64_t published) {
  return (2 * rows * published + published_rows) / (2 * published_rows);
}

/// Decreasing sizes from `largest` to 1 that add up to `total`: largest^(1 - t^p) for t from 0 to 1, with p
/// by bisection.
std::vector<std::int64_t> falling_sizes(std::size_t count, std::int64_t largest, std::int64_t total) {
  const double depth = log(static_cast<double>(largest));
  const auto size = [=](std::size_t k, double p) {
    if (k == 0) return static_cast<double>(largest);
    const double t = static_cast<double>(k) / static_cast<double>(count - 1);
    return exp(depth * (1 - power(t, p)));
  };
  double low = 1e-3;
  double high = 1e3;
  for (int step = 0; step < 100; ++step) {
    const double p = std::sqrt(low * high);
    double sum = 0;
    for (std::size_t k = 0; k < count; ++k) sum += size(k, p);
    (sum > static_cast<double>(total) ? high : low) = p;
  }
  std::vector<std::int64_t> sizes(count, 1);
  std::int64_t missing = total - 1;
  for (std::size_t k = 0; k + 1 < count; ++k) {
    sizes[k] = std::clamp(static_cast<std::int64_t>(size(k, low)), std::int64_t{1}, largest);
    missing -= sizes[k];
  }
  // Rows lost by rounding down go to the first levels after the largest, without making a level larger than
  // its predecessor.
  for (std::size_t k = 1; missing > 0; k = k + 2 < count ? k + 1 : 1) {
    if (sizes[k] == sizes[k - 1]) continue;
    ++sizes[k];
    --missing;
  }
  return sizes;
}

/// Sizes of levels and blocks, from which all blocks are generated independently.
class TrianglePlan {
 public:
  TrianglePlan(std::int64_t rows, bool diagonal_counted)
      : rows_(rows), blocks_(std::max<std::int64_t>(1, rows / rows_of_a_block)) {
    const std::int64_t nonzeros = in_proportion(rows, published_nonzeros);
    const std::int64_t largest = in_proportion(rows, published_largest_level);
    const std::int64_t independent =
        diagonal_counted ? largest : rows - in_proportion(rows, published_dependent_rows);
    sizes_ = {independent};
    const std::vector<std::int64_t> rest = diagonal_counted
                                               ? falling_sizes(levels, largest, rows)
                                               : falling_sizes(levels - 1, largest, rows - independent);
    sizes_.insert(sizes_.end(), rest.begin() + (diagonal_counted ? 1 : 0), rest.end());
    starts_.assign(levels + 1, 0);
    for (std::size_t l = 0; l < levels; ++l) starts_[l + 1] = starts_[l] + sizes_[l];
    // Dependencies other than the one that each dependent row has in the level before its own.
    extras_ = nonzeros - (diagonal_counted ? rows : 0) - (rows - independent);
  }

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t blocks() const { return blocks_; }
  /// Number of rows of level l (from 0) in the blocks before block b.
  [[nodiscard]] std::int64_t before(std::int64_t b, std::size_t l) const { return b * sizes_[l] / blocks_; }
  /// Number of rows before block b.
  [[nodiscard]] std::int64_t first_row(std::int64_t b) const {
    std::int64_t sum = 0;
    for (std::size_t l = 0; l < levels; ++l) sum += before(b, l);
    return sum;
  }
  /// Position of the first row of level l in the list of rows by level.
  [[nodiscard]] std::int64_t start(std::size_t l) const { return starts_[l]; }
  [[nodiscard]] std::int64_t extras(std::int64_t b) const {
    return (b + 1) * extras_ / blocks_ - b * extras_ / blocks_;
  }

 private:
  std::int64_t rows_;
  std::int64_t blocks_;
  std::vector<std::int64_t> sizes_;
  std::vector<std::int64_t> starts_;
  std::int64_t extras_ = 0;
};

/// Levels of a block's rows, in random order. In a block where some level begins they are sorted, so that its
/// rows have rows of the previous level before them.
std::vector<std::uint8_t> arranged_levels(const TrianglePlan& plan, std::int64_t b, Random random) {
  std::vector<std::uint8_t> result;
  bool sorted = false;
  for (std::size_t l = 0; l < levels; ++l) {
    const std::int64_t before = plan.before(b, l);
    const std::int64_t here = plan.before(b + 1, l) - before;
    sorted = sorted || (before == 0 && here > 0);
    result.insert(result.end(), static_cast<std::size_t>(here), static_cast<std::uint8_t>(l));
  }
  if (sorted) return result;
  for (std::size_t k = result.size(); k > 1; --k) {
    std::swap(result[k - 1], result[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(k)))]);
  }
  return result;
}

/// Number of dependencies of each row of a block: one in the previous level, and the block's share of the
/// others in clusters, since real matrices have rows of very different length. One row of the matrix has the
/// maximum.
std::vector<std::int64_t> dependency_counts(const TrianglePlan& plan, std::int64_t b,
                                            const std::vector<std::uint8_t>& level, Random random) {
  std::vector<std::int64_t> counts(level.size(), 0);
  std::vector<std::size_t> dependent;
  for (std::size_t i = 0; i < level.size(); ++i) {
    if (level[i] == 0) continue;
    counts[i] = 1;
    dependent.push_back(i);
  }
  std::int64_t rest = plan.extras(b);
  if (b == plan.blocks() / 2) {
    counts[dependent.back()] = most_dependencies;
    rest -= most_dependencies - 1;
  }
  std::size_t chosen = dependent.empty() ? 0 : dependent.front();
  while (rest > 0) {
    if (random.chance(0.5) || counts[chosen] == most_dependencies) {
      chosen = dependent[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(dependent.size())))];
      if (counts[chosen] == most_dependencies) continue;
    }
    ++counts[chosen];
    --rest;
  }
  return counts;
}

/// Levels and lengths of the rows, before their columns are chosen.
struct Arrangement {
  Array<std::uint8_t> level;     ///< of each row, from 0
  Array<std::int32_t> by_level;  ///< the rows, level by level, ascending within each
  Array<std::int64_t> row_offsets;
};

Arrangement lay_out(const TrianglePlan& plan, std::uint64_t seed) {
  const Device device;
  Arrangement result{Array<std::uint8_t>(device, plan.rows()), Array<std::int32_t>(device, plan.rows()),
                     Array<std::int64_t>(device, plan.rows() + 1)};
  const auto lay_out_block = [&](std::int64_t b) {
    const auto piece = static_cast<std::uint64_t>(b);
    const auto level = arranged_levels(plan, b, Random(seed, arrangement, piece));
    const auto counts = dependency_counts(plan, b, level, Random(seed, dependencies, piece));
    std::array<std::int64_t, levels> next{};
    for (std::size_t l = 0; l < levels; ++l) next[l] = plan.start(l) + plan.before(b, l);
    std::int64_t row = plan.first_row(b);
    for (std::size_t i = 0; i < level.size(); ++i, ++row) {
      result.level[row] = level[i];
      result.by_level[next[level[i]]++] = static_cast<std::int32_t>(row);
      result.row_offsets[row] = counts[i] + 1;
    }
  };
  FirstException exception;
#pragma omp parallel for num_threads(Device().threads()) schedule(static)
  for (std::int64_t b = 0; b < plan.blocks(); ++b) exception.catch_from([&] { lay_out_block(b); });
  exception.rethrow();
  Host(device).exclusive_scan(plan.rows(), result.row_offsets.data(), result.row_offsets.data());
  return result;
}

/// Random distance from the diagonal: below 256 rows, or with probability 1/16 up to 2 million.
std::int64_t random_distance(Random& random) {
  const bool far = random.below(16) == 0;
  const std::int64_t octave = std::int64_t{1} << (far ? 8 + random.below(13) : random.below(8));
  return octave + random.below(octave);
}

/// Adds distinct rows of lower levels to `columns` until it has `wanted`.
void add_lower_rows(const Arrangement& layout, std::int64_t row, std::size_t wanted, Random& random,
                    std::vector<std::int32_t>& columns) {
  const auto fits = [&](std::int64_t candidate) {
    return candidate >= 0 && layout.level[candidate] < layout.level[row] &&
           std::find(columns.begin(), columns.end(), candidate) == columns.end();
  };
  while (columns.size() < wanted) {
    std::int64_t candidate = row - random_distance(random);
    for (int attempt = 0; attempt < 8 && !fits(candidate); ++attempt) {
      candidate = row - random_distance(random);
    }
    if (!fits(candidate)) {
      candidate = row - 1;
      while (!fits(candidate)) --candidate;  // the first block alone holds enough rows of the first level
    }
    columns.push_back(static_cast<std::int32_t>(candidate));
  }
}

/// Writes the rows of block b.
template <class T>
void fill_block(const TrianglePlan& plan, const Arrangement& layout, std::int64_t b, Random random,
                Array<std::int32_t>& column_indices, Array<T>& values) {
  constexpr std::int64_t nearest_few = 8;
  std::array<std::int64_t, levels> seen{};  // of each level, rows before this one
  for (std::size_t l = 0; l < levels; ++l) seen[l] = plan.before(b, l);
  std::vector<std::int32_t> columns;
  for (std::int64_t row = plan.first_row(b); row < plan.first_row(b + 1); ++row) {
    const std::size_t level = layout.level[row];
    std::int64_t k = layout.row_offsets[row];
    columns.clear();
    if (level > 0) {
      const std::int64_t back = random.below(std::min(nearest_few, seen[level - 1]));
      columns.push_back(layout.by_level[plan.start(level - 1) + seen[level - 1] - 1 - back]);
      const auto wanted = static_cast<std::size_t>(layout.row_offsets[row + 1] - k - 1);
      add_lower_rows(layout, row, wanted, random, columns);
      std::sort(columns.begin(), columns.end());
    }
    ++seen[level];
    double sum = 1;
    for (const std::int32_t column : columns) {
      const double value = random.uniform() - 1;
      sum -= value;
      column_indices[k] = column;
      values[k++] = static_cast<T>(value);
    }
    column_indices[k] = static_cast<std::int32_t>(row);
    values[k] = static_cast<T>(sum);
  }
}

}  // namespace

template <class T>
Csr<T> published_triangle(std::int64_t rows, std::uint64_t seed, bool diagonal_counted) {
  checked_size("published-triangle", {rows});
  if (rows < 1000) {
    throw BadOption("rows", fmt::format("published-triangle has at least 1000 rows, not {}", rows));
  }
  const TrianglePlan plan(rows, diagonal_counted);
  Arrangement layout = lay_out(plan, seed);
  const std::int64_t nonzeros = layout.row_offsets[rows];
  Array<std::int32_t> column_indices(Device(), nonzeros);
  Array<T> values(Device(), nonzeros);
  FirstException exception;
#pragma omp parallel for num_threads(Device().threads()) schedule(static)
  for (std::int64_t b = 0; b < plan.blocks(); ++b) {
    exception.catch_from([&] {
      fill_block(plan, layout, b, Random(seed, elements, static_cast<std::uint64_t>(b)), column_indices,
                 values);
    });
  }
  exception.rethrow();
  return Csr<T>::unchecked(rows, rows, std::move(layout.row_offsets), std::move(column_indices),
                           std::move(values));
}

template Csr<float> published_triangle(std::int64_t, std::uint64_t, bool);
template Csr<double> published_triangle(std::int64_t, std::uint64_t, bool);

}  // namespace echelon::generate
