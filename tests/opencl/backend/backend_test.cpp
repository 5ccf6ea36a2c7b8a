// SPDX-License-Identifier: BSD-3-Clause
// Primitives of the backend OpenCl against algorithms of the standard library.
#include "backend/host/host.hpp"
#include "opencl/backend/primitives.hpp"
#include "opencl/opencl_fixture.hpp"

#include <echelon/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace echelon::test {
namespace {

constexpr std::int64_t sizes[] = {0, 1, 31, 33, 63, 65, 1023, 1025, 4097, 100'003, 1'000'003};

std::vector<double> random_values(std::int64_t n) {
  std::mt19937 random(static_cast<unsigned>(n));
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> values(static_cast<std::size_t>(n));
  std::generate(values.begin(), values.end(),
                [&] { return std::exp2(40 * uniform(random)) * uniform(random); });
  return values;
}

class OpenClBackend : public OpenClTest {};

TEST_F(OpenClBackend, OtherDevice_Refused) {
  EXPECT_THROW(make_backend(Device()), DeviceMismatch);
  EXPECT_THROW(Host(Device::opencl()), DeviceMismatch);
}

TEST_F(OpenClBackend, ForEach_VisitsEveryIndex) {
  for (const std::int64_t n : sizes) {
    Array<std::int64_t> target(Device::opencl(), n + 1);
    target = there(std::vector<std::int64_t>(static_cast<std::size_t>(n) + 1, -1));
    square_indices(n, target.data());
    const std::vector<std::int64_t> found = target.to_vector();
    for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(found[static_cast<std::size_t>(i)], i * i) << n;
    EXPECT_EQ(found.back(), -1);
  }
}

TEST_F(OpenClBackend, Reduce_ExactSums) {
  for (const std::int64_t n : sizes) {
    std::vector<float> ones(static_cast<std::size_t>(n), 1.0F);
    const Array<float> x = there(ones);
    EXPECT_EQ(sum(n, x.data()), static_cast<double>(n));
  }
}

TEST_F(OpenClBackend, Reduce_SameBitsAgain) {
  for (const std::int64_t n : sizes) {
    const std::vector<double> values = random_values(n);
    const Array<double> x = there(values);
    const double first = sum(n, x.data());
    long double exact = 0;
    long double size = 0;
    for (const double value : values) {
      exact += value;
      size += std::fabs(value);
    }
    EXPECT_NEAR(first, static_cast<double>(exact), 1e-13 * static_cast<double>(size));
    for (int again = 0; again < 4; ++again) {
      const double other = sum(n, x.data());
      EXPECT_EQ(std::memcmp(&first, &other, sizeof(first)), 0) << n;
    }
  }
}

TEST_F(OpenClBackend, Reduce_LargestAndFirst) {
  for (const std::int64_t n : sizes) {
    std::vector<double> values = random_values(n);
    double largest = 0;
    for (const double value : values) largest = std::max(largest, std::fabs(value));
    const auto found = std::find_if(values.begin(), values.end(), [](double value) { return value > 1000; });
    const Array<double> x = there(values);
    EXPECT_EQ(largest_magnitude(n, x.data()), largest);
    EXPECT_EQ(first_above(n, x.data(), 1000),
              found == values.end() ? FirstIndex::none : found - values.begin());
    if (n == 0) continue;
    values[static_cast<std::size_t>(n / 2)] = std::numeric_limits<double>::quiet_NaN();
    const Array<double> with_nan = there(values);
    EXPECT_TRUE(std::isnan(largest_magnitude(n, with_nan.data())));
  }
}

TEST_F(OpenClBackend, Scan_AgreesWithStd) {
  std::mt19937 random(1);
  for (const std::int64_t n : sizes) {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(n));
    std::generate(counts.begin(), counts.end(), [&] { return static_cast<std::int64_t>(random()); });
    std::vector<std::int64_t> expected(counts.size() + 1, 0);
    std::partial_sum(counts.begin(), counts.end(), expected.begin() + 1);
    const Array<std::int64_t> in = there(counts);
    Array<std::int64_t> out(Device::opencl(), n + 1);
    EXPECT_EQ(exclusive_scan(n, in.data(), out.data()), expected.back());
    EXPECT_EQ(out.to_vector(), expected);
    counts.push_back(-7);  // must not be read
    Array<std::int64_t> in_place = there(counts);
    scan(n, in_place.data(), in_place.data());
    EXPECT_EQ(in_place.to_vector(), expected);
  }
}

template <class K, class V>
void check_sort(const std::vector<K>& keys, const Array<K>& keys_there, int first_bit, int last_bit) {
  const auto n = static_cast<std::int64_t>(keys.size());
  std::vector<V> values(keys.size());
  std::iota(values.begin(), values.end(), V{0});
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const int width = std::numeric_limits<K>::digits;
  const auto digits = [&](K key) {
    return first_bit == last_bit
               ? K{0}
               : static_cast<K>(key << (width - last_bit)) >> (width - last_bit + first_bit);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return digits(keys[a]) < digits(keys[b]); });
  const Array<V> values_there(Device::opencl(), std::span<const V>(values));
  Array<K> sorted_keys(Device::opencl(), n);
  Array<V> sorted_values(Device::opencl(), n);
  sort_by_key(n, first_bit, last_bit, keys_there.data(), sorted_keys.data(), values_there.data(),
              sorted_values.data());
  const std::vector<K> found_keys = sorted_keys.to_vector();
  const std::vector<V> found_values = sorted_values.to_vector();
  for (std::size_t k = 0; k < keys.size(); ++k) {
    ASSERT_EQ(found_keys[k], keys[order[k]]) << k << " of " << n;
    ASSERT_EQ(found_values[k], static_cast<V>(order[k])) << k << " of " << n;
  }
}

TEST_F(OpenClBackend, SortByKey_IsStable) {
  for (const std::int64_t n : sizes) {
    std::mt19937_64 random(2);
    std::vector<std::uint32_t> keys(static_cast<std::size_t>(n));
    std::vector<std::uint64_t> wide(keys.size());
    for (std::size_t k = 0; k < keys.size(); ++k) {
      wide[k] = random();
      keys[k] = static_cast<std::uint32_t>(wide[k]);
    }
    const Array<std::uint32_t> keys_there = there(keys);
    check_sort<std::uint32_t, double>(keys, keys_there, 0, 32);
    check_sort<std::uint32_t, float>(keys, keys_there, 3, 14);
    check_sort<std::uint32_t, double>(keys, keys_there, 5, 5);
    check_sort<std::uint64_t, std::int64_t>(wide, there(wide), 20, 27);
  }
}

TEST_F(OpenClBackend, Select_KeepsFlaggedElements) {
  std::mt19937 random(3);
  for (const std::int64_t n : sizes) {
    std::vector<std::uint32_t> keys(static_cast<std::size_t>(n));
    std::vector<std::uint8_t> flags(keys.size());
    std::vector<std::uint32_t> selected;
    for (std::size_t k = 0; k < keys.size(); ++k) {
      keys[k] = static_cast<std::uint32_t>(random());
      flags[k] = random() % 3 == 0 ? static_cast<std::uint8_t>(1 + random() % 255) : 0;
      if (flags[k] != 0) selected.push_back(keys[k]);
    }
    const Array<std::uint32_t> keys_there = there(keys);
    const Array<std::uint8_t> flags_there = there(flags);
    Array<std::uint32_t> target(Device::opencl(), n);
    const std::int64_t count = select(n, flags_there.data(), keys_there.data(), target.data());
    std::vector<std::uint32_t> found = target.to_vector();
    found.resize(static_cast<std::size_t>(count));
    EXPECT_EQ(found, selected);
  }
}

TEST_F(OpenClBackend, Segments_VisitedInOrder) {
  std::mt19937 random(4);
  for (const std::int64_t n : sizes) {
    std::vector<std::int64_t> offsets = {0};
    for (std::int64_t s = 0; s < n; ++s) {
      offsets.push_back(offsets.back() + static_cast<std::int64_t>(random() % 9));
    }
    const std::vector<double> values = random_values(offsets.back());
    const Array<std::int64_t> offsets_there = there(offsets);
    const Array<double> x = there(values);
    Array<double> sums(Device::opencl(), n);
    segmented_sums(n, offsets_there.data(), x.data(), sums.data());
    Array<std::int32_t> visits =
        there(std::vector<std::int32_t>(static_cast<std::size_t>(offsets.back()), 0));
    visit_segments(n, offsets_there.data(), visits.data());
    const std::vector<double> found = sums.to_vector();
    const std::vector<std::int32_t> visited = visits.to_vector();
    for (std::size_t s = 0; s < found.size(); ++s) {
      ASSERT_EQ(found[s], std::accumulate(values.begin() + offsets[s], values.begin() + offsets[s + 1], 0.0));
      for (std::int64_t k = offsets[s]; k < offsets[s + 1]; ++k) {
        ASSERT_EQ(visited[static_cast<std::size_t>(k)], static_cast<std::int32_t>(s) + 1);
      }
    }
  }
}

TEST_F(OpenClBackend, Atomics) {
  const std::int64_t n = 30'000;
  Array<std::int32_t> sums = there(std::vector<std::int32_t>{0, 0, 0});
  Array<std::int64_t> total = there(std::vector<std::int64_t>{5});
  Array<std::int32_t> extremes = there(std::vector<std::int32_t>{INT32_MAX, -1});
  Array<std::int32_t> owner = there(std::vector<std::int32_t>{-1});
  use_atomics(n, sums.data(), total.data(), extremes.data(), owner.data());
  EXPECT_EQ(sums.to_vector(), (std::vector<std::int32_t>{10'000, 10'000, 10'000}));
  EXPECT_EQ(total.to_vector().front(), 5 + n * (n - 1) / 2);
  EXPECT_EQ(extremes.to_vector(), (std::vector<std::int32_t>{0, static_cast<std::int32_t>(n) - 1}));
  EXPECT_GE(owner.to_vector().front(), 0);
}

TEST_F(OpenClBackend, MathFunctions_RoundAsHost) {
  const std::vector<double> values = random_values(1025);
  const Array<double> x = there(values);
  Array<double> y(Device::opencl(), math_functions * 1025);
  evaluate_functions(1025, x.data(), y.data());
  std::vector<double> expected(math_functions * values.size());
  evaluate_functions_on_host(1025, values.data(), expected.data());
  EXPECT_EQ(y.to_vector(), expected);
}

TEST_F(OpenClBackend, CopyReadWrite) {
  for (const std::int64_t n : sizes) {
    const std::vector<double> values = random_values(n);
    const Array<double> x = there(values);
    Array<double> y(Device::opencl(), n + 1);
    fill(n + 1, -3.0, y.data());
    copy(n, x.data(), y.data());
    std::vector<double> found = y.to_vector();
    EXPECT_EQ(found.back(), -3.0);
    found.pop_back();
    EXPECT_EQ(found, values);
    write(7.0, y.data());
    EXPECT_EQ(read(y.data()), 7.0);
  }
}

}  // namespace
}  // namespace echelon::test
