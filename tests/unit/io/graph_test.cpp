// SPDX-License-Identifier: BSD-3-Clause
#include "unit/io/file_support.hpp"

#include <echelon/io/graph.hpp>

#include <cmath>

namespace echelon {
namespace {

using testing::expect_same_bits;
using testing::invalid_matrix_of;
using testing::Places;
using testing::places_of;
using testing::random_graph;

Csr<double> from(std::int64_t rows, std::int64_t columns, const std::vector<Triplet<double>>& triplets) {
  return Csr<double>::from_triplets(rows, columns, triplets);
}

TEST(Graph, Laplacian_Path) {
  const auto L = laplacian(from(4, 4, {{0, 1, 2}, {1, 0, 2}, {1, 2, 3}, {2, 1, 3}}));
  EXPECT_EQ(places_of(L), (Places{{{0, 0}, 2},
                                  {{0, 1}, -2},
                                  {{1, 0}, -2},
                                  {{1, 1}, 5},
                                  {{1, 2}, -3},
                                  {{2, 1}, -3},
                                  {{2, 2}, 3},
                                  {{3, 3}, 0}}));
}

TEST(Graph, Laplacian_RandomGraphs) {
  for (const std::int32_t vertices : {0, 1, 31, 33, 1025}) {
    const auto A = random_graph<double>(vertices, 4 * vertices, 1000);
    const auto L = laplacian(A);
    const Places weights = places_of(A);
    std::vector<double> sums(static_cast<std::size_t>(vertices));
    for (const auto& [place, value] : places_of(L)) {
      sums[static_cast<std::size_t>(place.first)] += value;
      if (place.first != place.second) {
        EXPECT_EQ(-value, weights.at(place));
      }
    }
    EXPECT_EQ(L.nonzeros(), A.nonzeros() + vertices);
    for (const double sum : sums) EXPECT_EQ(sum, 0);
    expect_same_bits(A, adjacency(L));
    expect_same_bits(A, adjacency(A));
  }
}

TEST(Graph, LoopsAndZeros_Dropped) {
  const auto A = from(2, 2, {{0, 0, 5}, {0, 1, 1}, {1, 0, 1}, {1, 1, -7}});
  EXPECT_EQ(places_of(laplacian(A)), (Places{{{0, 0}, 1}, {{0, 1}, -1}, {{1, 0}, -1}, {{1, 1}, 1}}));
  EXPECT_EQ(laplacian(from(2, 2, {{0, 1, 0}, {1, 0, 0}})).nonzeros(), 2);
  EXPECT_EQ(adjacency(from(2, 2, {{0, 0, 5}, {0, 1, 0}, {1, 0, -2}})).nonzeros(), 1);
}

TEST(Graph, UnsuitableMatrix_InvalidMatrix) {
  const auto directed = from(2, 2, {{0, 1, 4}});
  EXPECT_NE(invalid_matrix_of([&] { (void)laplacian(directed); }).find("element (0, 1) differs from (1, 0)"),
            std::string::npos);
  EXPECT_EQ(places_of(laplacian(directed, {.symmetrise = true})),
            (Places{{{0, 0}, 2}, {{0, 1}, -2}, {{1, 0}, -2}, {{1, 1}, 2}}));
  const auto negative = from(2, 2, {{0, 1, -4}, {1, 0, -4}});
  EXPECT_NE(invalid_matrix_of([&] { (void)laplacian(negative); }).find("negative weight"), std::string::npos);
  EXPECT_EQ(places_of(laplacian(negative, {.negative_weights = true})).at({0, 0}), -4);
  EXPECT_EQ(places_of(adjacency(negative)).at({0, 1}), 4);
  EXPECT_NE(invalid_matrix_of([&] { (void)laplacian(from(2, 3, {})); }).find("not square"),
            std::string::npos);
  EXPECT_NE(invalid_matrix_of([&] { (void)adjacency(from(2, 3, {})); }).find("not square"),
            std::string::npos);
  const auto nan = from(2, 2, {{0, 1, NAN}, {1, 0, NAN}});
  EXPECT_NE(invalid_matrix_of([&] { (void)laplacian(nan); }).find("finite"), std::string::npos);
  const auto large = from(3, 3, {{0, 1, 1e308}, {0, 2, 1e308}, {1, 0, 1e308}, {2, 0, 1e308}});
  EXPECT_NE(invalid_matrix_of([&] { (void)laplacian(large); }).find("vertex 0 add up to"), std::string::npos);
}

}  // namespace
}  // namespace echelon
