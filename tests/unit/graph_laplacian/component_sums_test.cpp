// SPDX-License-Identifier: BSD-3-Clause
#include "graph_laplacian/component_sums.hpp"

#include "support/graph_laplacian/host_backends.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace echelon {
namespace {

template <class Threads>
class ComponentSumsOn : public test::OnHost<Threads> {};
TYPED_TEST_SUITE(ComponentSumsOn, test::HostThreads);

TYPED_TEST(ComponentSumsOn, AnySize) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (const std::vector<std::int64_t>& sizes : std::vector<std::vector<std::int64_t>>{
           {1}, {5000}, {1, 1, 1}, {8, 9, 1, 10}, {2047, 2048, 2049, 1, 9000, 4096}, {1, 9, 1, 1}}) {
    std::vector<std::int64_t> offsets = {0};
    for (const std::int64_t size : sizes) offsets.push_back(offsets.back() + size);
    std::vector<double> x(static_cast<std::size_t>(offsets.back()));
    for (double& value : x) value = unit(random);
    std::vector<std::int32_t> component;
    for (std::size_t c = 0; c < sizes.size(); ++c) {
      component.insert(component.end(), static_cast<std::size_t>(sizes[c]), static_cast<std::int32_t>(c));
    }
    const auto count = static_cast<std::int64_t>(sizes.size());
    const graph_laplacian::ComponentSums<Host> sums(this->backend, count, offsets.data(), offsets.back(),
                                                    component.data());
    std::vector<double> opposite = x;
    for (double& value : opposite) value = -value;
    Array<Sum> scratch = sums.make_scratch(this->backend);
    Array<Sum> other_scratch = sums.make_scratch(this->backend);
    std::vector<Sum> found(sizes.size());
    std::vector<Sum> negated(sizes.size());
    const std::vector<graph_laplacian::SummedVector<double>> vectors = {
        {x.data(), scratch.data(), found.data()}, {opposite.data(), other_scratch.data(), negated.data()}};
    sums.compute<double>(this->backend, offsets.back(), vectors);
    for (std::size_t c = 0; c < sizes.size(); ++c) {
      const double expected = std::accumulate(x.begin() + offsets[c], x.begin() + offsets[c + 1], 0.0);
      EXPECT_NEAR(found[c].value, expected, 1e-11) << "component " << c << " of " << sizes.size();
      EXPECT_EQ(negated[c].value, -found[c].value);
    }
  }
}

}  // namespace
}  // namespace echelon
