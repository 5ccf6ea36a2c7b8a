// SPDX-License-Identifier: BSD-3-Clause
#include "domain_decomposition/bddc/subdomains/interface.hpp"
#include "domain_decomposition/bddc/subdomains/partition.hpp"
#include "domain_decomposition/bddc/subdomains/subdomains.hpp"

#include <echelon/domain_decomposition/bddc.hpp>
#include <echelon/domain_decomposition/cube_elements.hpp>
#include <echelon/error.hpp>
#include <echelon/generate.hpp>

#include <gtest/gtest.h>
#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace echelon::bddc {
namespace {

/// Message of the exception that f throws; fails the test if it throws none.
template <class Exception, class F>
std::string message_of(const F& f) {
  try {
    f();
  } catch (const Exception& error) {
    return error.what();
  }
  ADD_FAILURE() << "no exception of the expected type";
  return {};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Sum of subdomain matrices as a dense matrix.
Dense<double> sum_of(const std::vector<SubdomainMatrix>& subdomains, std::int64_t n) {
  Dense<double> sum(Device(), n, n);
  std::fill_n(sum.data(), n * n, 0.0);
  for (const auto& [unknowns, matrix] : subdomains) {
    for (std::int64_t i = 0; i < matrix.rows(); ++i) {
      for (std::int64_t k = matrix.row_offsets()[i]; k < matrix.row_offsets()[i + 1]; ++k) {
        sum(unknowns[i], unknowns[matrix.column_indices()[k]]) += matrix.values()[k];
      }
    }
  }
  return sum;
}

double smallest_eigenvalue(const Csr<double>& A) {
  Dense<double> dense = to_dense(MatrixRef<double>(A));
  const auto n = static_cast<lapack_int>(A.rows());
  std::vector<double> values(static_cast<std::size_t>(n));
  EXPECT_EQ(LAPACKE_dsyev(LAPACK_COL_MAJOR, 'N', 'L', n, dense.data(), n, values.data()), 0);
  return values.front();
}

void expect_sum(const Subdomains& subdomains, const Csr<double>& A) {
  const Dense<double> sum = sum_of(subdomains.matrices, A.rows());
  const Dense<double> dense = to_dense(MatrixRef<double>(A));
  for (std::int64_t k = 0; k < A.rows() * A.rows(); ++k) ASSERT_NEAR(sum[k], dense[k], 1e-14);
}

Csr<double> path(std::int32_t n) {
  std::vector<Triplet<double>> triplets;
  for (std::int32_t i = 0; i < n; ++i) {
    triplets.push_back({i, i, 2});
    if (i > 0) triplets.push_back({i, i - 1, -1});
    if (i + 1 < n) triplets.push_back({i, i + 1, -1});
  }
  return Csr<double>::from_triplets(n, n, triplets);
}

}  // namespace

TEST(BddcPartition, Grid_HasAllPartsOfSimilarSize) {
  const auto A = generate::poisson_2d<double>(24, 24);
  const auto graph = node_graph(A, 1);
  const Partition partition = partition_graph(graph.view(), 7);
  ASSERT_EQ(partition.parts, 7);
  std::vector<std::int64_t> sizes(7, 0);
  for (const std::int32_t p : partition.part) ++sizes[static_cast<std::size_t>(p)];
  EXPECT_GE(*std::min_element(sizes.begin(), sizes.end()), 24 * 24 / 7 / 2);
  EXPECT_LE(*std::max_element(sizes.begin(), sizes.end()), 2 * 24 * 24 / 7);
  EXPECT_EQ(partition_graph(graph.view(), 7).part, partition.part);
}

TEST(BddcPartition, TooManyParts_AreRefused) {
  const auto graph = node_graph(path(5), 1);
  EXPECT_TRUE(contains(message_of<BadOption>([&] { (void)partition_graph(graph.view(), 6); }), "5 nodes"));
}

TEST(BddcPartition, WithoutEdges_HasEveryPart) {
  const auto diagonal = Csr<double>::from_triplets(4, 4, {{0, 0, 1}, {1, 1, 1}, {2, 2, 1}, {3, 3, 1}});
  const auto graph = node_graph(diagonal, 1);
  EXPECT_EQ(partition_graph(graph.view(), 3).parts, 3);
}

TEST(BddcPartition, BadNumbers_AreNamed) {
  const auto check = [](std::vector<std::int32_t> part, std::int64_t rows) {
    return message_of<BadOption>([&] { (void)checked_partition(part, rows, "row"); });
  };
  EXPECT_TRUE(contains(check({0, 1, 0}, 4), "3 numbers for 4 rows"));
  EXPECT_TRUE(contains(check({0, -2, 0}, 3), "row 1 is in subdomain -2"));
  EXPECT_TRUE(contains(check({0, 2, 0}, 3), "subdomain 1 of 3 has no row"));
  EXPECT_TRUE(contains(check({0, 7, 0}, 3), "subdomain 7 for 3 rows"));
  EXPECT_EQ(checked_partition(std::vector<std::int32_t>{1, 0, 1}, 3, "row").parts, 2);
}

TEST(BddcPartition, DisconnectedPart_BecomesSeveral) {
  const auto graph = node_graph(path(6), 1);
  Partition partition{{0, 1, 0, 0, 1, 1}, 2};
  EXPECT_EQ(split_disconnected_parts(graph.view(), partition), 2);
  EXPECT_EQ(partition.parts, 4);
  EXPECT_EQ(partition.part, (std::vector<std::int32_t>{0, 1, 2, 2, 3, 3}));
}

TEST(BddcPartition, ComponentsOfMatrix_AreInTheOrderOfTheirFirstRows) {
  EXPECT_EQ(connected_components(Csr<double>::from_triplets(0, 0, {})).parts, 0);
  // Row i is connected with i + 3, by an element of one triangle; elements next to the diagonal are zero.
  constexpr std::int32_t n = 32;
  std::vector<Triplet<double>> elements;
  for (std::int32_t i = 0; i < n; ++i) {
    elements.push_back({i, i, 2});
    if (i + 1 < n) elements.push_back({i, i + 1, 0});
    if (i + 3 < n)
      elements.push_back(i % 2 == 0 ? Triplet<double>{i, i + 3, -1} : Triplet<double>{i + 3, i, -1});
  }
  const Partition components = connected_components(Csr<double>::from_triplets(n, n, elements));
  EXPECT_EQ(components.parts, 3);
  for (std::int32_t i = 0; i < n; ++i) EXPECT_EQ(components.part[static_cast<std::size_t>(i)], i % 3);
}

TEST(BddcPartition, NodesOfSeveralUnknowns_StayTogether) {
  EXPECT_EQ(node_partition({{0, 0, 1, 1}, 2}, 2).part, (std::vector<std::int32_t>{0, 1}));
  const std::string message = message_of<BadOption>([] { (void)node_partition({{0, 1, 1, 1}, 2}, 2); });
  EXPECT_TRUE(contains(message, "rows 0 and 1"));
}

TEST(BddcSplit, DominantMatrix_IsSumOfSemidefiniteParts) {
  // Positive and negative elements, an excess in some rows only.
  std::vector<Triplet<double>> triplets;
  const auto grid = generate::poisson_2d<double>(9, 9);
  for (std::int32_t i = 0; i < 81; ++i) {
    for (std::int64_t k = grid.row_offsets()[i]; k < grid.row_offsets()[i + 1]; ++k) {
      const std::int32_t j = grid.column_indices()[k];
      const double sign = (i + j) % 3 == 0 ? -1 : 1;
      triplets.push_back({i, j, i == j ? 4.0 + i % 2 : sign * grid.values()[k]});
    }
  }
  const auto A = Csr<double>::from_triplets(81, 81, triplets);
  const Subdomains subdomains = split(A, 1, partition_graph(node_graph(A, 1).view(), 5));
  EXPECT_EQ(subdomains.origin, MatrixOrigin::exact);
  ASSERT_EQ(subdomains.matrices.size(), 5U);
  expect_sum(subdomains, A);
  for (const SubdomainMatrix& own : subdomains.matrices) EXPECT_GT(smallest_eigenvalue(own.matrix), -1e-13);
}

TEST(BddcSplit, OtherMatrix_KeepsConstantsAndTheSum) {
  const CubeProblem problem = elasticity_on_cube({.subdomains = 1, .elements = 3});
  const Csr<double> A = assemble(problem.matrices);
  const Subdomains subdomains = split(A, 3, partition_graph(node_graph(A, 3).view(), 3));
  EXPECT_EQ(subdomains.origin, MatrixOrigin::heuristic);
  expect_sum(subdomains, A);
  check_subdomain_matrices(subdomains.matrices);  // symmetric
}

TEST(BddcSplit, LargerPartSharesItsNeighbours) {
  const Subdomains subdomains = split(path(6), 1, {{0, 0, 0, 1, 1, 1}, 2});
  EXPECT_EQ(subdomains.matrices[0].unknowns, (std::vector<std::int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(subdomains.matrices[1].unknowns, (std::vector<std::int32_t>{3, 4, 5}));
}

TEST(BddcSplit, PartitionedRows_SumUpToTheMatrix) {
  const auto A = generate::poisson_2d<double>(12, 11);
  const std::int64_t n = A.rows();
  for (const std::int64_t parts : {std::int64_t{1}, std::int64_t{5}, n}) {
    const std::vector<std::int32_t> part = partition_rows(A, parts);
    ASSERT_EQ(std::ssize(part), n);
    const std::vector<SubdomainMatrix> subdomains = subdomain_matrices(A, part);
    EXPECT_EQ(std::ssize(subdomains), parts);
    const Dense<double> sum = sum_of(subdomains, n);
    const Dense<double> dense = to_dense(MatrixRef<double>(A));
    for (std::int64_t k = 0; k < n * n; ++k) EXPECT_NEAR(sum[k], dense[k], 1e-14);
    for (const SubdomainMatrix& subdomain : subdomains)
      EXPECT_GT(smallest_eigenvalue(subdomain.matrix), -1e-13);
  }
}

TEST(BddcSplit, PartitionedRows_KeepNodesTogether) {
  const auto A = Csr<double>::from_triplets(
      6, 6, std::vector<Triplet<double>>{{0, 3, 1.0}, {3, 0, -1.0}, {2, 5, 1.0}, {1, 1, 1.0}});
  const std::vector<std::int32_t> part = partition_rows(A, 3, 2);
  EXPECT_EQ(part[0], part[1]);
  EXPECT_EQ(part[2], part[3]);
  EXPECT_EQ(part[4], part[5]);
  EXPECT_NE(part[0], part[2]);
  EXPECT_NE(part[2], part[4]);
  EXPECT_NE(part[0], part[4]);
}

TEST(BddcSplit, BadRequests_AreRefused) {
  const auto A = Csr<double>::from_triplets(2, 2, std::vector<Triplet<double>>{{0, 0, 1.0}, {1, 1, 1.0}});
  const auto wide = Csr<double>::from_triplets(2, 3, std::vector<Triplet<double>>{{0, 0, 1.0}});
  EXPECT_THROW((void)partition_rows(wide, 2), DimensionMismatch);
  EXPECT_THROW((void)partition_rows(A, 3), BadOption);
  EXPECT_THROW((void)partition_rows(A, 0), BadOption);
  EXPECT_THROW((void)subdomain_matrices(wide, std::vector<std::int32_t>{0, 0}), DimensionMismatch);
  EXPECT_THROW((void)subdomain_matrices(A, std::vector<std::int32_t>{0}), BadOption);
  EXPECT_THROW((void)subdomain_matrices(A, std::vector<std::int32_t>{0, 2}), BadOption);
  EXPECT_THROW((void)subdomain_matrices(A, std::vector<std::int32_t>{0, 1}, 2), BadOption);
}

TEST(BddcSubdomainMatrices, Errors_NameTheSubdomain) {
  const auto good = [] { return std::vector<SubdomainMatrix>{{{0, 1}, path(2)}, {{1, 2}, path(2)}}; };
  const auto check = [](const std::vector<SubdomainMatrix>& list) {
    return message_of<InvalidMatrix>([&] { check_subdomain_matrices(list); });
  };
  auto list = good();
  list[1].unknowns = {1, 2, 3};
  EXPECT_TRUE(contains(check(list), "subdomain 1 has 3 unknowns"));
  list = good();
  list[1].unknowns = {2, 1};
  EXPECT_TRUE(contains(check(list), "subdomain 1: unknown 1 at place 1"));
  list = good();
  list[0].unknowns = {-1, 1};
  EXPECT_TRUE(contains(check(list), "subdomain 0: unknown -1"));
  list = good();
  list[0].matrix.values()[1] = 3;
  EXPECT_TRUE(contains(check(list), "subdomain 0, row 0, column 1: the matrix is not symmetric"));
  list = good();
  list[1].matrix.values()[0] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(contains(check(list), "subdomain 1, row 0, column 0: NaN"));
}

TEST(BddcSubdomainMatrices, OtherSum_IsRefused) {
  const std::vector<SubdomainMatrix> list = {{{0, 1}, path(2)}, {{1, 2}, path(2)}};
  const std::string message = message_of<InvalidMatrix>([&] { check_sum(list, path(3), 1e-10); });
  EXPECT_TRUE(contains(message, "row 1, column 1 is 2 in A"));
  EXPECT_TRUE(contains(message_of<DimensionMismatch>([&] { check_sum(list, path(2), 1e-10); }),
                       "subdomain 1 has unknown 2"));
}

TEST(BddcSubdomainMatrices, DisconnectedMatrix_IsSplit) {
  const auto two =
      Csr<double>::from_triplets(3, 3, {{0, 0, 1}, {0, 2, -1}, {2, 0, -1}, {2, 2, 1}, {1, 1, 5}});
  const std::vector<SubdomainMatrix> list = split_disconnected({{{3, 5, 8}, two}});
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].unknowns, (std::vector<std::int32_t>{3, 8}));
  EXPECT_EQ(list[1].unknowns, (std::vector<std::int32_t>{5}));
  EXPECT_EQ(list[1].matrix.values()[0], 5);
}

TEST(BddcElements, Errors_NameTheElement) {
  const auto good = [] { return ElementMatrices{3, {0, 2, 4}, {0, 1, 1, 2}, {1, -1, -1, 1, 1, -1, -1, 1}}; };
  const auto check = [](const ElementMatrices& elements) {
    return message_of<InvalidMatrix>([&] { (void)assemble(elements); });
  };
  EXPECT_EQ(assemble(good()).rows(), 3);
  auto elements = good();
  elements.indices[3] = 3;
  EXPECT_TRUE(contains(check(elements), "element 1 has unknown 3 of 3"));
  elements = good();
  elements.indices[1] = 0;
  EXPECT_TRUE(contains(check(elements), "element 0 has unknown 0 twice"));
  elements = good();
  elements.values[5] = 2;
  EXPECT_TRUE(contains(check(elements), "element 1 is not symmetric"));
  elements = good();
  elements.values[2] = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(contains(check(elements), "element 0 has a NaN or Inf"));
  elements = good();
  elements.values.pop_back();
  EXPECT_TRUE(contains(check(elements), "8 values by their unknowns, and 7"));
  elements = good();
  elements.begin = {0, 3, 2, 4};
  EXPECT_TRUE(contains(check(elements), "element 1 ends before it begins"));
  elements = good();
  elements.begin.back() = 3;
  EXPECT_TRUE(contains(check(elements), "the number of indices, 4"));
}

TEST(BddcElements, PartitionedByMetis_SumUpToTheAssembledMatrix) {
  const CubeProblem problem = poisson_on_cube({.subdomains = 1, .elements = 5});
  const Csr<double> A = assemble(problem.matrices);
  const std::vector<std::int32_t> part = partition_elements(problem.matrices, 6);
  const std::vector<SubdomainMatrix> subdomains = subdomain_matrices(problem.matrices, part);
  ASSERT_EQ(subdomains.size(), 6U);
  check_subdomain_matrices(subdomains);
  check_sum(subdomains, A, 1e-14);
  EXPECT_THROW((void)partition_elements(problem.matrices, 126), BadOption);
  EXPECT_THROW((void)subdomain_matrices(problem.matrices, std::vector<std::int32_t>(3, 0)), BadOption);
}

TEST(BddcInterface, Cubes_HaveTheirCornersEdgesAndFaces) {
  const std::int64_t side = 3;
  const CubeProblem problem = poisson_on_cube({.subdomains = side, .elements = 3});
  const auto subdomains = subdomain_matrices(problem.matrices, problem.subdomain_of_element);
  const Interface interface = classify_interface(subdomains, problem.matrices.unknowns, 1, 1);
  EXPECT_EQ(interface.count(ClassKind::corner), 8);  // (side - 1)^3
  EXPECT_EQ(interface.count(ClassKind::edge), 36);   // 3 side (side - 1)^2
  EXPECT_EQ(interface.count(ClassKind::face), 54);   // 3 side^2 (side - 1)
  EXPECT_EQ(interface.unknowns.size(), 8U * 8 * 8 - 6U * 6 * 6);
  const Interface large = classify_interface(subdomains, problem.matrices.unknowns, 1, 2);
  EXPECT_EQ(large.count(ClassKind::corner), 8 + 36);
}

TEST(BddcInterface, EdgeEnds_AreCorners) {
  // Edges of the only inner corner have the places 1 to 4 of 5 on their way to the surface.
  const CubeProblem problem = elasticity_on_cube({.subdomains = 2, .elements = 5});
  const auto subdomains = subdomain_matrices(problem.matrices, problem.subdomain_of_element);
  const std::int64_t unknowns = problem.matrices.unknowns;
  const Interface without = classify_interface(subdomains, unknowns, 3, 1);
  const Interface with = classify_interface(subdomains, unknowns, 3, 1, true);
  EXPECT_EQ(without.count(ClassKind::edge), with.count(ClassKind::edge));
  EXPECT_EQ(with.count(ClassKind::corner),
            without.count(ClassKind::corner) + 2 * without.count(ClassKind::edge));
  EXPECT_EQ(with.unknowns, without.unknowns);
  std::vector<std::int32_t> all;
  for (const InterfaceClass& c : with.classes) {
    all.insert(all.end(), c.unknowns.begin(), c.unknowns.end());
    if (c.kind != ClassKind::edge) continue;
    // A straight edge: neighbours follow each other at one distance, and the ends are beyond them.
    const std::int32_t step = c.nodes[1] - c.nodes[0];
    const auto is_corner = [&](std::int32_t node) {
      return std::any_of(with.classes.begin(), with.classes.end(), [&](const InterfaceClass& other) {
        return other.kind == ClassKind::corner && other.nodes.front() == node;
      });
    };
    EXPECT_TRUE(is_corner(c.nodes.front() - step));
    EXPECT_TRUE(is_corner(c.nodes.back() + step));
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, with.unknowns);
}

TEST(BddcInterface, EdgeOfOneNode_IsOneCorner) {
  const CubeProblem problem = poisson_on_cube({.subdomains = 2, .elements = 2});
  const auto subdomains = subdomain_matrices(problem.matrices, problem.subdomain_of_element);
  const Interface interface = classify_interface(subdomains, problem.matrices.unknowns, 1, 0, true);
  EXPECT_EQ(interface.count(ClassKind::corner), 7);  // the centre and six edges
  EXPECT_EQ(interface.count(ClassKind::edge), 0);
}

TEST(BddcInterface, FaceInTwoPieces_IsTwoFaces) {
  // Subdomain 0 is a path from row 0 to row 6; subdomain 1 touches it in rows 0, 1 and 5, 6.
  std::vector<Triplet<double>> bridge;
  const auto add = [&](std::int32_t i, std::int32_t j) {
    bridge.insert(bridge.end(), {{i, i, 1}, {j, j, 1}, {i, j, -1}, {j, i, -1}});
  };
  add(0, 1), add(1, 4), add(4, 2), add(2, 3);  // places of rows 0, 1, 5, 6, 7
  const std::vector<SubdomainMatrix> subdomains = {
      {{0, 1, 2, 3, 4, 5, 6}, path(7)}, {{0, 1, 5, 6, 7}, Csr<double>::from_triplets(5, 5, bridge)}};
  const Interface interface = classify_interface(subdomains, 8, 1, 1);
  ASSERT_EQ(interface.classes.size(), 2U);
  EXPECT_EQ(interface.classes[0].nodes, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(interface.classes[1].nodes, (std::vector<std::int32_t>{5, 6}));
  EXPECT_EQ(interface.count(ClassKind::face), 2);
}

TEST(BddcCube, PatchOfElements_HasTheKnownStencilAndLoad) {
  const CubeProblem problem = poisson_on_cube({.subdomains = 2, .elements = 2});
  const Csr<double> A = assemble(problem.matrices);
  ASSERT_EQ(A.rows(), 27);
  const Dense<double> dense = to_dense(MatrixRef<double>(A));
  const double h = 0.25;
  EXPECT_NEAR(dense(13, 13), h * 8 / 3, 1e-15);     // the node in the middle
  EXPECT_NEAR(dense(13, 14), 0, 1e-15);             // along an edge
  EXPECT_NEAR(dense(13, 13 + 4), -h / 6, 1e-15);    // across a face
  EXPECT_NEAR(dense(13, 13 + 13), -h / 12, 1e-15);  // across an element
  EXPECT_NEAR(problem.load[13], h * h * h, 1e-15);
  EXPECT_THROW((void)poisson_on_cube({.subdomains = 0}), BadOption);
  EXPECT_THROW((void)poisson_on_cube({.subdomains = 2, .elements = 2, .coefficients = {1, 2}}), BadOption);
}

TEST(BddcCube, FreeElasticElement_HasSixRigidMotions) {
  const CubeProblem problem = elasticity_on_cube({.subdomains = 2, .elements = 1});
  // The element farthest from the clamped face has all of its 24 unknowns.
  const std::vector<double>& values = problem.matrices.values;
  std::vector<double> K(values.end() - 24 * 24, values.end());
  std::vector<double> eigenvalues(24);
  ASSERT_EQ(LAPACKE_dsyev(LAPACK_COL_MAJOR, 'N', 'L', 24, K.data(), 24, eigenvalues.data()), 0);
  EXPECT_NEAR(eigenvalues[5], 0, 1e-14);
  EXPECT_GT(eigenvalues[6], 1e-3);
}

}  // namespace echelon::bddc
