// SPDX-License-Identifier: BSD-3-Clause
/// The multifrontal factorisation on a GPU: residuals of solves with it, by LAPACK's scaled test.
#include "gpu/gpu_fixture.hpp"
#include "sparse_direct/multifrontal/device_factorization.hpp"
#include "support/scalar.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace echelon {
namespace {

using namespace sparse_direct;

/// Elements of a square matrix, and its rows as CSR.
template <class T>
class Elements {
 public:
  explicit Elements(std::int64_t n) : n_(n) {}
  T& operator()(std::int64_t i, std::int64_t j) { return elements_[{i, j}]; }
  [[nodiscard]] std::int64_t rows() const { return n_; }
  [[nodiscard]] bool has(std::int64_t i, std::int64_t j) const { return elements_.count({i, j}) > 0; }

  struct Arrays {
    std::vector<std::int64_t> offsets;
    std::vector<std::int32_t> columns;
    std::vector<T> values;
  };
  [[nodiscard]] Arrays csr() const {
    Arrays result;
    result.offsets.assign(static_cast<std::size_t>(n_) + 1, 0);
    for (const auto& [place, value] : elements_) {
      ++result.offsets[static_cast<std::size_t>(place.first) + 1];
      result.columns.push_back(static_cast<std::int32_t>(place.second));
      result.values.push_back(value);
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(n_); ++i) result.offsets[i + 1] += result.offsets[i];
    return result;
  }

 private:
  std::int64_t n_;
  std::map<std::pair<std::int64_t, std::int64_t>, T> elements_;
};

/// Which entries a test's matrix has.
enum class Shape { diagonal, grid, arrow, dense, coupled_blocks, path, random };

std::vector<std::pair<std::int64_t, std::int64_t>> edges(Shape shape, std::int64_t n, std::mt19937& random) {
  std::vector<std::pair<std::int64_t, std::int64_t>> result;
  const auto side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(n)));
  for (std::int64_t i = 1; i < n; ++i) {
    switch (shape) {
      case Shape::diagonal:
        break;
      case Shape::grid:
        if (i % side != 0) result.emplace_back(i, i - 1);
        if (i >= side) result.emplace_back(i, i - side);
        break;
      case Shape::arrow:
        result.emplace_back(i, 0);
        break;
      case Shape::path:
        result.emplace_back(i, i - 1);
        break;
      case Shape::dense:
        for (std::int64_t j = 0; j < i; ++j) result.emplace_back(i, j);
        break;
      case Shape::coupled_blocks: {  // two dense blocks and a few rows that are coupled to both
        const std::int64_t block = (n - n / 20) / 2;
        const std::int64_t first = i < block ? 0 : i < 2 * block ? block : 0;
        for (std::int64_t j = first; j < i; ++j) result.emplace_back(i, j);
        break;
      }
      case Shape::random:
        for (int k = 0; k < 3; ++k) {
          result.emplace_back(i, std::uniform_int_distribution<std::int64_t>(0, i - 1)(random));
        }
        break;
    }
  }
  return result;
}

/// A random number whose parts are below one in magnitude.
template <class T>
T random_number(std::mt19937& random) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  const auto first = static_cast<Real<T>>(uniform(random));
  if constexpr (is_complex<T>) {
    return {first, static_cast<Real<T>>(uniform(random))};
  } else {
    return first;
  }
}

/// Symmetric, or Hermitian.
template <class T>
Elements<T> symmetric_positive_definite(Shape shape, std::int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  Elements<T> a(n);
  for (std::int64_t i = 0; i < n; ++i) a(i, i) = T(0.1);
  for (const auto& [i, j] : edges(shape, n, random)) {
    const T value = random_number<T>(random);
    a(i, j) = value;
    a(j, i) = echelon::conj(value);
  }
  const auto arrays = a.csr();
  for (std::int64_t i = 0; i < n; ++i) {
    T sum = T(0.1);
    for (std::int64_t e = arrays.offsets[static_cast<std::size_t>(i)];
         e < arrays.offsets[static_cast<std::size_t>(i) + 1]; ++e) {
      sum += std::abs(arrays.values[static_cast<std::size_t>(e)]);
    }
    a(i, i) = sum;
  }
  return a;
}

/// Unsymmetric values on a symmetric pattern. The diagonal is small, so that pivots are exchanged, but not
/// zero.
template <class T>
Elements<T> general(Shape shape, std::int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  Elements<T> a(n);
  for (const auto& [i, j] : edges(shape, n, random)) {
    a(i, j) = random_number<T>(random);
    a(j, i) = random_number<T>(random);
  }
  for (std::int64_t i = 0; i < n; ++i) a(i, i) = T(1) + random_number<T>(random) / T(2);
  return a;
}

template <class T>
class GpuMultifrontalOf : public test::GpuTest {
 protected:
  using Exact = std::conditional_t<is_complex<T>, std::complex<long double>, long double>;

  /// A factored matrix.
  struct Factored {
    typename Elements<T>::Arrays arrays;
    DeviceFactorization<T> factorization;
    FactorEnd end;
  };

  Factored factor(const Elements<T>& a, FactorKind kind) {
    auto arrays = a.csr();
    const SymbolicFactor symbolic = analyze_symmetric(Pattern{a.rows(), arrays.offsets, arrays.columns});
    DeviceFactorization<T> factorization(this->gpu, kind, symbolic);
    factorization.allocate(arrays.offsets, arrays.columns);
    const FactorEnd end = refactor(factorization, arrays);
    return {std::move(arrays), std::move(factorization), end};
  }

  FactorEnd refactor(DeviceFactorization<T>& factorization, const typename Elements<T>::Arrays& arrays) {
    const Array<std::int64_t> offsets(this->gpu, arrays.offsets);
    const Array<std::int32_t> columns(this->gpu, arrays.columns);
    const Array<T> values(this->gpu, arrays.values);
    return factorization.factor({offsets.data(), columns.data(), values.data()}).end;
  }

  std::vector<T> solve(const Factored& factored, bool transposed, const std::vector<T>& b,
                       std::int64_t columns) {
    const auto n = static_cast<std::int64_t>(factored.arrays.offsets.size()) - 1;
    const Array<T> right(this->gpu, b);
    Array<T> x(this->gpu, n * columns);
    Array<T> workspace(this->gpu, factored.factorization.workspace_size(columns));
    factored.factorization.solve(transposed, columns, right.data(), n, x.data(), n, workspace.data());
    return x.to_vector();
  }

  /// ||b - A x|| / (||A|| ||x|| n eps) in the infinity norm, the largest of the columns.
  static double scaled_residual(const Factored& factored, bool transposed, const std::vector<T>& b,
                                const std::vector<T>& x, std::int64_t columns) {
    const auto& a = factored.arrays;
    const std::size_t n = a.offsets.size() - 1;
    double worst = 0;
    for (std::size_t k = 0; k < static_cast<std::size_t>(columns); ++k) {
      std::vector<Exact> r(b.begin() + static_cast<std::ptrdiff_t>(k * n),
                           b.begin() + static_cast<std::ptrdiff_t>((k + 1) * n));
      std::vector<double> sums(n, 0);
      double norm_x = 0;
      for (std::size_t i = 0; i < n; ++i) {
        for (auto e = static_cast<std::size_t>(a.offsets[i]); e < static_cast<std::size_t>(a.offsets[i + 1]);
             ++e) {
          const auto j = static_cast<std::size_t>(a.columns[e]);
          const std::size_t row = transposed ? j : i;
          const std::size_t column = transposed ? i : j;
          r[row] -= static_cast<Exact>(a.values[e]) * static_cast<Exact>(x[column + k * n]);
          sums[row] += magnitude(a.values[e]);
        }
        norm_x = std::max(norm_x, magnitude(x[i + k * n]));
      }
      double residual = 0;
      for (const Exact element : r) {
        if (!(std::abs(element) <= residual)) residual = static_cast<double>(std::abs(element));
      }
      const double norm_a = *std::max_element(sums.begin(), sums.end());
      worst = std::max(worst, residual / (norm_a * norm_x * static_cast<double>(n) *
                                          static_cast<double>(std::numeric_limits<Real<T>>::epsilon())));
      if (!std::isfinite(residual)) return std::numeric_limits<double>::infinity();
    }
    return worst;
  }

  static std::vector<T> right_hand_side(std::int64_t n, std::int64_t columns) {
    std::mt19937 random(7);
    std::vector<T> b(static_cast<std::size_t>(n * columns));
    for (T& element : b) element = random_number<T>(random);
    return b;
  }
};

using MultifrontalTypes = testing::Types<float, double, std::complex<double>>;
TYPED_TEST_SUITE(GpuMultifrontalOf, MultifrontalTypes);

/// Shapes and orders that reach every class of small fronts, large fronts, and those that are left to
/// cuSOLVER.
constexpr std::pair<Shape, std::int64_t> cases[] = {
    {Shape::diagonal, 1},         {Shape::diagonal, 1025},      {Shape::path, 2},
    {Shape::path, 1025},          {Shape::arrow, 33},           {Shape::grid, 31 * 31},
    {Shape::grid, 128 * 128},     {Shape::dense, 31},           {Shape::dense, 33},
    {Shape::dense, 97},           {Shape::dense, 161},          {Shape::dense, 500},
    {Shape::dense, 1000},         {Shape::random, 600},         {Shape::coupled_blocks, 60},
    {Shape::coupled_blocks, 640}, {Shape::coupled_blocks, 1800}};

TYPED_TEST(GpuMultifrontalOf, Cholesky_PositiveDefinite_SmallResidual) {
  for (const auto& [shape, n] : cases) {
    const auto factored =
        this->factor(symmetric_positive_definite<TypeParam>(shape, n, 1), FactorKind::cholesky);
    EXPECT_EQ(factored.end, FactorEnd::finished) << "shape " << static_cast<int>(shape) << ", n = " << n;
    for (const auto& [columns, transposed] :
         {std::pair<std::int64_t, bool>{1, false}, {3, false}, {2, true}}) {
      const auto b = this->right_hand_side(n, columns);
      const auto x = this->solve(factored, transposed, b, columns);
      EXPECT_LT(this->scaled_residual(factored, transposed, b, x, columns), 30)
          << "shape " << static_cast<int>(shape) << ", n = " << n << (transposed ? ", transposed" : "");
    }
  }
}

TYPED_TEST(GpuMultifrontalOf, Lu_General_SmallResidual) {
  for (const auto& [shape, n] : cases) {
    const auto factored = this->factor(general<TypeParam>(shape, n, 2), FactorKind::lu);
    EXPECT_EQ(factored.end, FactorEnd::finished) << "shape " << static_cast<int>(shape) << ", n = " << n;
    for (const bool transposed : {false, true}) {
      const auto b = this->right_hand_side(n, 2);
      const auto x = this->solve(factored, transposed, b, 2);
      // Rows below a front's pivots are no candidates, so that errors grow with the multipliers.
      EXPECT_LT(this->scaled_residual(factored, transposed, b, x, 2),
                30 * factored.factorization.facts().largest_multiplier)
          << "shape " << static_cast<int>(shape) << ", n = " << n << (transposed ? ", transposed" : "");
    }
  }
}

TYPED_TEST(GpuMultifrontalOf, Lu_ZeroDiagonalInFront_Exchanged) {
  Elements<TypeParam> a = general<TypeParam>(Shape::dense, 300, 3);
  for (std::int64_t i = 0; i < 300; ++i) a(i, i) = 0;
  const auto factored = this->factor(a, FactorKind::lu);
  EXPECT_EQ(factored.end, FactorEnd::finished);
  // Complex pivots have the largest |Re| + |Im| of their columns.
  EXPECT_LE(factored.factorization.facts().largest_multiplier, is_complex<TypeParam> ? 2 : 1);
  const auto b = this->right_hand_side(300, 1);
  EXPECT_LT(this->scaled_residual(factored, false, b, this->solve(factored, false, b, 1), 1), 30);
}

/// Diagonals of at least a hundredth of the largest elements of their columns stay where they are, and the
/// elements of L are then larger than 1.
TYPED_TEST(GpuMultifrontalOf, Lu_PrefersDiagonal_ExchangesFewerRows) {
  using R = Real<TypeParam>;
  for (const std::int64_t n : {8, 24, 200}) {
    Elements<TypeParam> a = general<TypeParam>(Shape::dense, n, 9);
    for (std::int64_t i = 0; i < n; ++i) a(i, i) = TypeParam(i < 8 ? R(0.2) : static_cast<R>(10 * n));
    auto factored = this->factor(a, FactorKind::lu);
    ASSERT_EQ(factored.end, FactorEnd::finished);
    EXPECT_LE(factored.factorization.facts().largest_multiplier, is_complex<TypeParam> ? 2 : 1);
    factored.factorization.prefer_diagonal(0.01);
    ASSERT_EQ(this->refactor(factored.factorization, factored.arrays), FactorEnd::finished);
    const double preferred = factored.factorization.facts().largest_multiplier;
    EXPECT_GT(preferred, 2);
    EXPECT_LE(preferred, is_complex<TypeParam> ? 200 : 101);
    const auto b = this->right_hand_side(n, 1);
    EXPECT_LT(this->scaled_residual(factored, false, b, this->solve(factored, false, b, 1), 1),
              30 * preferred * preferred);
  }
}

TYPED_TEST(GpuMultifrontalOf, Cholesky_Indefinite_FailedColumn) {
  for (const std::int64_t n : {40, 400, 1000}) {
    Elements<TypeParam> a = symmetric_positive_definite<TypeParam>(Shape::dense, n, 4);
    a(n / 2, n / 2) = -1;
    EXPECT_TRUE(this->factor(a, FactorKind::cholesky).end == FactorEnd::no_pivot) << n;
  }
}

TYPED_TEST(GpuMultifrontalOf, Lu_Singular_FailedColumn) {
  for (const std::int64_t n : {40, 400, 1000}) {
    Elements<TypeParam> a = general<TypeParam>(Shape::dense, n, 5);
    for (std::int64_t i = 0; i < n; ++i) a(i, n / 2) = 0;
    EXPECT_TRUE(this->factor(a, FactorKind::lu).end == FactorEnd::no_pivot) << n;
  }
}

/// Changes of values, with the launches queued, recorded and repeated.
TYPED_TEST(GpuMultifrontalOf, NewValues_SmallResidual) {
  for (const FactorKind kind : {FactorKind::cholesky, FactorKind::lu}) {
    for (const auto& [shape, n] : cases) {
      const auto values_of = [&, shape = shape, n = n](unsigned seed) {
        return kind == FactorKind::lu ? general<TypeParam>(shape, n, seed)
                                      : symmetric_positive_definite<TypeParam>(shape, n, seed);
      };
      if (shape == Shape::random) continue;  // its pattern depends on the seed
      auto factored = this->factor(values_of(2), kind);
      for (unsigned seed = 3; seed < 7; ++seed) {
        factored.arrays = values_of(seed).csr();
        ASSERT_EQ(this->refactor(factored.factorization, factored.arrays), FactorEnd::finished);
        const auto b = this->right_hand_side(n, 1);
        for (const bool transposed : {false, true}) {
          EXPECT_LT(
              this->scaled_residual(factored, transposed, b, this->solve(factored, transposed, b, 1), 1),
              30 * factored.factorization.facts().largest_multiplier)
              << "shape " << static_cast<int>(shape) << ", n = " << n << ", seed " << seed;
        }
      }
    }
  }
}

/// The rows of the largest elements of these matrices depend on `shift`.
template <class T>
Elements<T> shifted_identity(std::int64_t n, std::int64_t shift) {
  Elements<T> a = general<T>(Shape::dense, n, 8);
  for (std::int64_t i = 0; i < n; ++i) a((i + shift) % n, i) += T(static_cast<Real<T>>(10 * n));
  return a;
}

TYPED_TEST(GpuMultifrontalOf, LuOfNewValues_KeepsPivotsWhileTheyAreOfUse) {
  // Fronts that cuSOLVER factors, which begin with fewer pivots if they are complex, search for pivots.
  for (const std::int64_t n : {30, 150, is_complex<TypeParam> ? 380 : 500}) {
    auto factored = this->factor(shifted_identity<TypeParam>(n, 3), FactorKind::lu);
    const auto b = this->right_hand_side(n, 1);
    for (const auto& [shift, keeps] :
         {std::pair{3, true}, {3, true}, {3, true}, {7, false}, {7, true}, {3, false}}) {
      factored.arrays = shifted_identity<TypeParam>(n, shift).csr();
      ASSERT_EQ(this->refactor(factored.factorization, factored.arrays), FactorEnd::finished);
      EXPECT_EQ(factored.factorization.facts().kept_pivots, keeps) << n << " rows, shift " << shift;
      EXPECT_LT(this->scaled_residual(factored, false, b, this->solve(factored, false, b, 1), 1), 30);
    }
  }
}

TYPED_TEST(GpuMultifrontalOf, LuOfNewValues_SingularStep_FailsAlone) {
  const Elements<TypeParam> regular = general<TypeParam>(Shape::coupled_blocks, 640, 5);
  Elements<TypeParam> singular = regular;
  for (std::int64_t i = 0; i < 640; ++i) {
    if (singular.has(i, 320)) singular(i, 320) = 0;
  }
  auto factored = this->factor(regular, FactorKind::lu);
  const auto b = this->right_hand_side(640, 1);
  for (int step = 0; step < 4; ++step) {
    EXPECT_EQ(this->refactor(factored.factorization, singular.csr()), FactorEnd::no_pivot);
    ASSERT_EQ(this->refactor(factored.factorization, factored.arrays), FactorEnd::finished);
    EXPECT_LT(this->scaled_residual(factored, false, b, this->solve(factored, false, b, 1), 1),
              30 * factored.factorization.facts().largest_multiplier);
  }
}

TYPED_TEST(GpuMultifrontalOf, Repeated_SameValues_SameBits) {
  const Elements<TypeParam> a = general<TypeParam>(Shape::grid, 64 * 64, 6);
  const auto b = this->right_hand_side(64 * 64, 1);
  std::vector<TypeParam> set_up;
  std::vector<TypeParam> updated;
  for (int repetition = 0; repetition < 2; ++repetition) {
    auto factored = this->factor(a, FactorKind::lu);
    const auto x = this->solve(factored, false, b, 1);
    if (set_up.empty()) set_up = x;
    EXPECT_EQ(x, set_up);
    for (int update = 0; update < 3; ++update) {
      this->refactor(factored.factorization, factored.arrays);
      const auto y = this->solve(factored, false, b, 1);
      if (updated.empty()) updated = y;
      EXPECT_EQ(y, updated);
    }
  }
}

}  // namespace
}  // namespace echelon
