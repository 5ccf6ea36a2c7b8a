// SPDX-License-Identifier: BSD-3-Clause
/// Dense test matrices against what is known of them in closed form.
#include <echelon/generate.hpp>
#include <echelon/matrix/matrix.hpp>

#include <gtest/gtest.h>
#ifdef ECHELON_TEST_WITH_EIGEN
#include <Eigen/LU>
#endif

#include "support/spectra.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

using Index = std::int64_t;

Dense<double> dense(const std::string& name, const Options& options) {
  return std::get<Dense<double>>(make_matrix<double>(name, options));
}
Dense<double> of_order(const std::string& name, Index n) {
  return dense(name, {{"n", n}});
}

/// Results of elimination with partial pivoting in extended precision.
struct Elimination {
  long double determinant = 1;
  double growth = 0;  ///< largest element met over the largest of A
  Index rank = 0;     ///< pivots above 1e-9 of the largest element
};

Elimination eliminate(const Dense<double>& a) {
  std::vector<std::vector<long double>> rows(static_cast<std::size_t>(a.rows()));
  long double largest = 0;
  for (Index i = 0; i < a.rows(); ++i) {
    for (Index j = 0; j < a.columns(); ++j) {
      rows[static_cast<std::size_t>(i)].push_back(a(i, j));
      largest = std::max(largest, std::abs(static_cast<long double>(a(i, j))));
    }
  }
  Elimination result;
  long double met = largest;
  std::size_t top = 0;
  for (std::size_t c = 0; c < static_cast<std::size_t>(a.columns()) && top < rows.size(); ++c) {
    std::size_t pivot = top;
    for (std::size_t i = top; i < rows.size(); ++i) {
      if (std::abs(rows[i][c]) > std::abs(rows[pivot][c])) pivot = i;
    }
    if (std::abs(rows[pivot][c]) <= 1e-9L * largest) {
      result.determinant = 0;
      continue;
    }
    if (pivot != top) {
      std::swap(rows[pivot], rows[top]);
      result.determinant = -result.determinant;
    }
    result.determinant *= rows[top][c];
    for (std::size_t i = top + 1; i < rows.size(); ++i) {
      const long double factor = rows[i][c] / rows[top][c];
      for (std::size_t j = c; j < rows[i].size(); ++j) {
        rows[i][j] -= factor * rows[top][j];
        met = std::max(met, std::abs(rows[i][j]));
      }
    }
    ++top;
  }
  result.rank = static_cast<Index>(top);
  result.growth = static_cast<double>(met / largest);
  return result;
}

void expect_determinant(const Dense<double>& a, double expected) {
  EXPECT_NEAR(static_cast<double>(eliminate(a).determinant), expected,
              1e-9 * std::max(1.0, std::abs(expected)));
}

void expect_symmetric(const Dense<double>& a) {
  for (Index j = 0; j < a.columns(); ++j) {
    for (Index i = 0; i < a.rows(); ++i) ASSERT_EQ(a(i, j), a(j, i));
  }
}

TEST(GenerateDense, Determinants) {
  for (const Index n : {1, 2, 3, 5, 12}) {
    SCOPED_TRACE(n);
    const auto order = static_cast<double>(n);
    for (const char* name : {"minij", "moler", "pascal", "frank", "triw"})
      expect_determinant(of_order(name, n), 1);
    expect_determinant(dense("kms", {{"n", n}, {"rho", 0.7}}), std::pow(1 - 0.49, order - 1));
    expect_determinant(dense("pei", {{"n", n}, {"alpha", 3}}), std::pow(3, order - 1) * (3 + order));
    expect_determinant(of_order("gear", n), n == 1 ? 0 : (n == 2 ? -1 : 0));
    double totients = 1;
    double mertens = 0;
    for (Index k = 1; k <= n; ++k) {
      double coprime = 0;
      for (Index m = 1; m <= k; ++m) coprime += std::gcd(m, k) == 1 ? 1 : 0;
      totients *= coprime;
      Index rest = k;
      double moebius = 1;
      for (Index p = 2; p <= k; ++p) {
        if (rest % p != 0) continue;
        rest /= p;
        moebius = rest % p == 0 ? 0 : -moebius;
      }
      mertens += moebius;
    }
    expect_determinant(of_order("gcd", n), totients);
    expect_determinant(of_order("redheffer", n), mertens);
    if (n > 1) {
      expect_determinant(of_order("fiedler", n),
                         (n % 2 == 0 ? -1 : 1) * std::pow(2, order - 2) * (order - 1));
      EXPECT_NEAR(std::abs(static_cast<double>(eliminate(of_order("zielke-ns", n)).determinant)), 1, 1e-12);
    }
  }
}

TEST(GenerateDense, SmallMatrices_ByHand) {
  const auto expect_rows = [](const Dense<double>& a, const std::vector<std::vector<double>>& rows) {
    ASSERT_EQ(a.rows(), static_cast<Index>(rows.size()));
    for (Index i = 0; i < a.rows(); ++i) {
      for (Index j = 0; j < a.columns(); ++j) {
        EXPECT_DOUBLE_EQ(a(i, j), rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)]) << i << j;
      }
    }
  };
  expect_rows(of_order("hilbert", 2), {{1, 1.0 / 2}, {1.0 / 2, 1.0 / 3}});
  expect_rows(of_order("lotkin", 3), {{1, 1, 1}, {1.0 / 2, 1.0 / 3, 1.0 / 4}, {1.0 / 3, 1.0 / 4, 1.0 / 5}});
  expect_rows(of_order("cauchy", 2), {{1.0 / 2, 1.0 / 3}, {1.0 / 3, 1.0 / 4}});
  expect_rows(of_order("frank", 3), {{3, 2, 1}, {2, 2, 1}, {0, 1, 1}});
  expect_rows(of_order("moler", 3), {{1, -1, -1}, {-1, 2, 0}, {-1, 0, 3}});
  expect_rows(dense("triw", {{"n", 3}, {"k", 1}, {"alpha", 4}}), {{1, 4, 0}, {0, 1, 4}, {0, 0, 1}});
  expect_rows(of_order("circulant", 3), {{1, 2, 3}, {3, 1, 2}, {2, 3, 1}});
  expect_rows(of_order("parter", 2), {{2, -2}, {2.0 / 3, 2}});
  expect_rows(of_order("ris", 2), {{1.0 / 3, 1}, {1, -1}});
  expect_rows(of_order("chow", 3), {{1, 1, 0}, {1, 1, 1}, {1, 1, 1}});
  expect_rows(of_order("clement", 3), {{0, 1, 0}, {2, 0, 2}, {0, 1, 0}});
  expect_rows(of_order("wilkinson", 5),
              {{2, 1, 0, 0, 0}, {1, 1, 1, 0, 0}, {0, 1, 0, 1, 0}, {0, 0, 1, 1, 1}, {0, 0, 0, 1, 2}});
  expect_rows(of_order("riemann", 3), {{1, -1, 1}, {-1, 2, -1}, {-1, -1, 3}});
  expect_rows(of_order("redheffer", 3), {{1, 1, 1}, {1, 1, 0}, {1, 0, 1}});
  expect_rows(of_order("gfpp", 3), {{1, 0, 1}, {-0.5, 1, 1}, {-0.5, -0.5, 1}});
  expect_rows(of_order("zielke-ns", 3), {{0, 0, -1}, {1, 0, 0}, {1, 1, 0}});
  expect_rows(dense("lauchli", {{"n", 2}, {"mu", 0.5}}), {{1, 1}, {0.5, 0}, {0, 0.5}});
  expect_rows(dense("foster", {{"n", 3}, {"kh", 0.5}, {"c", 2}}),
              {{1, 0, -0.5}, {-0.25, 0.75, -0.5}, {-0.25, -0.5, 0.25}});
  expect_rows(of_order("hadamard", 4), {{1, 1, 1, 1}, {1, -1, 1, -1}, {1, 1, -1, -1}, {1, -1, -1, 1}});
  expect_rows(of_order("vandermonde", 3), {{1, 0, 0}, {1, 0.5, 0.25}, {1, 1, 1}});
  expect_rows(of_order("lehmer", 2), {{1, 0.5}, {0.5, 1}});
  expect_rows(of_order("pascal", 3), {{1, 1, 1}, {1, 2, 3}, {1, 3, 6}});
  expect_rows(of_order("gks", 2), {{1, -std::sqrt(0.5)}, {0, std::sqrt(0.5)}});
}

TEST(GenerateDense, PartialPivoting_Growth) {
  EXPECT_DOUBLE_EQ(eliminate(of_order("gepp-growth", 40)).growth, std::pow(2, 39));
  EXPECT_NEAR(eliminate(of_order("gfpp", 40)).growth / std::pow(1.5, 39), 1, 1e-12);
  EXPECT_GT(eliminate(of_order("foster", 60)).growth, 1e6);
  EXPECT_GT(eliminate(of_order("wright", 200)).growth, 1e6);
  EXPECT_LT(eliminate(of_order("hilbert", 10)).growth, 10);
}

TEST(GenerateDense, DruinskyToledo_BunchKaufmanGrowth) {
  constexpr Index k = 20;
  const Dense<double> a = dense("druinsky-toledo", {{"k", k}});
  ASSERT_EQ(a.rows(), 2 * k);
  expect_symmetric(a);
  // Eliminating the diagonal pivots one after the other multiplies the corner by about 1 + 1 / alpha each
  // time.
  long double corner = 1;
  for (Index i = 0; i + 2 < k; ++i) {
    EXPECT_EQ(a(i, k - 1), 1);
    const long double pivot = a(i, i);
    EXPECT_GE(std::abs(pivot), 0.64 / static_cast<double>(corner));  // accepted: alpha times 1^2 / sigma
    corner -= 1 / pivot;
  }
  EXPECT_GT(static_cast<double>(corner), std::pow(2.5, k - 2));
  EXPECT_NEAR(static_cast<double>(corner) / std::pow(1 + 8 / (1 + std::sqrt(17.0)), k - 2), 1, 1e-9);
}

TEST(GenerateDense, MagicSquares) {
  for (const Index n : {4, 8, 20}) {
    const Dense<double> a = of_order("magic", n);
    const auto sum = static_cast<double>(n * (n * n + 1)) / 2;
    std::vector<double> numbers = a.to_vector();
    std::sort(numbers.begin(), numbers.end());
    for (std::size_t k = 0; k < numbers.size(); ++k) ASSERT_EQ(numbers[k], static_cast<double>(k + 1));
    double down = 0;
    double up = 0;
    for (Index i = 0; i < n; ++i) {
      double row = 0;
      double column = 0;
      for (Index j = 0; j < n; ++j) {
        row += a(i, j);
        column += a(j, i);
      }
      EXPECT_EQ(row, sum);
      EXPECT_EQ(column, sum);
      down += a(i, i);
      up += a(i, n - 1 - i);
    }
    EXPECT_EQ(down, sum);
    EXPECT_EQ(up, sum);
    EXPECT_EQ(eliminate(a).rank, 3);
  }
}

TEST(GenerateDense, OrthogonalRows) {
  const auto expect_orthogonal = [](const Dense<double>& a, double square) {
    for (Index i = 0; i < a.rows(); ++i) {
      for (Index j = 0; j < a.rows(); ++j) {
        double dot = 0;
        for (Index k = 0; k < a.columns(); ++k) dot += a(i, k) * a(j, k);
        ASSERT_NEAR(dot, i == j ? square : 0, 1e-13 * square);
      }
    }
  };
  expect_orthogonal(of_order("orthogonal", 33), 1);
  expect_orthogonal(of_order("hadamard", 32), 32);
  expect_symmetric(of_order("orthogonal", 33));
}

TEST(GenerateDense, ChebyshevDerivative_PolynomialsExact) {
  constexpr Index n = 9;
  const Dense<double> d = dense("chebyshev-derivative", {{"n", n}, {"nonsingular", false}});
  for (int power = 0; power < n; ++power) {
    for (Index i = 0; i < n; ++i) {
      double sum = 0;
      for (Index j = 0; j < n; ++j) {
        sum += d(i, j) * std::pow(std::cos(M_PI * static_cast<double>(j) / (n - 1)), power);
      }
      const double x = std::cos(M_PI * static_cast<double>(i) / (n - 1));
      EXPECT_NEAR(sum, power == 0 ? 0 : power * std::pow(x, power - 1), 1e-12);
    }
  }
  const Dense<double> inner = of_order("chebyshev-derivative", n - 1);
  for (Index i = 0; i + 1 < n; ++i) {
    for (Index j = 0; j + 1 < n; ++j) EXPECT_EQ(inner(i, j), d(i + 1, j + 1));
  }
}

TEST(GenerateDense, Kahan_Definition) {
  const Dense<double> a = dense("kahan", {{"n", 6}, {"theta", 0.9}, {"perturbation", 0}});
  for (Index i = 0; i < 6; ++i) {
    for (Index j = 0; j < 6; ++j) {
      const double scale = std::pow(std::sin(0.9), static_cast<double>(i));
      EXPECT_NEAR(a(i, j), j < i ? 0 : (i == j ? scale : -std::cos(0.9) * scale), 1e-15);
    }
  }
  // Columns of equal norm, which is what misleads column pivoting.
  for (Index j = 0; j < 6; ++j) {
    double square = 0;
    for (Index i = 0; i < 6; ++i) square += a(i, j) * a(i, j);
    EXPECT_NEAR(square, 1, 1e-14);
  }
  const Dense<double> b = dense("extended-kahan", {{"l", 2}, {"zeta", 0.5}, {"phi", 0.25}, {"mu", 0.125}});
  EXPECT_DOUBLE_EQ(b(0, 2), -0.25);
  EXPECT_DOUBLE_EQ(b(1, 3), 0.25 * 0.5);
  EXPECT_DOUBLE_EQ(b(3, 5), -0.25 * 0.125);
  EXPECT_DOUBLE_EQ(b(2, 2), 0.25);
  EXPECT_DOUBLE_EQ(b(5, 5), 0.125 / 32);
  EXPECT_DOUBLE_EQ(b(0, 4), 0);
}

TEST(GenerateDense, Demmel_NearIdentityAfterScaling) {
  const Dense<double> a = of_order("demmel", 30);
  EXPECT_GT(a(29, 29) / a(0, 0), 1e13);
  for (Index i = 0; i < 30; ++i) {
    for (Index j = 0; j < 30; ++j) EXPECT_NEAR(a(i, j) / a(i, i), i == j ? 1 : 0, 1.01e-7);
  }
}

TEST(GenerateDense, KnownRankAndInconsistent) {
  for (const char* kind : {"integer", "normal"}) {
    for (const Index rank : {0, 1, 5, 9}) {
      const Dense<double> a =
          dense("known-rank", {{"rows", 9}, {"columns", 13}, {"rank", rank}, {"kind", kind}});
      EXPECT_EQ(eliminate(a).rank, rank);
      if (kind != std::string("integer")) continue;
      for (Index k = 0; k < 9 * 13; ++k) ASSERT_EQ(a[k], std::round(a[k]));
    }
  }
  const Dense<double> b = dense("inconsistent", {{"rows", 10}, {"columns", 12}, {"rank", 4}});
  ASSERT_EQ(b.columns(), 13);
  EXPECT_EQ(eliminate(b).rank, 5);
  Dense<double> coefficients(Device(), 10, 12);
  for (Index k = 0; k < 10 * 12; ++k) coefficients[k] = b[k];
  EXPECT_EQ(eliminate(coefficients).rank, 4);

  const Dense<double> integers =
      dense("random-integer", {{"rows", 60}, {"columns", 50}, {"low", -2}, {"high", 3}});
  std::vector<int> counts(6, 0);
  for (Index k = 0; k < 3000; ++k) ++counts.at(static_cast<std::size_t>(integers[k] + 2));
  for (const int count : counts) EXPECT_NEAR(count, 500, 100);
}

#ifdef ECHELON_TEST_WITH_EIGEN
using Full = Eigen::MatrixXd;

Full to_eigen(const Dense<double>& a) {
  return Eigen::Map<const Full>(a.data(), a.rows(), a.columns());
}

std::vector<double> eigenvalues(const Dense<double>& a) {
  expect_symmetric(a);
  return symmetric_eigenvalues(a);
}

TEST(GenerateDense, Spectra) {
  const std::vector<double> clement = eigenvalues(dense("clement", {{"n", 8}, {"symmetric", true}}));
  for (std::size_t k = 0; k < 8; ++k) EXPECT_NEAR(clement[k], 2.0 * static_cast<double>(k) - 7, 1e-13);
  // The unsymmetric one is similar: the same characteristic polynomial at an odd place.
  const auto shifted = [](Dense<double> a) {
    for (Index i = 0; i < a.rows(); ++i) a(i, i) -= 0.5;
    return static_cast<double>(eliminate(a).determinant);
  };
  EXPECT_NEAR(shifted(of_order("clement", 8)) / shifted(dense("clement", {{"n", 8}, {"symmetric", true}})), 1,
              1e-12);

  const std::vector<double> fiedler = eigenvalues(of_order("fiedler", 12));
  EXPECT_LT(fiedler[10], 0);
  EXPECT_GT(fiedler[11], 0);

  for (const double node : eigenvalues(of_order("legendre", 9))) {
    double before = 1;
    double value = node;
    for (int k = 1; k < 9; ++k) {
      const double next = ((2 * k + 1) * node * value - k * before) / (k + 1);
      before = value;
      value = next;
    }
    EXPECT_NEAR(value, 0, 1e-13);
  }
  const std::vector<double> wilkinson = eigenvalues(of_order("wilkinson", 21));
  EXPECT_LT(wilkinson[20] - wilkinson[19], 1e-13);
  EXPECT_NEAR(wilkinson[20], 10.746194182903393, 1e-12);  // Wilkinson, The Algebraic Eigenvalue Problem

  const std::vector<double> pei = eigenvalues(dense("pei", {{"n", 7}, {"alpha", 2}}));
  EXPECT_NEAR(pei.front(), 2, 1e-13);
  EXPECT_NEAR(pei.back(), 9, 1e-13);

  const std::vector<double> parter = singular_values(of_order("parter", 20));
  EXPECT_NEAR(parter[9], M_PI, 1e-9);
  for (const double value : eigenvalues(of_order("ris", 20))) {
    EXPECT_LE(std::abs(value), M_PI / 2 + 1e-12);
  }
  const auto near_half_pi = eigenvalues(of_order("ris", 20));
  EXPECT_NEAR(near_half_pi.front(), -M_PI / 2, 1e-9);
  EXPECT_NEAR(near_half_pi.back(), M_PI / 2, 1e-9);
  EXPECT_LT(singular_values(of_order("triw", 30)).back(), std::pow(2, -28));
  EXPECT_GT(eigenvalues(of_order("moler", 10)).front(), 0);
  EXPECT_LT(eigenvalues(of_order("moler", 10)).front(), 1e-4);

  // The Chow matrix has ceil(n / 2) ... floor eigenvalues zero: its rank tells.
  EXPECT_EQ(Eigen::FullPivLU<Full>(to_eigen(of_order("chow", 10))).rank(), 9);
  const double sum = 12.0 * 13 / 2;
  const Full circulant = to_eigen(of_order("circulant", 12));
  EXPECT_NEAR((circulant * Eigen::VectorXd::Ones(12))(5), sum, 1e-12);
  EXPECT_LT((circulant * circulant.transpose() - circulant.transpose() * circulant).norm(), 1e-10);
}

TEST(GenerateDense, TridiagonalInverses) {
  for (const char* name : {"minij", "kms", "lehmer"}) {
    const Full inverse = to_eigen(of_order(name, 12)).inverse();
    for (Index i = 0; i < 12; ++i) {
      for (Index j = 0; j < 12; ++j) {
        if (std::abs(i - j) > 1) {
          ASSERT_NEAR(inverse(i, j), 0, 1e-12) << name;
        }
      }
    }
  }
}

TEST(GenerateDense, HilbertInverse_Integer) {
  // (-1)^(i+j) (i+j+1) C(n+i, n-j-1) C(n+j, n-i-1) C(i+j, i)^2 with n = 6.
  const auto choose = [](Index n, Index k) {
    double value = 1;
    for (Index m = 1; m <= k; ++m) value = value * static_cast<double>(n - k + m) / static_cast<double>(m);
    return value;
  };
  Full inverse(6, 6);
  for (Index i = 0; i < 6; ++i) {
    for (Index j = 0; j < 6; ++j) {
      inverse(i, j) = ((i + j) % 2 == 0 ? 1 : -1) * static_cast<double>(i + j + 1) * choose(6 + i, 5 - j) *
                      choose(6 + j, 5 - i) * std::pow(choose(i + j, i), 2);
    }
  }
  EXPECT_LT((to_eigen(of_order("hilbert", 6)) * inverse - Full::Identity(6, 6)).cwiseAbs().maxCoeff(), 1e-8);
}

TEST(GenerateDense, GivenSingularValues) {
  for (const std::string shape : {"arith", "geo", "cluster0", "cluster1", "logrand"}) {
    for (const Index n : {1, 2, 33, 64}) {
      SCOPED_TRACE(shape + " " + std::to_string(n));
      const std::vector<double> d =
          singular_values(dense("svd", {{"n", n}, {"spectrum", shape}, {"condition", 1000}, {"scale", 5}}));
      const std::vector<double> e =
          eigenvalues(dense("symmetric", {{"n", n}, {"spectrum", shape}, {"condition", 1000}, {"scale", 5}}));
      for (Index i = 0; i < n; ++i) {
        const double t = n > 1 ? static_cast<double>(i) / static_cast<double>(n - 1) : 0;
        double expected = 5;
        if (shape == "arith") expected = 5 * (1 - t * 0.999);
        if (shape == "geo") expected = 5 * std::pow(1000, -t);
        if (shape == "cluster0" && i > 0) expected = 0.005;
        if (shape == "cluster1" && i == n - 1 && n > 1) expected = 0.005;
        if (shape == "logrand") {
          EXPECT_LE(d[static_cast<std::size_t>(i)], 5.00001);
          EXPECT_GE(d[static_cast<std::size_t>(i)], 0.00499999);
          expected = e[static_cast<std::size_t>(n - 1 - i)];
        }
        EXPECT_NEAR(d[static_cast<std::size_t>(i)], expected, 1e-12);
        EXPECT_NEAR(e[static_cast<std::size_t>(n - 1 - i)], expected, 1e-12);
      }
    }
  }
  const std::vector<double> mixed = eigenvalues(dense("symmetric", {{"n", 40}, {"signs", "random"}}));
  EXPECT_LT(mixed.front(), 0);
  EXPECT_GT(mixed.back(), 0);
}

/// The rotations must mix: no element of a rotated unit matrix stands out.
TEST(GenerateDense, RotatedMatrices_Dense) {
  const Dense<double> a = dense("svd", {{"n", 200}, {"condition", 1}});
  double largest = 0;
  double fourth = 0;
  for (Index k = 0; k < 200 * 200; ++k) {
    largest = std::max(largest, std::abs(a[k]));
    fourth += std::pow(a[k], 4);
  }
  EXPECT_LT(largest, 6 / std::sqrt(200.0));  // normal elements: 4.3 expected
  EXPECT_NEAR(fourth / 3, 1, 0.1);           // the sum of n^2 normal fourth moments 3 / n^2
}

TEST(GenerateDense, LapackChecks) {
  const auto check = [](int type) { return dense("lapack-check", {{"n", 20}, {"type", type}}); };
  const auto zero_columns = [](const Dense<double>& a) {
    std::vector<Index> zero;
    for (Index j = 0; j < a.columns(); ++j) {
      double sum = 0;
      for (Index i = 0; i < a.rows(); ++i) sum += std::abs(a(i, j));
      if (sum == 0) zero.push_back(j);
    }
    return zero;
  };
  for (const int type : {1, 2, 3, 4}) {
    const std::vector<double> d = singular_values(check(type));
    EXPECT_NEAR(d.front() / d.back(), 2, 1e-12) << type;
    const Dense<double> a = check(type);
    for (Index j = 0; j < 20; ++j) {
      for (Index i = 0; i < 20; ++i) {
        if ((type != 3 && type != 4 && i > j) || (type != 2 && type != 4 && i < j)) {
          EXPECT_EQ(a(i, j), 0);
        }
      }
    }
  }
  EXPECT_EQ(zero_columns(check(4)), (std::vector<Index>{}));
  EXPECT_EQ(zero_columns(check(5)), (std::vector<Index>{0}));
  EXPECT_EQ(zero_columns(check(6)), (std::vector<Index>{19}));
  EXPECT_EQ(zero_columns(check(7)), (std::vector<Index>{10, 11, 12, 13, 14, 15, 16, 17, 18, 19}));
  const std::vector<double> eight = singular_values(check(8));
  EXPECT_NEAR(eight.front() / eight.back() / std::sqrt(0.1 * std::pow(2, 53)), 1, 1e-6);
  const std::vector<double> nine = singular_values(check(9));
  EXPECT_GT(nine.front() / nine.back(), 1e14);
  EXPECT_LT(to_eigen(check(10)).cwiseAbs().maxCoeff(), 1e-290);
  EXPECT_GT(to_eigen(check(10)).cwiseAbs().maxCoeff(), 1e-295);
  EXPECT_GT(to_eigen(check(11)).cwiseAbs().maxCoeff(), 1e290);
  EXPECT_EQ(zero_columns(dense("svd", {{"n", 9}, {"zero_columns", 2}})), (std::vector<Index>{7, 8}));
}
#endif

}  // namespace
}  // namespace echelon::test
