// SPDX-License-Identifier: BSD-3-Clause
#include "arguments/right_hand_side.hpp"

#include "arguments/command_line.hpp"
#include "arguments/input.hpp"

#include <echelon/error.hpp>
#include <echelon/linalg.hpp>
#include <echelon/matrix/scalar.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <utility>

namespace echelon::tool {

namespace {

template <class T>
Dense<T> filled(std::int64_t rows, T value) {
  Dense<T> column(Device(), rows, 1);
  std::fill_n(column.data(), rows, value);
  return column;
}

/// Random numbers, uniform in [-1, 1) and equal on every machine; the standard library's distributions
/// differ. Complex ones have a random imaginary part as well.
template <class T>
Dense<T> random_column(std::int64_t rows, std::uint64_t seed) {
  constexpr int digits = std::numeric_limits<double>::digits;
  std::mt19937_64 generator(seed);
  const auto next = [&] {
    const auto fraction = std::ldexp(static_cast<double>(generator() >> (64 - digits)), -digits);
    return static_cast<Real<T>>(2 * fraction - 1);
  };
  Dense<T> column(Device(), rows, 1);
  for (std::int64_t i = 0; i < rows; ++i) {
    column[i] = next();
    if constexpr (is_complex<T>) column[i].imag(next());
  }
  return column;
}

template <class T>
Dense<T> product(MatrixRef<T> A, const Dense<T>& x) {
  Dense<T> b(Device(), A.rows(), 1);
  multiply<T>(T{1}, A, x.view(), T{0}, b.view());
  return b;
}

/// True if the matrix is not zero and all its row sums are zero up to rounding.
template <class T>
bool vanishes(const Dense<T>& row_sums, MatrixRef<T> A) {
  constexpr double rounding = 100 * std::numeric_limits<Real<T>>::epsilon();
  const double norm = norm_inf<T>(A);
  return norm > 0 && norm_inf<T>(MatrixRef<T>(row_sums)) <= rounding * norm;
}

template <class T>
Dense<T> values_of(RhsKind kind, std::uint64_t seed, MatrixRef<T> A) {
  switch (kind) {
    case RhsKind::row_sums:
      return product(A, filled<T>(A.columns(), T{1}));
    case RhsKind::range:
      return product(A, random_column<T>(A.columns(), seed));
    case RhsKind::ones:
      return filled<T>(A.rows(), T{1});
    case RhsKind::random:
    case RhsKind::file:
      break;
  }
  return random_column<T>(A.rows(), seed);
}

template <class T>
Rhs<T> default_rhs(MatrixRef<T> A) {
  Rhs<T> rhs;
  rhs.is_default = true;
  rhs.kind = RhsKind::row_sums;
  rhs.values = values_of(rhs.kind, rhs.seed, A);
  if (!vanishes(rhs.values, A)) return rhs;
  rhs.kind = RhsKind::range;
  rhs.values = values_of(rhs.kind, rhs.seed, A);
  return rhs;
}

}  // namespace

RhsOption parse_rhs(const std::string& text) {
  if (text.empty())
    throw BadOption("--rhs", "--rhs takes row-sums, range, ones, random or the name of a file");
  const std::size_t colon = text.find(':');
  const std::string word = text.substr(0, colon);
  RhsOption option;
  if (text == "row-sums") {
    option.kind = RhsKind::row_sums;
  } else if (text == "ones") {
    option.kind = RhsKind::ones;
  } else if (word == "range" || word == "random") {
    option.kind = word == "range" ? RhsKind::range : RhsKind::random;
    if (colon != std::string::npos) {
      option.seed = static_cast<std::uint64_t>(parse_integer("--rhs", text.substr(colon + 1)));
    }
  } else {
    option.kind = RhsKind::file;
    option.file = text == "/dev/stdin" ? "-" : text;
  }
  return option;
}

std::string_view to_string(RhsKind kind) {
  switch (kind) {
    case RhsKind::row_sums:
      return "A*1";
    case RhsKind::range:
      return "A*v";
    case RhsKind::ones:
      return "ones";
    case RhsKind::random:
      return "random";
    case RhsKind::file:
      break;
  }
  return "file";
}

std::string describe_rhs(RhsKind kind, std::uint64_t seed, bool is_default) {
  switch (kind) {
    case RhsKind::row_sums:
      return is_default ? "b = A * 1, as no --rhs was given" : "b = A * 1";
    case RhsKind::range:
      return fmt::format("b = A v, v random (seed {}){}", seed,
                         is_default ? ", as A * 1 = 0 and no --rhs was given" : "");
    case RhsKind::ones:
      return "b = 1 in every row";
    case RhsKind::random:
    case RhsKind::file:
      break;
  }
  return fmt::format("b random (seed {})", seed);
}

template <class T>
Rhs<T> make_rhs(const RhsOption& option, const std::string& matrix_path, MatrixFile<T>& matrix) {
  const MatrixRef<T> A(matrix.matrix);
  if (option.kind == RhsKind::file)
    return {read_vectors<T>(option.file), RhsKind::file, option.seed, option.file};
  if (option.kind) return {values_of(*option.kind, option.seed, A), *option.kind, option.seed, ""};
  if (matrix.right_hand_sides.columns() == 0) return default_rhs(A);
  return {std::move(matrix.right_hand_sides), RhsKind::file, option.seed, matrix_path};
}

template Rhs<float> make_rhs(const RhsOption&, const std::string&, MatrixFile<float>&);
template Rhs<double> make_rhs(const RhsOption&, const std::string&, MatrixFile<double>&);
template Rhs<std::complex<double>> make_rhs(const RhsOption&, const std::string&,
                                            MatrixFile<std::complex<double>>&);

}  // namespace echelon::tool
