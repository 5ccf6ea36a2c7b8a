// SPDX-License-Identifier: BSD-3-Clause
#include "support/dense/dense_factorizations.hpp"
#include "support/sparse_systems.hpp"
#include "support/test_data.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace echelon {
namespace {

using test::expect_solved;
using test::graded;
using test::growing;
using test::hilbert;
using test::random_dense;
using test::statistic;

const std::vector<Device> host_devices = {Device::serial(), Device::openmp(2)};

/// A method with options: the direct forms, and the iterations with tolerance 0, which end with the same
/// factors.
struct Form {
  std::string method;
  Options options = {};
  [[nodiscard]] std::string text() const { return method + (options.empty() ? "" : " with options"); }
};
const std::vector<Form> forms = {{"crout"},
                                 {"crout-parallel"},
                                 {"crout-iterative"},
                                 {"crout-iterative", {{"section_size", 7}}},
                                 {"crout-blocked"},
                                 {"crout-blocked", {{"section_size", 5}}},
                                 {"crout-blocked", {{"section", "iterated"}, {"section_size", 16}}}};

template <class T>
class CroutOf : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(CroutOf, Reals);

TYPED_TEST(CroutOf, LapackTypes_SmallBackwardError) {
  using T = TypeParam;
  for (const Device& device : host_devices) {
    for (const Form& form : forms) {
      for (const std::int64_t n : {1, 2, 3, 31, 33, 65, 129}) {
        expect_solved<T>(form.method, form.options, device, random_dense<T>(n, n, 1), "random");
        expect_solved<T>(form.method, form.options, device, hilbert<T>(n), "Hilbert");
        expect_solved<T>(form.method, form.options, device, graded<T>(n, 2), "graded");
        if (n < 20) expect_solved<T>(form.method, form.options, device, growing<T>(n), "growing");
      }
    }
  }
}

/// The types and right-hand sides of LAPACK's dchkge.
TYPED_TEST(CroutOf, PassesLapacksTests) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 2, 3, 5, 10, 50}) {
    for (std::int64_t type = 1; type <= 11; ++type) {
      const auto a = std::get<Dense<T>>(make_matrix<T>("lapack-check", {{"n", n}, {"type", type}}));
      for (const Form& form : forms) {
        SCOPED_TRACE(form.text() + ", n = " + std::to_string(n) + ", type " + std::to_string(type));
        Solver<T> solver = make_solver<T>(form.method, {}, form.options);
        const Report setup = solver.setup(a);
        const bool has_zero_columns = type >= 5 && type <= 7;
        if (has_zero_columns) {
          EXPECT_EQ(setup.status, Status::singular);
          continue;
        }
        for (const std::int64_t right_hand_sides : {1, 2, 15}) {
          const Dense<T> b = random_dense<T>(n, right_hand_sides, 3);
          Dense<T> x(Device(), n, right_hand_sides);
          const Report report = solver.solve(b, x);
          EXPECT_TRUE(report.solved() || setup.status == Status::singular) << report.message;
          EXPECT_LT(test::scaled_residual<T>(a, x, b), 30);
        }
      }
    }
  }
}

TYPED_TEST(CroutOf, EveryDeviceAndSection_SameBits) {
  using T = TypeParam;
  const std::int64_t n = 150;
  const Dense<T> a = random_dense<T>(n, n, 5);
  const Dense<T> b = random_dense<T>(n, 1, 6);
  std::vector<T> expected;
  for (const Device& device : host_devices) {
    for (const Form& form :
         {Form{"crout"}, Form{"crout-iterative"}, Form{"crout-iterative", {{"section_size", 11}}}}) {
      Options options = form.options;
      options.set("refine", 0);
      Solver<T> solver = make_solver<T>(form.method, device, options);
      ASSERT_TRUE(solver.setup(a).ready());
      Dense<T> x(Device(), n, 1);
      ASSERT_TRUE(solver.solve(b, x).solved()) << form.text();
      const std::vector<T> found(x.data(), x.data() + n);
      if (expected.empty()) expected = found;
      EXPECT_EQ(found, expected) << form.text() << " on " << device.name();
    }
  }
}

TYPED_TEST(CroutOf, RowExchanges_AsLapack) {
  using T = TypeParam;
  const std::int64_t n = 60;
  const Dense<T> a = random_dense<T>(n, n, 8);
  LapackLu<T> lapack({}, {.refine = 0});
  const Report expected = lapack.factor(a);
  for (const Form& form : forms) {
    Solver<T> solver = make_solver<T>(form.method, {}, form.options);
    const Report report = solver.setup(a);
    // Growth depends on every pivot.
    EXPECT_NEAR(statistic(report, "pivot_growth"), statistic(expected, "pivot_growth"), 1e-4) << form.text();
  }
}

/// Pivots that are exactly zero are at the level of rounding errors: systems are solved, and accepted or
/// refused, as others of a singular matrix.
TYPED_TEST(CroutOf, ZeroPivots_AnswerIsJudged) {
  using T = TypeParam;
  for (const std::int64_t n : {2, 3, 7, 40}) {
    for (const std::int64_t rank : {std::int64_t{1}, n - 1}) {
      Dense<T> a(Device(), n, n);
      for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t i = 0; i < n; ++i) a(i, j) = j % rank == i % rank ? T{2} : T{1};
      }
      for (const Form& form : forms) {
        Dense<T> b(Device(), n, 1);
        Dense<T> x(Device(), n, 1);
        for (std::int64_t i = 0; i < n; ++i) {
          b(i, 0) = 0;
          for (std::int64_t j = 0; j < n; ++j) b(i, 0) += a(i, j) * static_cast<T>(1 + j % 3);
        }
        SCOPED_TRACE(form.text() + " " + std::to_string(n) + " " + std::to_string(rank));
        Solver<T> solver = make_solver<T>(form.method, {}, form.options);
        const Report setup = solver.setup(a);
        EXPECT_EQ(setup.status, Status::singular) << setup;
        EXPECT_FALSE(setup.row) << setup;
        EXPECT_EQ(setup.rank, rank) << setup;
        EXPECT_EQ(solver.determinant().sign, 0);
        const Report solved = solver.solve(b, x);
        EXPECT_EQ(solved.status, Status::underdetermined) << solved;
        EXPECT_EQ(solved.certainty, Certainty::proven) << solved;
        EXPECT_LE(solved.relative_residual, 100 * std::numeric_limits<T>::epsilon()) << solved;
        b(n - 1, 0) += 1;
        const Report refused = solver.solve(b, x);
        EXPECT_EQ(refused.status, Status::inconsistent) << refused;
        EXPECT_EQ(refused.certainty, Certainty::proven) << refused;
      }
    }
  }
}

/// A column that depends on others, up to rounding errors: a consistent system is satisfied, whether its last
/// pivot vanishes or not.
TYPED_TEST(CroutOf, DependentColumn_ConsistentSystemIsSolved) {
  using T = TypeParam;
  const std::int64_t n = 40;
  Dense<T> a = random_dense<T>(n, n, 3);
  Dense<T> b(Device(), n, 1);
  for (std::int64_t i = 0; i < n; ++i) {
    a(i, 20) = a(i, 3);
    b(i, 0) = a(i, 3) - a(i, 7);
  }
  for (const Form& form : forms) {
    Solver<T> solver = make_solver<T>(form.method, {}, form.options);
    EXPECT_EQ(solver.setup(a).status, Status::singular) << form.text();
    Dense<T> x(Device(), n, 1);
    EXPECT_EQ(solver.solve(b, x).status, Status::underdetermined) << form.text();
  }
}

/// Well-conditioned matrices whose factors consist of rounding errors, have a zero pivot (Wright's), or
/// overflow: nothing shows that they are singular.
TYPED_TEST(CroutOf, LargeGrowth_IsNotSingular) {
  using T = TypeParam;
  const std::int64_t n = 302;
  int grown = 0;
  for (const char* generator : {"gepp-growth", "gfpp", "foster", "wright"}) {
    const auto a = std::get<Dense<T>>(make_matrix<T>(generator, {{"n", n}}));
    for (const Form& form : forms) {
      if (form.method == "crout-iterative") continue;  // takes seconds, and assesses its factors likewise
      SCOPED_TRACE(generator + (" by " + form.text()));
      Solver<T> solver = make_solver<T>(form.method, {}, form.options);
      const Report setup = solver.setup(a);
      EXPECT_FALSE(statistic(setup, "pivot_growth") < 1e8);  // or not a number
      EXPECT_NE(setup.status, Status::singular) << setup.message;
      // Iterates of sections may overflow. Otherwise the backward error of x will tell.
      EXPECT_TRUE(setup.ready() || setup.status == Status::breakdown) << setup.message;
      for (const std::string& warning : setup.warnings)
        grown += warning.find("factored by QR instead") != std::string::npos ? 1 : 0;
    }
  }
  EXPECT_GE(grown, 8);
}

TYPED_TEST(CroutOf, OverflowingIterates_FactorsAreFound) {
  using T = TypeParam;
  // Uniform random matrices of this size have transients beyond the range of either precision.
  const std::int64_t n = 200;
  expect_solved<T>("crout-iterative", {}, Device(), random_dense<T>(n, n, 1), "one section");
}

TYPED_TEST(CroutOf, LooseTolerance_Preconditions) {
  using T = TypeParam;
  const auto problem = test::convection_diffusion(12, 0.4);
  const Csr<T> a = problem.csr<T>();
  const Dense<T> b = random_dense<T>(problem.n, 1, 1);
  Dense<T> x(Device(), problem.n, 1);
  Gmres<T> gmres({}, {.preconditioner = "crout-iterative", .preconditioner_options = {{"tolerance", 0.01}}});
  gmres.setup(a);
  const Report report = gmres.solve(b, x);
  EXPECT_EQ(report.status, Status::converged) << report.message;
  EXPECT_LT(report.iterations, 15);
}

/// bcsstk02, dense and positive definite, and west0479, sparse with zeros on the diagonal: kinds of matrices
/// for which the method was published.
TEST(Crout, RealMatrices_PivotsAndFactorsOfLapack) {
  for (const char* name : {"bcsstk02.mtx", "west0479.mtx.gz"}) {
    const Dense<double> a =
        to_dense(MatrixRef<double>(read_matrix<double>((test::data_directory() / name).string())));
    const std::int64_t n = a.rows();
    LapackLu<double> lapack;
    const Report expected = lapack.factor(a);
    for (const Form& form : forms) {
      if (n > 100 && form.method == "crout-iterative") continue;  // takes seconds
      SCOPED_TRACE(name + (" by " + form.text()));
      Solver<double> solver = make_solver<double>(form.method, {}, form.options);
      const Report setup = solver.setup(a);
      ASSERT_TRUE(setup.ready()) << setup.message;
      const double growth = statistic(expected, "pivot_growth");
      EXPECT_NEAR(statistic(setup, "pivot_growth"), growth, 1e-6 * growth);
      expect_solved<double>(form.method, form.options, Device(), a, name);
    }
  }
}

TEST(CroutIterative, DominantMatrices_FewSweeps) {
  const std::int64_t n = 128;
  Dense<double> a = random_dense<double>(n, n, 4);
  for (std::int64_t i = 0; i < n; ++i) a(i, i) += static_cast<double>(n);
  CroutIterative<double> solver({}, {.section_size = n});
  const Report report = solver.factor(a);
  ASSERT_TRUE(report.ready());
  EXPECT_LE(statistic(report, "diagonal_sweeps"), 30);
  EXPECT_EQ(statistic(report, "sections"), 1);
  EXPECT_EQ(statistic(report, "row_exchanges"), 0);
}

TEST(CroutIterative, ZeroDiagonal_OnlyPivotingHelps) {
  Dense<double> a(Device(), 2, 2);
  a(0, 0) = 0;
  a(0, 1) = a(1, 0) = a(1, 1) = 1;
  CroutIterative<double> without({}, {.pivoting = false});
  const Report report = without.factor(a);
  EXPECT_EQ(report.status, Status::breakdown);  // A is regular
  EXPECT_EQ(report.row, 0);
  for (const double threshold : {0.0, 1.0}) {
    CroutIterative<double> with({}, {.pivot_threshold = threshold});
    EXPECT_TRUE(with.factor(a).ready()) << threshold;
  }
}

TEST(CroutIterative, PivotThreshold_FewerExchanges) {
  const Dense<double> a = random_dense<double>(100, 100, 12);
  const auto exchanges = [&](double threshold) {
    CroutIterative<double> solver({}, {.pivot_threshold = threshold});
    const Report report = solver.factor(a);
    EXPECT_TRUE(report.ready());
    return statistic(report, "row_exchanges");
  };
  EXPECT_LT(exchanges(0.1), exchanges(1));
  EXPECT_EQ(exchanges(0), 0);
}

TEST(Crout, Rectangular_IsRefused) {
  Crout<double> solver;
  const Dense<double> a = random_dense<double>(3, 2, 1);
  EXPECT_THROW(static_cast<void>(solver.factor(a)), DimensionMismatch);
}

}  // namespace
}  // namespace echelon
