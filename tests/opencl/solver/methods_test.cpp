// SPDX-License-Identifier: BSD-3-Clause
// Methods and operations on OpenCL beside `serial`: sizes that no group of work-items divides, empty and
// singular matrices, NaN.
#include "opencl/opencl_fixture.hpp"

#include <echelon/domain_decomposition/schur_complement.hpp>
#include <echelon/echelon.hpp>
#include <echelon/rank_modulo.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace echelon::test {
namespace {

template <class T>
class OpenClMethods : public OpenClTest {
 protected:
  static constexpr double eps = std::numeric_limits<T>::epsilon();
  static Device device() { return Device::opencl(); }
  static double of_precision(double in_double, double in_float) {
    return std::is_same_v<T, double> ? in_double : in_float;
  }

  static std::vector<T> random_vector(std::int64_t n, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<T> values(static_cast<std::size_t>(n));
    for (T& value : values) value = static_cast<T>(uniform(random));
    return values;
  }
  static Dense<T> random_dense(std::int64_t m, std::int64_t n, unsigned seed) {
    const std::vector<T> values = random_vector(m * n, seed);
    return Dense<T>(m, n, Array<T>(Device(), std::span<const T>(values)));
  }
  static Dense<T> to_there(const Dense<T>& A) { return A.to(device()); }
  /// Diagonally dominant with `lower` and `upper` diagonals beside the main one; symmetric if these are equal
  /// and `symmetric`.
  static Csr<T> band(std::int64_t n, std::int64_t lower, std::int64_t upper, bool symmetric) {
    std::mt19937 random(static_cast<unsigned>(n + 7 * lower));
    std::vector<Triplet<T>> elements;
    std::vector<double> sums(static_cast<std::size_t>(n), 1.0);
    const auto add = [&](std::int64_t i, std::int64_t j, double value) {
      elements.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), static_cast<T>(value)});
      sums[static_cast<std::size_t>(i)] += std::fabs(value);
    };
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t first = symmetric ? i + 1 : std::max<std::int64_t>(0, i - lower);
      for (std::int64_t j = first; j <= std::min(n - 1, i + upper); ++j) {
        if (i == j) continue;
        const double value = -0.5 - static_cast<double>(random() % 1000) / 2000;
        add(i, j, value);
        if (symmetric) add(j, i, value);
      }
    }
    for (std::int64_t i = 0; i < n; ++i) add(i, i, sums[static_cast<std::size_t>(i)]);
    return Csr<T>::from_triplets(n, n, elements);
  }
  /// The weighted path of n vertices, whose Laplacian is singular.
  static Csr<T> path_laplacian(std::int64_t n) {
    std::vector<Triplet<T>> elements;
    for (std::int32_t i = 0; i + 1 < n; ++i) {
      const T weight = static_cast<T>(1 + i % 4);
      elements.push_back({i, i, weight});
      elements.push_back({i + 1, i + 1, weight});
      elements.push_back({i, i + 1, -weight});
      elements.push_back({i + 1, i, -weight});
    }
    return Csr<T>::from_triplets(n, n, elements);
  }

  struct Answer {
    Report setup, report;
    std::vector<T> x;
    [[nodiscard]] Status status() const { return setup.ready() ? report.status : setup.status; }
  };
  static Answer solved(const std::string& method, const Device& on, const MatrixRef<T>& A,
                       const std::vector<T>& b, const Options& options = {}) {
    Answer answer;
    Solver<T> solver = make_solver<T>(method, on, options);
    const Csr<T> sparse = A.is_sparse() ? A.csr()->to(on) : Csr<T>();
    const Dense<T> dense = A.is_sparse() ? Dense<T>() : to_dense(A).to(on);
    answer.setup = solver.setup(A.is_sparse() ? MatrixRef<T>(sparse) : MatrixRef<T>(dense));
    Dense<T> x(on, A.columns(), 1);
    answer.report = solver.solve(Dense<T>(on, std::span<const T>(b)), x);
    answer.x = x.to_vector();
    return answer;
  }
  static double difference(const std::vector<T>& a, const std::vector<T>& b) {
    double largest = 0;
    double scale = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      largest = std::max(largest, std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
      scale = std::max(scale, std::fabs(static_cast<double>(b[i])));
    }
    return scale > 0 ? largest / scale : largest;
  }
  /// Methods that run on OpenCL, for a symmetric positive definite M-matrix.
  static std::vector<std::string> methods_there() {
    std::vector<std::string> names;
    for (const Method& method : methods()) {
      const bool is_solver =
          method.kind != MethodKind::preconditioner && method.kind != MethodKind::automatic;
      if (is_solver && method.needs != MethodNeeds::triangular && method.runs_on(device()))
        names.push_back(method.name);
    }
    return names;
  }
};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(OpenClMethods, Reals);

TYPED_TEST(OpenClMethods, ListedMethods_RunThere) {
  const std::vector<std::string> names = this->methods_there();
  const std::set<std::string> there(names.begin(), names.end());
  for (const char* name : {"amg", "banded-lu", "bddc", "cg", "crout-iterative", "crout-parallel",
                           "gauss-jordan", "gauss-jordan-striped", "geometric-multigrid", "lamg", "lsmr",
                           "lu", "mapped-echelon", "multigrid", "structured-multigrid"}) {
    EXPECT_TRUE(there.count(name) == 1) << name;
  }
}

TYPED_TEST(OpenClMethods, AwkwardSizes_AnswersOfSerial) {
  using T = TypeParam;
  for (const std::int64_t n : {0, 1, 2, 63, 65, 257}) {
    const Csr<T> A = this->band(n, 1, 1, true);
    const std::vector<T> b = this->random_vector(n, 1);
    for (const std::string& method : this->methods_there()) {
      SCOPED_TRACE(method + ", n = " + std::to_string(n));
      const auto there = this->solved(method, this->device(), A, b);
      const auto here = this->solved(method, Device::serial(), A, b);
      EXPECT_EQ(there.status(), here.status()) << there.report.message << there.setup.message;
      EXPECT_LE(this->difference(there.x, here.x), this->of_precision(1e-6, 1e-3));
      if (n == 65) {
        EXPECT_EQ(this->solved(method, this->device(), A, b).x, there.x) << "repetition";
      }
    }
  }
}

/// Methods for sparse matrices, on a grid on which hierarchies have several levels.
TYPED_TEST(OpenClMethods, Grid_AnswersOfSerial) {
  using T = TypeParam;
  const Csr<T> A = generate::poisson_2d<T>(61, 43);
  const std::vector<T> b = this->random_vector(A.rows(), 3);
  for (const std::string& method : this->methods_there()) {
    if (!find_method(method).sparse) continue;
    SCOPED_TRACE(method);
    const auto there = this->solved(method, this->device(), A, b);
    const auto here = this->solved(method, Device::serial(), A, b);
    EXPECT_EQ(there.status(), here.status()) << there.report.message;
    if (here.report.solved()) {
      EXPECT_LE(this->difference(there.x, here.x), this->of_precision(1e-5, 2e-2));
    }
  }
}

TYPED_TEST(OpenClMethods, NotANumber_IsReported) {
  using T = TypeParam;
  const T nan = std::numeric_limits<T>::quiet_NaN();
  Csr<T> A = this->band(65, 1, 1, true);
  const std::vector<T> b = this->random_vector(65, 1);
  std::vector<T> bad_b = b;
  bad_b[64] = nan;
  Csr<T> bad_A = A;
  bad_A.values()[100] = nan;
  for (const std::string& method : this->methods_there()) {
    SCOPED_TRACE(method);
    EXPECT_EQ(this->solved(method, this->device(), bad_A, b).status(), Status::not_a_number);
    EXPECT_EQ(this->solved(method, this->device(), A, bad_b).status(), Status::not_a_number);
  }
}

/// A singular matrix of rank n - 1, with a consistent right-hand side.
TYPED_TEST(OpenClMethods, SingularMatrix_AsOnSerial) {
  using T = TypeParam;
  const std::int64_t n = 65;
  const Csr<T> A = this->path_laplacian(n);
  std::vector<T> b(static_cast<std::size_t>(n), T{0});
  b.front() = 1;
  b.back() = -1;
  for (const std::string method : {"banded-lu", "bddc", "crout-iterative", "crout-parallel", "gauss-jordan",
                                   "lamg", "lu", "mapped-echelon", "structured-multigrid"}) {
    SCOPED_TRACE(method);
    // Rounding errors of x in float leave residuals of about 1e-5.
    const bool iterates = method == "lamg" || method == "structured-multigrid";
    const Options options = iterates ? Options{{"rtol", "1e-4"}} : Options{};
    const auto there = this->solved(method, this->device(), A, b, options);
    const auto here = this->solved(method, Device::serial(), A, b, options);
    EXPECT_EQ(there.status(), here.status()) << there.setup.message << there.report.message;
    EXPECT_EQ(there.setup.status, here.setup.status) << there.setup.message;
    EXPECT_EQ(there.setup.rank, here.setup.rank);
  }
}

/// Pivots that are exactly zero are replaced as on the host, and a consistent system is solved.
TYPED_TEST(OpenClMethods, ZeroPivots_ReplacedAsOnSerial) {
  using T = TypeParam;
  const std::int64_t n = 130;
  Dense<T> A(Device(), n, n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) A(i, j) = i == j ? T{4} : i == j + 1 ? T{1} : T{0};
  }
  for (const std::int64_t j : {70, 129}) {  // copies of the column before
    for (std::int64_t i = 0; i < n; ++i) A(i, j) = A(i, j - 1);
  }
  for (std::int64_t j = 0; j < n; ++j) {  // and of the row before
    A(70, j) = A(69, j);
    A(129, j) = A(128, j);
  }
  const std::vector<T> b(static_cast<std::size_t>(n), T{1});
  for (const char* method : {"lu", "crout-parallel", "crout-iterative"}) {
    SCOPED_TRACE(method);
    const auto there = this->solved(method, this->device(), MatrixRef<T>(A), b);
    const auto here = this->solved(method, Device::serial(), MatrixRef<T>(A), b);
    EXPECT_EQ(there.setup.status, Status::singular) << there.setup.message;
    EXPECT_EQ(there.setup.status, here.setup.status);
    EXPECT_EQ(there.setup.rank, here.setup.rank);
    EXPECT_EQ(there.setup.row, here.setup.row);
    EXPECT_EQ(there.report.status, here.report.status) << there.report.message << here.report.message;
  }
}

/// Levels and iterations of hierarchies are those of the host.
TYPED_TEST(OpenClMethods, Multigrid_SameLevelsAndIterations) {
  using T = TypeParam;
  const Csr<T> A = generate::poisson_2d<T>(45, 37);
  const std::vector<T> b = this->random_vector(A.rows(), 2);
  const Options options = {{"rtol", std::is_same_v<T, double> ? 1e-8 : 1e-4}};
  for (const auto& [method, coarsening] :
       {std::pair("amg", "classical"), std::pair("amg", "smoothed-aggregation"),
        std::pair("geometric-multigrid", ""), std::pair("structured-multigrid", "")}) {
    SCOPED_TRACE(std::string(method) + " " + coarsening);
    Options own = options;
    if (*coarsening != 0) own.set("coarsening", std::string(coarsening));
    const auto there = this->solved(method, this->device(), A, b, own);
    const auto here = this->solved(method, Device::serial(), A, b, own);
    EXPECT_TRUE(there.report.solved()) << there.report.message;
    EXPECT_NEAR(static_cast<double>(there.report.iterations), static_cast<double>(here.report.iterations), 1);
    for (const char* name : {"levels", "rows", "nonzeros"}) {
      const Statistic* const found = there.setup.find_statistic(name);
      const Statistic* const wanted = here.setup.find_statistic(name);
      ASSERT_EQ(found == nullptr, wanted == nullptr) << name;
      if (found != nullptr) {
        EXPECT_EQ(to_string(*found), to_string(*wanted));
      }
    }
  }
}

/// Smoothers and cycles take the iterations that they take on `serial`.
TYPED_TEST(OpenClMethods, AmgOptions_IterationsOfSerial) {
  using T = TypeParam;
  const Csr<T> A = generate::poisson_2d<T>(33, 31);
  const std::vector<T> b = this->random_vector(A.rows(), 2);
  std::vector<std::pair<std::string, std::string>> choices;
  for (const auto& [kind, word] : words_of(SmootherKind())) choices.emplace_back("smoother", word);
  for (const auto& [kind, word] : words_of(CycleKind())) choices.emplace_back("cycle", word);
  for (const auto& [option, word] : choices) {
    SCOPED_TRACE(option + "=" + word);
    const Options options = {{option, word}, {"check_every", 1}, {"rtol", this->of_precision(1e-8, 1e-4)}};
    const auto there = this->solved("amg", this->device(), A, b, options);
    const auto here = this->solved("amg", Device::serial(), A, b, options);
    EXPECT_EQ(there.report.status, here.report.status) << there.report.message;
    EXPECT_LE(std::abs(there.report.iterations - here.report.iterations), 1);
  }
}

/// A coarsest level that is too large for an inverse is factored by the host.
TYPED_TEST(OpenClMethods, LargeCoarsestLevel_IsFactored) {
  using T = TypeParam;
  const Csr<T> A = generate::poisson_2d<T>(50, 50);
  const std::vector<T> b = this->random_vector(A.rows(), 2);
  const Options options = {{"max_levels", 1}, {"rtol", std::is_same_v<T, double> ? 1e-8 : 1e-4}};
  const auto there = this->solved("amg", this->device(), A, b, options);
  EXPECT_TRUE(there.report.solved()) << there.report.message;
  EXPECT_LE(there.report.iterations, 2);
}

TYPED_TEST(OpenClMethods, MappedEchelon_BitsOfSerial) {
  using T = TypeParam;
  for (const auto& [m, n, per_row] : {std::tuple(0, 0, 1), std::tuple(1, 1, 1), std::tuple(40, 65, 3),
                                      std::tuple(130, 90, 2), std::tuple(129, 129, 4)}) {
    std::mt19937 random(static_cast<unsigned>(m + 3 * n));
    std::vector<Triplet<T>> elements;
    for (std::int32_t i = 0; i < m; ++i) {
      for (int k = 0; k < per_row; ++k)
        elements.push_back({i, static_cast<std::int32_t>(random() % static_cast<unsigned>(n)),
                            static_cast<T>(static_cast<int>(random() % 19)) - T{9}});
    }
    const Csr<T> A = Csr<T>::from_triplets(m, n, elements);
    std::vector<T> b(static_cast<std::size_t>(m));
    std::iota(b.begin(), b.end(), T{1});
    for (const Options& options :
         std::vector<Options>{{},
                              {{"order", "slices"}},
                              {{"claim", "ordered"}},
                              {{"field", std::is_same_v<T, double> ? "mod:65521" : "mod:8191"}}}) {
      const auto there = this->solved("mapped-echelon", this->device(), A, b, options);
      const auto here = this->solved("mapped-echelon", Device::serial(), A, b, options);
      EXPECT_EQ(there.setup.rank, here.setup.rank);
      EXPECT_EQ(there.status(), here.status()) << there.report.message;
      EXPECT_EQ(there.x, here.x);
      ASSERT_EQ(there.setup.row_of_unknown == nullptr, here.setup.row_of_unknown == nullptr);
      if (there.setup.row_of_unknown != nullptr) {
        EXPECT_EQ(*there.setup.row_of_unknown, *here.setup.row_of_unknown);
      }
    }
    const Csr<T> on_device = A.to(this->device());
    EXPECT_EQ(rank_modulo(MatrixRef<T>(on_device), 1'000'003), rank_modulo(MatrixRef<T>(A), 1'000'003));
  }
}

/// Elements with fractions, also subnormal ones, have the residues that they have on the host.
TYPED_TEST(OpenClMethods, RankModuloOfFractions_AsOnHost) {
  using T = TypeParam;
  const T tiny = std::numeric_limits<T>::denorm_min();
  const Dense<T> A(
      2, 2, Array<T>(Device(), std::span<const T>(std::vector<T>{T{0.5}, tiny, T{-0.75}, T{3} * tiny})));
  EXPECT_EQ(rank_modulo(MatrixRef<T>(A), 65521), 2);
  const Dense<T> there = A.to(this->device());
  EXPECT_EQ(rank_modulo(MatrixRef<T>(there), 65521), 2);
}

TYPED_TEST(OpenClMethods, BandedLu_AsSerial) {
  using T = TypeParam;
  for (const auto& [n, lower, upper] : {std::tuple(1500, 1, 1), std::tuple(2049, 2, 2), std::tuple(700, 5, 3),
                                        std::tuple(900, 40, 25), std::tuple(31, 30, 30)}) {
    SCOPED_TRACE(n);
    const Csr<T> A = this->band(n, lower, upper, false);
    const std::vector<T> b = this->random_vector(n, 3);
    for (const int partitions : {0, 1, 3}) {
      const Options options = {{"partitions", partitions}};
      const auto there = this->solved("banded-lu", this->device(), A, b, options);
      const auto here = this->solved("banded-lu", Device::serial(), A, b, options);
      EXPECT_EQ(there.report.status, Status::direct) << there.report.message;
      EXPECT_LE(this->difference(there.x, here.x), 200 * this->eps);
    }
  }
}

TYPED_TEST(OpenClMethods, BandedLu_TransposeAndDeterminant) {
  using T = TypeParam;
  const Csr<T> A = this->band(333, 3, 6, false);
  const std::vector<T> b = this->random_vector(333, 3);
  const auto solution = [&](const Device& device) {
    Solver<T> solver = make_solver<T>("banded-lu", device, {{"partitions", 4}});
    const Csr<T> matrix = A.to(device);
    EXPECT_TRUE(solver.setup(matrix).ready());
    Dense<T> x(device, 333, 1);
    const Report report = solver.solve(Dense<T>(device, std::span<const T>(b)).view(), x.view(),
                                       {.operation = Operation::transpose});
    EXPECT_TRUE(report.solved()) << report.message;
    return std::pair(solver.determinant(), x.to_vector());
  };
  const auto [there, x] = solution(this->device());
  const auto [here, expected] = solution(Device::serial());
  EXPECT_EQ(there.exponent, here.exponent);
  EXPECT_NEAR(there.mantissa, here.mantissa, 1000 * this->eps);
  EXPECT_LE(this->difference(x, expected), 200 * this->eps);
}

/// Several band matrices of one shape, one of them singular.
TYPED_TEST(OpenClMethods, BandBatch_AsSerial) {
  using T = TypeParam;
  const std::int64_t n = 50;
  const std::int64_t lower = 2;
  const std::int64_t upper = 1;
  const std::int64_t leading = lower + upper + 1;
  const std::int64_t count = 3;
  std::vector<T> elements = this->random_vector(n * leading * count, 5);
  for (std::int64_t k = 0; k < n * count; ++k) elements[static_cast<std::size_t>(k * leading + upper)] += 4;
  for (std::int64_t k = 0; k < leading; ++k) elements[static_cast<std::size_t>((n + 7) * leading + k)] = 0;
  const std::vector<T> b = this->random_vector(n * 2 * count, 6);
  const auto solution = [&](const Device& device) {
    const Array<T> A(device, std::span<const T>(elements));
    Array<T> X(device, std::span<const T>(b));
    const BandBatch<const T> matrices(A.data(), n, lower, upper, count, leading, n * leading, device);
    const Array<BatchOutcome> outcomes =
        solve_band(matrices, DenseBatch<T>(X.data(), n, 2, count, n, 2 * n, device));
    return std::pair(outcomes.to_vector(), X.to_vector());
  };
  const auto [there, x] = solution(this->device());
  const auto [here, expected] = solution(Device::serial());
  for (std::size_t k = 0; k < there.size(); ++k) {
    EXPECT_EQ(there[k].status, here[k].status);
    EXPECT_EQ(there[k].column, here[k].column);
  }
  EXPECT_EQ(there[1].status, Status::singular);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(x[i]));
    } else {
      ASSERT_NEAR(x[i], expected[i], 1000 * this->eps);
    }
  }
}

TYPED_TEST(OpenClMethods, Crout_FactorsOfSerial) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 7, 64, 65, 130}) {
    SCOPED_TRACE(n);
    const Dense<T> A = this->random_dense(n, n, 4);
    for (const std::string method : {"crout-parallel", "crout-iterative"}) {
      SCOPED_TRACE(method);
      const auto factors = [&](const Device& device) {
        Solver<T> solver = make_solver<T>(method, device);
        const Dense<T> matrix = A.to(device);
        EXPECT_TRUE(solver.setup(matrix).ready());
        return std::pair(solver.factors(), solver.determinant());
      };
      const auto [there, determinant] = factors(this->device());
      const auto [here, expected] = factors(Device::serial());
      EXPECT_EQ(there.row_permutation, here.row_permutation);
      EXPECT_EQ(std::get<Dense<T>>(there.lower).to_vector(), std::get<Dense<T>>(here.lower).to_vector());
      EXPECT_EQ(std::get<Dense<T>>(there.upper).to_vector(), std::get<Dense<T>>(here.upper).to_vector());
      EXPECT_EQ(determinant.mantissa, expected.mantissa);
      EXPECT_EQ(determinant.exponent, expected.exponent);
    }
  }
}

TYPED_TEST(OpenClMethods, StripedForm_BitsOfSerial) {
  using T = TypeParam;
  for (const auto& [m, n] :
       {std::pair(0, 0), std::pair(1, 1), std::pair(33, 33), std::pair(65, 40), std::pair(40, 65)}) {
    Dense<T> A = this->random_dense(m, n, 5);
    for (std::int64_t i = 0; i < std::min(m, n); ++i) A(i, i) += 3;
    for (const SecondPass pass : {SecondPass::shortened, SecondPass::published}) {
      const GaussJordanStripedOptions options{.stripe = 16, .second_pass = pass};
      const EchelonForm<T> there = reduce_striped(A.to(this->device()), options);
      const EchelonForm<T> here = reduce_striped(A.to(Device::serial()), options);
      EXPECT_EQ(there.report.status, here.report.status);
      EXPECT_EQ(there.R.to_vector(), here.R.to_vector());
      EXPECT_EQ(there.facts.rank, here.facts.rank);
    }
  }
  Dense<T> zero_pivot = this->random_dense(20, 20, 6);
  zero_pivot(0, 0) = 0;
  const EchelonForm<T> form = reduce_striped(zero_pivot.to(this->device()));
  EXPECT_EQ(form.report.status, Status::breakdown);
  EXPECT_EQ(form.report.row, 0);
}

TYPED_TEST(OpenClMethods, RowReduction_AsSerial) {
  using T = TypeParam;
  for (const auto& [m, n] : {std::pair(1, 1), std::pair(65, 40), std::pair(40, 65), std::pair(130, 130)}) {
    Dense<T> A = this->random_dense(m, n, 7);
    for (std::int64_t i = 0; i < m; ++i) A(i, n - 1) = A(i, 0);  // the last column depends on the first
    const EchelonForm<T> there = RowReduction<T>(this->device()).reduce(A.to(this->device()));
    const EchelonForm<T> here = RowReduction<T>(Device::serial()).reduce(A.to(Device::serial()));
    EXPECT_EQ(there.facts.rank, here.facts.rank);
    EXPECT_EQ(there.pivot_columns, here.pivot_columns);
    EXPECT_EQ(there.row_permutation, here.row_permutation);
    EXPECT_LE(this->difference(there.R.to_vector(), here.R.to_vector()), 1e5 * this->eps);
    EXPECT_EQ(null_space(there).columns(), n - there.facts.rank);
  }
}

TYPED_TEST(OpenClMethods, Inverse_TimesMatrixIsIdentity) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 33, 100}) {
    Dense<T> A = this->random_dense(n, n, 8);
    for (std::int64_t i = 0; i < n; ++i) A(i, i) += 4;
    Dense<T> inverse = A.to(this->device());
    const Report report = RowReduction<T>(this->device()).invert(inverse.view());
    ASSERT_EQ(report.status, Status::direct) << report.message;
    Dense<T> product(Device(), n, n);
    const Dense<T> found = inverse.to(Device());
    gemm<T>(T{1}, A.view(), found.view(), T{0}, product.view());
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < n; ++i)
        ASSERT_NEAR(product(i, j), i == j ? 1.0 : 0.0, 100 * static_cast<double>(n) * this->eps);
    }
  }
}

TYPED_TEST(OpenClMethods, Stencils_AsSerial) {
  using T = TypeParam;
  for (const StencilGrid& grid : {StencilGrid{{9}}, StencilGrid{{17, 33}, {BoundaryCondition::periodic}},
                                  StencilGrid{{7, 5, 9},
                                              {BoundaryCondition::neumann, BoundaryCondition::dirichlet,
                                               BoundaryCondition::periodic}}}) {
    const Stencil<T> here =
        Stencil<T>::variable(grid, {{0, 0, 0}, {1, 0, 0}, {-1, 0, 0}},
                             [](const std::array<std::int64_t, 3>& point, const StencilOffset& offset) {
                               return static_cast<T>(offset[0] == 0 ? 4 + point[0] % 3 : -1 - point[0] % 2);
                             });
    const Stencil<T> there = here.to(this->device());
    EXPECT_EQ(to_csr(there).values().to_vector(), to_csr(here).values().to_vector());
    const std::vector<T> x = this->random_vector(here.rows(), 9);
    const auto product = [&](const Stencil<T>& A) {
      Dense<T> y(A.device(), A.rows(), 1);
      const Dense<T> on_device(A.device(), std::span<const T>(x));
      multiply<T>(T{1}, MatrixRef<T>(A), on_device.view(), T{0}, y.view());
      return y.to_vector();
    };
    EXPECT_LE(this->difference(product(there), product(here)), 10 * this->eps);
    EXPECT_LE(this->difference(product(there.transposed()), product(here.transposed())), 10 * this->eps);
  }
}

TYPED_TEST(OpenClMethods, StructuredMultigrid_TakesStencils) {
  using T = TypeParam;
  const auto answer = [&](const Device& device) {
    const Stencil<T> A = Stencil<T>::laplacian({{33, 31}}, 9, device);
    Solver<T> solver = make_solver<T>("structured-multigrid", device);
    EXPECT_TRUE(solver.setup(A).ready()) << solver.describe();
    const std::vector<T> ones(static_cast<std::size_t>(A.rows()), T{1});
    Dense<T> x(device, A.rows(), 1);
    const Report report = solver.solve(Dense<T>(device, std::span<const T>(ones)), x);
    EXPECT_TRUE(report.solved()) << report.message;
    return std::pair(report.iterations, x.to_vector());
  };
  const auto [iterations, x] = answer(this->device());
  const auto [expected, x_expected] = answer(Device::serial());
  EXPECT_EQ(iterations, expected);
  EXPECT_LE(this->difference(x, x_expected), this->of_precision(1e-7, 1e-4));
}

TYPED_TEST(OpenClMethods, SchurComplements_AsSerial) {
  using T = TypeParam;
  const Csr<T> sparse = this->band(90, 2, 2, true);
  Dense<T> dense = this->random_dense(70, 70, 10);
  for (std::int64_t i = 0; i < 70; ++i) dense(i, i) += 9;
  const std::vector<std::int32_t> interface = {3, 68, 17, 40};
  const auto check = [&](const auto& A) {
    const std::vector<T> b = this->random_vector(A.rows(), 11);
    const auto answer = [&](const Device& device) {
      const auto matrix = A.to(device);
      SchurComplement<T> schur(MatrixRef<T>(matrix), interface);
      EXPECT_TRUE(schur.ready()) << schur.report().message;
      Dense<T> x(device, A.rows(), 1);
      const Report report = schur.solve(Dense<T>(device, std::span<const T>(b)), x);
      EXPECT_TRUE(report.solved()) << report.message;
      return std::pair(schur.matrix().to_vector(), x.to_vector());
    };
    const auto [S, x] = answer(this->device());
    const auto [S_expected, x_expected] = answer(Device::serial());
    EXPECT_LE(this->difference(S, S_expected), 200 * this->eps);
    EXPECT_LE(this->difference(x, x_expected), 200 * this->eps);
  };
  check(sparse);
  check(dense);
}

/// Rectangular systems: least squares, and solutions of least norm.
TYPED_TEST(OpenClMethods, LeastSquares_AsSerial) {
  using T = TypeParam;
  for (const auto& [m, n] : {std::pair(130, 65), std::pair(65, 130)}) {
    std::mt19937 random(12);
    std::vector<Triplet<T>> elements;
    for (std::int32_t i = 0; i < std::max(m, n); ++i) {
      elements.push_back({i % m, i % n, T{2}});
      elements.push_back({i % m, static_cast<std::int32_t>(random() % static_cast<unsigned>(n)), T{-0.5}});
    }
    const Csr<T> A = Csr<T>::from_triplets(m, n, elements);
    const std::vector<T> b = this->random_vector(m, 13);
    for (const std::string method : {"lsqr", "lsmr", "cgls", "craig"}) {
      if (method == "craig" && m > n) continue;
      SCOPED_TRACE(method);
      const auto there = this->solved(method, this->device(), A, b);
      const auto here = this->solved(method, Device::serial(), A, b);
      EXPECT_EQ(there.status(), here.status()) << there.report.message;
      EXPECT_LE(this->difference(there.x, here.x), this->of_precision(1e-5, 1e-2));
    }
  }
}

}  // namespace
}  // namespace echelon::test
