// SPDX-License-Identifier: BSD-3-Clause
#include "claims/linear_system.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace echelon::claims {

std::size_t Draw::order(std::size_t least) {
  const std::size_t usual = static_cast<std::size_t>(chance(0.04) ? integer(61, 200) : integer(1, 60));
  return std::max(least, std::min(usual, largest_));
}

double Draw::nonzero_integer(std::int64_t bound) {
  const auto magnitude = static_cast<double>(integer(1, bound));
  return chance(0.5) ? magnitude : -magnitude;
}

double Draw::power_of_two(double decades) {
  const double binary = decades * 3.3219280948873623;
  return std::ldexp(1.0, static_cast<int>(std::lround(random.uniform(-binary, binary))));
}

double Draw::over_decades(double decades) {
  return power_of_two(decades) * random.uniform(0.75, 1.5);
}

namespace {

/// b = A x in long double, whose range keeps products from overflowing.
std::vector<long double> multiply(const Elements& A, const std::vector<double>& x) {
  std::vector<long double> b(A.rows(), 0.0L);
  for (std::size_t i = 0; i < A.rows(); ++i) {
    for (std::size_t j = 0; j < A.columns(); ++j) {
      b[i] += static_cast<long double>(A(i, j)) * static_cast<long double>(x[j]);
    }
  }
  return b;
}

std::vector<double> random_vector(Draw& draw, std::size_t n, bool integers) {
  std::vector<double> x(n);
  for (double& element : x) element = integers ? draw.small_integer() : draw.random.uniform(-1, 1);
  return x;
}

void add_noise(Draw& draw, std::vector<long double>& b) {
  long double largest = 0;
  for (const long double element : b) largest = std::max(largest, std::abs(element));
  const double decimal = draw.random.uniform(-16, 0);
  const long double size = largest * static_cast<long double>(generate::power(10.0, decimal));
  for (long double& element : b) element += size * static_cast<long double>(draw.random.uniform(-1, 1));
}

/// Largest finite number and smallest normal number of the element type.
struct TypeRange {
  double largest;
  double smallest;
};
TypeRange range_of(bool single) {
  if (!single) return {std::numeric_limits<double>::max(), std::numeric_limits<double>::min()};
  return {std::numeric_limits<float>::max(), std::numeric_limits<float>::min()};
}

/// Random elements around a size; every eighth is zero.
std::vector<long double> elements_of_size(Draw& draw, std::size_t m, double size) {
  std::vector<long double> b(m);
  for (long double& element : b) {
    element = draw.chance(0.125) ? 0 : static_cast<long double>(size * draw.random.uniform(-1, 1));
  }
  return b;
}

std::vector<long double> balanced(Draw& draw, std::size_t m) {
  std::vector<long double> b(m, 0.0L);
  for (std::size_t i = 0; i + 1 < m; ++i) {
    b[i] = static_cast<long double>(draw.small_integer());
    b[m - 1] -= b[i];
  }
  return b;
}

RightSide random_right_side(Draw& draw) {
  using enum RightSide;
  static const std::vector<RightSide> usual = {integer_solution,
                                               integer_solution,
                                               integer_solution,
                                               random_solution,
                                               random_solution,
                                               perturbed,
                                               random,
                                               random,
                                               random,
                                               unit,
                                               zero};
  return draw.choose(usual);
}

std::string name_of(RightSide side) {
  switch (side) {
    case RightSide::integer_solution:
      return "b = A x for integers x";
    case RightSide::random_solution:
      return "b = A x for a random x";
    case RightSide::perturbed:
      return "b = A x + noise";
    case RightSide::balanced:
      return "b balanced";
    case RightSide::random:
      return "b random";
    case RightSide::unit:
      return "b a unit vector";
    case RightSide::zero:
      return "b = 0";
    case RightSide::tiny:
      return "b tiny";
    case RightSide::huge:
      return "b huge";
  }
  return {};
}

std::vector<long double> right_hand_side(Draw& draw, const Elements& A, RightSide side) {
  const std::size_t m = A.rows();
  const TypeRange range = range_of(draw.single());
  switch (side) {
    case RightSide::integer_solution:
      return multiply(A, random_vector(draw, A.columns(), true));
    case RightSide::random_solution:
      return multiply(A, random_vector(draw, A.columns(), false));
    case RightSide::perturbed: {
      std::vector<long double> b = multiply(A, random_vector(draw, A.columns(), true));
      add_noise(draw, b);
      return b;
    }
    case RightSide::balanced:
      return balanced(draw, m);
    case RightSide::random:
      return elements_of_size(draw, m, draw.chance(0.8) ? 1 : draw.power_of_two(6));
    case RightSide::unit: {
      std::vector<long double> b(m, 0.0L);
      if (m > 0) b[draw.index(m)] = static_cast<long double>(draw.nonzero_integer());
      return b;
    }
    case RightSide::zero:
      return std::vector<long double>(m, 0.0L);
    case RightSide::tiny:
      return elements_of_size(draw, m, range.smallest * (draw.chance(0.5) ? 1 : 0x1p-8));
    case RightSide::huge:
      return elements_of_size(draw, m, range.largest / 2);
  }
  return {};
}

/// The value in the element type.
double rounded(long double value, bool single) {
  return single ? static_cast<double>(static_cast<float>(value)) : static_cast<double>(value);
}

/// Power of two that brings the largest magnitude below that of the type; 1 if it is.
template <class Values>
int excess_exponent(const Values& values, bool single) {
  int largest = std::numeric_limits<int>::min();
  for (const auto value : values) {
    if (value == 0) continue;
    int exponent = 0;
    (void)std::frexp(value, &exponent);
    largest = std::max(largest, exponent);
  }
  return std::max(0, largest - (single ? 126 : 1022));
}

std::vector<double> rounded_right_side(const std::vector<long double>& b, bool single) {
  const int excess = excess_exponent(b, single);
  std::vector<double> result;
  for (const long double element : b) result.push_back(rounded(std::ldexp(element, -excess), single));
  return result;
}

void round_elements(Elements& A, bool single) {
  const int excess = excess_exponent(A.values(), single);
  for (double& element : A.values()) element = rounded(std::ldexp(element, -excess), single);
}

std::vector<Kind> table() {
  std::vector<Kind> rows;
  for (const auto& part :
       {generated_kinds(), scaled_kinds(), deficient_kinds(), graph_kinds(), application_kinds()}) {
    rows.insert(rows.end(), part.begin(), part.end());
  }
  return rows;
}

}  // namespace

std::span<const Kind> kinds() {
  static const std::vector<Kind> rows = table();
  return rows;
}

LinearSystem make_system(std::uint64_t seed, std::int64_t index, bool single, std::size_t largest) {
  const std::span<const Kind> all = kinds();
  const auto number = static_cast<std::size_t>(index);
  const Kind& kind = all[number % all.size()];
  Draw draw(seed, number, number / all.size(), single, largest);
  Recipe recipe = kind.make(draw);
  round_elements(recipe.A, single);
  const RightSide side = recipe.right_side.value_or(random_right_side(draw));
  draw.note(name_of(side));
  LinearSystem system;
  system.kind = kind.name;
  system.index = index;
  system.single = single;
  system.sparse = recipe.sparse;
  system.b = rounded_right_side(right_hand_side(draw, recipe.A, side), single);
  system.A = std::move(recipe.A);
  system.description = std::move(draw.description);
  return system;
}

Elements product(const Elements& A, const Elements& B) {
  Elements C(A.rows(), B.columns());
  for (std::size_t i = 0; i < C.rows(); ++i) {
    for (std::size_t j = 0; j < C.columns(); ++j) {
      long double sum = 0;
      for (std::size_t k = 0; k < A.columns(); ++k) sum += static_cast<long double>(A(i, k) * B(k, j));
      C(i, j) = static_cast<double>(sum);
    }
  }
  return C;
}

Elements random_integers(Draw& draw, std::size_t rows, std::size_t columns, std::int64_t bound,
                         double density) {
  Elements A(rows, columns);
  for (double& element : A.values()) {
    if (density >= 1 || draw.chance(density)) element = draw.small_integer(bound);
  }
  return A;
}

void scale(Elements& A, const std::vector<double>& rows, const std::vector<double>& columns) {
  for (std::size_t i = 0; i < A.rows(); ++i) {
    for (std::size_t j = 0; j < A.columns(); ++j) A(i, j) = A(i, j) * rows[i] * columns[j];
  }
}

namespace {

/// Diagonal elements that exceed the sums of their rows; symmetric on demand.
Elements dominant(Draw& draw, std::size_t n, double density, bool symmetric) {
  Elements A = random_integers(draw, n, n, 9, density);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; symmetric && j < i; ++j) A(i, j) = A(j, i);
  }
  for (std::size_t i = 0; i < n; ++i) {
    A(i, i) = 0;
    double sum = 1;
    for (std::size_t j = 0; j < n; ++j) sum += std::abs(A(i, j));
    A(i, i) = sum;
  }
  return A;
}

/// Symmetric with elements of both signs on the diagonal.
Elements indefinite(Draw& draw, std::size_t n, double density) {
  Elements A = random_integers(draw, n, n, 9, density);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) A(i, j) = A(j, i);
    if (A(i, i) == 0 && draw.chance(0.5)) A(i, i) = draw.nonzero_integer();
  }
  return A;
}

Elements band(Draw& draw, std::size_t n) {
  const auto lower = static_cast<std::size_t>(draw.integer(0, 4));
  const auto upper = static_cast<std::size_t>(draw.integer(0, 4));
  Elements A(n, n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i > lower ? i - lower : 0; j < std::min(n, i + upper + 1); ++j) {
      A(i, j) = draw.random.uniform(-1, 1);
    }
  }
  return A;
}

Elements permuted_diagonal(Draw& draw, std::size_t n) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[draw.index(i)]);
  Elements A(n, n);
  for (std::size_t i = 0; i < n; ++i) A(i, order[i]) = draw.nonzero_integer();
  return A;
}

Elements random_reals(Draw& draw, std::size_t n) {
  Elements A(n, n);
  for (double& element : A.values()) element = draw.random.uniform(-1, 1);
  return A;
}

}  // namespace

Recipe random_matrix(Draw& draw, std::size_t n) {
  const double density = std::min(1.0, 4.0 / static_cast<double>(std::max<std::size_t>(n, 1)));
  switch (draw.integer(0, 8)) {
    case 0:
      draw.note("random integers");
      return {random_integers(draw, n, n)};
    case 1:
      draw.note("random reals");
      return {random_reals(draw, n)};
    case 2:
      draw.note("dominant");
      return {dominant(draw, n, density, false), true};
    case 3:
      draw.note("symmetric dominant");
      return {dominant(draw, n, density, true), true};
    case 4:
      draw.note("symmetric indefinite");
      return {indefinite(draw, n, density), true};
    case 5:
      draw.note("dense symmetric indefinite");
      return {indefinite(draw, n, 1)};
    case 6:
      draw.note("band");
      return {band(draw, n), true};
    case 7:
      draw.note("permuted diagonal");
      return {permuted_diagonal(draw, n), true};
    default:
      draw.note("dense symmetric dominant");
      return {dominant(draw, n, 1, true)};
  }
}

}  // namespace echelon::claims
