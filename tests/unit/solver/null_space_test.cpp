// SPDX-License-Identifier: BSD-3-Clause
/// Null spaces of symmetric matrices in methods that do not find them: projections of b and x.
#include "support/problems.hpp"

#include <echelon/echelon.hpp>
#include <echelon/methods/multigrid/near_null_space.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

/// Laplacian of `parts` separate grids of nx by ny points; `sign` is 1 or -1.
template <class T>
Csr<T> grids(std::int32_t nx, std::int32_t ny, std::int32_t parts, int sign) {
  std::vector<Triplet<T>> triplets;
  const auto join = [&](std::int32_t u, std::int32_t v) {
    for (const auto& [i, j, value] : {Triplet<T>{u, u, 1}, {v, v, 1}, {u, v, -1}, {v, u, -1}})
      triplets.push_back({i, j, static_cast<T>(sign) * value});
  };
  for (std::int32_t p = 0; p < parts; ++p) {
    for (std::int32_t y = 0; y < ny; ++y) {
      for (std::int32_t x = 0; x < nx; ++x) {
        const std::int32_t u = (p * ny + y) * nx + x;
        if (x + 1 < nx) join(u, u + 1);
        if (y + 1 < ny) join(u, u + nx);
      }
    }
  }
  const std::int64_t n = std::int64_t{nx} * ny * parts;
  return Csr<T>::from_triplets(n, n, triplets);
}

/// A triangulated plate that nothing holds, with the stiffness of springs along its edges and diagonals:
/// three rigid motions need no energy.
struct FreePlate {
  FreePlate(std::int32_t nx, std::int32_t ny) : coordinates(Device(), std::int64_t{nx} * ny, 2) {
    std::vector<Triplet<double>> triplets;
    const auto spring = [&](std::int32_t u, std::int32_t v) {
      const std::int32_t unknowns[] = {2 * u, 2 * u + 1, 2 * v, 2 * v + 1};
      const double direction[] = {coordinates(v, 0) - coordinates(u, 0),
                                  coordinates(v, 1) - coordinates(u, 1)};
      const double factor[] = {direction[0], direction[1], -direction[0], -direction[1]};
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) triplets.push_back({unknowns[i], unknowns[j], factor[i] * factor[j]});
      }
    };
    for (std::int32_t y = 0; y < ny; ++y) {
      for (std::int32_t x = 0; x < nx; ++x) {
        coordinates(y * nx + x, 0) = x;
        coordinates(y * nx + x, 1) = 0.7 * y;
      }
    }
    for (std::int32_t y = 0; y < ny; ++y) {
      for (std::int32_t x = 0; x < nx; ++x) {
        const std::int32_t u = y * nx + x;
        if (x + 1 < nx) spring(u, u + 1);
        if (y + 1 < ny) spring(u, u + nx);
        if (x + 1 < nx && y + 1 < ny) spring(u, u + nx + 1);
      }
    }
    const std::int64_t n = 2 * coordinates.rows();
    A = Csr<double>::from_triplets(n, n, triplets);
    modes = rigid_body_modes(coordinates);
  }
  Csr<double> A;
  Dense<double> coordinates, modes;
};

std::vector<double> random_numbers(std::int64_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> number(-1, 1);
  std::vector<double> x(static_cast<std::size_t>(n));
  for (double& element : x) element = number(random);
  return x;
}

/// Orthonormal basis of the columns of `vectors`, by the Gram-Schmidt process applied twice.
std::vector<std::vector<double>> basis_of(const Dense<double>& vectors) {
  std::vector<std::vector<double>> basis;
  for (std::int64_t j = 0; j < vectors.columns(); ++j) {
    std::vector<double> v(vectors.data() + j * vectors.rows(), vectors.data() + (j + 1) * vectors.rows());
    for (int pass = 0; pass < 2; ++pass) {
      for (const auto& other : basis) {
        double part = 0;
        for (std::size_t i = 0; i < v.size(); ++i) part += other[i] * v[i];
        for (std::size_t i = 0; i < v.size(); ++i) v[i] -= part * other[i];
      }
    }
    double norm = 0;
    for (const double element : v) norm += element * element;
    for (double& element : v) element /= std::sqrt(norm);
    basis.push_back(std::move(v));
  }
  return basis;
}
std::vector<double> without(std::vector<double> x, const std::vector<std::vector<double>>& basis) {
  for (const auto& v : basis) {
    double part = 0;
    for (std::size_t i = 0; i < v.size(); ++i) part += v[i] * x[i];
    for (std::size_t i = 0; i < v.size(); ++i) x[i] -= part * v[i];
  }
  return x;
}
double distance(const auto& x, const std::vector<double>& y) {
  double error = 0;
  for (std::size_t i = 0; i < y.size(); ++i)
    error = std::max(error, std::abs(static_cast<double>(x[static_cast<std::int64_t>(i)]) - y[i]));
  return error;
}
template <class T>
std::vector<T> product(const Csr<T>& A, const std::vector<double>& x) {
  std::vector<T> b;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    double sum = 0;
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k)
      sum += static_cast<double>(A.values()[k]) * x[static_cast<std::size_t>(A.column_indices()[k])];
    b.push_back(static_cast<T>(sum));
  }
  return b;
}

SolveOptions by(const std::string& method, const Dense<double>& vectors = {}) {
  SolveOptions options;
  options.method = method;
  options.near_null_space = vectors;
  return options;
}
bool is_direct(const std::string& method) {
  return find_method(method).kind == MethodKind::direct;
}

const std::vector<std::string> direct_methods = {"lu",        "lapack-lu",   "ldlt",         "sparse-lu",
                                                 "banded-lu", "sparse-ldlt", "crout-blocked"};
const std::vector<std::string> iterative_methods = {"cg", "minres", "gmres", "bicgstab"};

std::vector<std::string> all_methods() {
  std::vector<std::string> names = direct_methods;
  names.insert(names.end(), iterative_methods.begin(), iterative_methods.end());
  return names;
}

template <class T>
class NullSpaceOfGrids : public testing::Test {};
using Precisions = testing::Types<double, float>;
TYPED_TEST_SUITE(NullSpaceOfGrids, Precisions);

TYPED_TEST(NullSpaceOfGrids, ConsistentRightHandSide_SolutionOfLeastNorm) {
  using T = TypeParam;
  for (const std::int32_t parts : {1, 2}) {
    for (const int sign : {1, -1}) {
      const Csr<T> A = grids<T>(9, 7, parts, sign);
      std::vector<double> exact = random_numbers(A.rows(), 3);
      Dense<double> constants(Device(), A.rows(), parts);
      for (std::int64_t i = 0; i < A.rows(); ++i) {
        for (std::int64_t p = 0; p < parts; ++p) constants(i, p) = i / 63 == p ? 1 : 0;
      }
      exact = without(std::move(exact), basis_of(constants));
      const std::vector<T> b = product(A, exact);
      for (const std::string& method : all_methods()) {
        if (method == "cg" && sign < 0) continue;
        SCOPED_TRACE(method + ", parts " + std::to_string(parts) + ", sign " + std::to_string(sign));
        const Solution<T> found = solve(A, b, by(method));
        EXPECT_EQ(found.report.status, is_direct(method) ? Status::underdetermined : Status::converged)
            << found.report.message;
        EXPECT_EQ(found.report.rank.value_or(A.rows() - parts), A.rows() - parts);
        const double error = distance(found.x.view().data(), exact);
        EXPECT_LE(error, is_direct(method) ? 200 * std::numeric_limits<T>::epsilon()
                                           : (std::is_same_v<T, double> ? 1e-5 : 1e-2));
        if (is_direct(method)) {
          const double promised = found.report.error_estimate.value_or(1);
          EXPECT_TRUE(found.report.rank.has_value());
          EXPECT_LE(promised, 1000 * std::numeric_limits<T>::epsilon()) << "digits of a known solution";
          EXPECT_GE(10 * promised, error);
        }
      }
    }
  }
}

TYPED_TEST(NullSpaceOfGrids, PartOutsideTheRange_IsProvenInconsistent) {
  using T = TypeParam;
  const Csr<T> A = grids<T>(8, 6, 1, 1);
  std::vector<T> b(static_cast<std::size_t>(A.rows()), T{0});
  b[0] = 1;
  b[5] = -T{0.5};
  for (const std::string& method : all_methods()) {
    SCOPED_TRACE(method);
    SolveOptions options = by(method);
    const Solution<T> refused = solve(A, b, options);
    EXPECT_EQ(refused.report.status, Status::inconsistent) << refused.report.message;
    EXPECT_EQ(refused.report.certainty, Certainty::proven);
    // The sum 0.5 of b is spread over 48 rows.
    const double outside = 0.5 / std::sqrt(48.0);
    EXPECT_NEAR(refused.report.relative_residual * std::sqrt(1.25), outside, 1e-3 * outside);
    options.least_squares = true;
    const Solution<T> accepted = solve(A, b, options);
    EXPECT_EQ(accepted.report.status, Status::least_squares) << accepted.report.message;
    double sum = 0;
    for (std::int64_t i = 0; i < A.rows(); ++i) sum += static_cast<double>(accepted.x.data()[i]);
    EXPECT_NEAR(sum, 0, 1e-4) << "of least norm";
  }
}

TEST(NullSpace, FreePlate_RigidMotionsAreProjected) {
  const FreePlate plate(9, 6);
  const auto basis = basis_of(plate.modes);
  const std::vector<double> exact = without(random_numbers(plate.A.rows(), 8), basis);
  const std::vector<double> b = product(plate.A, exact);
  for (const std::string& method : all_methods()) {
    SCOPED_TRACE(method);
    const Solution<double> found = solve(plate.A, b, by(method, plate.modes));
    EXPECT_EQ(found.report.status, is_direct(method) ? Status::underdetermined : Status::converged)
        << found.report.message;
    EXPECT_EQ(found.report.rank.value_or(plate.A.rows() - 3), plate.A.rows() - 3);
    EXPECT_LE(distance(found.x.data(), exact), is_direct(method) ? 1e-12 : 1e-5);
    EXPECT_GE(found.report.expected_digits(), is_direct(method) ? 11 : 5);
  }
}

TEST(NullSpace, TorqueOnFreePlate_IsNotSolvedButHasLeastResidual) {
  const FreePlate plate(9, 6);
  std::vector<double> b(static_cast<std::size_t>(plate.A.rows()), 0.0);
  b[1] = 1;
  b[17] = -1;
  const std::vector<double> consistent = without(b, basis_of(plate.modes));
  double outside = 0;
  for (std::size_t i = 0; i < b.size(); ++i) outside += (b[i] - consistent[i]) * (b[i] - consistent[i]);
  for (const std::string& method : all_methods()) {
    SCOPED_TRACE(method);
    SolveOptions options = by(method, plate.modes);
    const Report refused = solve(plate.A, b, options).report;
    EXPECT_FALSE(refused.solved());
    EXPECT_EQ(refused.rank, plate.A.rows() - 3);
    options.least_squares = true;
    const Report accepted = solve(plate.A, b, options).report;
    EXPECT_EQ(accepted.status, Status::least_squares) << accepted.message;
    EXPECT_NEAR(accepted.residual_norm, std::sqrt(outside), 1e-6);
  }
}

TEST(NullSpace, VectorsThatAreNoNullVectors_ChangeNothing) {
  const Csr<double> A = generate::poisson_2d<double>(8, 8);
  const std::vector<double> b = random_numbers(A.rows(), 5);
  Dense<double> ones(Device(), A.rows(), 1);
  std::fill_n(ones.data(), A.rows(), 1.0);
  for (const std::string& method : all_methods()) {
    const Solution<double> with = solve(A, b, by(method, ones));
    const Solution<double> plain = solve(A, b, by(method));
    EXPECT_TRUE(with.report.solved()) << method;
    EXPECT_EQ(with.x.to_vector(), plain.x.to_vector()) << method;
  }
}

TEST(NullSpace, UnsymmetricMatrix_IsNotProjected) {
  // Row sums are zero, but the left null vector is another one.
  const Csr<double> A = Csr<double>::from_triplets(
      3, 3, {{0, 0, 1}, {0, 1, -1}, {1, 0, -2}, {1, 1, 4}, {1, 2, -2}, {2, 1, -1}, {2, 2, 1}});
  const std::vector<double> b = product(A, {1, 2, 4});
  const Solution<double> found = solve(A, b, by("sparse-lu"));
  EXPECT_TRUE(found.report.solved()) << found.report.message;
  EXPECT_LE(distance(product(A, {found.x.data()[0], found.x.data()[1], found.x.data()[2]}).data(), b), 1e-14);
}

/// Bilinear elements of width 1 and the given height on nx by ny cells, -Laplace u = f without boundary
/// values: rounding errors of the elements make the row sums differ from zero. Nodes are numbered by
/// `number`.
Csr<double> neumann_elements(std::int32_t nx, std::int32_t ny, double height,
                             const std::vector<std::int32_t>& number) {
  constexpr double along[4][4] = {{2, -2, -1, 1}, {-2, 2, 1, -1}, {-1, 1, 2, -2}, {1, -1, -2, 2}};
  constexpr double across[4][4] = {{2, 1, -1, -2}, {1, 2, -2, -1}, {-1, -2, 2, 1}, {-2, -1, 1, 2}};
  std::vector<Triplet<double>> triplets;
  for (std::int32_t y = 0; y < ny; ++y) {
    for (std::int32_t x = 0; x < nx; ++x) {
      const std::int32_t first = y * (nx + 1) + x;
      const std::array<std::int32_t, 4> nodes = {first, first + 1, first + nx + 2, first + nx + 1};
      for (std::size_t i = 0; i < 4; ++i) {
        for (std::size_t j = 0; j < 4; ++j) {
          const double value = height / 6 * along[i][j] + across[i][j] / (6 * height);
          triplets.push_back({number[static_cast<std::size_t>(nodes[i])],
                              number[static_cast<std::size_t>(nodes[j])], value});
        }
      }
    }
  }
  const std::int64_t n = std::int64_t{nx + 1} * (ny + 1);
  return Csr<double>::from_triplets(n, n, triplets);
}

TEST(NullSpace, StretchedElementsWithoutBoundaryValues_AnyNumberingIsSolved) {
  constexpr std::int32_t nx = 30;
  constexpr std::int32_t ny = 20;
  std::vector<std::int32_t> number((nx + 1) * (ny + 1));
  std::iota(number.begin(), number.end(), 0);
  std::mt19937 random(5);
  for (int numbering = 0; numbering < 3; ++numbering) {
    for (const double height : {5.0, 0.2, 0.3}) {
      const Csr<double> A = neumann_elements(nx, ny, height, number);
      Dense<double> constant(Device(), A.rows(), 1);
      std::fill_n(constant.data(), A.rows(), 1.0);
      const std::vector<double> exact = without(random_numbers(A.rows(), 11), basis_of(constant));
      const std::vector<double> b = product(A, exact);
      for (const char* method :
           {"auto", "sparse-cholesky", "sparse-ldlt", "sparse-lu", "ldlt", "cg", "minres"}) {
        SCOPED_TRACE(std::string(method) + ", height " + std::to_string(height));
        const Solution<double> found = solve(A, b, by(method, constant));
        EXPECT_TRUE(found.report.solved()) << found.report.message;
        const bool elimination = method[0] == 's' || method[0] == 'l';
        const double error = distance(found.x.view().data(), exact);
        EXPECT_LE(error, elimination ? 1e-11 : 1e-5);
        EXPECT_GE(10 * found.report.error_estimate.value_or(1), error);
      }
    }
    std::shuffle(number.begin(), number.end(), random);
  }
}

/// A null vector is small in A v compared with the terms of these sums, not with the largest element of A: a
/// unit vector is none where its column of a regular A is small.
TEST(NullSpace, UnitVectorOfSmallColumn_IsNotANullVector) {
  for (const double small : {1e-13, 1e-15, 1e-18}) {
    const std::vector<Triplet<double>> triplets = {{0, 0, 1}, {0, 1, 0.5},   {1, 0, 0.5},
                                                   {1, 1, 1}, {2, 2, small}, {3, 3, 1}};
    const Csr<double> A = Csr<double>::from_triplets(4, 4, triplets);
    Dense<double> unit(Device(), 4, 1);
    std::fill_n(unit.data(), 4, 0.0);
    unit(2, 0) = 1;
    const std::vector<double> exact = {1, -2, 3, 0.5};
    const std::vector<double> b = product(A, exact);
    for (const std::string method : {"sparse-lu", "ldlt", "cg", "amg"}) {
      SolveOptions options = by(method, unit);
      options.rtol = small / 1e3;
      const Solution<double> found = solve(A, b, options);
      EXPECT_TRUE(found.report.status == Status::converged || found.report.status == Status::direct)
          << method << ": " << found.report.message;
      EXPECT_LE(distance(found.x, exact), 1e-2) << method << ", small " << small;
    }
  }
}

TEST(NullSpace, Misuse_IsNamed) {
  const Csr<double> A = grids<double>(4, 4, 1, 1);
  const std::vector<double> b(16, 0.0);
  EXPECT_THROW((void)solve(A, b, by("sparse-lu", Dense<double>(Device(), 5, 1))), DimensionMismatch);
  Dense<double> unusable(Device(), 16, 1);
  std::fill_n(unusable.data(), 16, std::nan(""));
  EXPECT_THROW((void)solve(A, b, by("cg", unusable)), Error);
}

TEST(NullSpace, SeveralRightHandSides_EachHasItsStatus) {
  const Csr<double> A = grids<double>(5, 5, 1, 1);
  Dense<double> B(Device(), 25, 3);
  std::fill_n(B.data(), 75, 0.0);
  B(0, 0) = 1;
  B(24, 0) = -1;
  B(3, 1) = 1;
  Solver<double> solver = make_solver<double>("sparse-ldlt", Device());
  (void)solver.setup(A);
  Dense<double> X(Device(), 25, 3);
  const Report report = solver.solve(B, X);
  ASSERT_EQ(report.columns.size(), 3U);
  EXPECT_EQ(report.columns[0].status, Status::underdetermined);
  EXPECT_EQ(report.columns[1].status, Status::inconsistent);
  EXPECT_TRUE(solved(report.columns[2].status));
  EXPECT_EQ(report.status, Status::inconsistent);
}

/// A torque on a plate that nothing holds, without its coordinates: no method has an x, unless it measures
/// that x is near the solution that rounding errors of the elements make, and sparse factorisations find the
/// three rigid motions.
TEST(NullSpace, TorqueOnFreePlate_IsNotSolved) {
  for (const std::int32_t nx : {4, 11, 21, 33}) {
    const FreePlate plate(nx, nx);
    const std::int64_t n = plate.A.rows();
    std::vector<double> b(static_cast<std::size_t>(n), 0);
    b[1] = 1;
    b[static_cast<std::size_t>(2 * nx - 1)] = -1;
    for (const std::string method :
         {"auto", "sparse-lu", "sparse-ldlt", "mapped-echelon", "banded-lu", "lu"}) {
      if (nx > 21 && (method == "lu" || method == "auto")) continue;
      SCOPED_TRACE(method + ", " + std::to_string(nx) + " points a side");
      const Report report = solve(plate.A, b, {.method = method}).report;
      EXPECT_TRUE(!report.solved() || report.error_estimate.value_or(1) < 0.5) << report;
      if (method != "sparse-lu" && method != "sparse-ldlt") continue;
      EXPECT_EQ(report.rank, n - 3) << report;
    }
  }
}

}  // namespace
}  // namespace echelon::test
