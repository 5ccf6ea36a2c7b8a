// SPDX-License-Identifier: BSD-3-Clause
// The CUDA backend's primitives against std:: algorithms.
#include "backend/backend.hpp"
#include "backend/cuda/cuda.cuh"
#include "backend/loop_sequence.hpp"
#include "gpu/gpu_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace echelon::test {
namespace {

constexpr std::int64_t sizes[] = {0, 1, 31, 33, 1025, 4097, 1'000'003};

class GpuBackend : public GpuTest {
 protected:
  template <class V>
  [[nodiscard]] Array<V> there(const std::vector<V>& values) const {
    return Array<V>(gpu, std::span<const V>(values));
  }
};

template <class V>
std::vector<V> first(const Array<V>& array, std::int64_t n) {
  std::vector<V> values = array.to_vector();
  values.resize(static_cast<std::size_t>(n));
  return values;
}

TEST_F(GpuBackend, Scans) {
  Cuda backend(gpu);
  std::mt19937 random(1);
  for (const std::int64_t n : sizes) {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(n));
    std::generate(counts.begin(), counts.end(), [&] { return static_cast<std::int64_t>(random()); });
    std::vector<std::int64_t> expected(counts.size() + 1, 0);
    std::partial_sum(counts.begin(), counts.end(), expected.begin() + 1);
    const Array<std::int64_t> in = there(counts);
    Array<std::int64_t> out(gpu, n + 1);
    EXPECT_EQ(backend.exclusive_scan(n, in.data(), out.data()), expected.back());
    EXPECT_EQ(out.to_vector(), expected);
    counts.push_back(-7);  // must not be read
    Array<std::int64_t> in_place = there(counts);
    backend.scan(n, in_place.data(), in_place.data());
    EXPECT_EQ(in_place.to_vector(), expected);
  }
}

template <class K, class V>
void check_sort(const Device& gpu, int first_bit, int last_bit) {
  Cuda backend(gpu);
  std::mt19937_64 random(2);
  for (const std::int64_t n : sizes) {
    std::vector<std::pair<K, V>> pairs(static_cast<std::size_t>(n));
    for (std::size_t k = 0; k < pairs.size(); ++k) pairs[k] = {static_cast<K>(random()), static_cast<V>(k)};
    std::vector<K> keys;
    std::vector<V> values;
    for (const auto& [key, value] : pairs) {
      keys.push_back(key);
      values.push_back(value);
    }
    const Array<K> keys_in(gpu, std::span<const K>(keys));
    const Array<V> values_in(gpu, std::span<const V>(values));
    Array<K> keys_out(gpu, n);
    Array<V> values_out(gpu, n);
    backend.sort_by_key(n, first_bit, last_bit, keys_in.data(), keys_out.data(), values_in.data(),
                        values_out.data());
    const auto digits = [=](K key) {
      return first_bit == last_bit ? K{0}
                                   : static_cast<K>(key << (8 * sizeof(K) - last_bit)) >>
                                         (8 * sizeof(K) - last_bit + first_bit);
    };
    std::stable_sort(pairs.begin(), pairs.end(),
                     [&](const auto& a, const auto& b) { return digits(a.first) < digits(b.first); });
    const std::vector<K> sorted_keys = keys_out.to_vector();
    const std::vector<V> sorted_values = values_out.to_vector();
    for (std::size_t k = 0; k < pairs.size(); ++k) {
      ASSERT_EQ(sorted_keys[k], pairs[k].first) << k << " of " << n;
      ASSERT_EQ(sorted_values[k], pairs[k].second) << k << " of " << n;
    }
    EXPECT_EQ(keys_in.to_vector(), keys);
  }
}

TEST_F(GpuBackend, SortByKey_IsStable) {
  check_sort<std::uint32_t, double>(gpu, 0, 32);
  check_sort<std::uint32_t, float>(gpu, 3, 14);
  check_sort<std::uint32_t, std::int64_t>(gpu, 5, 5);
  check_sort<std::uint64_t, std::int32_t>(gpu, 0, 64);
  check_sort<std::uint64_t, double>(gpu, 20, 27);
}

TEST_F(GpuBackend, Select_KeepsFlaggedElements) {
  Cuda backend(gpu);
  std::mt19937 random(3);
  for (const std::int64_t n : sizes) {
    std::vector<std::uint64_t> keys(static_cast<std::size_t>(n));
    std::vector<std::uint8_t> flags(static_cast<std::size_t>(n));
    std::vector<std::uint64_t> selected;
    for (std::size_t k = 0; k < keys.size(); ++k) {
      keys[k] = random();
      flags[k] = random() % 3 == 0 ? static_cast<std::uint8_t>(1 + random() % 255) : 0;
      if (flags[k] != 0) selected.push_back(keys[k]);
    }
    const Array<std::uint64_t> in = there(keys);
    Array<std::uint64_t> out(gpu, n);
    const std::int64_t number = backend.select(n, there(flags).data(), in.data(), out.data());
    EXPECT_EQ(first(out, number), selected);
  }
}

struct ValueAt {
  const double* values;
  ECHELON_ANYWHERE Sum operator()(std::int64_t k) const { return {values[k]}; }
};

/// Offsets of n short segments, of which every 50th is long and others have up to 300 elements.
std::vector<std::int64_t> segments(std::int64_t n) {
  std::mt19937 random(4);
  std::vector<std::int64_t> offsets = {0};
  for (std::int64_t s = 0; s < n; ++s) {
    auto length = static_cast<std::int64_t>(random() % 40) % 13;
    if (s % 50 == 7) length = 1000 + static_cast<std::int64_t>(random() % 50);
    if (s % 50 == 31) length = 50 + static_cast<std::int64_t>(random() % 250);
    offsets.push_back(offsets.back() + length);
  }
  if (n > 1) offsets.back() += 5000;
  return offsets;
}

struct AddSegment {
  std::int64_t* visits;
  ECHELON_ANYWHERE void operator()(std::int64_t s, std::int64_t k) const { visits[k] += s + 1; }
};

TEST_F(GpuBackend, SegmentedForEach_VisitsEveryElementOnce) {
  Cuda backend(gpu);
  for (const std::int64_t n : sizes) {
    const std::vector<std::int64_t> offsets = segments(n);
    const Array<std::int64_t> bounds = there(offsets);
    Array<std::int64_t> visits(gpu, offsets.back());
    backend.fill(offsets.back(), std::int64_t{0}, visits.data());
    backend.segmented_for_each(n, bounds.data(), AddSegment{visits.data()});
    const std::vector<std::int64_t> got = visits.to_vector();
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
      ASSERT_EQ(std::count(got.begin() + offsets[s], got.begin() + offsets[s + 1],
                           static_cast<std::int64_t>(s) + 1),
                offsets[s + 1] - offsets[s]);
    }
  }
}

TEST_F(GpuBackend, SegmentedReduce_AgreesWithHost) {
  Cuda backend(gpu);
  std::mt19937 random(4);
  for (const std::int64_t n : sizes) {
    const std::vector<std::int64_t> offsets = segments(n);
    std::vector<double> values(static_cast<std::size_t>(offsets.back()));
    std::generate(values.begin(), values.end(), [&] { return static_cast<double>(random() % 1000); });
    const Array<double> in = there(values);
    const Array<std::int64_t> bounds = there(offsets);
    Array<Sum> sums(gpu, n);
    backend.segmented_reduce(n, bounds.data(), ValueAt{in.data()}, sums.data());
    const std::vector<Sum> got = sums.to_vector();
    for (std::size_t s = 0; s < got.size(); ++s) {  // integers: exact in any order
      ASSERT_EQ(got[s].value,
                std::accumulate(values.begin() + offsets[s], values.begin() + offsets[s + 1], 0.0));
    }
  }
}

struct CountUpTo {
  std::int64_t* counts;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { counts[i] = i % 5; }
};
struct MirrorSum {
  std::int64_t n;
  const std::int64_t* offsets;
  const Sum* sums;
  double* mirrored;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    mirrored[i] = sums[n - 1 - i].value + static_cast<double>(offsets[n]);
  }
};
/// Loops each of which reads what other threads wrote in the one before.
struct DependentLoops {
  std::int64_t n;
  std::int64_t elements;
  const std::int64_t* segments;
  const double* values;
  std::int64_t* offsets;
  std::int64_t* visits;
  Sum* sums;
  double* mirrored;
  ECHELON_LOOPS_ANYWHERE
  template <class Loops>
  ECHELON_ANYWHERE void operator()(Loops& loops) const {
    loops.for_each(n, CountUpTo{offsets});
    loops.scan(n, offsets, offsets);
    loops.fill(elements, std::int64_t{0}, visits);
    loops.segmented_for_each(n, segments, AddSegment{visits});
    loops.segmented_reduce(n, segments, ValueAt{values}, sums);
    loops.for_each(n, MirrorSum{n, offsets, sums, mirrored});
    loops.copy(n, mirrored, mirrored + n);
  }
};

TEST_F(GpuBackend, LoopSequence_ResultsOfSeparateLoops) {
  Cuda backend(gpu);
  std::mt19937 random(6);
  for (const std::int64_t n : {std::int64_t{1}, std::int64_t{33}, std::int64_t{4097}, std::int64_t{50'000}}) {
    const std::vector<std::int64_t> ends = segments(n);
    std::vector<double> numbers(static_cast<std::size_t>(ends.back()));
    std::generate(numbers.begin(), numbers.end(), [&] { return static_cast<double>(random()) / 3; });
    const Array<double> values = there(numbers);
    const Array<std::int64_t> bounds = there(ends);
    std::vector<std::vector<double>> mirrored;
    for (const std::int64_t elements : {std::int64_t{1}, n, std::int64_t{1} << 40}) {
      Array<std::int64_t> offsets(gpu, n + 1);
      Array<std::int64_t> visits(gpu, ends.back());
      Array<Sum> sums(gpu, n);
      Array<double> result(gpu, 2 * n);
      run_sequence(backend, elements,
                   DependentLoops{n, ends.back(), bounds.data(), values.data(), offsets.data(), visits.data(),
                                  sums.data(), result.data()});
      mirrored.push_back(result.to_vector());
      std::vector<std::int64_t> expected_offsets = {0};
      for (std::int64_t i = 0; i < n; ++i) expected_offsets.push_back(expected_offsets.back() + i % 5);
      EXPECT_EQ(offsets.to_vector(), expected_offsets);
      const std::vector<std::int64_t> visited = visits.to_vector();
      for (std::size_t s = 0; s + 1 < ends.size(); ++s) {
        ASSERT_EQ(std::count(visited.begin() + ends[s], visited.begin() + ends[s + 1],
                             static_cast<std::int64_t>(s) + 1),
                  ends[s + 1] - ends[s]);
      }
    }
    EXPECT_EQ(mirrored[0], mirrored[1]);
    EXPECT_EQ(mirrored[0], mirrored[2]);
    EXPECT_EQ(std::vector<double>(mirrored[0].begin(), mirrored[0].begin() + n),
              std::vector<double>(mirrored[0].begin() + n, mirrored[0].end()));
  }
}

TEST_F(GpuBackend, RepeatedOperations_AllocateNothing) {
  Cuda backend(gpu);
  constexpr std::int64_t n = 3'000'000;
  Array<std::uint64_t> keys(gpu, n);
  Array<std::uint64_t> sorted(gpu, n);
  Array<double> values(gpu, n);
  Array<double> sorted_values(gpu, n);
  Array<std::int64_t> counts(gpu, n + 1);
  backend.fill(n, std::uint64_t{5}, keys.data());
  backend.fill(n, 1.0, values.data());
  std::size_t available = 0;
  for (int repetition = 0; repetition < 3; ++repetition) {
    backend.sort_by_key(n, 0, 64, keys.data(), sorted.data(), values.data(), sorted_values.data());
    backend.fill(n, std::int64_t{1}, counts.data());
    EXPECT_EQ(backend.exclusive_scan(n, counts.data(), counts.data()), n);
    if (repetition > 0) EXPECT_EQ(memory(gpu).available, available);
    available = memory(gpu).available;
  }
}

}  // namespace
}  // namespace echelon::test
