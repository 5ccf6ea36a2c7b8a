// SPDX-License-Identifier: BSD-3-Clause
/// The classic dense test matrices: N. J. Higham, The Test Matrix Toolbox for MATLAB, 1995, unless said
/// otherwise. i and j count from 0 here.
#include "generate/assemble.hpp"
#include "generate/functions.hpp"
#include "generate/random.hpp"
#include "generate/table.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

namespace echelon::generate {

namespace {

using Index = std::int64_t;

double as_double(Index i) {
  return static_cast<double>(i);
}

/// A square matrix by a formula: `make(arguments, n)` returns element(i, j).
template <class Make>
Generator formula(std::string name, std::string summary, std::vector<Parameter> parameters, Make make,
                  Index usual = 100) {
  parameters.insert(parameters.begin(), dimension(usual));
  return row(std::move(name), "dense", std::move(summary), parameters, {"n"},
             [make](const ParameterValues& a, auto zero) {
               const Index n = a.integer("n");
               return fill_dense<decltype(zero)>(n, n, make(a, n));
             });
}

template <class Element>
Generator formula(std::string name, std::string summary, Element element) {
  return formula(std::move(name), std::move(summary), {}, [element](const ParameterValues&, Index n) {
    return [element, n](Index i, Index j) -> double { return element(i, j, n); };
  });
}

double hilbert(Index i, Index j, Index) {
  return 1 / as_double(i + j + 1);
}

/// Binomial coefficient: i + j choose i.
double binomial(Index i, Index j) {
  constexpr double large = 0x1p1000;  // below it, a product with a number of this size does not overflow
  double value = 1;
  for (Index k = 1; k <= std::min(i, j); ++k) {
    const double factor = as_double(std::max(i, j) + k);
    value = value < large ? value * factor / as_double(k) : value * (factor / as_double(k));
  }
  return value;
}

/// Largest order of a Pascal matrix whose last element, the largest, is finite in T.
template <class T>
Index largest_pascal() {
  Index n = 1;
  while (binomial(n, n) <= static_cast<double>(std::numeric_limits<T>::max())) ++n;
  return n;
}

Generator pascal() {
  return row("pascal", "dense", "binomials (i + j over i): positive definite, determinant 1", {dimension()},
             {"n"}, [](const ParameterValues& a, auto zero) {
               using T = decltype(zero);
               const Index n = a.integer("n");
               if (n > largest_pascal<T>()) {
                 throw BadOption("n", fmt::format("the elements of a pascal matrix of order {} overflow {} "
                                                  "precision; the largest order is {}",
                                                  n, sizeof(T) == sizeof(float) ? "single" : "double",
                                                  largest_pascal<T>()));
               }
               return fill_dense<T>(n, n, binomial);
             });
}

std::vector<Generator> inverses_known() {
  return {
      formula("hilbert", "1 / (i + j + 1): positive definite, condition e^(3.5 n)", hilbert),
      formula("lotkin", "Hilbert matrix with a first row of ones: unsymmetric, ill-conditioned",
              [](Index i, Index j, Index n) { return i == 0 ? 1 : hilbert(i, j, n); }),
      formula("cauchy", "1 / (x_i + x_j) with x = 1, ..., n; totally positive",
              [](Index i, Index j, Index) { return 1 / as_double(i + j + 2); }),
      formula("minij", "min(i, j) + 1; its inverse is tridiagonal, its determinant 1",
              [](Index i, Index j, Index) { return as_double(std::min(i, j) + 1); }),
      formula("moler", "U^T U with U = triw(n, alpha); one small eigenvalue, determinant 1",
              {real("alpha", -1, "elements of U above the diagonal")},
              [](const ParameterValues& a, Index) {
                return [alpha = a.real("alpha")](Index i, Index j) {
                  return alpha * alpha * as_double(std::min(i, j)) + (i == j ? 1 : alpha);
                };
              }),
      formula("triw", "ones on the diagonal, alpha above: triangular, singular value below 2^-n",
              {real("alpha", -1, "elements above the diagonal"),
               size("k", std::numeric_limits<std::int32_t>::max(), "diagonals above the main one")},
              [](const ParameterValues& a, Index) {
                return [alpha = a.real("alpha"), k = a.integer("k")](Index i, Index j) -> double {
                  if (i == j) return 1;
                  return j > i && j - i <= k ? alpha : 0;
                };
              }),
      formula("frank", "upper Hessenberg, determinant 1, small eigenvalues ill-conditioned",
              [](Index i, Index j, Index n) { return j + 1 >= i ? as_double(n - std::max(i, j)) : 0.0; }),
      formula("kms", "rho^|i - j| (Kac, Murdock, Szego); its inverse is tridiagonal",
              {real("rho", 0.5, "positive definite when 0 < |rho| < 1")},
              [](const ParameterValues& a, Index) {
                return [rho = a.real("rho")](Index i, Index j) {
                  return power(rho, static_cast<int>(std::abs(i - j)));
                };
              }),
      formula("pei", "alpha I + ones; eigenvalues alpha and alpha + n",
              {real("alpha", 1, "added to the diagonal; singular at 0 and -n")},
              [](const ParameterValues& a, Index) {
                return [alpha = a.real("alpha")](Index i, Index j) { return i == j ? alpha + 1 : 1; };
              }),
      formula("lehmer", "(min + 1) / (max + 1): positive definite, its inverse is tridiagonal",
              [](Index i, Index j, Index) {
                return as_double(std::min(i, j) + 1) / as_double(std::max(i, j) + 1);
              }),
      pascal(),
      formula("zielke-ns", "Zielke's unsymmetric matrix: ones below the diagonal, -1 at the upper right",
              {real("a", 0, "added to every element")},
              [](const ParameterValues& a, Index n) {
                return [shift = a.real("a"), n](Index i, Index j) {
                  return shift + (j < i ? 1 : 0) - (i == 0 && j == n - 1 ? 1 : 0);
                };
              }),
  };
}

std::vector<Generator> spectra_known() {
  return {
      formula("circulant", "1, 2, ..., n, shifted by one column in each row",
              [](Index i, Index j, Index n) { return as_double((j - i + n) % n + 1); }),
      formula("fiedler", "|i - j|; one positive eigenvalue, the others negative",
              [](Index i, Index j, Index) { return as_double(std::abs(i - j)); }),
      formula("parter", "1 / (i - j + 1/2); most singular values are pi to working precision",
              [](Index i, Index j, Index) { return 1 / (as_double(i - j) + 0.5); }),
      formula("ris", "1 / (2 (n - i - j) - 1): eigenvalues cluster at +-pi/2",
              [](Index i, Index j, Index n) { return 0.5 / (as_double(n - i - j) - 0.5); }),
      formula("orthogonal", "sqrt(2 / (n + 1)) sin((i + 1) (j + 1) pi / (n + 1)): orthogonal and symmetric",
              [](Index i, Index j, Index n) {
                const double order = as_double(n + 1);
                const Index angle = (i + 1) * (j + 1) % (2 * (n + 1));
                return std::sqrt(2 / order) * sin_pi(as_double(angle) / order);
              }),
      formula("chow", "Toeplitz and lower Hessenberg; half of its eigenvalues are delta",
              {real("alpha", 1, "alpha^(i - j + 1) on and below the superdiagonal"),
               real("delta", 0, "added to the diagonal")},
              [](const ParameterValues& a, Index) {
                return [alpha = a.real("alpha"), delta = a.real("delta")](Index i, Index j) {
                  const double value = j <= i + 1 ? power(alpha, static_cast<int>(i - j + 1)) : 0;
                  return i == j ? value + delta : value;
                };
              }),
      formula("clement", "tridiagonal with zero diagonal; eigenvalues n - 1, n - 3, ..., 1 - n",
              {{"symmetric", false, "the symmetric matrix that is similar to it"}},
              [](const ParameterValues& a, Index n) {
                return [symmetric = a.flag("symmetric"), n](Index i, Index j) -> double {
                  if (std::abs(i - j) != 1) return 0;
                  const double above = as_double(std::max(i, j));
                  const double below = as_double(n - std::max(i, j));
                  if (symmetric) return std::sqrt(above * below);
                  return j > i ? above : below;
                };
              }),
      formula("wilkinson", "tridiagonal, |i - (n - 1) / 2| between ones: eigenvalues in close pairs",
              [](Index i, Index j, Index n) {
                if (i == j) return std::abs(as_double(2 * i - n + 1)) / 2;
                return std::abs(i - j) == 1 ? 1.0 : 0.0;
              }),
      formula("gear", "ones next to the diagonal, 1 and -1 in the corners; singular",
              [](Index i, Index j, Index n) -> double {
                if (std::abs(i - j) == 1) return 1;
                if (n > 2 && i == 0 && j == n - 1) return 1;
                return n > 2 && i == n - 1 && j == 0 ? -1 : 0;
              }),
      formula("legendre", "Jacobi matrix of the Legendre polynomials; eigenvalues are the Gauss nodes",
              [](Index i, Index j, Index) {
                const double k = as_double(std::max(i, j));
                return std::abs(i - j) == 1 ? k / std::sqrt(4 * k * k - 1) : 0;
              }),
  };
}

std::vector<Generator> number_theory() {
  return {
      formula("gcd", "gcd(i + 1, j + 1): positive definite, determinant phi(1) ... phi(n)",
              [](Index i, Index j, Index) { return as_double(std::gcd(i + 1, j + 1)); }),
      formula("redheffer", "1 where i + 1 divides j + 1 or j = 0; determinant is the Mertens function",
              [](Index i, Index j, Index) { return j == 0 || (j + 1) % (i + 1) == 0 ? 1.0 : 0.0; }),
      formula("riemann", "i + 1 where i + 2 divides j + 2, else -1: related to the Riemann hypothesis",
              [](Index i, Index j, Index) { return (j + 2) % (i + 2) == 0 ? as_double(i + 1) : -1.0; }),
  };
}

/// Differentiation at the Chebyshev points cos(k pi / m).
double chebyshev_derivative(Index i, Index j, Index m) {
  const double steps = as_double(m);
  const auto sine = [=](Index k) { return sin_pi(as_double(k) / (2 * steps)); };
  if (i != j) {
    const double ratio = (i == 0 || i == m ? 2.0 : 1.0) / (j == 0 || j == m ? 2.0 : 1.0);
    const double difference = -2 * sine(i + j) * sine(i - j);  // x_i - x_j
    return ((i + j) % 2 == 0 ? ratio : -ratio) / difference;
  }
  if (i == 0) return (2 * steps * steps + 1) / 6;
  if (i == m) return -(2 * steps * steps + 1) / 6;
  const double height = sine(2 * i);
  return -cos_pi(as_double(i) / steps) / (2 * height * height);
}

/// Matrix with unit diagonal, -multiplier below it, and a last column of ones.
Generator growing(const std::string& name, double multiplier, const std::string& growth) {
  return formula(name, "element growth " + growth + " under partial pivoting",
                 {real("multiplier", multiplier, "growth is (1 + multiplier)^(n - 1)", {0, 1})},
                 [](const ParameterValues& a, Index n) {
                   return [h = a.real("multiplier"), n](Index i, Index j) -> double {
                     if (j == n - 1 || i == j) return 1;
                     return i > j ? -h : 0;
                   };
                 });
}

std::vector<Generator> pivoting_fails() {
  return {
      growing("gfpp", 0.5, "1.5^(n - 1)"),
      growing("gepp-growth", 1, "2^(n - 1)"),
      formula("foster", "Volterra integral equation by quadrature; partial pivoting fails (Foster 1994)",
              {real("kh", 0.66, "kernel times step; growth up to 2/3", {0, 1}),
               real("c", 1, "coefficient of the unknown end value", {0, 1e300, true})},
              [](const ParameterValues& a, Index n) {
                return [kh = a.real("kh"), c = a.real("c"), n](Index i, Index j) {
                  double value = i == j ? 1 : 0;
                  if (i > 0 && j <= i) value -= j == 0 || j == i ? kh / 2 : kh;
                  if (j == n - 1) value -= 1 / c;
                  return value;
                };
              }),
      formula("wright",
              "boundary value problem by multiple shooting; partial pivoting fails (Wright 1993); n even",
              {real("h", 0.3, "length of the interval; growth e^(5 h n / 12)", {0, 100})},
              [](const ParameterValues& a, Index n) {
                if (n % 2 != 0) throw BadOption("n", fmt::format("wright takes an even n, not {}", n));
                const double fast = exp(5 * a.real("h") / 6) / 2;
                const double slow = exp(-7 * a.real("h") / 6) / 2;
                return [=](Index i, Index j) -> double {
                  if (i == j) return 1;
                  if (i < 2) return j == n - 2 + i ? 1 : 0;
                  if (i / 2 != j / 2 + 1) return 0;
                  return i % 2 == j % 2 ? -(fast + slow) : -(fast - slow);
                };
              }),
  };
}

std::vector<double> bunch_kaufman_diagonal(Index k) {
  const double alpha = (1 + std::sqrt(17.0)) / 8 * (1 + 4 * std::numeric_limits<double>::epsilon());
  std::vector<double> diagonal;
  double sum = 1;
  for (Index i = 0; i + 2 < k; ++i) {
    diagonal.push_back(-alpha / sum);
    sum -= 1 / diagonal.back();
  }
  return diagonal;
}

Generator druinsky_toledo() {
  return row("druinsky-toledo", "dense",
             "well-conditioned and symmetric; growth in Bunch-Kaufman factors (Druinsky, Toledo 2011)",
             {size("k", 50, "rows and columns are 2 k")}, {"k"}, [](const ParameterValues& a, auto zero) {
               const Index k = a.integer("k");
               const std::vector<double> d = bunch_kaufman_diagonal(k);
               return fill_dense<decltype(zero)>(2 * k, 2 * k, [&](Index i, Index j) -> double {
                 if (i >= k || j >= k) return i % k == j % k ? 1 : 0;
                 if (i >= k - 2 || j >= k - 2) return 1;
                 return i == j ? d[static_cast<std::size_t>(i)] : 0;
               });
             });
}

/// Element of Sylvester's Hadamard matrix: its sign is the parity of the common bits of i and j.
double hadamard(Index i, Index j) {
  return std::popcount(static_cast<std::uint64_t>(i & j)) % 2 == 0 ? 1 : -1;
}

void check_power_of_two(const std::string& option, Index n) {
  if (n == 0 || std::has_single_bit(static_cast<std::uint64_t>(n))) return;
  throw BadOption(option, fmt::format("option '{}' takes a power of two, not {}", option, n));
}

Generator extended_kahan() {
  return row("extended-kahan", "dense",
             "diag(zeta^i) [I -phi H 0; 0 I phi H; 0 0 mu I], H a Hadamard matrix (Gu, Eisenstat 1996)",
             {size("l", 32, "rows and columns are 3 l; a power of two"),
              real("zeta", 0.99, "ratio of the scale of consecutive rows", {0, 1, true}),
              real("phi", 0.5, "above 1 / sqrt(4 l - 1)", {0, 1}),
              real("mu", 1e-3, "scale of the last l rows", {0, 1, true})},
             {}, [](const ParameterValues& a, auto zero) {
               const Index l = a.integer("l");
               check_power_of_two("l", l);
               const double zeta = a.real("zeta");
               const double phi = a.real("phi");
               const double mu = a.real("mu");
               return fill_dense<decltype(zero)>(3 * l, 3 * l, [=](Index i, Index j) {
                 const Index part = i / std::max<Index>(l, 1);
                 double value = i == j ? (part == 2 ? mu : 1) : 0;
                 if (j / std::max<Index>(l, 1) == part + 1) {
                   value = (part == 0 ? -phi : phi) * hadamard(i % l, j % l);
                 }
                 return power(zeta, static_cast<int>(i)) * value;
               });
             });
}

std::vector<Generator> ranks_hidden() {
  return {
      formula("kahan", "upper triangular; pivoted QR misses its small singular value",
              {real("theta", 1.2, "angle in radians", {0, 3.14, true, false}),
               real("perturbation", 25,
                    "factor of epsilon (n - i), which is added to the diagonal against ties", {0, 1e6})},
              [](const ParameterValues& a, Index n) {
                const double s = sin_pi(a.real("theta") / std::numbers::pi);
                const double c = cos_pi(a.real("theta") / std::numbers::pi);
                const double nudge = a.real("perturbation") * std::numeric_limits<double>::epsilon();
                return [=](Index i, Index j) -> double {
                  if (j < i) return 0;
                  const double scale = power(s, static_cast<int>(i));
                  return i == j ? scale + nudge * as_double(n - i) : -c * scale;
                };
              }),
      extended_kahan(),
      formula("gks",
              "upper triangular, 1 / sqrt(j + 1), and -1 / sqrt(j + 1) above (Golub, Klema, Stewart 1976)",
              [](Index i, Index j, Index) -> double {
                if (j < i) return 0;
                const double root = 1 / std::sqrt(as_double(j + 1));
                return i == j ? root : -root;
              }),
      row("lauchli", "dense", "row of ones above mu I: normal equations are singular after rounding",
          {dimension(), real("mu", 1e-8, "elements of the lower diagonal")}, {"n"},
          [](const ParameterValues& a, auto zero) {
            const Index n = a.integer("n");
            const double mu = a.real("mu");
            return fill_dense<decltype(zero)>(n + 1, n, [=](Index i, Index j) -> double {
              if (i == 0) return 1;
              return i == j + 1 ? mu : 0;
            });
          }),
      formula("chebyshev-derivative", "differentiation at Chebyshev points; nilpotent if singular",
              {{"nonsingular", true, "remove the first row and column"}},
              [](const ParameterValues& a, Index n) {
                const Index skipped = a.flag("nonsingular") ? 1 : 0;
                return [=](Index i, Index j) {
                  const Index m = n - 1 + skipped;
                  return m == 0 ? 0 : chebyshev_derivative(i + skipped, j + skipped, m);
                };
              }),
      formula("demmel",
              "diag(10^(14 i / n)) (I + 1e-7 U): badly scaled, well-conditioned after equilibration",
              {seed()},
              [](const ParameterValues& a, Index n) {
                return [n, seed = a.seed()](Index i, Index j) {
                  const double u =
                      Random(seed, static_cast<std::uint32_t>(i), static_cast<std::uint64_t>(j)).uniform();
                  return power(10.0, 14 * as_double(i) / as_double(n)) * ((i == j ? 1 : 0) + 1e-7 * u);
                };
              }),
      formula("vandermonde", "x_i^j; condition exponential in n",
              {choice("points", "equispaced", "equispaced in [0, 1], or Chebyshev points in [-1, 1]",
                      {"equispaced", "chebyshev"})},
              [](const ParameterValues& a, Index n) {
                return [n, equispaced = a.text("points") == "equispaced"](Index i, Index j) {
                  const double x = equispaced ? (n > 1 ? as_double(i) / as_double(n - 1) : 0)
                                              : cos_pi(as_double(2 * i + 1) / as_double(2 * n));
                  return power(x, static_cast<int>(j));
                };
              }),
      formula(
          "hadamard", "1 and -1, rows orthogonal (Sylvester); n a power of two", {},
          [](const ParameterValues&, Index n) {
            check_power_of_two("n", n);
            return [](Index i, Index j) { return hadamard(i, j); };
          },
          64),
      formula("magic",
              "1, ..., n^2 with equal sums of rows, columns and diagonals; rank 3; n a multiple of 4", {},
              [](const ParameterValues&, Index n) {
                if (n % 4 != 0) throw BadOption("n", fmt::format("magic takes a multiple of 4, not {}", n));
                return [n](Index i, Index j) {
                  const Index number = i * n + j + 1;
                  const bool kept = i % 4 != j % 4 && i % 4 + j % 4 != 3;
                  return as_double(kept ? number : n * n + 1 - number);
                };
              }),
  };
}

}  // namespace

std::vector<Generator> dense_rows() {
  std::vector<Generator> all;
  for (std::vector<Generator> rows :
       {inverses_known(), spectra_known(), number_theory(), pivoting_fails(), ranks_hidden()}) {
    std::move(rows.begin(), rows.end(), std::back_inserter(all));
  }
  all.push_back(druinsky_toledo());
  all.back().unknowns_per_point = 2;
  return all;
}

}  // namespace echelon::generate
