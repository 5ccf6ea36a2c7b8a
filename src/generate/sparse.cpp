// SPDX-License-Identifier: BSD-3-Clause
/// Banded matrices, and random patterns.
#include "generate/assemble.hpp"
#include "generate/functions.hpp"
#include "generate/graph.hpp"
#include "generate/random.hpp"
#include "generate/table.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace echelon::generate {

namespace {

enum ElementPurpose : std::uint32_t { places, numbers };

double draw(Random& random, Distribution distribution) {
  return distribution == Distribution::uniform ? random.uniform(-1, 1) : random.normal();
}

void check_density(double density) {
  if (density >= 0 && density <= 1) return;
  throw BadOption("density", fmt::format("a density is from 0 to 1, not {}", density));
}

/// Least ratio of the diagonal to the sum of the row's other magnitudes that stays above 1 after rounding to
/// float.
constexpr double least_strict_dominance = 1 + 1e-6;

/// Row i: elements off the diagonal, uniform in [-1, 1), and a diagonal of `dominance` times the sum of their
/// magnitudes, at least 1. With a dominance of 0, the diagonal is uniform as well.
template <class EachColumn, class Put>
void dominated_row(std::int64_t i, double dominance, Random numbers_of_row, const EachColumn& each_column,
                   const Put& put) {
  Random again = numbers_of_row;
  double sum = 0;
  each_column([&](std::int64_t j) {
    if (j != i) sum += std::abs(again.uniform(-1, 1));
  });
  const double diagonal = dominance > 0 ? std::max(1.0, dominance * sum) : again.uniform(-1, 1);
  each_column([&](std::int64_t j) { put(j, j == i ? diagonal : numbers_of_row.uniform(-1, 1)); });
}

template <class T>
Csr<T> banded(std::int64_t n, std::int64_t lower, std::int64_t upper, double dominance, std::uint64_t seed) {
  return assemble<T>(n, n, [=](std::int64_t i, auto put) {
    const auto columns = [=](auto visit) {
      for (std::int64_t j = std::max(i - lower, std::int64_t{0}); j < std::min(i + upper + 1, n); ++j)
        visit(j);
    };
    dominated_row(i, dominance, Random(seed, numbers, static_cast<std::uint64_t>(i)), columns, put);
  });
}

template <class T>
Csr<T> diagonally_dominant(std::int64_t n, double density, double dominance, std::uint64_t seed) {
  return assemble<T>(n, n, [=](std::int64_t i, auto put) {
    const auto columns = [=](auto visit) {
      Random random(seed, places, static_cast<std::uint64_t>(i));
      each_chosen(random, 0, i, density, visit);
      visit(i);
      each_chosen(random, i + 1, n, density, visit);
    };
    dominated_row(i, dominance, Random(seed, numbers, static_cast<std::uint64_t>(i)), columns, put);
  });
}

/// Random off-diagonal elements, and diagonal(sum of the row's other magnitudes, random number).
template <class T, class Diagonal>
Csr<T> random_tridiagonal(std::int64_t n, std::uint64_t seed, const Diagonal& diagonal) {
  return assemble<T>(n, n, [=](std::int64_t i, auto put) {
    Random random(seed, numbers, static_cast<std::uint64_t>(i));
    const double lower = i > 0 ? random.uniform(-1, 1) : 0;
    const double upper = i + 1 < n ? random.uniform(-1, 1) : 0;
    if (i > 0) put(i - 1, lower);
    put(i, diagonal(std::abs(lower) + std::abs(upper), random.uniform(-1, 1)));
    if (i + 1 < n) put(i + 1, upper);
  });
}

Distribution distribution_of(const ParameterValues& a) {
  return a.text("distribution") == "uniform" ? Distribution::uniform : Distribution::normal;
}

}  // namespace

template <class T>
Csr<T> tridiagonal(std::int64_t n, double lower, double diagonal, double upper) {
  checked_size("tridiagonal", {n});
  return assemble<T>(n, n, [=](std::int64_t i, auto put) {
    if (i > 0) put(i - 1, lower);
    put(i, diagonal);
    if (i + 1 < n) put(i + 1, upper);
  });
}

template <class T>
Dense<T> random_dense(std::int64_t rows, std::int64_t columns, Distribution distribution,
                      std::uint64_t seed) {
  Dense<T> result(Device(), rows, columns);
#pragma omp parallel for num_threads(Device().threads()) schedule(static) if (rows * columns > few_elements)
  for (std::int64_t j = 0; j < columns; ++j) {
    Random random(seed, numbers, static_cast<std::uint64_t>(j));
    for (std::int64_t i = 0; i < rows; ++i) result(i, j) = static_cast<T>(draw(random, distribution));
  }
  return result;
}

template <class T>
Csr<T> random_sparse(std::int64_t rows, std::int64_t columns, double density, Distribution distribution,
                     std::uint64_t seed) {
  checked_size("random-sparse", {rows});
  checked_size("random-sparse", {columns});
  check_density(density);
  return assemble<T>(rows, columns, [=](std::int64_t i, auto put) {
    Random where(seed, places, static_cast<std::uint64_t>(i));
    Random what(seed, numbers, static_cast<std::uint64_t>(i));
    each_chosen(where, 0, columns, density, [&](std::int64_t j) { put(j, draw(what, distribution)); });
  });
}

template <class T>
Csr<T> random_spd(std::int64_t n, double density, double dominance, std::uint64_t seed) {
  checked_size("random-spd", {n});
  check_density(density);
  if (!(dominance > 1)) {
    throw BadOption("dominance",
                    fmt::format("a dominance above 1 makes a matrix positive definite, not {}", dominance));
  }
  const Csr<double> graph = adjacency(n, n, [=](std::int64_t i, auto put) {
    Random where(seed, places, static_cast<std::uint64_t>(i));
    Random what(seed, numbers, static_cast<std::uint64_t>(i));
    each_chosen(where, i + 1, n, density, [&](std::int64_t j) { put(i, j, what.uniform(-1, 1)); });
  });
  return with_diagonal<T>(graph, 1, [=](std::int64_t, double sum) { return std::max(1.0, dominance * sum); });
}

namespace {

Parameter density(double fallback) {
  return real("density", fallback, "probability that an element is stored", {0, 1});
}
Parameter distribution() {
  return choice("distribution", "uniform", "uniform: in [-1, 1); normal: mean 0, variance 1",
                {"uniform", "normal"});
}

Generator tridiagonal_row() {
  return row(
      "tridiagonal", "sparse", "three diagonals, constant or random",
      {dimension(1000),
       choice("kind", "constant",
              "constant: the three values; random: uniform in [-1, 1); dominant: random with diagonal "
              "|lower| + |upper| + 1; small-diagonal: random with diagonal 1e-8 U, which needs pivoting",
              {"constant", "random", "dominant", "small-diagonal"}),
       real("lower", -1, "subdiagonal, of kind constant"),
       real("diagonal", 2, "main diagonal, of kind constant"),
       real("upper", -1, "superdiagonal, of kind constant"), seed()},
      {"n"}, [](const ParameterValues& a, auto zero) {
        using T = decltype(zero);
        const std::int64_t n = a.integer("n");
        const std::string& kind = a.text("kind");
        if (kind == "constant") {
          return tridiagonal<T>(n, a.real("lower"), a.real("diagonal"), a.real("upper"));
        }
        if (kind == "random") {
          return random_tridiagonal<T>(n, a.seed(), [](double, double drawn) { return drawn; });
        }
        if (kind == "dominant") {
          return random_tridiagonal<T>(n, a.seed(), [](double sum, double) { return sum + 1; });
        }
        return random_tridiagonal<T>(n, a.seed(), [](double, double drawn) { return 1e-8 * drawn; });
      });
}

std::vector<Generator> random_rows() {
  return {
      row("random-dense", "dense", "independent random elements",
          {size("rows", 100, "rows"), size("columns", 100, "columns"), distribution(), seed()},
          {"rows", "columns"},
          [](const ParameterValues& a, auto zero) {
            return random_dense<decltype(zero)>(a.integer("rows"), a.integer("columns"), distribution_of(a),
                                                a.seed());
          }),
      row("random-sparse", "sparse", "each element stored with the same probability",
          {size("rows", 1000, "rows"), size("columns", 1000, "columns"), density(0.01), distribution(),
           seed()},
          {"rows", "columns"},
          [](const ParameterValues& a, auto zero) {
            return random_sparse<decltype(zero)>(a.integer("rows"), a.integer("columns"), a.real("density"),
                                                 distribution_of(a), a.seed());
          }),
      row("random-spd", "sparse", "random symmetric pattern, positive definite by diagonal dominance",
          {dimension(1000), density(0.01),
           real("dominance", 1.1, "ratio of the diagonal to the sum of the row's other magnitudes",
                {1, 1e300, true}),
           seed()},
          {"n"},
          [](const ParameterValues& a, auto zero) {
            return random_spd<decltype(zero)>(a.integer("n"), a.real("density"), a.real("dominance"),
                                              a.seed());
          }),
      row("diagonally-dominant", "sparse", "random unsymmetric pattern, strictly diagonally dominant by rows",
          {dimension(1000), density(0.01),
           real("dominance", 1.1, "ratio of the diagonal to the sum of the row's other magnitudes",
                {least_strict_dominance, 1e300}),
           seed()},
          {"n"},
          [](const ParameterValues& a, auto zero) {
            return diagonally_dominant<decltype(zero)>(a.integer("n"), a.real("density"), a.real("dominance"),
                                                       a.seed());
          }),
  };
}

}  // namespace

std::vector<Generator> sparse_rows() {
  std::vector<Generator> rows = random_rows();
  rows.push_back(tridiagonal_row());
  rows.push_back(
      row("banded", "sparse", "full band of random elements",
          {dimension(1000), size("lower", 5, "diagonals below the main one"),
           size("upper", 5, "diagonals above the main one"),
           real("dominance", 0,
                "ratio of the diagonal to the sum of the row's other magnitudes; 0: a random diagonal",
                {0, 1e300}),
           seed()},
          {"n"}, [](const ParameterValues& a, auto zero) {
            return banded<decltype(zero)>(a.integer("n"), a.integer("lower"), a.integer("upper"),
                                          a.real("dominance"), a.seed());
          }));
  rows.push_back(row("published-triangle", "sparse",
                     "lower triangular, with the dependency levels of the matrix in Fiorentini 2022",
                     {size("rows", 51'813'503, "rows and columns", 1000),
                      choice("diagonal", "counted",
                             "counted: the published number of nonzeros includes the diagonal; extra: the "
                             "diagonal comes on top",
                             {"counted", "extra"}),
                      seed()},
                     {"rows"}, [](const ParameterValues& a, auto zero) {
                       return published_triangle<decltype(zero)>(a.integer("rows"), a.seed(),
                                                                 a.text("diagonal") == "counted");
                     }));
  rows.back().aliases = {"gauss-seidel-seed"};
  return rows;
}

template Csr<float> tridiagonal(std::int64_t, double, double, double);
template Csr<double> tridiagonal(std::int64_t, double, double, double);
template Dense<float> random_dense(std::int64_t, std::int64_t, Distribution, std::uint64_t);
template Dense<double> random_dense(std::int64_t, std::int64_t, Distribution, std::uint64_t);
template Csr<float> random_sparse(std::int64_t, std::int64_t, double, Distribution, std::uint64_t);
template Csr<double> random_sparse(std::int64_t, std::int64_t, double, Distribution, std::uint64_t);
template Csr<float> random_spd(std::int64_t, double, double, std::uint64_t);
template Csr<double> random_spd(std::int64_t, double, double, std::uint64_t);

}  // namespace echelon::generate
