// SPDX-License-Identifier: BSD-3-Clause
// Line sweeps on a GPU compared bit for bit with a plain loop, on grids and on matrices that resemble them.
#include "gpu/relaxation/gauss_seidel_sweeps.cuh"

namespace echelon::test::sweeping {
namespace {

template <class T>
class GpuLineSweeps : public GpuSweeps<T> {};
TYPED_TEST_SUITE(GpuLineSweeps, Reals);

/// A grid's pattern with random values; `change` may edit its elements.
template <class T, class Change>
Csr<T> disturb(const Csr<T>& grid, unsigned seed, Change change) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  std::vector<Triplet<T>> entries;
  const auto n = static_cast<std::int32_t>(grid.rows());
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int64_t k = grid.row_offsets().data()[i]; k < grid.row_offsets().data()[i + 1]; ++k) {
      const std::int32_t j = grid.column_indices().data()[k];
      entries.push_back({i, j, static_cast<T>(i == j ? 3 + value(random) : value(random) / 20)});
    }
  }
  change(n, entries);
  return from_entries<T>(n, std::move(entries));
}

template <class T>
void keep_pattern(std::int32_t /*n*/, std::vector<Triplet<T>>& /*entries*/) {}

TYPED_TEST(GpuLineSweeps, Grids_SerialBitsAndLength) {
  using T = TypeParam;
  this->scratch->tuning.lines_from_rows = 0;
  struct Grid {
    std::string name;
    Csr<T> matrix;
    std::int32_t length;
  };
  const std::vector<Grid> grids = {{"5 points", generate::poisson_2d<T>(301, 257), 301},
                                   {"5 points, long lines", generate::poisson_2d<T>(1000, 70), 1000},
                                   {"9 points", generate::poisson_2d<T>(100, 150, 9), 100},
                                   {"7 points", generate::poisson_3d<T>(61, 47, 53), 61},
                                   {"7 points, short lines", generate::poisson_3d<T>(17, 12, 50), 17},
                                   {"27 points", generate::poisson_3d<T>(35, 37, 29, 27), 35}};
  unsigned seed = 0;
  for (const Grid& grid : grids) {
    const Csr<T> A = disturb(grid.matrix, ++seed, keep_pattern<T>);
    for (const SweepKind kind : kinds) {
      this->expect_same(A, {kind, 2, 1, 1}, grid.name, 3);
      EXPECT_EQ(this->backend->read(this->scratch->line_length.data()), grid.length) << grid.name;
      this->expect_same(A, {kind, 1, static_cast<T>(1.4), 3}, grid.name + ", relaxed");
    }
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(GpuLineSweeps, BusyGpu_SerialBits) {
  using T = TypeParam;
  Load load;
  this->scratch->tuning.lines_from_rows = 0;
  for (const int points : {7, 27}) {
    const auto A = disturb(generate::poisson_3d<T>(41, 37, 30, points), 5, keep_pattern<T>);
    this->expect_same(A, {SweepKind::symmetric, 2, 1, 1}, "grid", 20, &load);
  }
}

/// Grids with rows that do not fit lines, or that have no diagonal element.
TYPED_TEST(GpuLineSweeps, DisturbedGrids_SerialBits) {
  using T = TypeParam;
  using Entries = std::vector<Triplet<T>>;
  this->scratch->tuning.lines_from_rows = 0;
  const auto add = [](Entries& entries, std::int32_t i, std::int32_t j) {
    entries.push_back({i, j, static_cast<T>(0.03)});
  };
  const auto check = [&](const std::string& name, auto change) {
    const auto A = disturb(generate::poisson_3d<T>(40, 20, 24), 3, change);
    for (const SweepKind kind : kinds) {
      this->expect_same(A, {kind, 2, 1, 1}, name);
      this->expect_same(A, {kind, 1, static_cast<T>(0.7), 2}, name + ", relaxed");
    }
    EXPECT_EQ(this->backend->read(this->scratch->line_length.data()), 40) << name;
  };
  check("no diagonal", [](std::int32_t, Entries& entries) {
    std::erase_if(entries, [](const auto& e) { return e.row == e.column && e.row % 7 == 0; });
    for (auto& e : entries) {
      if (e.row == e.column && e.row % 11 == 0) e.value = 0;
    }
  });
  check("periodic in x", [&](std::int32_t n, Entries& entries) {
    for (std::int32_t i = 0; i < n; i += 40) add(entries, i, i + 39), add(entries, i + 39, i);
  });
  check("far along the line before", [&](std::int32_t n, Entries& entries) {
    for (std::int32_t i = 40; i + 80 < n; i += 40) add(entries, i, i - 1), add(entries, i + 39, i + 40);
  });
  check("unsymmetric", [&](std::int32_t n, Entries& entries) {
    for (std::int32_t i = 0; i + 30 < n; i += 3) add(entries, i, i + 30), add(entries, i, (i * 7) % n);
  });
  check("more elements than a prepared row holds", [&](std::int32_t n, Entries& entries) {
    for (std::int32_t i = 100; i + 100 < n; i += 5) {
      for (std::int32_t j = 2; j < 12; ++j) add(entries, i, i - 3 * j), add(entries, i, i + 3 * j);
    }
  });
  check("long rows", [&](std::int32_t n, Entries& entries) {
    for (const std::int32_t i : {0, 1, n / 3, n - 1}) {
      for (std::int32_t j = 0; j < n; j += 2) {
        if (std::abs(i - j) != 1 && std::abs(i - j) != 40 && std::abs(i - j) != 800 && i != j)
          add(entries, i, j);
      }
    }
  });
}

TYPED_TEST(GpuLineSweeps, MoreLinesThanResident_SerialBits) {
  using T = TypeParam;
  this->expect_same(generate::poisson_3d<T>(20, 250, 220), {SweepKind::symmetric, 2, 1, 1}, "7 points", 2);
  EXPECT_EQ(this->backend->read(this->scratch->line_length.data()), 20);
}

TYPED_TEST(GpuLineSweeps, OtherPatterns_NoLines) {
  this->scratch->tuning.lines_from_rows = 0;
  for (const char* pattern : {"random", "banded", "lengths", "unsymmetric"}) {
    this->expect_same(make_case<TypeParam>(pattern, 9'200, 4), {SweepKind::symmetric, 2, 1, 1}, pattern);
    if (this->scratch->line_length.size() == 0) continue;
    EXPECT_EQ(this->backend->read(this->scratch->line_length.data()), 0) << pattern;
  }
}

}  // namespace
}  // namespace echelon::test::sweeping
