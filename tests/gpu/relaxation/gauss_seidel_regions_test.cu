// SPDX-License-Identifier: BSD-3-Clause
// Region sweeps on a GPU compared bit for bit with a plain loop.
#include "gpu/relaxation/gauss_seidel_sweeps.cuh"
#include "relaxation/gauss_seidel/cuda/regions.cuh"

namespace echelon::test::sweeping {
namespace {

template <class T>
class GpuRegionSweeps : public GpuSweeps<T> {};
TYPED_TEST_SUITE(GpuRegionSweeps, Reals);

TYPED_TEST(GpuRegionSweeps, Memory_FourBytesPerRow) {
  using T = TypeParam;
  const std::int64_t n = 1'000'000;
  this->scratch->tuning = region_tuning();
  this->expect_same(generate::published_triangle<T>(n), {SweepKind::symmetric, 1, 1, 1}, "symmetric");
  EXPECT_LE(this->scratch->bytes(), static_cast<std::size_t>(n) * (sizeof(T) + 4) + 64);
}

TYPED_TEST(GpuRegionSweeps, AllPatterns_SerialBits) {
  Load load;
  this->scratch->tuning = region_tuning();
  for (const std::string& pattern : patterns) {
    for (const std::int64_t n : {2048, 2049, 8191, 20'011}) {
      const auto A = make_case<TypeParam>(pattern, n, static_cast<unsigned>(n));
      this->expect_same(A, {SweepKind::forward, 2, 1, 1}, pattern, 5, &load);
      this->expect_same(A, {SweepKind::symmetric, 1, static_cast<TypeParam>(1.3), 3}, pattern, 2);
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(GpuRegionSweeps, UnsortedColumns_EndWithNan) {
  using T = TypeParam;
  const Watchdog watchdog(std::chrono::seconds(60));
  constexpr std::int32_t n = 3000;
  std::vector<std::int64_t> offsets = {0};
  std::vector<std::int32_t> columns;
  for (std::int32_t i = 0; i < n; ++i) {
    // Cyclic dependencies between two regions, and within one.
    if (i == 500) columns.insert(columns.end(), {2500, 3});
    if (i == 2500) columns.insert(columns.end(), {500});
    if (i == 1000) columns.insert(columns.end(), {1001});
    if (i == 1001) columns.insert(columns.end(), {1000});
    columns.push_back(i);
    offsets.push_back(static_cast<std::int64_t>(columns.size()));
  }
  const std::vector<T> values(columns.size(), T{1});
  const auto A =
      Csr<T>::unchecked(n, n, Array<std::int64_t>(this->gpu, std::span<const std::int64_t>(offsets)),
                        Array<std::int32_t>(this->gpu, std::span<const std::int32_t>(columns)),
                        Array<T>(this->gpu, std::span<const T>(values)));
  const Dense<T> b = random_vectors<T>(n, 1, 1).to(this->gpu);
  this->scratch->tuning = region_tuning();
  Dense<T> x = random_vectors<T>(n, 1, 2).to(this->gpu);
  this->queue(A, b, x, {SweepKind::forward, 1, 1, 1});
  const Dense<T> result = x.to(Device());
  EXPECT_TRUE(std::isnan(result.data()[500]) && std::isnan(result.data()[1000]));
}

/// True if the matrix has a tile whose elements fit, but not its values from outside the ring.
template <class T>
bool has_too_many_far_values(const Csr<T>& A) {
  using gauss_seidel::RegionSweepConfig;
  for (std::int64_t first = 0; first + RegionSweepConfig<T>::tile_rows <= A.rows();
       first += RegionSweepConfig<T>::tile_rows) {
    const std::int64_t begin = A.row_offsets()[first] / 4 * 4;
    const std::int64_t end = A.row_offsets()[first + RegionSweepConfig<T>::tile_rows];
    std::int64_t far = 0;
    for (std::int64_t k = begin; k < end; ++k)
      far += A.column_indices()[k] < first - RegionSweepConfig<T>::ring_window;
    if (end - begin <= RegionSweepConfig<T>::tile_elements && far > RegionSweepConfig<T>::far_values)
      return true;
  }
  return false;
}

/// One of 32 rows has three distant neighbours, the others two; two of 32 have no diagonal element.
TYPED_TEST(GpuRegionSweeps, TooManyFarValues_SerialBits) {
  using T = TypeParam;
  constexpr std::int32_t n = 9000;
  std::vector<std::int64_t> offsets = {0};
  std::vector<std::int32_t> columns;
  for (std::int32_t i = 0; i < n; ++i) {
    if (i >= 3000) columns.insert(columns.end(), {i - 3000, i - 1500});
    if (i >= 3000 && i % 32 == 0) columns.push_back(i - 1000);
    if (i % 16 != 15) columns.push_back(i);
    offsets.push_back(static_cast<std::int64_t>(columns.size()));
  }
  std::vector<T> values;
  for (std::size_t k = 0; k < columns.size(); ++k) values.push_back(T{1} + static_cast<T>(k % 7) / T{8});
  const auto A =
      Csr<T>::unchecked(n, n, Array<std::int64_t>(Device(), std::span<const std::int64_t>(offsets)),
                        Array<std::int32_t>(Device(), std::span<const std::int32_t>(columns)),
                        Array<T>(Device(), std::span<const T>(values)));
  ASSERT_TRUE(has_too_many_far_values(A));
  this->scratch->tuning = region_tuning();
  this->expect_same(A, {SweepKind::symmetric, 2, 1, 2}, "far away", 5);
  this->expect_same(A, {SweepKind::forward, 1, static_cast<T>(1.3), 1}, "far away, relaxed", 5);
}

TYPED_TEST(GpuRegionSweeps, MoreRegionsThanResident_SerialBits) {
  using T = TypeParam;
  this->scratch->tuning = region_tuning();
  const auto A = generate::published_triangle<T>(2'000'000);
  this->expect_same(A, {SweepKind::symmetric, 1, 1, 1}, "the published statistics", 5);
  this->expect_same(A, {SweepKind::forward, 1, 1, 9}, "many right-hand sides");
}

TYPED_TEST(GpuRegionSweeps, Selection_FewDeferredRows) {
  using T = TypeParam;
  this->scratch->tuning.regions_from_rows = 0;
  const auto strategy = [&](int direction) {
    return this->backend->read(this->scratch->strategies.data() + direction);
  };
  this->expect_same(generate::published_triangle<T>(300'000), {SweepKind::symmetric, 1, 1, 1}, "published");
  EXPECT_EQ(strategy(0), -1);
  EXPECT_EQ(strategy(1), 0) << "nearly all elements are known before a backward sweep";
  this->expect_same(make_case<T>("tridiagonal", 50'000, 1), {SweepKind::symmetric, 1, 1, 1}, "tridiagonal");
  EXPECT_EQ(strategy(0), 0);
  EXPECT_EQ(strategy(1), 0);
}

}  // namespace
}  // namespace echelon::test::sweeping
