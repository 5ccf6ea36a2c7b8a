// SPDX-License-Identifier: BSD-3-Clause
/// Linear systems A x = b for the check of the library's claims.
#pragma once

#include "generate/random.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace echelon::claims {

/// A dense rows-by-columns array of doubles, stored row by row.
class Elements {
 public:
  Elements() = default;
  Elements(std::size_t rows, std::size_t columns)
      : rows_(rows), columns_(columns), values_(rows * columns, 0.0) {}

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t columns() const { return columns_; }
  double& operator()(std::size_t i, std::size_t j) { return values_[i * columns_ + j]; }
  double operator()(std::size_t i, std::size_t j) const { return values_[i * columns_ + j]; }
  [[nodiscard]] std::vector<double>& values() { return values_; }
  [[nodiscard]] const std::vector<double>& values() const { return values_; }

 private:
  std::size_t rows_ = 0;
  std::size_t columns_ = 0;
  std::vector<double> values_;
};

/// A and b, both representable in the element type.
struct LinearSystem {
  std::string kind;
  std::string description;
  std::int64_t index = 0;  ///< number of the system, which with the seed determines it
  bool single = false;     ///< the element type is float
  bool sparse = false;     ///< A is given as a Csr
  Elements A;              ///< m by n
  std::vector<double> b;   ///< m elements
};

/// Right-hand sides.
enum class RightSide {
  integer_solution,  ///< A x for small integers x, rounded where it is not exact
  random_solution,   ///< A x for a random x, rounded
  perturbed,         ///< A x plus noise of a relative size between 1e-16 and 1
  balanced,          ///< random integers whose sum is zero: in the range of a connected graph's Laplacian
  random,
  unit,  ///< one element is not zero
  zero,
  tiny,  ///< near the smallest normal number and below
  huge,  ///< near the largest number: the norm overflows
};

/// A matrix before it is rounded to the element type.
struct Recipe {
  Elements A = {};
  bool sparse = false;
  std::optional<RightSide> right_side = {};  ///< random unless given
};

/// Random decisions for one system.
class Draw {
 public:
  /// For system `index`, the `round`-th of its kind.
  Draw(std::uint64_t seed, std::size_t index, std::size_t round, bool single, std::size_t largest)
      : random(seed, 0, index), round_(round), single_(single), largest_(largest) {}

  generate::Random random;
  std::string description;

  [[nodiscard]] bool single() const { return single_; }
  /// Number of earlier systems of the kind, for kinds that go through a list.
  [[nodiscard]] std::size_t round() const { return round_; }
  /// Decimal exponent that row and column scales reach: their products still lie within the range of the
  /// type.
  [[nodiscard]] int decades() const { return single_ ? 15 : 150; }
  /// Order of a matrix: 1 to 60, now and then up to 200, at most the largest allowed.
  std::size_t order(std::size_t least = 1);
  /// Uniform in low, ..., high.
  std::int64_t integer(std::int64_t low, std::int64_t high) { return low + random.below(high - low + 1); }
  std::size_t index(std::size_t count) {
    return static_cast<std::size_t>(random.below(static_cast<std::int64_t>(count)));
  }
  double small_integer(std::int64_t bound = 9) { return static_cast<double>(integer(-bound, bound)); }
  /// A small integer other than zero.
  double nonzero_integer(std::int64_t bound = 9);
  bool chance(double probability) { return random.chance(probability); }
  template <class T>
  const T& choose(const std::vector<T>& list) {
    return list[index(list.size())];
  }
  /// A power of two with a decimal exponent uniform in [-decades, decades].
  double power_of_two(double decades);
  /// A number with a decimal exponent uniform in [-decades, decades].
  double over_decades(double decades);
  void note(const std::string& text) { description += (description.empty() ? "" : ", ") + text; }

 private:
  std::size_t round_;
  bool single_;
  std::size_t largest_;
};

/// A row of the table of kinds.
struct Kind {
  std::string name;
  Recipe (*make)(Draw& draw);
};

/// All kinds, in the order in which systems are drawn.
[[nodiscard]] std::span<const Kind> kinds();

// The kinds of each file.
[[nodiscard]] std::vector<Kind> generated_kinds();
[[nodiscard]] std::vector<Kind> scaled_kinds();
[[nodiscard]] std::vector<Kind> deficient_kinds();
[[nodiscard]] std::vector<Kind> graph_kinds();
[[nodiscard]] std::vector<Kind> application_kinds();

/// System `index` of a seed, of the kind with the number index modulo the number of kinds. Orders that are
/// drawn freely are at most `largest`.
[[nodiscard]] LinearSystem make_system(std::uint64_t seed, std::int64_t index, bool single,
                                       std::size_t largest);

/// C = A B, with sums in long double.
[[nodiscard]] Elements product(const Elements& A, const Elements& B);
/// A matrix of integers uniform in [-bound, bound], each with probability `density` other than zero.
[[nodiscard]] Elements random_integers(Draw& draw, std::size_t rows, std::size_t columns,
                                       std::int64_t bound = 9, double density = 1);
/// A well-conditioned or moderately conditioned random matrix of one of several structures, with the flag
/// whether it is to be stored sparse.
[[nodiscard]] Recipe random_matrix(Draw& draw, std::size_t n);
/// Multiplies rows and columns by factors.
void scale(Elements& A, const std::vector<double>& rows, const std::vector<double>& columns);

}  // namespace echelon::claims
