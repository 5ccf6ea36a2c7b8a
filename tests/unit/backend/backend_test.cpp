// SPDX-License-Identifier: BSD-3-Clause
#include "backend/backend.hpp"

#include "backend/host/host.hpp"
#include "backend/target.hpp"
#include "support/backend/serial.hpp"

#include <echelon/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

constexpr std::int64_t sizes[] = {0, 1, 31, 33, 1025, 4095, 4096, 4097, 16384, 16385, 100'000};

static_assert(Backend<Serial>);

/// Calls f with the reference implementation and with the host's backend for some numbers of threads.
template <class F>
void on_every_backend(F&& f) {
  {
    SCOPED_TRACE("reference");
    Serial reference(Device::serial());
    f(reference);
  }
  for (const Device& device :
       {Device::serial(), Device::openmp(1), Device::openmp(2), Device::openmp(3), Device::openmp(7)}) {
    SCOPED_TRACE(device.name());
    Host host(device);
    EXPECT_EQ(host.threads(), device.threads());
    f(host);
  }
}

TEST(HostBackend, OtherMemory_Refused) {
  try {
    const Host host(Device::cuda(1));
    FAIL() << "accepted";
  } catch (const DeviceMismatch& error) {
    EXPECT_NE(std::string(error.what()).find("the memory of cuda:1"), std::string::npos) << error.what();
  }
}

TEST(HostTarget, OtherDevice_Refused) {
  const auto count = []<class B>() { return B(Device()).threads(); };
  EXPECT_EQ(on_backend(Device::serial(), count), Device().threads());
  EXPECT_THROW(on_backend(Device::cuda(), count), Error);
  EXPECT_TRUE(HostTarget::includes(Device::openmp(3)));
  EXPECT_FALSE(CudaTarget::includes(Device::serial()));
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

TEST(Backend, ForEach_VisitsEveryIndexOnce) {
  for (const std::int64_t n : sizes) {
    on_every_backend([n](auto& backend) {
      std::vector<int> visits(static_cast<std::size_t>(n), 0);
      backend.for_each(n, [&](std::int64_t i) { ++visits[static_cast<std::size_t>(i)]; });
      EXPECT_EQ(std::count(visits.begin(), visits.end(), 1), n);
    });
  }
}

TEST(Backend, Reduce_SameBitsForAnyThreads) {
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

TEST(Backend, Reduce_AgreesWithStd) {
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

TEST(Backend, Reduce_LargestAndFirstIndex) {
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

TEST(Backend, Largest_NaNAnywhere_IsNaN) {
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

TEST(Backend, Scan_AgreesWithStd) {
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

/// The bits [first, last) of a key, on their own.
template <class K>
K bits_between(K key, int first, int last) {
  const int width = std::numeric_limits<K>::digits;
  return first == last ? K{0} : static_cast<K>(key << (width - last)) >> (width - last + first);
}

template <class K, class V, class B>
void check_sort(B& backend, std::int64_t n, int first_bit, int last_bit) {
  std::mt19937_64 random(static_cast<unsigned>(n));
  std::vector<K> keys(static_cast<std::size_t>(n));
  std::vector<V> values(keys.size());
  std::vector<std::size_t> order(keys.size());
  for (std::size_t k = 0; k < keys.size(); ++k) {
    keys[k] = static_cast<K>(random());
    values[k] = static_cast<V>(k);
    order[k] = k;
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return bits_between(keys[a], first_bit, last_bit) < bits_between(keys[b], first_bit, last_bit);
  });
  std::vector<K> sorted_keys(keys.size());
  std::vector<V> sorted_values(keys.size());
  backend.sort_by_key(n, first_bit, last_bit, keys.data(), sorted_keys.data(), values.data(),
                      sorted_values.data());
  for (std::size_t k = 0; k < keys.size(); ++k) {
    ASSERT_EQ(sorted_keys[k], keys[order[k]]) << k << " of " << n;
    ASSERT_EQ(sorted_values[k], static_cast<V>(order[k])) << k << " of " << n;
  }
}

TEST(Backend, SortByKey_IsStable) {
  for (const std::int64_t n : sizes) {
    on_every_backend([n](auto& backend) {
      check_sort<std::uint32_t, double>(backend, n, 0, 32);
      check_sort<std::uint32_t, float>(backend, n, 3, 14);
      check_sort<std::uint32_t, double>(backend, n, 5, 5);
      check_sort<std::uint64_t, std::int32_t>(backend, n, 0, 64);
      check_sort<std::uint64_t, std::int64_t>(backend, n, 20, 27);
    });
  }
}

TEST(Backend, Select_KeepsFlaggedElements) {
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
    on_every_backend([&](auto& backend) {
      std::vector<std::uint32_t> out(keys.size());
      out.resize(static_cast<std::size_t>(backend.select(n, flags.data(), keys.data(), out.data())));
      EXPECT_EQ(out, selected);
    });
  }
}

TEST(Backend, SegmentedReduce_SumsInOrder) {
  std::mt19937 random(4);
  for (const std::int64_t n : sizes) {
    std::vector<std::int64_t> offsets = {0};
    for (std::int64_t s = 0; s < n; ++s) {
      offsets.push_back(offsets.back() + static_cast<std::int64_t>(random() % 9));
    }
    const std::vector<double> x = random_values(offsets.back());
    on_every_backend([&](auto& backend) {
      std::vector<Sum> sums(static_cast<std::size_t>(n));
      backend.segmented_reduce(
          n, offsets.data(), [&](std::int64_t k) { return Sum{x[static_cast<std::size_t>(k)]}; },
          sums.data());
      for (std::size_t s = 0; s < sums.size(); ++s) {
        ASSERT_EQ(sums[s].value, std::accumulate(x.begin() + offsets[s], x.begin() + offsets[s + 1], 0.0));
      }
    });
  }
}

TEST(Backend, SegmentedForEach_VisitsEveryElementOnce) {
  std::mt19937 random(5);
  for (const std::int64_t n : sizes) {
    std::vector<std::int64_t> offsets = {0};
    for (std::int64_t s = 0; s < n; ++s) {
      offsets.push_back(offsets.back() + static_cast<std::int64_t>(random() % 9));
    }
    on_every_backend([&](auto& backend) {
      std::vector<std::int64_t> visits(static_cast<std::size_t>(offsets.back()), 0);
      backend.segmented_for_each(n, offsets.data(), [&](std::int64_t s, std::int64_t k) {
        visits[static_cast<std::size_t>(k)] += s + 1;
      });
      for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
        EXPECT_EQ(std::count(visits.begin() + offsets[s], visits.begin() + offsets[s + 1],
                             static_cast<std::int64_t>(s) + 1),
                  offsets[s + 1] - offsets[s]);
      }
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
