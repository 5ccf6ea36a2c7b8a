// SPDX-License-Identifier: BSD-3-Clause
/// Galerkin products and transfers of stencil matrices, compared with dense products.
#include "backend/host/host.hpp"
#include "matrix/stencil/find_grid.hpp"
#include "matrix/stencil/find_stencil.hpp"
#include "multigrid/structured/grid_transfer.hpp"
#include "support/multigrid/stencil_problems.hpp"

#include <echelon/matrix/matrix.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

using multigrid::AxisTransfer;

/// P of one axis as a dense matrix, by rows: the interpolation of each unit vector.
std::vector<std::vector<double>> interpolation_matrix(Host& backend, const AxisTransfer& transfer,
                                                      bool constant) {
  const std::int64_t n = transfer.fine.size();
  const std::int64_t coarse = transfer.coarse().size();
  std::vector<std::vector<double>> P(static_cast<std::size_t>(n),
                                     std::vector<double>(static_cast<std::size_t>(coarse)));
  const multigrid::AxisInterpolation<float> weights = transfer.interpolation();
  for (std::int64_t j = 0; j < coarse; ++j) {
    std::vector<float> unit(static_cast<std::size_t>(coarse));
    unit[static_cast<std::size_t>(j)] = 1;
    std::vector<float> column(static_cast<std::size_t>(n), NAN);
    multigrid::with_axis<3>(transfer.axis, [&]<int axis>() {
      const GridNumbering grid(transfer.coarse());
      if (constant) {
        for_each_point(
            backend, grid,
            multigrid::InterpolateAlongAxis<true, axis, false>{weights, unit.data(), column.data()});
      } else {
        for_each_point(
            backend, grid,
            multigrid::InterpolateAlongAxis<false, axis, false>{weights, unit.data(), column.data()});
      }
    });
    for (std::int64_t i = 0; i < n; ++i) {
      P[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] =
          static_cast<double>(column[static_cast<std::size_t>(i)]);
    }
  }
  return P;
}

/// P^T A P.
std::vector<std::vector<double>> triple_product(const Csr<double>& A,
                                                const std::vector<std::vector<double>>& P) {
  const std::size_t coarse = P.front().size();
  std::vector<std::vector<double>> product(coarse, std::vector<double>(coarse));
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      const auto j = static_cast<std::size_t>(A.column_indices()[k]);
      for (std::size_t r = 0; r < coarse; ++r) {
        const double left = P[static_cast<std::size_t>(i)][r] * A.values()[k];
        for (std::size_t c = 0; c < coarse && left != 0; ++c) product[r][c] += left * P[j][c];
      }
    }
  }
  return product;
}

void expect_galerkin(const Csr<double>& A, const std::string& name) {
  Host backend{Device::serial()};
  std::string reason;
  const StencilMatrix<double> stencil =
      *find_stencil(backend, A, *find_grid(backend, "", MatrixRef<double>(A)), reason);
  for (int axis = 0; axis < 3; ++axis) {
    if (stencil.grid.points[static_cast<std::size_t>(axis)] == 1) continue;
    std::vector<AxisTransfer> transfers;
    const StencilMatrix<double> coarse = multigrid::coarsen_along(backend, stencil, axis, transfers);
    const Csr<double> found = to_csr(coarse);
    std::vector<std::vector<double>> expected =
        triple_product(A, interpolation_matrix(backend, transfers.front(), stencil.constant));
    double error = 0;
    for (std::int64_t i = 0; i < found.rows(); ++i) {
      for (std::int64_t k = found.row_offsets()[i]; k < found.row_offsets()[i + 1]; ++k) {
        expected[static_cast<std::size_t>(i)][static_cast<std::size_t>(found.column_indices()[k])] -=
            found.values()[k];
      }
      for (const double difference : expected[static_cast<std::size_t>(i)])
        error = std::max(error, std::fabs(difference));
    }
    EXPECT_LE(error, 3e-6) << name << ", axis " << axis << ", " << to_string(stencil);
  }
}

TEST(StencilCoarsening, GalerkinProduct_EqualsTheTripleProduct) {
  const auto one = [](std::int64_t) { return 1.0; };
  unsigned seed = 0;
  for (const Box& box : {Box{7, 5, 4}, Box{2, 3, 4}, Box{6, 7, 1}, Box{3, 3, 3}, Box{4, 2, 2}, Box{9, 1, 1},
                         Box{8, 8, 1}, Box{5, 4, 6}}) {
    for (const int apart : {1, 2, 3}) expect_galerkin(random_stencil<double>(box, apart, ++seed), "random");
    expect_galerkin(diffusion<double>(box, one, Boundary::dirichlet), "Dirichlet");
    expect_galerkin(diffusion<double>(box, one, Boundary::neumann), "Neumann");
  }
}

TEST(StencilCoarsening, GalerkinProductOfPeriodicAxes_EqualsTheTripleProduct) {
  const auto one = [](std::int64_t) { return 1.0; };
  using enum Boundary;
  unsigned seed = 0;
  for (const Box& box : {Box{7, 5, 4}, Box{2, 3, 4}, Box{6, 7, 1}, Box{3, 3, 3}, Box{4, 2, 5}, Box{9, 1, 1},
                         Box{8, 8, 1}, Box{5, 4, 6}}) {
    for (const Periodic& periodic : {Periodic{true, true, true}, Periodic{false, true, false},
                                     Periodic{true, false, false}, Periodic{false, false, true}}) {
      for (const int apart : {1, 2, 3}) {
        expect_galerkin(random_stencil<double>(box, apart, ++seed, periodic), "random");
      }
    }
    expect_galerkin(diffusion<double>(box, one, periodic, {1, 2, 3}, 0.1), "periodic");
    expect_galerkin(diffusion<double>(box, one, {periodic, dirichlet, neumann}), "mixed");
    expect_galerkin(diffusion<double>(box, one, {neumann, periodic, periodic}), "mixed");
  }
}

/// Rows of a coarse matrix of constant coefficients stay equal within a region.
TEST(StencilCoarsening, PeriodicTables_EqualVariableCoefficients) {
  const auto one = [](std::int64_t) { return 1.0; };
  Host backend{Device::serial()};
  using enum Boundary;
  for (const Box& box : {Box{25, 22, 1}, Box{9, 10, 11}}) {
    const Csr<double> A = diffusion<double>(box, one, {periodic, periodic, dirichlet}, {1, 2, 3});
    std::string reason;
    StencilMatrix<double> table =
        *find_stencil(backend, A, *find_grid(backend, "", MatrixRef<double>(A)), reason);
    ASSERT_TRUE(table.constant);
    StencilMatrix<double> varying = multigrid::expanded(backend, table);
    for (int step = 0; step < 4; ++step) {
      for (int axis = 0; axis < table.axes; ++axis) {
        std::vector<AxisTransfer> transfers;
        table = multigrid::coarsen_along(backend, table, axis, transfers);
        varying = multigrid::coarsen_along(backend, varying, axis, transfers);
      }
      const std::vector<double> coarse = multigrid::expanded(backend, table).values.to_vector();
      const std::vector<double> expected = varying.values.to_vector();
      ASSERT_EQ(coarse.size(), expected.size());
      for (std::size_t k = 0; k < coarse.size(); ++k) EXPECT_NEAR(coarse[k], expected[k], 1e-12) << step << k;
      if (table.grid.points[0] < 4) break;
    }
  }
}

/// Interpolation and restriction between a level and the next along some axes: in one loop, as on a GPU, and
/// along one axis after another.
template <bool constant>
void expect_equal_transfers(const Csr<double>& A, const std::vector<int>& axes) {
  Host backend{Device::serial()};
  std::string reason;
  const StencilMatrix<double> finest =
      *find_stencil(backend, A, *find_grid(backend, "", MatrixRef<double>(A)), reason);
  ASSERT_EQ(finest.constant, constant);
  std::vector<AxisTransfer> transfers;
  StencilMatrix<double> coarse = finest;
  for (const int axis : axes) coarse = multigrid::coarsen_along(backend, coarse, axis, transfers);
  std::vector<float> e(static_cast<std::size_t>(coarse.rows()));
  for (std::size_t i = 0; i < e.size(); ++i) e[i] = std::sin(static_cast<float>(3 * i + 1));
  std::vector<float> r(static_cast<std::size_t>(finest.rows()));
  for (std::size_t i = 0; i < r.size(); ++i) r[i] = std::cos(static_cast<float>(5 * i + 1));
  std::vector<float> restricted = r;
  std::vector<float> interpolated = e;
  for (const AxisTransfer& along : transfers) {
    std::vector<float> to(static_cast<std::size_t>(along.coarse().size()));
    multigrid::with_axis<3>(along.axis, [&]<int axis>() {
      for_each_point(backend, GridNumbering(along.coarse()),
                     multigrid::RestrictAlongAxis<constant, axis>{along.interpolation(), restricted.data(),
                                                                  nullptr, to.data()});
    });
    restricted = to;
  }
  for (std::size_t t = transfers.size(); t-- > 0;) {
    std::vector<float> to(static_cast<std::size_t>(transfers[t].fine.size()));
    multigrid::with_axis<3>(transfers[t].axis, [&]<int axis>() {
      for_each_point(backend, GridNumbering(transfers[t].coarse()),
                     multigrid::InterpolateAlongAxis<constant, axis, false>{transfers[t].interpolation(),
                                                                            interpolated.data(), to.data()});
    });
    interpolated = to;
  }
  const multigrid::GridTransfer transfer(finest.grid, transfers);
  std::vector<float> sums(interpolated.size(), 1.0F);
  for_each_point(backend, transfer.cells,
                 multigrid::AddInterpolation<constant>{transfer, e.data(), sums.data()});
  for (std::size_t i = 0; i < sums.size(); ++i) EXPECT_NEAR(sums[i], 1 + interpolated[i], 1e-5) << i;
  std::vector<float> of_residual(restricted.size(), NAN);
  for_each_point(backend, transfer.coarse,
                 multigrid::RestrictResidual<constant>{transfer, r.data(), nullptr, of_residual.data()});
  for (std::size_t j = 0; j < restricted.size(); ++j) EXPECT_NEAR(of_residual[j], restricted[j], 1e-5) << j;
}

TEST(StencilCoarsening, TransfersInOneLoop_EqualThoseByAxes) {
  const auto one = [](std::int64_t) { return 1.0; };
  for (const std::vector<int>& axes : {std::vector<int>{0, 1, 2}, {0}, {1}, {2}, {0, 2}, {1, 2}}) {
    for (const Box& box : {Box{9, 8, 7}, Box{4, 5, 2}, Box{2, 3, 6}}) {
      expect_equal_transfers<true>(diffusion<double>(box, one, Boundary::dirichlet, {1, 2, 3}), axes);
      expect_equal_transfers<false>(random_stencil<double>(box, 1, 3), axes);
      for (const Periodic& periodic : {Periodic{true, true, true}, Periodic{false, true, false}}) {
        expect_equal_transfers<false>(random_stencil<double>(box, 1, 3, periodic), axes);
      }
      for (const Boundaries& boundaries :
           {Boundaries(Boundary::periodic),
            Boundaries(Boundary::periodic, Boundary::neumann, Boundary::dirichlet)}) {
        expect_equal_transfers<true>(diffusion<double>(box, one, boundaries, {1, 2, 3}), axes);
      }
    }
  }
}

}  // namespace
}  // namespace echelon::test
