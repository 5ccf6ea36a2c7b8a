// SPDX-License-Identifier: BSD-3-Clause
/// The public class Stencil: elements, products, transposes and errors, against matrices assembled point by
/// point.
#include "support/multigrid/stencil_problems.hpp"
#include "support/multigrid_cases.hpp"

#include <echelon/error.hpp>
#include <echelon/generate.hpp>
#include <echelon/linalg.hpp>
#include <echelon/matrix/dense.hpp>
#include <echelon/matrix/matrix.hpp>
#include <echelon/matrix/stencil.hpp>
#include <echelon/matrix/transform.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

using Entries = std::vector<StencilEntry<double>>;

template <class T>
void expect_same_elements(const Csr<T>& A, const Csr<T>& B) {
  ASSERT_EQ(A.rows(), B.rows());
  ASSERT_TRUE(A.row_offsets().to_vector() == B.row_offsets().to_vector());
  EXPECT_TRUE(A.column_indices().to_vector() == B.column_indices().to_vector());
  EXPECT_TRUE(A.values().to_vector() == B.values().to_vector());
}

/// Index of the neighbour of a point, by the definition; -1 if its coefficient is left out.
std::int64_t neighbour_at(const StencilGrid& grid, std::array<std::int64_t, 3> at,
                          const StencilOffset& offset) {
  std::int64_t index = 0;
  for (std::size_t a = grid.points.size(); a-- > 0;) {
    std::int64_t next = at.at(a) + offset.at(a);
    if (next < 0 || next >= grid.points[a]) {
      if (grid.boundaries.at(a) == BoundaryCondition::dirichlet) return -1;
      next = grid.boundaries.at(a) == BoundaryCondition::neumann ? at.at(a)
                                                                 : (next + grid.points[a]) % grid.points[a];
    }
    index = index * grid.points[a] + next;
  }
  return index;
}

/// The matrix of a stencil, by the definition; c(i, k) is the coefficient at offset k in row i.
template <class C>
Csr<double> assembled(const StencilGrid& grid, const std::vector<StencilOffset>& offsets, C c) {
  std::int64_t n = 1;
  for (const std::int64_t points : grid.points) n *= points;
  std::vector<Triplet<double>> elements;
  for (std::int64_t i = 0; i < n; ++i) {
    std::array<std::int64_t, 3> at{};
    std::int64_t rest = i;
    for (std::size_t a = 0; a < grid.points.size(); ++a) {
      at.at(a) = rest % grid.points[a];
      rest /= grid.points[a];
    }
    for (std::size_t k = 0; k < offsets.size(); ++k) {
      const std::int64_t j = neighbour_at(grid, at, offsets[k]);
      if (j >= 0) elements.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), c(i, k)});
    }
  }
  const Csr<double> A = Csr<double>::from_triplets(n, n, elements);
  return to_csr<double>(to_dense<double>(A));  // without stored zeros
}

std::vector<StencilOffset> offsets_of(std::size_t axes, bool box) {
  std::vector<StencilOffset> offsets;
  for (int z = axes > 2 ? -1 : 0; z <= (axes > 2 ? 1 : 0); ++z) {
    for (int y = axes > 1 ? -1 : 0; y <= (axes > 1 ? 1 : 0); ++y) {
      for (int x = -1; x <= 1; ++x) {
        if (box || axes_apart(x, y, z) <= 1) offsets.push_back({x, y, z});
      }
    }
  }
  return offsets;
}

std::vector<StencilGrid> grids() {
  using enum BoundaryCondition;
  std::vector<StencilGrid> all;
  for (const std::vector<std::int64_t>& points : std::vector<std::vector<std::int64_t>>{
           {1}, {2}, {9}, {7, 6}, {2, 5}, {1, 4}, {5, 4, 6}, {2, 3, 1}, {3, 3, 3}, {1, 1, 8}}) {
    for (const std::array<BoundaryCondition, 3>& of :
         std::vector<std::array<BoundaryCondition, 3>>{{dirichlet, dirichlet, dirichlet},
                                                       {neumann, neumann, neumann},
                                                       {periodic, periodic, periodic},
                                                       {periodic, dirichlet, neumann},
                                                       {neumann, periodic, dirichlet}}) {
      StencilGrid grid{points, {}};
      for (std::size_t a = 0; a < points.size(); ++a)
        grid.boundaries.push_back(of.at(a) == periodic && points[a] < 3 ? dirichlet : of.at(a));
      all.push_back(grid);
    }
  }
  return all;
}

/// Small integers, whose sums of products are exact in any order.
double integer(std::int64_t i, std::size_t k) {
  return static_cast<double>((7 * i + 13 * static_cast<std::int64_t>(k)) % 11 - 5);
}

/// Expects elements, products with A and A^T, and the transpose of a stencil to be those of a matrix.
void expect_equal(const Stencil<double>& A, const Csr<double>& B) {
  expect_same_elements(to_csr(A), B);
  expect_same_elements(to_csr(A.transposed()), transpose(B));
  const std::int64_t n = B.rows();
  Dense<double> x(Device(), n, 2);
  for (std::int64_t i = 0; i < 2 * n; ++i) x.data()[i] = integer(i, 5);
  for (const Operation operation : {Operation::none, Operation::transpose}) {
    Dense<double> y = x;
    Dense<double> expected = x;
    Context context{Device()};
    multiply<double>(context, operation, 2, A, x, -3, y);
    multiply<double>(context, operation, 2, B, x, -3, expected);
    EXPECT_TRUE(y.to_vector() == expected.to_vector());
  }
  std::vector<double> y(static_cast<std::size_t>(n));
  Dense<double> expected(Device(), n, 1);
  A.linear_operator().apply(x.data(), y.data());
  multiply<double>(1, B, DenseView<const double>(x.data(), n, 1, n), 0, expected);
  EXPECT_TRUE(y == expected.to_vector());
  A.linear_operator().apply_transposed(x.data(), y.data());
  multiply_transposed<double>(1, B, DenseView<const double>(x.data(), n, 1, n), 0, expected);
  EXPECT_TRUE(y == expected.to_vector());
}

TEST(Stencil, ConstantCoefficients_AreThoseOfTheDefinition) {
  for (const StencilGrid& grid : grids()) {
    for (const bool box : {false, true}) {
      const std::vector<StencilOffset> offsets = offsets_of(grid.points.size(), box);
      Entries entries;
      for (std::size_t k = 0; k < offsets.size(); ++k) entries.push_back({offsets[k], integer(3, k) + 0.5});
      const Stencil<double> A = Stencil<double>::constant(grid, entries);
      SCOPED_TRACE(A.describe());
      EXPECT_LE(A.bytes(), 27 * 27 * sizeof(double));
      expect_equal(A,
                   assembled(grid, offsets, [&](std::int64_t, std::size_t k) { return entries[k].value; }));
    }
  }
}

TEST(Stencil, VariableCoefficients_AreThoseOfTheDefinition) {
  for (const StencilGrid& grid : grids()) {
    for (const bool box : {false, true}) {
      const std::vector<StencilOffset> offsets = offsets_of(grid.points.size(), box);
      const auto row_of = [&](const std::array<std::int64_t, 3>& at) {
        const std::int64_t nx = grid.points[0];
        const std::int64_t ny = grid.points.size() > 1 ? grid.points[1] : 1;
        return at[0] + nx * (at[1] + ny * at[2]);
      };
      const auto place_of = [&](const StencilOffset& offset) {
        return static_cast<std::size_t>(std::find(offsets.begin(), offsets.end(), offset) - offsets.begin());
      };
      const Stencil<double> A = Stencil<double>::variable(
          grid, offsets, [&](const std::array<std::int64_t, 3>& at, const StencilOffset& offset) {
            return integer(row_of(at), place_of(offset));
          });
      SCOPED_TRACE(A.describe());
      expect_equal(A, assembled(grid, offsets, integer));
    }
  }
}

TEST(Stencil, Laplacians_AreThoseOfTheGenerators) {
  expect_same_elements(to_csr(Stencil<double>::laplacian({{13, 11}})), generate::poisson_2d<double>(13, 11));
  expect_same_elements(to_csr(Stencil<double>::laplacian({{13, 11}}, 9)),
                       generate::poisson_2d<double>(13, 11, 9));
  expect_same_elements(to_csr(Stencil<float>::laplacian({{5, 6, 7}}, 7)),
                       generate::poisson_3d<float>(5, 6, 7));
  expect_same_elements(to_csr(Stencil<float>::laplacian({{5, 6, 7}}, 27)),
                       generate::poisson_3d<float>(5, 6, 7, 27));
  const Stencil<double> line = Stencil<double>::laplacian({{4}});
  EXPECT_EQ(line.describe(), "3-point, 4 x 1, constant coefficients");
  EXPECT_TRUE(to_csr(line).values().to_vector() == (std::vector<double>{2, -1, -1, 2, -1, -1, 2, -1, -1, 2}));
  EXPECT_THROW(static_cast<void>(Stencil<double>::laplacian({{4}}, 5)), BadOption);
  EXPECT_THROW(static_cast<void>(Stencil<double>::laplacian({{4, 4}}, 7)), BadOption);
  EXPECT_THROW(static_cast<void>(Stencil<double>::laplacian({{4, 4, 4}}, 9)), BadOption);
}

TEST(Stencil, NeumannRows_SumToZero) {
  for (const int points : {5, 9}) {
    const Csr<double> A = to_csr(Stencil<double>::laplacian({{9, 8}, {BoundaryCondition::neumann}}, points));
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      double sum = 0;
      for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) sum += A.values()[k];
      EXPECT_EQ(sum, 0) << points << " " << i;
    }
  }
}

TEST(Stencil, EqualCoefficients_AreKeptAsConstants) {
  const StencilGrid grid{{40, 30}};
  const std::vector<double> four(1200, 4.0);
  const std::vector<double> minus(1200, -1.0);
  const std::vector<double> zero(1200, 0.0);
  const Stencil<double> A = Stencil<double>::variable(
      grid,
      {{{0, 0}, four}, {{1, 0}, minus}, {{-1, 0}, minus}, {{0, 1}, minus}, {{0, -1}, minus}, {{1, 1}, zero}});
  EXPECT_EQ(A.describe(), Stencil<double>::laplacian(grid).describe());
  EXPECT_EQ(A.bytes(), Stencil<double>::laplacian(grid).bytes());
}

/// Constant coefficients on 4000 x 4000 points take the memory of those on 4 x 4.
TEST(Stencil, ConstantCoefficients_TakeNoMemoryByPoint) {
  const Stencil<double> large = Stencil<double>::laplacian({{4000, 4000}});
  EXPECT_EQ(large.rows(), 16'000'000);
  EXPECT_EQ(large.bytes(), 5 * 27 * sizeof(double));
  EXPECT_EQ(large.transposed().bytes(), large.bytes());
  EXPECT_EQ(large.describe(), "5-point, 4000 x 4000, constant coefficients");
  const Stencil<double> largest = Stencil<double>::laplacian({{INT32_MAX}});
  EXPECT_EQ(largest.rows(), INT32_MAX);
}

/// A table of rows whose transpose has none: the first row differs.
TEST(Stencil, TransposedTable_IsByPointsWhereItHasTo) {
  const StencilGrid grid{{7}};
  const std::vector<double> own(7, 2.0);
  const std::vector<double> before(7, -1.0);
  std::vector<double> after(7, -1.0);
  after[0] = -5;
  const Stencil<double> A = Stencil<double>::variable(grid, {{{0}, own}, {{-1}, before}, {{1}, after}});
  EXPECT_NE(A.describe().find("constant"), std::string::npos);
  EXPECT_NE(A.transposed().describe().find("variable"), std::string::npos);
  expect_same_elements(to_csr(A.transposed()), transpose(to_csr(A)));
  expect_same_elements(to_csr(A.transposed().transposed()), to_csr(A));
}

/// Expects InvalidMatrix whose message has this text.
template <class F>
void expect_invalid(const F& make, const std::string& text) {
  try {
    static_cast<void>(make());
    FAIL() << "accepted: " << text;
  } catch (const InvalidMatrix& error) {
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}
void expect_invalid_entries(const StencilGrid& grid, const Entries& entries, const std::string& text) {
  expect_invalid([&] { return Stencil<double>::constant(grid, entries); }, text);
}

TEST(Stencil, WrongGrids_AreNamed) {
  const Entries one = {{{0, 0, 0}, 1.0}};
  expect_invalid_entries({{}}, one, "0 axes");
  expect_invalid_entries({{2, 2, 2, 2}}, one, "4 axes");
  expect_invalid_entries({{4, 0}}, one, "axis y of the grid has 0 points");
  expect_invalid_entries({{4, -3, 2}}, one, "axis y of the grid has -3 points");
  expect_invalid_entries({{50000, 50000}}, one, "2147483647");
  expect_invalid_entries({{INT64_MAX, INT64_MAX}}, one, "2147483647");
  expect_invalid_entries({{4, 2}, {BoundaryCondition::periodic}}, one, "axis y of the grid is periodic");
  expect_invalid_entries({{4, 4, 4}, {BoundaryCondition::neumann, BoundaryCondition::neumann}}, one,
                         "2 boundary conditions");
}

TEST(Stencil, WrongOffsets_AreNamed) {
  const StencilGrid grid{{4, 4}};
  expect_invalid_entries(grid, {}, "no coefficient at the offset (0, 0)");
  expect_invalid_entries(grid, {{{1, 0, 0}, 1.0}}, "no coefficient at the offset (0, 0)");
  expect_invalid_entries(grid, {{{0, 0, 0}, 1.0}, {{2, 0, 0}, 1.0}}, "(2, 0, 0)");
  expect_invalid_entries(grid, {{{0, 0, 0}, 1.0}, {{0, 0, 1}, 1.0}}, "leaves the two axes");
  expect_invalid_entries({{4}}, {{{0, 0, 0}, 1.0}, {{0, 1, 0}, 1.0}}, "leaves the one axis");
  expect_invalid_entries(grid, {{{0, 0, 0}, 1.0}, {{0, 1, 0}, 1.0}, {{0, 1, 0}, 2.0}},
                         "(0, 1) of a stencil is given twice");
}

TEST(Stencil, WrongCoefficients_AreNamed) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double inf = std::numeric_limits<double>::infinity();
  const StencilGrid grid{{4, 3}};
  expect_invalid_entries(grid, {{{0, 0}, 1.0}, {{-1, 0}, nan}}, "(-1, 0) of a stencil is NaN or Inf");
  expect_invalid_entries(grid, {{{0, 0}, -inf}}, "(0, 0) of a stencil is NaN or Inf");
  const std::vector<double> short_array(11, 1.0);
  expect_invalid(
      [&] {
        return Stencil<double>::variable(grid, {{{0, 0}, short_array}});
      },
      "has 11 values, the grid 4x3 has 12 points");
  std::vector<double> values(12, 1.0);
  values[6] = inf;
  expect_invalid(
      [&] {
        return Stencil<double>::variable(grid, {{{0, 0}, values}});
      },
      "at the point (2, 1), row 6");
  EXPECT_THROW(static_cast<void>(Stencil<double>::variable(grid, {{0, 0}}, nullptr)), Error);
}

TEST(Stencil, ElementsThatItDoesNotHave_AreAnError) {
  const Stencil<double> A = Stencil<double>::laplacian({{4, 4}});
  const MatrixRef<double> ref(A);
  EXPECT_TRUE(ref.is_operator());
  EXPECT_TRUE(ref.is_stencil());
  EXPECT_FALSE(ref.is_sparse());
  try {
    static_cast<void>(to_dense<double>(ref));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("to_csr(A)"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace echelon::test
