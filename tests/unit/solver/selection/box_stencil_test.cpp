// SPDX-License-Identifier: BSD-3-Clause
/// Facts about matrices with constant coefficients on a box, found from some rows, against those from all.
#include "solver/selection/structure/sparse_structure.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace echelon::test {
namespace {

using Point = std::array<std::int64_t, 3>;

/// In each axis 0 for the first point, 2 for the last one, 1 for those between.
std::size_t region_of(const StencilGrid& grid, const Point& point) {
  std::size_t region = 0;
  for (std::size_t a = grid.points.size(); a-- > 0;) {
    const std::size_t part = point[a] == 0 ? 0 : point[a] + 1 == grid.points[a] ? 2 : 1;
    region = 3 * region + part;
  }
  return region;
}

std::vector<StencilOffset> offsets_of(const StencilGrid& grid, int most_apart) {
  std::vector<StencilOffset> offsets;
  for (int z = -1; z <= 1; ++z) {
    for (int y = -1; y <= 1; ++y) {
      for (int x = -1; x <= 1; ++x) {
        const int apart = (x != 0 ? 1 : 0) + (y != 0 ? 1 : 0) + (z != 0 ? 1 : 0);
        if (apart <= most_apart && (z == 0 || grid.points.size() > 2)) offsets.push_back({x, y, z});
      }
    }
  }
  return offsets;
}

/// -1 for all neighbours, as many on the diagonal with `excess`, and in one region `changed` for one offset.
struct Coefficients {
  StencilGrid grid;
  std::vector<StencilOffset> offsets;
  double excess = 0;
  std::size_t region = 99;
  StencilOffset offset = {};
  double changed = 0;

  [[nodiscard]] Csr<double> matrix() const {
    return to_csr(Stencil<double>::variable(grid, offsets, [&](const Point& point, const StencilOffset& d) {
      if (region_of(grid, point) == region && d == offset) return changed;
      return d == StencilOffset{} ? static_cast<double>(offsets.size()) - 1 + excess : -1.0;
    }));
  }
};

void expect_equal(const SparseRowSummary& found, const SparseRowSummary& all) {
  EXPECT_EQ(found.longest, all.longest);
  EXPECT_EQ(found.zero_diagonals, all.zero_diagonals);
  EXPECT_EQ(found.positive_diagonals, all.positive_diagonals);
  EXPECT_EQ(found.strictly_dominant, all.strictly_dominant);
  EXPECT_EQ(found.weakly_dominant, all.weakly_dominant);
  EXPECT_EQ(found.strongly_dominant, all.strongly_dominant);
  EXPECT_EQ(found.lower_bandwidth, all.lower_bandwidth);
  EXPECT_EQ(found.upper_bandwidth, all.upper_bandwidth);
  EXPECT_EQ(found.smallest_diagonal, all.smallest_diagonal);
  EXPECT_EQ(found.largest_diagonal, all.largest_diagonal);
  EXPECT_EQ(found.has_positive, all.has_positive);
  EXPECT_EQ(found.has_excess, all.has_excess);
  EXPECT_EQ(found.is_deficient, all.is_deficient);
}

/// Compares the facts, unless a change has made A another matrix than one of constant coefficients on a box.
/// Returns whether they were compared.
bool expect_facts_of_all_rows(const Csr<double>& A) {
  const std::optional<BoxStencil> box = find_box_stencil(A);
  if (!box || !box->constant) return false;
  expect_equal(summarize_constant_rows(A, box->grid), summarize_rows(A));
  EXPECT_EQ(is_symmetric_constant(A, box->grid), analyze_structure<double>(A).symmetric_values);
  return true;
}

TEST(BoxStencil, ConstantCoefficients_FactsOfAllRows) {
  const std::vector<std::vector<std::int64_t>> sizes = {{4, 5},    {9, 3},    {3, 3},
                                                        {4, 4, 4}, {5, 3, 7}, {6, 4, 3}};
  for (const auto& points : sizes) {
    for (const BoundaryCondition boundary :
         {BoundaryCondition::dirichlet, BoundaryCondition::neumann, BoundaryCondition::periodic}) {
      for (const int apart : {1, 2}) {
        const StencilGrid grid{points, {boundary}};
        for (const double excess : {-1.0, 0.0, 1e-9, 10.0}) {
          const Csr<double> A = Coefficients{grid, offsets_of(grid, apart), excess}.matrix();
          const std::optional<BoxStencil> box = find_box_stencil(A);
          ASSERT_TRUE(box && box->constant) << points.size() << " " << apart;
          EXPECT_TRUE(expect_facts_of_all_rows(A));
        }
      }
    }
  }
}

TEST(BoxStencil, ChangeOfOneRegion_SymmetryOfAllRows) {
  for (const std::vector<std::int64_t>& points : {std::vector<std::int64_t>{5, 4}, {4, 5, 4}, {3, 4, 5}}) {
    for (const BoundaryCondition boundary : {BoundaryCondition::dirichlet, BoundaryCondition::periodic}) {
      Coefficients coefficients{{points, {boundary}}, {}, 0.5};
      coefficients.offsets = offsets_of(coefficients.grid, 2);
      std::size_t compared = 0;
      const std::size_t regions = points.size() > 2 ? 27 : 9;
      for (coefficients.region = 0; coefficients.region < regions; ++coefficients.region) {
        for (const StencilOffset& offset : coefficients.offsets) {
          coefficients.offset = offset;
          coefficients.changed = offset == StencilOffset{} ? 100 : -0.5;
          compared += expect_facts_of_all_rows(coefficients.matrix()) ? 1 : 0;
        }
      }
      EXPECT_EQ(compared, regions * coefficients.offsets.size());
    }
  }
}

TEST(BoxStencil, OtherMatrices_HaveNone) {
  const Csr<double> A = to_csr(Stencil<double>::laplacian({{8, 9}}));
  EXPECT_TRUE(find_box_stencil(A).has_value());
  EXPECT_FALSE(find_box_stencil(to_csr(Stencil<double>::laplacian({{40}}))).has_value()) << "one dimension";
  EXPECT_FALSE(find_box_stencil(Csr<double>::from_triplets(0, 0, {})).has_value());
  EXPECT_FALSE(find_box_stencil(Csr<double>::from_triplets(1, 1, {{0, 0, 1}})).has_value());
  // One element beyond the neighbours, and one value of its own.
  std::vector<Triplet<double>> elements = {{30, 60, 1}};
  for (std::int32_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k)
      elements.push_back({i, A.column_indices()[k], A.values()[k]});
  }
  EXPECT_FALSE(find_box_stencil(Csr<double>::from_triplets(A.rows(), A.columns(), elements)).has_value());
  Csr<double> changed = A;
  changed.values()[150] *= 2;
  const std::optional<BoxStencil> box = find_box_stencil(changed);
  ASSERT_TRUE(box.has_value());
  EXPECT_FALSE(box->constant);
}

}  // namespace
}  // namespace echelon::test
