// SPDX-License-Identifier: BSD-3-Clause
/// Dense matrices with a given spectrum or rank.
#include "generate/assemble.hpp"
#include "generate/functions.hpp"
#include "generate/random.hpp"
#include "generate/table.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace echelon::generate {

namespace {

using Index = std::int64_t;

enum SpectrumPurpose : std::uint32_t { values_of_spectrum, left, right, signs, factors, order };

/// A random orthogonal matrix as a product of plane rotations: each layer rotates random disjoint pairs of
/// coordinates by random angles (Kac's random walk). It is orthogonal up to rounding and dense; applying it
/// to a vector costs O(n log n) operations.
class RandomRotation {
 public:
  RandomRotation(Index n, std::uint64_t seed, SpectrumPurpose purpose) {
    Random random(seed, purpose, 0);
    std::vector<std::int32_t> places(static_cast<std::size_t>(n));
    std::iota(places.begin(), places.end(), 0);
    Index layers = n > 1 ? 8 : 0;
    for (Index m = 1; m < n; m *= 2) layers += 2;
    for (Index layer = 0; layer < layers; ++layer) {
      for (std::size_t k = places.size(); k > 1; --k) {
        std::swap(places[k - 1], places[static_cast<std::size_t>(random.below(static_cast<Index>(k)))]);
      }
      for (std::size_t k = 0; k + 1 < places.size(); k += 2) add(places[k], places[k + 1], random);
    }
  }

  /// Q v, in place.
  void apply(double* v) const {
    for (const Rotation& rotation : rotations_) {
      const double a = v[rotation.a];
      const double b = v[rotation.b];
      v[rotation.a] = rotation.c * a - rotation.s * b;
      v[rotation.b] = rotation.s * a + rotation.c * b;
    }
  }
  void apply(Dense<double>& matrix) const {
#pragma omp parallel for num_threads(Device().threads()) schedule(static) if (matrix.columns() > 64)
    for (Index j = 0; j < matrix.columns(); ++j) apply(&matrix(0, j));
  }

 private:
  struct Rotation {
    std::int32_t a;
    std::int32_t b;
    double c;
    double s;
  };
  void add(std::int32_t a, std::int32_t b, Random& random) {
    for (;;) {
      const double x = random.uniform(-1, 1);
      const double y = random.uniform(-1, 1);
      const double square = x * x + y * y;
      if (square < 1e-6 || square > 1) continue;
      const double length = std::sqrt(square);
      rotations_.push_back({a, b, x / length, y / length});
      return;
    }
  }

  std::vector<Rotation> rotations_;
};

Dense<double> transposed(const Dense<double>& a) {
  return fill_dense<double>(a.columns(), a.rows(), [&a](Index i, Index j) { return a(j, i); });
}

Dense<double> diagonal_matrix(const std::vector<double>& d) {
  const auto n = static_cast<Index>(d.size());
  return fill_dense<double>(n, n,
                            [&d](Index i, Index j) { return i == j ? d[static_cast<std::size_t>(i)] : 0; });
}

/// U diag(d) V^T.
Dense<double> with_singular_values(const std::vector<double>& d, std::uint64_t seed) {
  const auto n = static_cast<Index>(d.size());
  Dense<double> result = diagonal_matrix(d);
  RandomRotation(n, seed, right).apply(result);
  result = transposed(result);
  RandomRotation(n, seed, left).apply(result);
  return result;
}

/// V diag(d) V^T, symmetric to the bit.
Dense<double> with_eigenvalues(const std::vector<double>& d, std::uint64_t seed) {
  const auto n = static_cast<Index>(d.size());
  const RandomRotation rotation(n, seed, left);
  Dense<double> half = diagonal_matrix(d);
  rotation.apply(half);
  half = transposed(half);
  rotation.apply(half);
  return fill_dense<double>(n, n, [&half](Index i, Index j) { return (half(i, j) + half(j, i)) / 2; });
}

/// Values of the given distribution from 1 to 1 / condition.
std::vector<double> spectrum(const std::string& shape, Index n, double condition, std::uint64_t seed) {
  std::vector<double> d(static_cast<std::size_t>(n), 1);
  Random random(seed, values_of_spectrum, 0);
  for (Index i = 0; i < n; ++i) {
    double& value = d[static_cast<std::size_t>(i)];
    const double t = n > 1 ? static_cast<double>(i) / static_cast<double>(n - 1) : 0;
    if (shape == "arith") value = 1 - t * (1 - 1 / condition);
    if (shape == "geo") value = power(condition, -t);
    if (shape == "cluster0") value = i == 0 ? 1 : 1 / condition;
    if (shape == "cluster1") value = i + 1 < n || n == 1 ? 1 : 1 / condition;
    if (shape == "logrand") value = power(condition, -random.uniform());
  }
  return d;
}

std::vector<double> spectrum(const ParameterValues& a) {
  std::vector<double> d = spectrum(a.text("spectrum"), a.integer("n"), a.real("condition"), a.seed());
  for (double& value : d) value *= a.real("scale");
  return d;
}

/// R of the QR factorisation of a, by modified Gram-Schmidt, which is accurate for the well-conditioned a
/// here.
Dense<double> triangular_factor(Dense<double> a) {
  const Index n = a.columns();
  Dense<double> r = fill_dense<double>(n, n, [](Index, Index) { return 0.0; });
  for (Index k = 0; k < n; ++k) {
    double square = 0;
    for (Index i = 0; i < n; ++i) square += a(i, k) * a(i, k);
    r(k, k) = std::sqrt(square);
    for (Index i = 0; i < n; ++i) a(i, k) /= r(k, k);
#pragma omp parallel for num_threads(Device().threads()) schedule(static) if (n * (n - k) > few_elements)
    for (Index j = k + 1; j < n; ++j) {
      double dot = 0;
      for (Index i = 0; i < n; ++i) dot += a(i, k) * a(i, j);
      for (Index i = 0; i < n; ++i) a(i, j) -= dot * a(i, k);
      r(k, j) = dot;
    }
  }
  return r;
}

/// Matrix `type` of LAPACK's dchkge.f, scaled to the limits of T.
template <class T>
Dense<T> lapack_check(Index n, Index type, std::uint64_t seed) {
  constexpr double eps = std::numeric_limits<T>::epsilon() / 2;  // LAPACK's
  const double tiny = 0.25 * (static_cast<double>(std::numeric_limits<T>::min()) / eps);
  const double condition = type == 8 ? std::sqrt(0.1 / eps) : (type == 9 ? 0.1 / eps : 2);
  const std::vector<double> d = spectrum("arith", n, condition, seed);
  Dense<double> a = type == 1 ? diagonal_matrix(d) : with_singular_values(d, seed);
  if (type == 2) a = triangular_factor(std::move(a));
  if (type == 3) a = transposed(triangular_factor(std::move(a)));
  const Index first_zero = type == 5 ? 0 : (type == 6 ? n - 1 : (type == 7 ? n / 2 : n));
  const Index last_zero = type == 5 ? 0 : n - 1;
  const double scale = type == 10 ? tiny : (type == 11 ? 1 / tiny : 1);
  return fill_dense<T>(
      n, n, [&](Index i, Index j) { return first_zero <= j && j <= last_zero ? 0 : a(i, j) * scale; });
}

std::vector<Index> random_order(Index n, Random& random) {
  std::vector<Index> places(static_cast<std::size_t>(n));
  std::iota(places.begin(), places.end(), 0);
  for (std::size_t k = places.size(); k > 1; --k) {
    std::swap(places[k - 1], places[static_cast<std::size_t>(random.below(static_cast<Index>(k)))]);
  }
  return places;
}

/// Element (i, k) of an integer factor of full rank: unit lower triangular with elements -1, 0, 1.
double integer_factor(Index i, Index k, std::uint64_t seed, SpectrumPurpose purpose) {
  if (i <= k) return i == k ? 1 : 0;
  const auto number = static_cast<std::uint64_t>(i) << 32 | static_cast<std::uint64_t>(k);
  return static_cast<double>(Random(seed, purpose, number).below(3) - 1);
}

double normal_factor(Index i, Index k, std::uint64_t seed, SpectrumPurpose purpose) {
  const auto number = static_cast<std::uint64_t>(i) << 32 | static_cast<std::uint64_t>(k);
  return Random(seed, purpose, number).normal();
}

/// A product B C of a rows-by-rank and a rank-by-columns matrix, with rows and columns permuted at random.
Dense<double> of_rank(Index rows, Index columns, Index rank, bool integer, std::uint64_t seed) {
  if (rank > std::min(rows, columns)) {
    throw BadOption("rank", fmt::format("a matrix of {} by {} has at most rank {}, not {}", rows, columns,
                                        std::min(rows, columns), rank));
  }
  Random random(seed, order, 0);
  const std::vector<Index> row = random_order(rows, random);
  const std::vector<Index> column = random_order(columns, random);
  const auto factor = integer ? integer_factor : normal_factor;
  const auto part = [=](SpectrumPurpose purpose) {
    return [=](Index i, Index k) { return factor(i, k, seed, purpose); };
  };
  const Dense<double> B = fill_dense<double>(rows, rank, part(left));
  const Dense<double> C = fill_dense<double>(columns, rank, part(right));
  return fill_dense<double>(rows, columns, [&](Index i, Index j) {
    double sum = 0;
    for (Index k = 0; k < rank; ++k) {
      sum += B(row[static_cast<std::size_t>(i)], k) * C(column[static_cast<std::size_t>(j)], k);
    }
    return sum;
  });
}

/// [A b] with b = A 1, except that the last row repeats the first row of A with another right-hand side.
Dense<double> inconsistent(Index rows, Index columns, Index rank, std::uint64_t seed) {
  if (rows < 2) throw BadOption("rows", fmt::format("two rows can contradict each other, {} cannot", rows));
  const Dense<double> A = of_rank(rows, columns, rank, true, seed);
  return fill_dense<double>(rows, columns + 1, [&](Index i, Index j) {
    const Index source = i == rows - 1 ? 0 : i;
    if (j < columns) return A(source, j);
    double sum = i == rows - 1 ? 1 : 0;
    for (Index k = 0; k < columns; ++k) sum += A(source, k);
    return sum;
  });
}

std::vector<Parameter> spectrum_parameters(Parameter more) {
  return {dimension(),
          choice("spectrum", "geo",
                 "arith, geo: arithmetic or geometric sequence; cluster0: one large value; cluster1: one "
                 "small value; logrand: random exponents",
                 {"arith", "geo", "cluster0", "cluster1", "logrand"}),
          real("condition", 1e4, "ratio of the largest to the smallest value", {1, 1e300}),
          real("scale", 1, "largest value", {0, 1e300, true}),
          std::move(more),
          seed()};
}

std::vector<Parameter> rank_parameters() {
  return {size("rows", 100, "rows"), size("columns", 100, "columns"), size("rank", 10, "rank")};
}

}  // namespace

std::vector<Generator> spectrum_rows() {
  return {
      row("svd", "spectra", "U diag(d) V^T with random orthogonal U and V",
          spectrum_parameters(size("zero_columns", 0, "columns at the right that are set to zero")), {"n"},
          [](const ParameterValues& a, auto zero) {
            const Dense<double> full = with_singular_values(spectrum(a), a.seed());
            const Index kept = full.columns() - a.integer("zero_columns");
            return fill_dense<decltype(zero)>(full.rows(), full.columns(),
                                              [&](Index i, Index j) { return j < kept ? full(i, j) : 0; });
          }),
      row("symmetric", "spectra", "V diag(d) V^T with a random orthogonal V",
          spectrum_parameters(
              choice("signs", "positive", "signs of the eigenvalues", {"positive", "random"})),
          {"n"},
          [](const ParameterValues& a, auto zero) {
            std::vector<double> d = spectrum(a);
            Random random(a.seed(), signs, 0);
            for (double& value : d) {
              if (a.text("signs") == "random" && random.chance(0.5)) value = -value;
            }
            return rounded<decltype(zero)>(with_eigenvalues(d, a.seed()));
          }),
      row("lapack-check", "spectra", "test matrix types of LAPACK's dchkge",
          {dimension(50),
           {"type",
            std::int64_t{4},
            "1 diagonal, 2 upper, 3 lower triangular, 4 dense, all of condition 2; 5 first, 6 last column "
            "zero, "
            "7 last half of the columns; condition 8 sqrt(0.1 / eps), 9 0.1 / eps; 10 near underflow, 11 "
            "near "
            "overflow",
            {1, 11}},
           seed()},
          {"n"},
          [](const ParameterValues& a, auto zero) {
            return lapack_check<decltype(zero)>(a.integer("n"), a.integer("type"), a.seed());
          }),
      row("random-integer", "spectra", "uniformly random integers",
          {size("rows", 100, "rows"),
           size("columns", 100, "columns"),
           {"low", std::int64_t{-9}, "smallest integer", {-1e9, 1e9}},
           {"high", std::int64_t{9}, "largest integer", {-1e9, 1e9}},
           seed()},
          {"rows", "columns"},
          [](const ParameterValues& a, auto zero) {
            const Index low = a.integer("low");
            const Index choices = a.integer("high") - low + 1;
            if (choices < 1) throw BadOption("high", "option 'high' is not below 'low'");
            return fill_dense<decltype(zero)>(
                a.integer("rows"), a.integer("columns"), [=, seed = a.seed()](Index i, Index j) {
                  const auto number = static_cast<std::uint64_t>(i) << 32 | static_cast<std::uint64_t>(j);
                  return static_cast<double>(low + Random(seed, factors, number).below(choices));
                });
          }),
      [] {
        std::vector<Parameter> parameters = rank_parameters();
        parameters.push_back(
            choice("kind", "integer",
                   "elements of the factors; the rank is exact for integers while the products "
                   "are exact",
                   {"integer", "normal"}));
        parameters.push_back(seed());
        return row("known-rank", "spectra", "product of two factors", parameters, {"rows", "columns"},
                   [](const ParameterValues& a, auto zero) {
                     return rounded<decltype(zero)>(of_rank(a.integer("rows"), a.integer("columns"),
                                                            a.integer("rank"), a.text("kind") == "integer",
                                                            a.seed()));
                   });
      }(),
      [] {
        std::vector<Parameter> parameters = rank_parameters();
        parameters.push_back(seed());
        return row("inconsistent", "spectra",
                   "integer [A b] whose last row contradicts the first: A x = b has no solution", parameters,
                   {"rows", "columns"}, [](const ParameterValues& a, auto zero) {
                     return rounded<decltype(zero)>(
                         inconsistent(a.integer("rows"), a.integer("columns"), a.integer("rank"), a.seed()));
                   });
      }(),
  };
}

}  // namespace echelon::generate
