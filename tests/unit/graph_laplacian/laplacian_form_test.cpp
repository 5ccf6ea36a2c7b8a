// SPDX-License-Identifier: BSD-3-Clause
#include "graph_laplacian/laplacian_form.hpp"

#include "support/graph_laplacian/host_backends.hpp"
#include "support/sparse_systems.hpp"

#include <echelon/generate.hpp>
#include <echelon/matrix/csr.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <variant>
#include <vector>

namespace echelon {
namespace {

using graph_laplacian::Excess;
using graph_laplacian::LaplacianForm;
using test::product;
using Triplets = std::vector<Triplet<double>>;

void add_edge(Triplets& triplets, std::int32_t i, std::int32_t j, double weight) {
  triplets.push_back({i, j, -weight});
  triplets.push_back({j, i, -weight});
  triplets.push_back({i, i, std::abs(weight)});
  triplets.push_back({j, j, std::abs(weight)});
}

/// Random edges within blocks of random sizes, each with its own chain, with a share of positive elements.
Csr<double> random_sdd(std::int64_t n, double positive_share, double grounded_share, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(0, 1);
  Triplets triplets;
  std::int32_t first = 0;
  while (first < n) {
    const auto size = static_cast<std::int32_t>(
        std::min<std::int64_t>(n - first, 1 + static_cast<std::int64_t>(12 * unit(random))));
    const auto pick = [&] { return first + static_cast<std::int32_t>(size * unit(random)); };
    for (std::int32_t i = first + 1; i < first + size; ++i) add_edge(triplets, i - 1, i, 0.1 + unit(random));
    for (int k = 0; k < size; ++k) {
      const std::int32_t i = pick();
      const std::int32_t j = pick();
      if (i != j && std::abs(i - j) > 1) add_edge(triplets, i, j, 0.1 + unit(random));
    }
    if (unit(random) < grounded_share) triplets.push_back({first, first, 0.5});
    first += size;
  }
  Csr<double> A = Csr<double>::from_triplets(n, n, triplets);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      const std::int64_t j = A.column_indices()[k];
      const auto hash = static_cast<std::uint64_t>(std::min(i, j) * 7919 + std::max(i, j) * 104729 + 13);
      if (i != j && static_cast<double>(hash % 1000) < 1000 * positive_share) A.values()[k] *= -1;
    }
  }
  return A;
}

double norm(const std::vector<double>& x) {
  return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
}

/// Solves L y = b on each component of a Laplacian by elimination without the last vertex.
std::vector<double> solve_by_components(const Csr<double>& L, const Array<std::int64_t>& offsets,
                                        const std::vector<double>& b) {
  std::vector<double> y(b.size(), 0);
  for (std::int64_t c = 0; c + 1 < offsets.size(); ++c) {
    const std::int64_t first = offsets[c];
    const std::int64_t m = offsets[c + 1] - first - 1;
    std::vector<std::vector<double>> rows(static_cast<std::size_t>(m),
                                          std::vector<double>(static_cast<std::size_t>(m) + 1, 0));
    for (std::int64_t i = 0; i < m; ++i) {
      auto& row = rows[static_cast<std::size_t>(i)];
      for (std::int64_t k = L.row_offsets()[first + i]; k < L.row_offsets()[first + i + 1]; ++k) {
        const std::int64_t j = L.column_indices()[k] - first;
        if (j < m) row[static_cast<std::size_t>(j)] = L.values()[k];
      }
      row.back() = b[static_cast<std::size_t>(first + i)];
    }
    for (std::size_t p = 0; p < rows.size(); ++p) {
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (i == p) continue;
        const double factor = rows[i][p] / rows[p][p];
        for (std::size_t j = p; j <= rows.size(); ++j) rows[i][j] -= factor * rows[p][j];
      }
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      y[static_cast<std::size_t>(first) + i] = rows[i].back() / rows[i][i];
    }
  }
  return y;
}

struct FormCase {
  double positive_share;
  double grounded_share;
  DominanceKind kind;
};

template <class Threads>
class LaplacianFormOn : public test::OnHost<Threads> {};
TYPED_TEST_SUITE(LaplacianFormOn, test::HostThreads);

TYPED_TEST(LaplacianFormOn, RandomMatrices_SolvedThroughLaplacians) {
  for (const FormCase& form_case :
       {FormCase{0, 0, DominanceKind::laplacian}, FormCase{0, 0.5, DominanceKind::sddm},
        FormCase{0.4, 0.5, DominanceKind::sdd}}) {
    for (const std::int64_t n : {1, 2, 31, 33, 1025}) {
      const Csr<double> A =
          random_sdd(n, form_case.positive_share, form_case.grounded_share, static_cast<std::uint64_t>(n));
      LaplacianForm<Host, double> form;
      ASSERT_TRUE(form.setup(this->backend, A).ok());
      if (n > 100) {
        EXPECT_EQ(form.kind(), form_case.kind);
      }
      const Csr<double>& L = form.laplacian();
      const std::vector<double> ones(static_cast<std::size_t>(form.vertices()), 1);
      for (const double sum : product(L, ones)) EXPECT_NEAR(sum, 0, 1e-13);
      for (std::int64_t i = 0; i < L.rows(); ++i) {
        const std::int64_t c = form.component_of()[i];
        for (std::int64_t k = L.row_offsets()[i]; k < L.row_offsets()[i + 1]; ++k) {
          ASSERT_EQ(form.component_of()[L.column_indices()[k]], c);
          ASSERT_TRUE(k == L.row_offsets()[i] || L.column_indices()[k - 1] < L.column_indices()[k]);
          ASSERT_TRUE(L.column_indices()[k] == i || L.values()[k] < 0);
        }
      }
      std::mt19937_64 random(7);
      std::normal_distribution<double> normal;
      std::vector<double> wanted(static_cast<std::size_t>(n));
      for (double& value : wanted) value = normal(random);
      const std::vector<double> b = product(A, wanted);
      auto workspace = form.make_workspace(this->backend);
      std::vector<double> lifted(static_cast<std::size_t>(form.vertices()));
      EXPECT_NEAR(form.lift(this->backend, workspace, b.data(), lifted.data()).norm(), 0,
                  1e-12 * (1 + norm(b)));
      const std::vector<double> y = solve_by_components(L, form.component_offsets(), lifted);
      std::vector<double> x(static_cast<std::size_t>(n));
      form.restore(this->backend, workspace, y.data(), x.data());
      std::vector<double> residual = product(A, x);
      for (std::size_t i = 0; i < residual.size(); ++i) residual[i] -= b[i];
      EXPECT_LT(norm(residual), 1e-10 * (1 + norm(b))) << n;
    }
  }
}

TYPED_TEST(LaplacianFormOn, ExcessOnDiagonal_SameProductsWithoutGround) {
  for (const FormCase& form_case :
       {FormCase{0, 0, DominanceKind::laplacian}, FormCase{0, 0.5, DominanceKind::sddm},
        FormCase{0.4, 0.5, DominanceKind::sdd}}) {
    for (const std::int64_t n : {1, 2, 31, 33, 1025}) {
      const Csr<double> A =
          random_sdd(n, form_case.positive_share, form_case.grounded_share, static_cast<std::uint64_t>(n));
      LaplacianForm<Host, double> form;
      ASSERT_TRUE(form.setup(this->backend, A, Excess::diagonal).ok());
      const bool doubled = form.kind() == DominanceKind::sdd;
      ASSERT_EQ(form.vertices(), doubled ? 2 * n : n);
      const Csr<double>& L = form.laplacian();
      const std::vector<double> row_sums =
          product(L, std::vector<double>(static_cast<std::size_t>(L.rows()), 1));
      for (std::int64_t i = 0; i < L.rows(); ++i) {
        EXPECT_NEAR(row_sums[static_cast<std::size_t>(i)], form.excess()[i], 1e-13);
      }
      // A x = b: the lifted x, which is centred where a component is singular, gives the lifted b.
      std::mt19937_64 random(7);
      std::normal_distribution<double> normal;
      std::vector<double> x(static_cast<std::size_t>(n));
      for (double& value : x) value = normal(random);
      const std::vector<double> b = product(A, x);
      auto workspace = form.make_workspace(this->backend);
      std::vector<double> y(static_cast<std::size_t>(form.vertices()));
      std::vector<double> lifted(y.size());
      const LaplacianForm<Host, double>::Lifted<double> one{&workspace, x.data(), y.data()};
      form.lift_into_range(this->backend, std::span(&one, 1));
      EXPECT_NEAR(form.lift(this->backend, workspace, b.data(), lifted.data()).norm(), 0,
                  1e-12 * (1 + norm(b)));
      const std::vector<double> image = product(L, y);
      for (std::size_t i = 0; i < image.size(); ++i) EXPECT_NEAR(image[i], lifted[i], 1e-12);
      form.restore(this->backend, workspace, y.data(), x.data());
      const std::vector<double> again = product(A, x);
      for (std::size_t i = 0; i < again.size(); ++i) EXPECT_NEAR(again[i], b[i], 1e-12);
    }
  }
}

TYPED_TEST(LaplacianFormOn, UnreachableRightHandSide_RemovedPartMeasured) {
  Triplets triplets;
  add_edge(triplets, 0, 2, 1);
  add_edge(triplets, 1, 3, 2);
  const Csr<double> A = Csr<double>::from_triplets(5, 5, triplets);
  LaplacianForm<Host, double> form;
  ASSERT_TRUE(form.setup(this->backend, A).ok());
  EXPECT_EQ(form.components(), 3);
  const std::vector<double> b = {1, 5, 3, -5, 2};  // means 2, 0, 2
  auto workspace = form.make_workspace(this->backend);
  std::vector<double> y(5);
  EXPECT_NEAR(form.lift(this->backend, workspace, b.data(), y.data()).proven, std::sqrt(4.0 + 4.0 + 4.0),
              1e-14);
  EXPECT_EQ(y, (std::vector<double>{-1, 1, 5, -5, 0}));
}

TYPED_TEST(LaplacianFormOn, BalancedPositiveElements_SignedMeanRemoved) {
  // The signs (1, -1) make this A the Laplacian of an edge, so that (1, -1) is its null vector.
  const Csr<double> A = Csr<double>::from_triplets(2, 2, {{0, 0, 1}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1}});
  LaplacianForm<Host, double> form;
  ASSERT_TRUE(form.setup(this->backend, A).ok());
  auto workspace = form.make_workspace(this->backend);
  std::vector<double> y(static_cast<std::size_t>(form.vertices()));
  const std::vector<double> null_vector = {3, -3};
  EXPECT_NEAR(form.lift(this->backend, workspace, null_vector.data(), y.data()).proven, std::sqrt(18.0),
              1e-14);
  const std::vector<double> range_vector = {3, 3};
  EXPECT_NEAR(form.lift(this->backend, workspace, range_vector.data(), y.data()).norm(), 0, 1e-14);
}

TYPED_TEST(LaplacianFormOn, RowsThatCannotBeLifted_AreNamed) {
  LaplacianForm<Host, double> form;
  Outcome outcome = form.setup(
      this->backend,
      Csr<double>::from_triplets(3, 3, {{0, 0, 1}, {1, 1, 1}, {1, 2, -1.5}, {2, 1, -1.5}, {2, 2, 2}}));
  EXPECT_EQ(outcome.status, Status::breakdown);
  EXPECT_EQ(outcome.row, 1);
  EXPECT_NE(outcome.message.find("exceed the diagonal element by 0.5"), std::string::npos) << outcome.message;
  outcome = form.setup(this->backend,
                       Csr<double>::from_triplets(2, 2, {{0, 0, 2}, {0, 1, -1}, {1, 0, -0.5}, {1, 1, 2}}));
  EXPECT_EQ(outcome.status, Status::breakdown);
  EXPECT_EQ(outcome.row, 0);
  EXPECT_NE(outcome.message.find("not symmetric"), std::string::npos) << outcome.message;
}

TYPED_TEST(LaplacianFormOn, ConnectedLaplacian_IsNotCopied) {
  const Csr<double> A = std::get<Csr<double>>(make_matrix<double>("grid-2d", {{"nx", 9}, {"ny", 7}}));
  LaplacianForm<Host, double> form;
  ASSERT_TRUE(form.setup(this->backend, A).ok());
  EXPECT_EQ(form.kind(), DominanceKind::laplacian);
  EXPECT_EQ(&form.laplacian(), &A);
}

TYPED_TEST(LaplacianFormOn, RoundedWeights_StayLaplacian) {
  // Weights over 24 powers of ten: the small ones vanish in the diagonals of the large ones.
  const Csr<double> A = std::get<Csr<double>>(
      make_matrix<double>("ring", {{"n", 4000}, {"weights", "log-uniform"}, {"decades", 24}}));
  LaplacianForm<Host, double> form;
  ASSERT_TRUE(form.setup(this->backend, A).ok());
  EXPECT_EQ(form.kind(), DominanceKind::laplacian);
}

TYPED_TEST(LaplacianFormOn, LargeComponentsWithExcess_RowsSumToZero) {
  Triplets triplets;
  for (std::int32_t i = 1; i < 6000; ++i) add_edge(triplets, i - 1, i, i % 7 + 0.1);
  for (std::int32_t i = 6001; i < 9000; ++i) add_edge(triplets, i - 1, i, i % 5 + 0.1);
  for (std::int32_t i = 0; i < 6000; ++i) triplets.push_back({i, i, 0.01});
  const Csr<double> A = Csr<double>::from_triplets(9000, 9000, triplets);
  LaplacianForm<Host, double> form;
  ASSERT_TRUE(form.setup(this->backend, A).ok());
  const Csr<double>& L = form.laplacian();
  ASSERT_EQ(L.rows(), 9001);
  EXPECT_EQ(L.row_offsets()[6001] - L.row_offsets()[6000], 6001);  // the ground's row
  for (const double sum : product(L, std::vector<double>(9001, 1.0))) EXPECT_NEAR(sum, 0, 1e-11);
}

}  // namespace
}  // namespace echelon
