// SPDX-License-Identifier: BSD-3-Clause
/// Solving in one call, and the choices of `auto`.
#include "support/problems.hpp"
#include "support/sparse_systems.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>
namespace echelon::test {
namespace {

template <class T>
Dense<T> times_ones(const Csr<T>& A) {
  const std::vector<T> ones(static_cast<std::size_t>(A.columns()), T{1});
  Dense<T> b(Device(), A.rows(), 1);
  multiply<T>(T{1}, A, ones, T{0}, b);
  return b;
}

TEST(Solve, Auto_EveryProblem_SolvedWithReason) {
  std::vector<Problem> list = {diagonal(1),
                               diagonal(40),
                               convection_diffusion(40, 0),
                               convection_diffusion(40, 0.6),
                               random_dominant(500, 4, false, 3),
                               shifted_cycle(77)};
  for (const Problem& problem : list) {
    const Csr<double> A = problem.csr<double>();
    const Dense<double> b = times_ones(A);
    const auto [x, report] = solve(A, b);
    EXPECT_TRUE(report.solved()) << problem.name;
    EXPECT_FALSE(report.reason.empty());
    EXPECT_LT(assess(A, x, b).relative_residual, 1e-7) << problem.name;
  }
}

TEST(Solve, Auto_Float_Solves) {
  const Csr<float> A = convection_diffusion(30, 0).csr<float>();
  const Dense<float> b = times_ones(A);
  const auto [x, report] = solve(A, b);
  EXPECT_TRUE(report.solved());
  EXPECT_LT(assess(A, x, b).relative_residual, 1e-4);
}

TEST(Solve, Auto_LargeSpd_Cg) {
  const Csr<double> grid = generate::poisson_3d<double>(40, 40, 40);
  const std::vector<Candidate> candidates = choose<double>(multiply(grid, grid), Device::serial());
  ASSERT_FALSE(candidates.empty());
  EXPECT_EQ(candidates.front().method, "cg");
}

bool tries_diagonal_first(const Candidate& candidate) {
  const auto& entries = candidate.parameters.entries();
  return std::any_of(entries.begin(), entries.end(),
                     [](const auto& entry) { return entry.first == "jacobi_iterations"; });
}

TEST(Solve, Auto_LargeSddm_SampledFactorAfterATrial) {
  const auto factored = [](const Csr<double>& A) {
    for (const Candidate& candidate : choose<double>(A, Device::serial())) {
      if (candidate.method == "approximate-cholesky") return candidate;
    }
    return Candidate();
  };
  Csr<double> grid = generate::poisson_3d<double>(30, 30, 30);
  const std::vector<Candidate> candidates = choose<double>(grid, Device::serial());
  EXPECT_EQ(candidates.at(0).method, "structured-multigrid");  // a stencil on a box
  EXPECT_EQ(candidates.at(1).method, "cg");  // some iterations, which suffice for even meshes
  EXPECT_EQ(candidates.at(2).method, "approximate-cholesky");
  EXPECT_FALSE(tries_diagonal_first(candidates.at(2)));
  EXPECT_GT(candidates.size(), 4U);  // the general list follows
  // Hubs, and strong dominance: iterations with the diagonal come before the factor.
  const Csr<double> star =
      std::get<Csr<double>>(make_matrix<double>("sachdeva-star", {{"clique", 40}, {"form", "sddm"}}));
  EXPECT_TRUE(tries_diagonal_first(factored(star)));
  for (std::int64_t i = 0; i < grid.rows(); ++i) {
    for (std::int64_t k = grid.row_offsets()[i]; k < grid.row_offsets()[i + 1]; ++k) {
      if (grid.column_indices()[k] == i) grid.values()[k] += 1;
    }
  }
  EXPECT_TRUE(tries_diagonal_first(factored(grid)));
  // A matrix with positive elements off the diagonal is no candidate.
  grid.values()[1] = std::abs(grid.values()[1]);
  EXPECT_NE(factored(grid).method, "approximate-cholesky");
}

TEST(Solve, Auto_SddmAlmostSingular_FactoredAfterwards) {
  // An excess of 1e-9 in one vertex: b = e_0 gives x = 1e9 everywhere, whose residual rounding limits.
  Csr<double> A = std::get<Csr<double>>(make_matrix<double>("grid-2d", {{"nx", 160}, {"ny", 160}}));
  A.values()[0] += 1e-9;
  std::vector<double> b(25600, 0);
  b[0] = 1;
  const Report report = solve(A, b, {.device = Device::serial()}).report;
  EXPECT_EQ(report.method, "sparse-cholesky");
  EXPECT_TRUE(report.solved()) << report.message;
  const auto stagnated = [](const Attempt& attempt) {
    return attempt.method.starts_with("approximate-cholesky") && attempt.status == Status::stagnated;
  };
  EXPECT_EQ(std::count_if(report.attempts.begin(), report.attempts.end(), stagnated), 1) << report;
  std::vector<std::string> methods;
  for (const Attempt& attempt : report.attempts) methods.push_back(attempt.method);
  std::sort(methods.begin(), methods.end());
  EXPECT_EQ(std::adjacent_find(methods.begin(), methods.end()), methods.end()) << report;
}

TEST(Solve, Auto_SddmOfLargeCondition_Estimated) {
  Csr<double> A = std::get<Csr<double>>(make_matrix<double>("grid-2d", {{"nx", 150}, {"ny", 150}}));
  A.values()[0] += 1e-5;
  std::vector<double> b(22500, 0);
  b[0] = 1;
  const Report report = solve(A, b, {.device = Device::serial()}).report;
  EXPECT_EQ(report.attempts.size(), 0U);
  EXPECT_TRUE(report.solved()) << report.message;
  ASSERT_TRUE(report.reciprocal_condition.has_value());
  EXPECT_LT(*report.reciprocal_condition, 1e-7);
}

TEST(Solve, Auto_SmallFactor_FactorsFirst) {
  const std::vector<Candidate> spd =
      choose<double>(convection_diffusion(40, 0).csr<double>(), Device::serial());
  ASSERT_FALSE(spd.empty());
  EXPECT_EQ(spd.front().method, "sparse-cholesky");
  const std::vector<Candidate> general =
      choose<double>(convection_diffusion(40, 0.3).csr<double>(), Device::serial());
  ASSERT_FALSE(general.empty());
  EXPECT_EQ(general.front().method, "sparse-lu");
}

TEST(Solve, Auto_TinyMatrix_DenseFactorization) {
  const auto first = [](const Csr<double>& A) { return choose<double>(A, Device::serial()).at(0).method; };
  EXPECT_EQ(first(convection_diffusion(5, 0.3).csr<double>()), "lu");
  EXPECT_EQ(first(convection_diffusion(5, 0).csr<double>()), "cholesky");
  EXPECT_EQ(first(Csr<double>::from_triplets(2, 2, {{0, 0, 1}, {0, 1, 2}, {1, 0, 2}, {1, 1, -3.0}})), "lu");
}

TEST(Solve, Auto_DenseSymmetricIndefinite_LdltWhereItIsFaster) {
  const auto first = [](std::int64_t n, const Device& device) {
    Dense<double> A(Device(), n, n);
    std::fill_n(A.data(), n * n, 0.0);
    for (std::int64_t i = 0; i < n; ++i) A(i, i) = i % 2 == 0 ? 1 : -1;
    return choose<double>(A, device).at(0).method;
  };
  EXPECT_EQ(first(1499, Device::serial()), "lu");
  EXPECT_EQ(first(1500, Device::serial()), "ldlt");
  EXPECT_EQ(first(1500, Device::openmp(1)), "ldlt");
  EXPECT_EQ(first(1500, Device::openmp(2)), "lu");
}

TEST(Solve, Auto_SymmetricIndefinite_FactorsThenMinres) {
  const SparseSystem grid = grid_system(60, 60, 1, -5);
  const std::vector<Candidate> candidates =
      choose<double>(csr_of<double>(grid.n, grid.elements), Device::serial());
  ASSERT_GE(candidates.size(), 2U);
  EXPECT_EQ(candidates[0].method, "sparse-ldlt");
  EXPECT_EQ(candidates[1].method, "minres");
}

TEST(Solve, Auto_NarrowBand_BandedLu) {
  const std::vector<Candidate> candidates = choose<double>(path(20'000).csr<double>(), Device::serial());
  ASSERT_FALSE(candidates.empty());
  EXPECT_EQ(candidates.front().method, "banded-lu");
}

TEST(Solve, Auto_StructurallySingular_FactorizationFindsTheRank) {
  // Row 2 has no element of its own column's; the equations are consistent.
  Elements elements = {{0, 0, 2}, {1, 1, 3}, {2, 1, 1}};
  const Csr<double> A = csr_of<double>(3, elements);
  const Solution<double> consistent = solve(A, std::vector<double>{2, 3, 1});
  EXPECT_TRUE(consistent.report.solved()) << consistent.report;
  EXPECT_EQ(consistent.report.rank, 2);
  EXPECT_EQ(consistent.report.status, Status::underdetermined);
  EXPECT_NEAR(consistent.x[1], 1, 1e-12);
  EXPECT_EQ(solve(A, std::vector<double>{2, 3, 2}).report.status, Status::inconsistent);
}

TEST(Solve, Auto_Dense_Lu) {
  const Dense<double> A = random_dominant(20, 5, false, 1).dense<double>();
  const std::vector<Candidate> candidates = choose<double>(A, Device::openmp());
  ASSERT_FALSE(candidates.empty());
  EXPECT_EQ(candidates.front().method, "lu");
}

TEST(Solve, Auto_FailedCandidate_FallsBackWithReason) {
  // Symmetric with a positive diagonal, so Cholesky is tried, but indefinite: [[1, 0.9, 0.9], ...] with a
  // sign. The blocks are coupled weakly, as points of a grid, so that no numbering has a narrow band.
  std::vector<Triplet<double>> elements;
  constexpr std::int32_t blocks = 4000;
  for (std::int32_t k = 0; k < blocks; ++k) {
    const auto index = [&](std::int32_t d) { return k + d * blocks; };
    for (std::int32_t d = 0; d < 3; ++d) elements.push_back({index(d), index(d), 1});
    const auto pair = [&](std::int32_t a, std::int32_t c, double v) {
      elements.push_back({index(a), index(c), v});
      elements.push_back({index(c), index(a), v});
    };
    pair(0, 1, 0.9);
    pair(0, 2, 0.9);
    pair(1, 2, -0.9);
    for (const std::int32_t neighbour : {k + 1, k + 60}) {
      if (neighbour >= blocks) continue;
      elements.push_back({k, neighbour, 0.01});
      elements.push_back({neighbour, k, 0.01});
    }
  }
  const Csr<double> A = Csr<double>::from_triplets(3 * blocks, 3 * blocks, elements);
  const Dense<double> b = random_dense<double>(A.rows(), 1, 2);
  const auto [x, report] = solve(A, b, {.device = Device::serial()});
  EXPECT_TRUE(report.solved());
  ASSERT_FALSE(report.attempts.empty());
  EXPECT_EQ(report.attempts.front().status, Status::not_spd);
  EXPECT_LT(assess(A, x, b).relative_residual, 1e-7);
}

TEST(Solve, SingularInconsistent_IsNotSolved) {
  const Csr<double> A = Csr<double>::from_triplets(3, 3, {{0, 0, 2}, {1, 1, 3}, {2, 0, 1}});
  const std::vector<double> b = {1, 1, 1};
  const auto [x, report] = solve(A, DenseView<const double>(b));
  EXPECT_FALSE(report.solved());
  EXPECT_FALSE(report.message.empty());
}

TEST(Solve, SingularConsistent_Underdetermined) {
  const auto A = Csr<double>::from_triplets(2, 2, {{0, 0, 1}, {0, 1, 2}, {1, 0, 3}, {1, 1, 6.0}});
  const std::vector<double> b = {3, 9};
  const auto [x, report] = solve(A, b);
  EXPECT_TRUE(report.solved()) << report.message;
  EXPECT_NEAR(x[0] + 2 * x[1], 3, 1e-7);
  EXPECT_EQ(report.status, Status::underdetermined);
  EXPECT_EQ(report.rank, 1);
  EXPECT_EQ(report.certainty, Certainty::proven);
}

TEST(Solve, SingularInconsistent_StaysSingular) {
  const auto A = Csr<double>::from_triplets(2, 2, {{0, 0, 1}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1.0}});
  const std::vector<double> b = {1, 2};
  const auto [x, report] = solve(A, DenseView<const double>(b));
  EXPECT_EQ(report.status, Status::inconsistent) << to_string(report.status) << ": " << report.message;
  EXPECT_EQ(report.certainty, Certainty::proven);
}

/// Row 7 is empty, and b asks for 0 = 1 there.
Csr<double> without_row_seven(std::int32_t n) {
  std::vector<Triplet<double>> elements;
  for (std::int32_t i = 0; i < n; ++i) {
    if (i != 7) elements.push_back({i, i, 2.0});
    if (i != 7 && i > 0) elements.push_back({i, i - 1, -0.5});
  }
  return Csr<double>::from_triplets(n, n, elements);
}

TEST(Solve, StructurallySingularInconsistent_SaysSoAtOnce) {
  for (const std::int32_t n : {30, 20'000}) {  // with elimination to prove it, and without
    const Csr<double> A = without_row_seven(n);
    const std::vector<double> b(static_cast<std::size_t>(n), 1.0);
    const auto [x, report] = solve(A, DenseView<const double>(b), {.device = Device::serial()});
    EXPECT_EQ(report.status, Status::inconsistent);
    EXPECT_LE(report.attempts.size(), 2U);
    for (const Attempt& attempt : report.attempts) EXPECT_NE(attempt.method, "lu");
    EXPECT_EQ(report.row, 7);
  }
}

TEST(Solve, StructurallySingularConsistent_UnderdeterminedWithTheReason) {
  const Csr<double> A = without_row_seven(300);
  const Dense<double> b = times_ones(A);
  const auto [x, report] = solve(A, b);
  EXPECT_EQ(report.status, Status::underdetermined) << report.message;
  EXPECT_EQ(report.certainty, Certainty::proven);
  EXPECT_LT(assess(A, x, b).relative_residual, 1e-7);
  ASSERT_FALSE(report.warnings.empty());
  EXPECT_NE(report.warnings.back().find("structural rank is 299 of 300"), std::string::npos);
  EXPECT_FALSE(report.error_estimate);
}

/// CG cannot reach 1e-5 here in float, but what it reaches is as good as the precision allows.
TEST(Solve, FloatAtTheLevelOfRounding_IsAnAnswer) {
  const Csr<float> A = convection_diffusion(120, 0).csr<float>();
  const Dense<float> b = times_ones(A);
  for (const double rtol : {1e-5, 1e-6}) {
    const auto [x, report] = solve(A, b, {.method = "cg", .device = Device::serial(), .rtol = rtol});
    EXPECT_EQ(report.status, Status::converged) << report.message;
    EXPECT_TRUE(report.attempts.empty());
    for (std::int64_t i = 0; i < A.rows(); ++i) ASSERT_NEAR(x[i], 1, 1e-3);
    if (report.relative_residual > rtol) {
      ASSERT_FALSE(report.warnings.empty());
      EXPECT_NE(report.warnings.front().find("rounding"), std::string::npos) << report.warnings.front();
    }
  }
}

/// The square of the Laplacian of a 28-by-28-by-28 grid, whose factor takes long enough for CG to come first:
/// a tolerance of 0.1 leaves no correct digit, and elimination is affordable.
TEST(Solve, AnAnswerWithoutACorrectDigit_IsFollowedByElimination) {
  const Csr<double> laplacian = generate::poisson_3d<double>(28, 28, 28);
  const Csr<double> A = multiply(laplacian, laplacian);
  const Dense<double> b = times_ones(A);
  const auto [x, report] = solve(A, b, {.device = Device::serial(), .rtol = 0.1});
  EXPECT_EQ(report.status, Status::direct);
  ASSERT_FALSE(report.attempts.empty());
  EXPECT_EQ(report.attempts.back().status, Status::converged);
  for (std::int64_t i = 0; i < A.rows(); ++i) ASSERT_NEAR(x[i], 1, 1e-8);
}

TEST(Solve, NamedMethod_TakesOptions) {
  const Csr<double> A = convection_diffusion(20, 0).csr<double>();
  const auto [x, report] =
      solve(A, times_ones(A), {.method = "cg", .rtol = 1e-4, .parameters = {{"preconditioner", "jacobi"}}});
  EXPECT_TRUE(report.solved());
  EXPECT_NE(report.method.find("preconditioner=jacobi"), std::string::npos) << report.method;
  EXPECT_GT(report.relative_residual, 1e-9);
}

template <class T>
void expect_guess_to_help(const std::string& method) {
  SCOPED_TRACE(method);
  const Csr<T> A = convection_diffusion(20, 0).csr<T>();
  const Dense<T> b = times_ones(A);
  const double rtol = std::is_same_v<T, double> ? 1e-6 : 1e-3;
  const SolveOptions from_zero{.method = method, .rtol = rtol, .max_iterations = 100000};
  const Solution<T> first = solve(A, b, from_zero);
  ASSERT_TRUE(first.report.solved()) << first.report.message;
  SolveOptions options = from_zero;
  options.initial_guess = first.x;
  const Solution<T> again = solve(A, b, options);
  EXPECT_EQ(again.report.iterations, 0);
  EXPECT_EQ(again.x.to_vector(), first.x.to_vector());
  options.rtol = rtol / 10;  // relative to b, not to the first residual
  const Solution<T> further = solve(A, b, options);
  EXPECT_TRUE(further.report.solved()) << further.report.message;
  EXPECT_LT(further.report.iterations, first.report.iterations);
  EXPECT_LE(further.report.relative_residual, rtol / 10);
  EXPECT_NEAR(further.report.history.front(), first.report.relative_residual,
              0.01 * first.report.relative_residual);
}

TEST(Solve, InitialGuess_IsWhereIterationsStart) {
  for (const char* method : {"cg", "bicgstab", "gmres", "jacobi", "gauss-seidel", "sor", "ssor"}) {
    expect_guess_to_help<double>(method);
  }
  expect_guess_to_help<float>("cg");
}

TEST(Solve, BadInitialGuess_DoesNotSpoilTheAnswer) {
  const Csr<double> A = convection_diffusion(20, 0).csr<double>();
  const Dense<double> b = times_ones(A);
  const std::vector<double> far(400, 1e12);
  for (const char* method : {"cg", "bicgstab", "gmres"}) {
    const auto [x, report] = solve(A, b, {.method = method, .initial_guess = far});
    EXPECT_TRUE(report.solved()) << method << ": " << report.message;
    EXPECT_LT(assess(A, x, b).relative_residual, 1e-7);
  }
}

TEST(Solve, InitialGuessWithoutRightHandSide_GivesZero) {
  const Csr<double> A = convection_diffusion(5, 0).csr<double>();
  const std::vector<double> zero(25, 0.0);
  const std::vector<double> guess(25, 1.0);
  const auto [x, report] = solve(A, zero, {.method = "cg", .initial_guess = guess});
  EXPECT_TRUE(report.solved());
  EXPECT_EQ(x.to_vector(), zero);
}

TEST(Solve, InitialGuessForADirectMethod_IsAWarning) {
  const Csr<double> A = convection_diffusion(5, 0).csr<double>();
  const std::vector<double> b(25, 1.0);
  const auto [x, report] = solve(A, b, {.method = "lapack-lu", .initial_guess = b});
  EXPECT_TRUE(report.solved());
  ASSERT_EQ(report.warnings.size(), 1U);
  EXPECT_NE(report.warnings.front().find("guess"), std::string::npos);
}

TEST(Solve, InitialGuessOfAnotherTypeOrShape_IsRefused) {
  const Csr<double> A = convection_diffusion(5, 0).csr<double>();
  const std::vector<double> b(25, 1.0);
  const std::vector<float> single(25, 1.0F);
  const std::vector<double> short_one(24, 1.0);
  EXPECT_THROW((void)solve(A, b, {.initial_guess = single}), BadOption);
  EXPECT_THROW((void)solve(A, b, {.initial_guess = short_one}), DimensionMismatch);
}

TEST(Solve, ProgressAndCancellation_AreOptions) {
  const Csr<double> A = convection_diffusion(30, 0).csr<double>();
  const Dense<double> b = random_dense<double>(900, 1, 3);
  std::stop_source source;
  std::int64_t calls = 0;
  const auto [x, report] = solve(A, b,
                                 {.method = "cg",
                                  .on_progress =
                                      [&](const Progress&) {
                                        if (++calls == 3) source.request_stop();
                                      },
                                  .cancel = source.get_token()});
  EXPECT_EQ(report.status, Status::cancelled);
  EXPECT_GE(calls, 3);
}

TEST(Solve, Misuse_Throws) {
  const Csr<double> A = convection_diffusion(5, 0).csr<double>();
  const std::vector<double> b(24, 1.0);
  const std::vector<double> right(25, 1.0);
  EXPECT_THROW((void)solve(A, DenseView<const double>(b)), DimensionMismatch);
  EXPECT_THROW((void)solve(A, DenseView<const double>(right), {.method = "ilu0"}), BadOption);
  EXPECT_THROW((void)solve(A, DenseView<const double>(right), {.method = "cgg"}), BadOption);
  EXPECT_THROW((void)solve(A, DenseView<const double>(right), {.parameters = {{"restart", 3}}}), BadOption);
  const Csr<double> wide = Csr<double>::from_triplets(2, 3, {});
  const DenseView<const double> two(right.data(), 2, 1, 2);
  EXPECT_THROW((void)solve(wide, two, {.method = "gmres"}), DimensionMismatch);
  EXPECT_THROW((void)solve(wide, DenseView<const double>(right), {.method = "gauss-jordan"}),
               DimensionMismatch);
}

TEST(Solve, NoGpu_ErrorExplains) {
  if (cuda_device_count() > 0) GTEST_SKIP() << "there is a GPU";
  const Csr<double> A = convection_diffusion(5, 0).csr<double>();
  const std::vector<double> b(25, 1.0);
  try {
    (void)solve(A, DenseView<const double>(b), {.device = Device::cuda()});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("openmp"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace echelon::test
