// SPDX-License-Identifier: BSD-3-Clause
/// Detection of stencil matrices, compared with A element by element.
#include "matrix/stencil/find_stencil.hpp"

#include "backend/host/host.hpp"
#include "matrix/stencil/find_grid.hpp"
#include "support/multigrid/stencil_problems.hpp"

#include <echelon/generate.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

template <class T>
std::optional<StencilMatrix<T>> find(const Csr<T>& A, std::string* reason = nullptr,
                                     const Device& device = Device::serial()) {
  Host backend(device);
  const std::optional<Grid> grid = find_grid(backend, "", MatrixRef<T>(A));
  if (!grid) return std::nullopt;
  std::string own;
  return find_stencil(backend, A, *grid, reason != nullptr ? *reason : own);
}

template <class T>
void expect_equal(const Csr<T>& A, const Csr<T>& B) {
  ASSERT_EQ(A.rows(), B.rows());
  ASSERT_EQ(A.nonzeros(), B.nonzeros());
  EXPECT_TRUE(A.row_offsets().to_vector() == B.row_offsets().to_vector());
  EXPECT_TRUE(A.column_indices().to_vector() == B.column_indices().to_vector());
  EXPECT_TRUE(A.values().to_vector() == B.values().to_vector());
}

Csr<double> with_element(const Csr<double>& A, std::int32_t row, std::int32_t column, double value) {
  std::vector<Triplet<double>> elements = {{row, column, value}};
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      const std::int32_t j = A.column_indices()[k];
      if (i == row && j == column) continue;
      elements.push_back({static_cast<std::int32_t>(i), j, A.values()[k]});
    }
  }
  return Csr<double>::from_triplets(A.rows(), A.columns(), elements);
}

/// Boxes of all kinds of sizes, those with one or two points along an axis included.
const std::vector<Box>& boxes() {
  static const std::vector<Box> list = {{7, 5, 3},  {4, 4, 4},   {2, 3, 4},   {2, 2, 2}, {3, 2, 5},
                                        {17, 9, 2}, {1, 6, 5},   {6, 1, 5},   {9, 7, 1}, {2, 5, 1},
                                        {5, 2, 1},  {33, 31, 1}, {16, 17, 5}, {31, 1, 1}};
  return list;
}

TEST(FindStencil, VariableCoefficients_EqualA) {
  unsigned seed = 0;
  for (const Box& box : boxes()) {
    for (const int apart : {1, 2, 3}) {
      const Csr<double> A = random_stencil<double>(box, apart, ++seed);
      const auto found = find(A);
      ASSERT_TRUE(found) << box.nx << " " << box.ny << " " << box.nz << " " << apart;
      EXPECT_EQ(found->box, apart > 1 && (box.nx > 1) + (box.ny > 1) + (box.nz > 1) > 1);
      expect_equal(to_csr(*found), A);
    }
  }
}

/// All subsets of the axes.
std::vector<Periodic> subsets() {
  std::vector<Periodic> list;
  for (unsigned k = 0; k < 8; ++k) list.push_back({(k & 1U) != 0, (k & 2U) != 0, (k & 4U) != 0});
  return list;
}

/// An axis of two points has no periodic form: both neighbours of a point are the other.
TEST(FindStencil, PeriodicAxes_AreFound) {
  unsigned seed = 0;
  for (const Box& box : boxes()) {
    const std::array<std::int64_t, 3> points = {box.nx, box.ny, box.nz};
    for (const Periodic& periodic : subsets()) {
      for (const int apart : {1, 2, 3}) {
        const Csr<double> A = random_stencil<double>(box, apart, ++seed, periodic);
        const auto found = find(A);
        ASSERT_TRUE(found) << box.nx << " " << box.ny << " " << box.nz << " " << apart << " "
                           << ::testing::PrintToString(periodic);
        expect_equal(to_csr(*found), A);
        if (box.size() < 100) continue;  // on which all points may be neighbours, by several grids
        std::size_t axis = 0;            // axes of one point are not those of the grid that is found
        for (std::size_t a = 0; a < 3; ++a) {
          if (points.at(a) == 1) continue;
          EXPECT_EQ(found->grid.points.at(axis), points.at(a));
          EXPECT_EQ(found->grid.periodic.at(axis), periodic.at(a) && points.at(a) > 2);
          ++axis;
        }
      }
    }
  }
}

TEST(FindStencil, PeriodicConstantCoefficients_AreATable) {
  const auto one = [](std::int64_t) { return 2.0; };
  using enum Boundary;
  for (const Box& box : boxes()) {
    for (const Boundaries& boundaries : {Boundaries(periodic), Boundaries(periodic, dirichlet, neumann),
                                         Boundaries(neumann, periodic, periodic)}) {
      const Csr<float> A = diffusion<float>(box, one, boundaries, {1, 3, 0.5});
      const auto found = find(A);
      ASSERT_TRUE(found);
      EXPECT_TRUE(found->constant);
      expect_equal(to_csr(*found), A);
    }
  }
}

TEST(FindStencil, OneCouplingOfTheEnds_MakesTheAxisPeriodic) {
  const Csr<double> A = generate::poisson_2d<double>(8, 9);
  const auto found = find(with_element(with_element(A, 24, 31, -0.5), 31, 24, -0.5));  // of line 3
  ASSERT_TRUE(found);
  EXPECT_EQ(to_string(*found), "5-point, 8 x 9, periodic in x, variable coefficients");
}

TEST(FindStencil, ConstantCoefficients_AreATable) {
  const auto one = [](std::int64_t) { return 2.0; };
  for (const Box& box : boxes()) {
    for (const Boundary boundary : {Boundary::dirichlet, Boundary::neumann}) {
      const Csr<float> A = diffusion<float>(box, one, boundary, {1, 3, 0.5});
      const auto found = find(A);
      ASSERT_TRUE(found);
      EXPECT_TRUE(found->constant);
      EXPECT_LE(found->values.size(), 27 * 27);
      expect_equal(to_csr(*found), A);
    }
  }
}

TEST(FindStencil, ItsText_NamesPointsAndGrid) {
  EXPECT_EQ(to_string(*find(generate::poisson_3d<double>(8, 9, 10))),
            "7-point, 8 x 9 x 10, constant coefficients");
  EXPECT_EQ(to_string(*find(generate::poisson_3d<double>(8, 9, 10, 27))),
            "27-point, 8 x 9 x 10, constant coefficients");
  EXPECT_EQ(to_string(*find(generate::poisson_2d<double>(8, 9, 9))), "9-point, 8 x 9, constant coefficients");
  EXPECT_EQ(to_string(*find(random_stencil<double>({8, 9, 10}, 2, 1))),
            "19-point, 8 x 9 x 10, variable coefficients");
  EXPECT_EQ(to_string(*find(random_stencil<double>({8, 9, 10}, 1, 1, {true, false, true}))),
            "7-point, 8 x 9 x 10, periodic in x and z, variable coefficients");
}

TEST(FindStencil, OneChangedValue_MakesCoefficientsVary) {
  const Csr<double> A = generate::poisson_3d<double>(8, 9, 10);
  for (const std::int32_t row : {1, 101, 355, 718}) {  // no corners, which are regions of one point
    const Csr<double> changed = with_element(A, row, row, 6.000001);
    const auto found = find(changed);
    ASSERT_TRUE(found);
    EXPECT_FALSE(found->constant) << row;
    expect_equal(to_csr(*found), changed);
  }
}

TEST(FindStencil, OneElementElsewhere_IsRefused) {
  const Csr<double> A = generate::poisson_3d<double>(8, 9, 10);
  for (const std::int32_t row : {6, 101, 355, 718}) {
    for (const std::int32_t column : {row - 2, row / 2, 0, row - 5}) {
      std::string reason;
      EXPECT_FALSE(find(with_element(A, row, column, -0.1), &reason)) << row << " " << column;
      EXPECT_NE(reason.find("row " + std::to_string(row) + " "), std::string::npos) << reason;
    }
  }
}

TEST(FindStencil, OtherNumberings_AreNoGrid) {
  const Csr<double> A = generate::poisson_2d<double>(12, 12);
  std::vector<Triplet<double>> elements;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      const auto renumbered = [](std::int64_t p) { return static_cast<std::int32_t>(p * 5 % 144); };
      elements.push_back({renumbered(i), renumbered(A.column_indices()[k]), A.values()[k]});
    }
  }
  EXPECT_FALSE(find(Csr<double>::from_triplets(144, 144, elements)));
}

TEST(FindStencil, Threads_FindTheSame) {
  const Csr<double> A = random_stencil<double>({41, 37, 33}, 1, 5);
  const auto serial = find(A);
  const auto threads = find(A, nullptr, Device::openmp(3));
  ASSERT_TRUE(serial && threads);
  EXPECT_TRUE(serial->values.to_vector() == threads->values.to_vector());
}

TEST(FixedDivisor, Quotients_AreExact) {
  for (const std::int64_t divisor : {1, 2, 3, 7, 640, 641, 65'535, 65'537, 1'000'003, 2'147'483'647}) {
    const FixedDivisor fixed(divisor);
    for (const std::int64_t n :
         {0, 1, 2, 639, 640, 641, 65'535, 65'536, 1'000'003, 2'147'483'646, 2'147'483'647}) {
      for (const std::int64_t d : {-1, 0, 1}) {
        const std::int64_t value = n - n % divisor + d;
        if (value < 0 || value > INT32_MAX) continue;
        EXPECT_EQ(fixed.quotient(value), value / divisor) << value << " / " << divisor;
      }
    }
  }
}

}  // namespace
}  // namespace echelon::test
