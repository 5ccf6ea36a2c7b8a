// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/components.hpp"

#include "backend/target.hpp"

#include <echelon/generate.hpp>
#include <echelon/matrix/csr.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

namespace echelon {
namespace {

TEST(ConnectedComponents, ManyThreads_AgreeWithSerial) {
  const Csr<double> A =
      std::get<Csr<double>>(make_matrix<double>("erdos-renyi", {{"n", 20000}, {"degree", 1.2}}));
  Host serial(Device::serial());
  Host threads(Device::openmp(4));
  const ConnectedComponents a = find_components(serial, A);
  const ConnectedComponents b = find_components(threads, A);
  EXPECT_GT(a.count, 1000);
  EXPECT_EQ(a.count, b.count);
  EXPECT_EQ(a.of_vertex.to_vector(), b.of_vertex.to_vector());
  EXPECT_EQ(a.members.to_vector(), b.members.to_vector());
  EXPECT_EQ(a.offsets.to_vector(), b.offsets.to_vector());
  // Breadth-first search as an oracle: each component is what is reached from its first member.
  std::vector<std::int32_t> label(20000, -1);
  std::int32_t count = 0;
  for (std::int32_t start = 0; start < 20000; ++start) {
    if (label[static_cast<std::size_t>(start)] >= 0) continue;
    std::vector<std::int32_t> queue = {start};
    label[static_cast<std::size_t>(start)] = count;
    while (!queue.empty()) {
      const std::int32_t v = queue.back();
      queue.pop_back();
      for (std::int64_t k = A.row_offsets()[v]; k < A.row_offsets()[v + 1]; ++k) {
        auto& next = label[static_cast<std::size_t>(A.column_indices()[k])];
        if (next >= 0) continue;
        next = count;
        queue.push_back(A.column_indices()[k]);
      }
    }
    ++count;
  }
  EXPECT_EQ(a.of_vertex.to_vector(), label);
}

}  // namespace
}  // namespace echelon
