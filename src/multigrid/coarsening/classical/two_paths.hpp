// SPDX-License-Identifier: BSD-3-Clause
/// The graph of a second splitting, for aggressive coarsening: a coarse point of the first splitting depends
/// on another if a path of at most two strong dependences leads there, through any point.
#pragma once

#include "multigrid/coarsening/classical/independent_set.hpp"

#include <cstdint>

namespace echelon::multigrid::classical {

/// Window of the most recently added columns, which filters repetitions.
class RecentColumns {
 public:
  /// False if the column is among the last `window` different ones, and is not added.
  ECHELON_ANYWHERE bool add(std::int32_t column) {
    const int held = count_ < window ? count_ : window;
    for (int e = 0; e < held; ++e) {
      if (columns_[e] == column) return false;
    }
    columns_[count_ % window] = column;
    ++count_;
    return true;
  }

 private:
  static constexpr int window = 16;
  std::int32_t columns_[window];
  int count_ = 0;
};

/// Visits the coarse points on which a coarse point depends by at most two steps.
struct PathVisitor {
  DependenceView graph;
  const std::int32_t* coarse_index;
  const std::int32_t* points;  ///< point of each coarse index

  /// Calls visit(coarse index) for each coarse point reached; one that is reached by many paths may be
  /// visited more than once. The ends of several paths are loaded before the first of them is visited: what
  /// visit() writes would keep the loads from overlapping.
  template <class F>
  ECHELON_ANYWHERE void for_paths(std::int64_t coarse, F& visit) const {
    constexpr int batch = 8;
    const std::int32_t i = points[coarse];
    RecentColumns recent;
    for (std::int64_t k = graph.offsets[i]; k < graph.offsets[i + 1]; ++k) {
      if (!graph.depends(k)) continue;
      const std::int32_t middle = graph.neighbours[k];
      const std::int32_t direct = coarse_index[middle];
      const std::int64_t stop = graph.offsets[middle + 1];
      std::int64_t l = graph.offsets[middle];
      if (direct >= 0 && recent.add(direct)) visit(direct);
      for (; l < stop; l += batch) {
        std::int32_t numbers[batch];
        for (int b = 0; b < batch; ++b) numbers[b] = l + b < stop ? end_of(l + b, i) : -1;
        for (const std::int32_t number : numbers) {
          if (number >= 0 && recent.add(number)) visit(number);
        }
      }
    }
  }

 private:
  /// Coarse index of the point to which edge l leads; negative if it is not coarse, or point i itself.
  [[nodiscard]] ECHELON_ANYWHERE std::int32_t end_of(std::int64_t l, std::int32_t i) const {
    const std::int32_t end = graph.neighbours[l];
    const std::int32_t number = coarse_index[end];
    return graph.depends(l) && end != i ? number : -1;
  }
};

struct CountVisits {
  std::int64_t count = 0;
  ECHELON_ANYWHERE void operator()(std::int32_t) { ++count; }
};
struct WriteVisits {
  std::int64_t place;
  std::int32_t* neighbours;
  std::int32_t* influences;
  bool count_atomically;
  ECHELON_ANYWHERE void operator()(std::int32_t number) {
    neighbours[place++] = number;
    if (count_atomically) {
      atomic_add(influences + number, 1);
    } else {
      ++influences[number];
    }
  }
};

struct CountPathEnds {
  PathVisitor visitor;
  std::int64_t* counts;
  std::uint8_t* is_isolated;
  ECHELON_ANYWHERE void operator()(std::int64_t coarse) const {
    CountVisits visit;
    visitor.for_paths(coarse, visit);
    counts[coarse] = visit.count;
    is_isolated[coarse] = visit.count == 0 ? 1 : 0;
  }
};
struct WritePathEnds {
  PathVisitor visitor;
  const std::int64_t* offsets;
  std::int32_t* neighbours;
  std::int32_t* influences;
  bool count_atomically;
  ECHELON_ANYWHERE void operator()(std::int64_t coarse) const {
    WriteVisits visit{offsets[coarse], neighbours, influences, count_atomically};
    visitor.for_paths(coarse, visit);
  }
};

/// points[coarse_index[i]] = i.
struct ListCoarse {
  const std::int32_t* coarse_index;
  std::int32_t* points;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    if (coarse_index[i] >= 0) points[coarse_index[i]] = static_cast<std::int32_t>(i);
  }
};

/// Lists the coarse points by their indices among all points, ascending.
template <class B>
Array<std::int32_t> list_coarse(B& backend, const Splitting& splitting) {
  Array<std::int32_t> points(backend.device(), splitting.coarse);
  backend.for_each(splitting.coarse_index.size(), ListCoarse{splitting.coarse_index.data(), points.data()});
  return points;
}

struct PathSum {
  std::int64_t paths = 0;
  friend ECHELON_ANYWHERE PathSum combine(PathSum a, PathSum b) { return {a.paths + b.paths}; }
};
/// Computes an upper bound of the number of paths from each coarse point.
struct BoundPaths {
  PathVisitor visitor;
  ECHELON_ANYWHERE PathSum operator()(std::int64_t coarse) const {
    const DependenceView& graph = visitor.graph;
    const std::int32_t i = visitor.points[coarse];
    PathSum sum;
    for (std::int64_t k = graph.offsets[i]; k < graph.offsets[i + 1]; ++k) {
      if (!graph.depends(k)) continue;
      const std::int32_t j = graph.neighbours[k];
      sum.paths += graph.offsets[j + 1] - graph.offsets[j];
    }
    return sum;
  }
};

/// Renumbers the points that stay coarse; the other coarse points become fine.
struct Resplit {
  const std::int32_t* first;   ///< coarse_index of the first splitting
  const std::int32_t* second;  ///< coarse_index of its coarse points
  std::int32_t* coarse_index;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const std::int32_t number = first[i];
    coarse_index[i] = number < 0 ? number : second[number];
  }
};

/// Result of a second splitting, in terms of all points and of the first splitting's coarse points.
struct SecondSplitting {
  Splitting of_points;
  Array<std::int32_t> coarse_index;  ///< new coarse index of each coarse point of the first splitting
};

/// Length of the longest row.
struct LongestRow {
  std::int64_t length = 0;
  friend ECHELON_ANYWHERE LongestRow combine(LongestRow a, LongestRow b) {
    return a.length > b.length ? a : b;
  }
};
struct MeasureRow {
  const std::int64_t* offsets;
  ECHELON_ANYWHERE LongestRow operator()(std::int64_t i) const { return {offsets[i + 1] - offsets[i]}; }
};

/// True if the paths of at most two steps from coarse points, of a graph with n points, are at most
/// max_paths. They are not counted if even the square of the longest row's length for each point is less.
/// Synchronises.
template <class B>
bool are_paths_few(B& backend, const PathVisitor& visitor, std::int64_t n, std::int64_t coarse,
                   std::int64_t max_paths) {
  Array<LongestRow> longest(backend.device(), 1);
  backend.reduce(n, MeasureRow{visitor.graph.offsets}, Store<LongestRow>{longest.data()});
  const auto length = static_cast<double>(backend.read(longest.data()).length);
  if (length * length * static_cast<double>(coarse) <= static_cast<double>(max_paths)) return true;
  Array<PathSum> sum(backend.device(), 1);
  backend.reduce(coarse, BoundPaths{visitor}, Store<PathSum>{sum.data()});
  return backend.read(sum.data()).paths <= max_paths;
}

/// Splits the coarse points of a splitting again. Coarse points without a path to another stay coarse.
template <class B>
SecondSplitting split_coarse(B& backend, const PathVisitor& visitor, const Splitting& first) {
  const Device& device = backend.device();
  const std::int64_t m = first.coarse;
  Array<std::int64_t> offsets(device, m + 1);
  Array<std::uint8_t> is_isolated(device, m);
  backend.for_each(m, CountPathEnds{visitor, offsets.data(), is_isolated.data()});
  const std::int64_t ends = backend.exclusive_scan(m, offsets.data(), offsets.data());
  Array<std::int32_t> neighbours(device, ends);
  Array<std::int32_t> states(device, m);
  backend.fill(m, std::int32_t{0}, states.data());
  backend.for_each(m, WritePathEnds{visitor, offsets.data(), neighbours.data(), states.data(),
                                    runs_concurrently(backend)});
  split_points(backend, DependenceView{offsets.data(), neighbours.data(), nullptr}, m, is_isolated.data(),
               true, states.data());
  Splitting among_coarse = number_coarse(backend, std::move(states));
  const std::int64_t n = first.coarse_index.size();
  SecondSplitting second{{among_coarse.coarse, Array<std::int32_t>(device, n)},
                         std::move(among_coarse.coarse_index)};
  backend.for_each(n, Resplit{first.coarse_index.data(), second.coarse_index.data(),
                              second.of_points.coarse_index.data()});
  return second;
}

}  // namespace echelon::multigrid::classical
