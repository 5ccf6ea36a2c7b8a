// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/enum_words.hpp>
#include <echelon/export.h>
#include <echelon/rref.hpp>
#include <echelon/solver.hpp>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace echelon {

/// How the second pass clears the elements above the pivots.
enum class SecondPass {
  shortened,  ///< computes the multipliers, and subtracts in the columns right of the last pivot only
  published,  ///< subtracts the whole pivot row, zeros included, in stripes and tiles as the first pass does
};
constexpr std::array<EnumWord<SecondPass>, 2> words_of(SecondPass) {
  return {{{SecondPass::shortened, "shortened"}, {SecondPass::published, "published"}}};
}

struct ECHELON_API GaussJordanStripedOptions {
  static constexpr std::string_view name = "gauss-jordan-striped";
  static constexpr Targets targets = Targets::all;
  /// Number of rows of a stripe, and of columns of a tile, 1 to 1024.
  std::int64_t stripe = 32;
  /// Form of the second pass; both give the same bits. `published` takes n^2 more elements and, for a square
  /// A, twice the flops.
  SecondPass second_pass = SecondPass::shortened;

  /// Describes each option.
  static std::vector<Option<GaussJordanStripedOptions>> table();
};

/// Gauss-Jordan elimination in stripes of rows and two passes, without pivoting: the published scheme, for
/// comparison; `gauss-jordan` is faster and more robust. A zero on the diagonal ends it (`breakdown`), and a
/// small one costs digits, so A should be diagonally dominant. 2/3 n^3 flops and n^2 elements for the
/// elimination, 2 n^2 flops a right-hand side. E. Eyvazov, Gauss-Jordan Solver of Linear Equation Systems on
/// GPU, Czech Technical University in Prague 2021, after M. Carcenac, J. Supercomputing 68 (2014).
template <class T>
using GaussJordanStriped = SolverOf<T, GaussJordanStripedOptions>;

/// The reduced row echelon form of an m by n matrix by this scheme, on the device of A. The pivots are a_pp,
/// p < min(m, n), and no row moves: `breakdown`, with the row, where one of them is zero. The rank is min(m,
/// n), and doubtful where the smallest pivot is less than 1000 times 4 sqrt(max(m, n)) eps ||A||_inf; pivots
/// are not scaled. Status `not_a_number` for an A with a NaN or Inf, or after an overflow. m n min(m, n)
/// flops and, in addition to A, m n elements, twice as many with the published second pass. Throws BadOption,
/// OutOfMemory, NotBuilt.
template <class T>
[[nodiscard]] ECHELON_API EchelonForm<T> reduce_striped(const Dense<T>& A,
                                                        const GaussJordanStripedOptions& options = {});

/// Reduced row echelon form with options by name. Throws BadOption with the nearest name.
template <class T>
[[nodiscard]] ECHELON_API EchelonForm<T> reduce_striped(const Dense<T>& A, const Options& options);

}  // namespace echelon
