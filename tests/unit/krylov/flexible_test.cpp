// SPDX-License-Identifier: BSD-3-Clause
/// Flexible recurrences: preconditioners that are no fixed symmetric operators.
#include <echelon/generate.hpp>
#include <echelon/matrix/matrix.hpp>
#include <echelon/methods/amg.hpp>
#include <echelon/methods/cg.hpp>
#include <echelon/methods/gmres.hpp>
#include <echelon/methods/minres.hpp>
#include <echelon/preconditioner.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

std::vector<double> random_vector(std::int64_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<double> x(static_cast<std::size_t>(n));
  for (double& value : x) value = std::uniform_real_distribution<double>(-1, 1)(random);
  return x;
}

Report solved(Solver<double>& solver, const Csr<double>& A, const std::vector<double>& b) {
  EXPECT_TRUE(solver.setup(A).ready());
  std::vector<double> x(b.size());
  return solver.solve(b, x);
}

bool is_flexible(const Report& report) {
  const Statistic* recurrence = report.find_statistic("recurrence");
  return recurrence != nullptr && std::get<std::string>(recurrence->value) == "flexible";
}

TEST(FlexibleCg, FixedPreconditioner_SameIterates) {
  const Csr<double> A = generate::anisotropic_2d<double>(40, 30, 0.05);
  const std::vector<double> b = random_vector(A.rows(), 1);
  for (const char* preconditioner : {"none", "jacobi", "ic0", "amg"}) {
    // Rounding to float would be a small change from step to step.
    const Options options =
        std::string(preconditioner) == "amg" ? Options{{"precision", "working"}} : Options{};
    Cg<double> plain(Device(), {.preconditioner = preconditioner, .preconditioner_options = options});
    Cg<double> flexible(
        Device(), {.flexible = true, .preconditioner = preconditioner, .preconditioner_options = options});
    const Report expected = solved(plain, A, b);
    const Report got = solved(flexible, A, b);
    EXPECT_EQ(got.status, Status::converged);
    EXPECT_NEAR(static_cast<double>(got.iterations), static_cast<double>(expected.iterations), 1);
    EXPECT_FALSE(is_flexible(expected)) << preconditioner;
    EXPECT_EQ(is_flexible(got), std::string(preconditioner) != "none") << preconditioner;
    for (std::size_t k = 0; k < 5; ++k) {
      EXPECT_NEAR(got.history[k], expected.history[k], 1e-10) << "in exact arithmetic both are the same";
    }
  }
}

TEST(FlexibleCg, VaryingCycles_AreRecognised) {
  const Csr<double> A = generate::poisson_2d<double>(80, 80);
  const std::vector<double> b = random_vector(A.rows(), 2);
  for (const char* cycle : {"v", "w", "f", "k"}) {
    for (const char* coarsening : {"aggregation", "smoothed-aggregation", "classical"}) {
      Solver<double> cg = make_solver<double>("cg", Device(),
                                              {{"preconditioner", "amg"},
                                               {"preconditioner.cycle", cycle},
                                               {"preconditioner.coarsening", coarsening},
                                               {"preconditioner.coarse_size", 30}});
      const Report report = solved(cg, A, b);
      EXPECT_EQ(report.status, Status::converged) << cycle << " " << coarsening;
      const bool varies = std::string(cycle) == "f" || std::string(cycle) == "k";
      EXPECT_EQ(is_flexible(report), varies) << cycle;
      EXPECT_LE(report.iterations, std::string(coarsening) == "aggregation" && !varies ? 80 : 35)
          << cycle << " " << coarsening;
    }
  }
}

TEST(FlexibleCg, GeometricCycles_AreRecognised) {
  const Csr<double> A = generate::poisson_2d<double>(63, 63);
  for (const char* cycle : {"v", "f", "k"}) {
    Solver<double> cg = make_solver<double>("cg", Device(),
                                            {{"preconditioner", "geometric-multigrid"},
                                             {"preconditioner.cycle", cycle},
                                             {"preconditioner.coarse_size", 30}});
    const Report report = solved(cg, A, random_vector(A.rows(), 3));
    EXPECT_EQ(report.status, Status::converged) << cycle;
    EXPECT_LE(report.iterations, 14) << cycle;
    EXPECT_EQ(is_flexible(report), std::string(cycle) != "v") << cycle;
  }
}

TEST(FlexibleCg, ChangingPreconditioner_NeedsIt) {
  // Weights that change from step to step, as those of an inner iteration do.
  const Csr<double> A = generate::poisson_2d<double>(40, 40);
  const std::vector<double> b = random_vector(A.rows(), 4);
  const auto iterations = [&](bool flexible) {
    std::mt19937_64 random(5);
    Cg<double> cg(Device(), {.flexible = flexible});
    cg.set_preconditioner(Preconditioner<double>([&](const double* r, double* z) {
      for (std::int64_t i = 0; i < A.rows(); ++i) {
        z[i] = r[i] * std::uniform_real_distribution<double>(0.25, 1)(random);
      }
    }));
    const Report report = solved(cg, A, b);
    EXPECT_TRUE(report.solved() || !flexible) << report.message;
    return report.solved() ? report.iterations : 10000;
  };
  EXPECT_LT(iterations(true), iterations(false));
}

TEST(FlexibleCg, InnerSolver_IsVarying) {
  const Csr<double> A = generate::poisson_2d<double>(50, 50);
  const std::vector<double> b = random_vector(A.rows(), 6);
  Cg<double> inner(Device(), {.stop = {.rtol = 0.05}});
  ASSERT_TRUE(inner.setup(A).ready());
  Cg<double> outer;
  outer.set_preconditioner(inner);
  const Report report = solved(outer, A, b);
  EXPECT_EQ(report.status, Status::converged) << report.message;
  EXPECT_TRUE(is_flexible(report));
  EXPECT_LE(report.iterations, 20);
}

TEST(FlexibleGmres, KCycle_IsRecognised) {
  const Csr<double> A = generate::convection_diffusion_2d<double>(50, 50, 20, 10);
  const std::vector<double> b = random_vector(A.rows(), 7);
  Solver<double> gmres = make_solver<double>(
      "gmres", Device(),
      {{"preconditioner", "amg"}, {"preconditioner.cycle", "k"}, {"preconditioner.coarse_size", 30}});
  const Report report = solved(gmres, A, b);
  EXPECT_EQ(report.status, Status::converged) << report.message;
  // With a fixed preconditioner x = M V y would not be the vector whose residual the recurrence has.
  EXPECT_LE(report.iterations, 40);
}

TEST(Minres, VaryingPreconditioner_IsWarnedOf) {
  const Csr<double> A = generate::poisson_2d<double>(40, 40);
  Solver<double> minres =
      make_solver<double>("minres", Device(), {{"preconditioner", "amg"}, {"preconditioner.cycle", "k"}});
  const Report report = minres.setup(A);
  ASSERT_EQ(report.warnings.size(), 1U);
  EXPECT_NE(report.warnings[0].find("fixed symmetric operator"), std::string::npos);
}

}  // namespace
}  // namespace echelon::test
