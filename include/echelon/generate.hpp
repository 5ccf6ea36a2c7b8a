// SPDX-License-Identifier: BSD-3-Clause
/// Matrices to test and measure with. The same arguments give the same bits on every machine, with every
/// compiler and any number of threads; `float` matrices are the rounded `double` ones (but for lapack-check,
/// which aims at the precision's own limits). All are made in host memory with OpenMP's threads.
#pragma once

#include <echelon/matrix.hpp>
#include <echelon/options.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace echelon {

/// A row of the table of generators.
struct Generator {
  std::string name;
  std::string family;  ///< "grids", "sparse", "graphs", "dense", "spectra"
  std::string summary;
  bool sparse = false;                  ///< makes a Csr, else a Dense
  std::vector<std::string> size;        ///< the options that set the number of rows
  int dimensions = 1;                   ///< how many of them are multiplied for it
  std::int64_t unknowns_per_point = 1;  ///< and by what
  std::vector<OptionInfo> options;
  std::function<Matrix<float>(const Options&)> make_float;
  std::function<Matrix<double>(const Options&)> make_double;

  [[nodiscard]] bool is_random() const;
  /// The options that give `rows` rows, or about as many where only some numbers can be had (a square
  /// grid's). Throws BadOption where the size is not set by rows.
  [[nodiscard]] Options for_rows(std::int64_t rows) const;
};

/// All of them, in the order of their families.
[[nodiscard]] std::span<const Generator> generators();
/// Throws BadOption with the nearest name.
[[nodiscard]] const Generator& find_generator(std::string_view name);

/// A matrix by its generator's name: make_matrix<double>("poisson-2d", {{"nx", 100}, {"ny", 50}}).
/// Options that are not given have their defaults. Throws BadOption; InvalidMatrix for more columns than a
/// 32-bit index counts; OutOfMemory.
template <class T>
[[nodiscard]] Matrix<T> make_matrix(std::string_view generator, const Options& options = {});

/// The most used generators as functions. Rows of a grid are numbered with x fastest. Throw InvalidMatrix,
/// OutOfMemory and, for arguments out of their range, BadOption.
namespace generate {

/// -Laplace u on nx by ny inner points of a square mesh, u = 0 on the boundary, times h^2; SPD.
/// points: 5, or 9 (compact: 20 on the diagonal, -4 along the axes, -1 across; times 6 h^2).
template <class T>
[[nodiscard]] Csr<T> poisson_2d(std::int64_t nx, std::int64_t ny, int points = 5);

/// -Laplace u on nx by ny by nz inner points of a cubic mesh, u = 0 on the boundary, times h^2; SPD.
/// points: 7, or 27 (26 on the diagonal, -1 for each neighbour).
template <class T>
[[nodiscard]] Csr<T> poisson_3d(std::int64_t nx, std::int64_t ny, std::int64_t nz, int points = 7);

/// -u_ss - epsilon u_tt, the direction s turned by `degrees` from x towards y; u = 0 on the boundary, times
/// h^2. 5 points, 9 where it is turned.
template <class T>
[[nodiscard]] Csr<T> anisotropic_2d(std::int64_t nx, std::int64_t ny, double epsilon, double degrees = 0);

/// -Laplace u + (wind_x, wind_y) . grad u on a mesh of width 1 / (nx + 1), times h^2, u = 0 on the boundary.
/// Upwind differences give an M-matrix whatever the wind.
template <class T>
[[nodiscard]] Csr<T> convection_diffusion_2d(std::int64_t nx, std::int64_t ny, double wind_x, double wind_y,
                                             bool upwind = true);

/// Constant diagonals.
template <class T>
[[nodiscard]] Csr<T> tridiagonal(std::int64_t n, double lower, double diagonal, double upper);

enum class Distribution { uniform, normal };  ///< uniform: in [-1, 1); normal: mean 0, variance 1

template <class T>
[[nodiscard]] Dense<T> random_dense(std::int64_t rows, std::int64_t columns,
                                    Distribution distribution = Distribution::uniform,
                                    std::uint64_t seed = 1);

/// Each element is stored with probability `density`, independently. O(nonzeros) time.
template <class T>
[[nodiscard]] Csr<T> random_sparse(std::int64_t rows, std::int64_t columns, double density,
                                   Distribution distribution = Distribution::uniform, std::uint64_t seed = 1);

/// Symmetric, off-diagonal elements stored with probability `density` and uniform in [-1, 1), the diagonal
/// `dominance` times the sum of the row's magnitudes, at least 1: positive definite for dominance > 1.
template <class T>
[[nodiscard]] Csr<T> random_spd(std::int64_t n, double density, double dominance = 1.1,
                                std::uint64_t seed = 1);

/// A lower triangular matrix with the statistics of the one that the Gauss-Seidel method on GPUs was first
/// published with: at `rows` = 51,813,503 exactly 103,565,681 nonzeros, 91 levels of dependencies, at most 36
/// dependencies in a row, a largest level of 17,890,330 rows and a smallest of one. At other sizes (from
/// 1,000 rows) nonzeros and largest level are proportional, rounded to the nearest; the rest is kept.
/// Strictly diagonally dominant. Columns lie mostly within a few hundred rows of the diagonal.
/// With `diagonal_counted` the diagonal is among the nonzeros; else they all lie below it, and the diagonal
/// comes on top, which also gives the published 2.092 dependencies in a row that has any.
template <class T>
[[nodiscard]] Csr<T> gauss_seidel_seed(std::int64_t rows = 51'813'503, std::uint64_t seed = 1,
                                       bool diagonal_counted = true);

}  // namespace generate

}  // namespace echelon
