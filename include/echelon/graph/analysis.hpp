// SPDX-License-Identifier: BSD-3-Clause
/// Quantities of graphs that Laplacian systems give: components, potentials, effective resistances, and the
/// smallest eigenvectors. A graph is given by its Laplacian L, see laplacian() in <echelon/io/graph.hpp>:
/// symmetric, without positive off-diagonal elements, with rows that sum to zero. An edge of weight w is a
/// conductor of resistance 1 / w.
#pragma once

#include <echelon/cancellation.hpp>
#include <echelon/device.hpp>
#include <echelon/export.h>
#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/dense.hpp>
#include <echelon/report.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace echelon::graph {

/// Connected components, numbered by their smallest vertices.
struct ECHELON_API Components {
  std::int64_t count = 0;
  std::vector<std::int32_t> of_vertex;
  std::vector<std::int64_t> sizes;
};
/// Finds the connected components of the graph of a symmetric A; explicit zeros are not edges. Runs on the
/// host in parallel, with the same result for any number of threads. O(nonzeros) time. Throws InvalidMatrix
/// for an A that is not symmetric.
[[nodiscard]] ECHELON_API Components components(const Csr<double>& A);

/// Finds the components of a symmetric A on which the constant vector is a null vector: every row sums to
/// zero up to rounding, as in the Laplacian of a graph and in parts of a network that no ground holds. A is
/// singular if there is one, and A x = b has a solution only if b sums to zero over each. Returns the rows of
/// each, ascending, in the order of their first rows. O(nonzeros) time on the host. Throws InvalidMatrix for
/// an A that is not symmetric. T is float or double.
template <class T>
[[nodiscard]] ECHELON_API std::vector<std::vector<std::int32_t>> ungrounded_components(const Csr<T>& A);

struct ECHELON_API SolveSettings {
  /// Method for the Laplacian systems; it must determine x at least up to an added constant. By default
  /// approximate-cholesky on the host, and lamg on a GPU; resistances are then computed by elimination where
  /// solves are slower or not accurate enough.
  std::string method = {};
  /// Device that the systems are solved on; matrices and results are on the host.
  Device device = {};
  /// Relative tolerance of every solve.
  double rtol = 1e-10;
  /// Ends the solves early when a stop is requested; the report then says `cancelled`.
  CancellationToken cancel = {};
};

struct ECHELON_API Pair {
  std::int32_t first = 0;
  std::int32_t second = 0;
};

/// Effective resistances between pairs of vertices: the potential difference that a unit current from one to
/// the other needs. Infinite between components, 0 from a vertex to itself, and NaN where a failed set-up or
/// a cancelled solve, which the report explains, left it unknown.
struct ECHELON_API Resistances {
  std::vector<double> values;
  std::int64_t solves = 0;
  /// Report of the solve with the largest residual, or of the set-up if that failed; of `elimination` if
  /// solves were not accurate enough. `stagnated` if resistances may be inaccurate.
  Report report;
};
/// Computes the resistances by one solve for each pair, 64 at a time, or by one solve for each vertex in the
/// pairs of a component but one, if these are fewer: all pairs of k vertices take k - 1 solves. A bound on
/// the error of each resistance is computed from the residual. Where it exceeds 1e-6 of the value, or
/// sqrt(n) rtol if that is more, the resistance is computed again by elimination (see edge_resistances())
/// or, if a method is set, by a solve of its own. Throws BadOption for a vertex that does not exist.
[[nodiscard]] ECHELON_API Resistances resistances(const Csr<double>& laplacian, std::span<const Pair> pairs,
                                                  const SolveSettings& settings = {});

struct ECHELON_API EdgeResistance {
  std::int32_t first = 0;
  std::int32_t second = 0;
  double weight = 0;
  double resistance = 0;
};
struct ECHELON_API EdgeResistanceOptions {
  /// How the systems are solved; with an error, its tolerance is not used.
  SolveSettings solve = {};
  /// Relative standard error of each estimate, which takes 2 / error^2 random projections with one solve
  /// each, to a tolerance of error / 10. 0: exact, by elimination or by one solve for every vertex.
  double error = 0;
  /// Seed of the random projections, on which estimates depend.
  std::uint64_t seed = 1;
};
/// Resistances of the edges (first < second, in row order); NaN as in Resistances.
struct ECHELON_API EdgeResistances {
  std::vector<EdgeResistance> edges;
  double error = 0;              ///< relative standard error of each resistance; 0: exact up to the tolerance
  std::int64_t solves = 0;       ///< 0 for an elimination
  double foster_sum = 0;         ///< sum of weight times resistance
  std::int64_t foster_rank = 0;  ///< vertices minus components, the exact foster_sum
  /// Report of the solve with the largest residual, of a set-up that failed, or of `elimination`.
  /// `stagnated` if the resistances cannot be right: foster_sum is not foster_rank up to a relative 1e-8 (or
  /// 100 rtol) or, of estimates, up to the fluctuation of a sum; or w R of an edge is not between 0 and 1.
  Report report;
};
/// Computes the effective resistance of every edge. On the host and unless a method is set, by elimination:
/// vertices are replaced by weights between their neighbours, down to the two of an edge. Nothing is
/// subtracted, so that the relative errors are a few machine epsilons for weights of any range. Where that
/// would take longer than a solve for each vertex, or more than about a GiB for each thread, by solves, which
/// lose digits where weights differ by many decades. Elimination also replaces solves, of estimates as well,
/// that fail or give a wrong foster_sum. R. Foster, The average impedance of an electrical network, 1949; F.
/// Doerfler, F. Bullo, Kron reduction of graphs with applications to electrical networks, IEEE Trans.
/// Circuits Syst. I 60 (2013); D. Spielman, N. Srivastava, Graph sparsification by effective resistances,
/// SIAM J. Comput. 40 (2011), for the projections.
[[nodiscard]] ECHELON_API EdgeResistances edge_resistances(const Csr<double>& laplacian,
                                                           const EdgeResistanceOptions& options = {});

/// Potentials x with L x = currents for each column, of mean zero on each component. If currents do not sum
/// to zero on a component, their mean there is removed, with a warning in the report, whose residual is that
/// of the balanced currents; with `strict` the status is `inconsistent` if the removed part exceeds the
/// tolerance. If the set-up fails, x is NaN.
struct ECHELON_API Potentials {
  Dense<double> x;
  Report report;
};
[[nodiscard]] ECHELON_API Potentials potentials(const Csr<double>& laplacian,
                                                DenseView<const double> currents,
                                                const SolveSettings& settings = {}, bool strict = false);

struct ECHELON_API FiedlerOptions {
  std::int64_t count = 1;  ///< eigenvectors wanted
  /// Converged when ||L x - lambda x||_2 <= tolerance times ||L||_inf, for x of norm 1, and <= lambda / 1000
  /// or, where rounding does not allow that, 1e-14 times ||L||_inf.
  double tolerance = 1e-8;
  /// Iterations of LOBPCG at most; then the status is max_iterations.
  std::int64_t max_iterations = 500;
  /// Seed of the random vectors that the iteration starts from.
  std::uint64_t seed = 1;
  /// Method of the preconditioner, and the stop token; it runs on the host, and rtol has no effect.
  SolveSettings solve = {};
};
struct ECHELON_API Eigenpairs {
  Status status = Status::converged;  ///< or max_iterations, cancelled, breakdown
  std::vector<double> values;         ///< ascending
  Dense<double> vectors;              ///< of norm 1, one for each value
  std::vector<double> residuals;      ///< ||L x - lambda x||_2
  std::int64_t iterations = 0;
  std::int64_t null_vectors = 0;  ///< dimension of the null space, the number of components, that is left out
  std::string message;            ///< why the iteration failed, or which doubts its result leaves
};
/// The smallest eigenvalues of L other than the zero of each component, and their eigenvectors: the first is
/// the Fiedler vector of a connected graph. LOBPCG with a Laplacian preconditioner, in the complement of the
/// components' constants. A. Knyazev, SIAM J. Sci. Comput. 23 (2001). Memory: 6 (count + 3) vectors. Throws
/// BadOption where fewer than `count` eigenvectors exist.
[[nodiscard]] ECHELON_API Eigenpairs fiedler(const Csr<double>& laplacian,
                                             const FiedlerOptions& options = {});

}  // namespace echelon::graph
