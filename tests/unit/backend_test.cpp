// SPDX-License-Identifier: BSD-3-Clause
#include "backend/backend.hpp"

#include "backend/openmp/openmp.hpp"
#include "backend/serial/serial.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace echelon::test {
namespace {

constexpr std::int64_t sizes[] = {0, 1, 31, 33, 1025, 4095, 4096, 4097, 16384, 16385, 100'000};

/// Calls f with every host backend.
template <class F>
void on_every_backend(F&& f) {
  {
    SCOPED_TRACE("serial");
    Serial serial(Device::serial());
    f(serial);
  }
  for (const int threads : {1, 2, 3, 7}) {
    SCOPED_TRACE(testing::Message() << "openmp:" << threads);
    OpenMp openmp(Device::openmp(threads));
    f(openmp);
  }
}

std::vector<double> random_values(std::int64_t n) {
  std::mt19937 random(static_cast<unsigned>(n));
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> values(static_cast<std::size_t>(n));
  std::generate(values.begin(), values.end(),
                [&] { return std::exp2(40 * uniform(random)) * uniform(random); });
  return values;
}

template <class V, class B, class F>
V reduced(B& backend, std::int64_t n, F f) {
  V result{};
  int calls = 0;
  backend.reduce(n, f, [&](const V& value) {
    result = value;
    ++calls;
  });
  EXPECT_EQ(calls, 1);
  return result;
}

TEST(Backend, ForEachVisitsEveryIndexOnce) {
  for (const std::int64_t n : sizes) {
    on_every_backend([n](auto& backend) {
      std::vector<int> visits(static_cast<std::size_t>(n), 0);
      backend.for_each(n, [&](std::int64_t i) { ++visits[static_cast<std::size_t>(i)]; });
      EXPECT_EQ(std::count(visits.begin(), visits.end(), 1), n);
    });
  }
}

TEST(Backend, SumsHaveTheSameBitsOnAnyNumberOfThreads) {
  for (const std::int64_t n : sizes) {
    const std::vector<double> x = random_values(n);
    const auto element = [&](std::int64_t i) { return Sum{x[static_cast<std::size_t>(i)]}; };
    Serial serial(Device::serial());
    const double expected = reduced<Sum>(serial, n, element).value;
    on_every_backend([&](auto& backend) {
      const double got = reduced<Sum>(backend, n, element).value;
      EXPECT_EQ(std::memcmp(&got, &expected, sizeof got), 0) << n << ": " << got << " and " << expected;
    });
  }
}

TEST(Backend, SumsAreRight) {
  for (const std::int64_t n : sizes) {
    on_every_backend([n](auto& backend) {  // integers, so that any order of adding is exact
      const auto both = reduced<TwoSums>(backend, n, [](std::int64_t i) {
        return TwoSums{static_cast<double>(i), 1.0};
      });
      EXPECT_EQ(both.first, static_cast<double>(n) * static_cast<double>(n - 1) / 2);
      EXPECT_EQ(both.second, static_cast<double>(n));
    });
  }
}

TEST(Backend, LargestAndFirst) {
  for (const std::int64_t n : sizes) {
    const std::vector<double> x = random_values(n);
    double largest = 0;
    for (const double value : x) largest = std::max(largest, std::abs(value));
    const auto found = std::find_if(x.begin(), x.end(), [](double value) { return value > 1000; });
    const std::int64_t first = found == x.end() ? FirstIndex::none : found - x.begin();
    on_every_backend([&](auto& backend) {
      EXPECT_EQ(
          reduced<Largest>(backend, n,
                           [&](std::int64_t i) { return Largest{std::abs(x[static_cast<std::size_t>(i)])}; })
              .value,
          largest);
      EXPECT_EQ(reduced<FirstIndex>(backend, n,
                                    [&](std::int64_t i) {
                                      return x[static_cast<std::size_t>(i)] > 1000 ? FirstIndex{i}
                                                                                   : FirstIndex{};
                                    })
                    .value,
                first);
    });
  }
}

TEST(Backend, LargestLetsNanWinWhereverItIs) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::int64_t n : {1, 33, 4097, 100'000}) {
    for (const std::int64_t place : {std::int64_t{0}, n / 2, n - 1}) {
      on_every_backend([&](auto& backend) {
        const auto element = [=](std::int64_t i) { return Largest{i == place ? nan : 1e300}; };
        EXPECT_TRUE(std::isnan(reduced<Largest>(backend, n, element).value));
      });
    }
  }
}

TEST(Backend, ScanAgreesWithStd) {
  std::mt19937 random(1);
  for (const std::int64_t n : sizes) {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(n));
    std::generate(counts.begin(), counts.end(), [&] { return static_cast<std::int64_t>(random()); });
    std::vector<std::int64_t> expected(counts.size() + 1, 0);
    std::partial_sum(counts.begin(), counts.end(), expected.begin() + 1);
    on_every_backend([&](auto& backend) {
      std::vector<std::int64_t> offsets(expected.size(), -1);
      EXPECT_EQ(backend.exclusive_scan(n, counts.data(), offsets.data()), expected.back());
      EXPECT_EQ(offsets, expected);

      std::vector<std::int64_t> in_place = counts;
      in_place.push_back(-1);
      EXPECT_EQ(backend.exclusive_scan(n, in_place.data(), in_place.data()), expected.back());
      EXPECT_EQ(in_place, expected);
    });
  }
}

TEST(Backend, CopyFillReadWrite) {
  for (const std::int64_t n : sizes) {
    const std::vector<double> x = random_values(n);
    on_every_backend([&](auto& backend) {
      std::vector<double> y(x.size() + 1, -3.0);
      backend.copy(n, x.data(), y.data());
      EXPECT_TRUE(std::equal(x.begin(), x.end(), y.begin()));
      backend.fill(n, 2.5, y.data());
      EXPECT_EQ(std::count(y.begin(), y.end(), 2.5), n);
      EXPECT_EQ(y.back(), -3.0) << "one beyond stays as it was";
      backend.write(7.0, y.data());
      EXPECT_EQ(backend.read(y.data()), 7.0);
    });
  }
}

}  // namespace
}  // namespace echelon::test
