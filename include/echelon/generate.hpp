// SPDX-License-Identifier: BSD-3-Clause
/// Matrices for tests and benchmarks. The same arguments give the same bits on every machine, with every
/// compiler and any number of threads; `float` matrices are the rounded `double` ones, except for
/// lapack-check, which is scaled to the limits of its precision. Matrices are made in host memory by OpenMP's
/// threads.
#pragma once

#include <echelon/export.h>
#include <echelon/matrix/matrix.hpp>
#include <echelon/options.hpp>

#include <complex>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace echelon {

/// A row of the table of generators.
struct ECHELON_API Generator {
  std::string name;
  std::vector<std::string> aliases;  ///< former names, which find_generator accepts too
  std::string family;                ///< "grids", "sparse", "graphs", "dense", "spectra", "complex"
  std::string summary;               ///< one line for lists
  bool sparse = false;               ///< makes a Csr, otherwise a Dense
  std::vector<std::string> size;     ///< options that set the number of rows; empty: it follows from others
  int dimensions = 1;                ///< number of those options whose product is the number of points
  std::int64_t unknowns_per_point = 1;  ///< rows per point
  std::vector<OptionInfo> options;
  std::function<Matrix<float>(const Options&)> make_float;
  std::function<Matrix<double>(const Options&)> make_double;
  /// Set for generators of complex matrices, which have no others.
  std::function<Matrix<std::complex<double>>(const Options&)> make_complex;
  /// Coordinates of the points in the order of their rows, a column for each dimension; empty where the
  /// generator has none.
  std::function<Dense<double>(const Options&)> make_coordinates;

  /// Whether the generator has an option `seed`.
  [[nodiscard]] bool is_random() const;
  /// Options that give `rows` rows, or the nearest smaller number that the family has (a square grid's, for
  /// example). Throws BadOption if no option sets the number of rows.
  [[nodiscard]] Options for_rows(std::int64_t rows) const;
};

/// All generators of real matrices, family by family.
[[nodiscard]] ECHELON_API std::span<const Generator> generators();
/// Those of complex matrices.
[[nodiscard]] ECHELON_API std::span<const Generator> complex_generators();
/// The generator of this name or alias, of real or complex matrices. Throws BadOption, with the nearest name,
/// if there is none.
[[nodiscard]] ECHELON_API const Generator& find_generator(std::string_view name);

/// Makes a matrix by its generator's name: make_matrix<double>("poisson-2d", {{"nx", 100}, {"ny", 50}}).
/// Options that are not given have their defaults. T is float or double, or std::complex<double> for the
/// generators of complex matrices. Throws BadOption, also for a T that the generator does not make;
/// InvalidMatrix for more columns than a 32-bit index counts and for elements that overflow T; OutOfMemory.
template <class T>
[[nodiscard]] ECHELON_API Matrix<T> make_matrix(std::string_view generator, const Options& options = {});

/// Generators as functions. Rows of a grid are numbered with x fastest. All throw InvalidMatrix for too many
/// rows, BadOption for arguments out of range, and OutOfMemory.
namespace generate {

/// -Laplace u on nx by ny inner points of a square mesh, u = 0 on the boundary, times h^2; SPD.
/// points: 5, or 9 (compact: 20 on the diagonal, -4 along the axes, -1 across; times 6 h^2).
template <class T>
[[nodiscard]] ECHELON_API Csr<T> poisson_2d(std::int64_t nx, std::int64_t ny, int points = 5);

/// -Laplace u on nx by ny by nz inner points of a cubic mesh, u = 0 on the boundary, times h^2; SPD.
/// points: 7, or 27 (26 on the diagonal, -1 for each neighbour).
template <class T>
[[nodiscard]] ECHELON_API Csr<T> poisson_3d(std::int64_t nx, std::int64_t ny, std::int64_t nz,
                                            int points = 7);

/// -u_ss - epsilon u_tt, the direction s at an angle of `degrees` to x; u = 0 on the boundary, times h^2. A
/// stencil of 5 points, or of 9 if s is neither x nor y.
template <class T>
[[nodiscard]] ECHELON_API Csr<T> anisotropic_2d(std::int64_t nx, std::int64_t ny, double epsilon,
                                                double degrees = 0);

/// -Laplace u + (wind_x, wind_y) . grad u on a mesh of width 1 / (nx + 1), times h^2, u = 0 on the boundary.
/// Upwind differences give an M-matrix for any wind.
template <class T>
[[nodiscard]] ECHELON_API Csr<T> convection_diffusion_2d(std::int64_t nx, std::int64_t ny, double wind_x,
                                                         double wind_y, bool upwind = true);

/// A tridiagonal Toeplitz matrix.
template <class T>
[[nodiscard]] ECHELON_API Csr<T> tridiagonal(std::int64_t n, double lower, double diagonal, double upper);

enum class Distribution {
  uniform,  ///< in [-1, 1)
  normal,   ///< mean 0, variance 1
};

/// Independent random elements.
template <class T>
[[nodiscard]] ECHELON_API Dense<T> random_dense(std::int64_t rows, std::int64_t columns,
                                                Distribution distribution = Distribution::uniform,
                                                std::uint64_t seed = 1);

/// A random sparse matrix: each element is stored with probability `density`, independently. O(nonzeros)
/// time.
template <class T>
[[nodiscard]] ECHELON_API Csr<T> random_sparse(std::int64_t rows, std::int64_t columns, double density,
                                               Distribution distribution = Distribution::uniform,
                                               std::uint64_t seed = 1);

/// A random symmetric matrix: off-diagonal elements are stored with probability `density` and uniform in [-1,
/// 1), each diagonal element is `dominance` times the sum of the row's magnitudes, at least 1: positive
/// definite for dominance > 1.
template <class T>
[[nodiscard]] ECHELON_API Csr<T> random_spd(std::int64_t n, double density, double dominance = 1.1,
                                            std::uint64_t seed = 1);

/// A lower triangular matrix with the statistics of the one in R. Fiorentini, "Implementation of Gauss-Seidel
/// algorithm for sparse matrices on Nvidia GPU device" (2022): at `rows` = 51,813,503 exactly 103,565,681
/// nonzeros, 91 dependency levels, at most 36 dependencies in a row, a largest level of 17,890,330 rows and a
/// smallest of one. At other sizes, from 1,000 rows, nonzeros and largest level are proportional, rounded to
/// the nearest; the other numbers stay. Strictly diagonally dominant. Most columns lie within a few hundred
/// rows of the diagonal. With `diagonal_counted` the diagonal is among the nonzeros. Otherwise they all lie
/// below it, and the diagonal comes on top, which also gives the published average of 2.092 dependencies over
/// the rows that have any.
template <class T>
[[nodiscard]] ECHELON_API Csr<T> published_triangle(std::int64_t rows = 51'813'503, std::uint64_t seed = 1,
                                                    bool diagonal_counted = true);

}  // namespace generate

}  // namespace echelon
