// SPDX-License-Identifier: BSD-3-Clause
/// The BDDC preconditioner on a GPU.
///
/// The host classifies the interface, makes the constraints and factors the constrained problems. The GPU has
/// S_i and, with the weights D_i and the constraints, the operator D_i N_i D_i^T of each subdomain as dense
/// matrices, D_i Phi_i, and the inverse of the coarse matrix, so that an application is a few products that
/// read each matrix once. The interiors of all subdomains are one sparse matrix, whose factorisation takes
/// them by batches. Sums are formed in the order of the subdomains, whatever the timing.
#pragma once

#include "domain_decomposition/bddc/preconditioner.hpp"

#include <echelon/array.hpp>
#include <echelon/solver.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace echelon::bddc {

/// Members as those of Preconditioner; vectors are in the memory of the GPU. Only the set-up waits, and
/// interior solves where the host has their factors.
class DevicePreconditioner {
 public:
  struct Scratch {
    std::unique_ptr<Workspace> interior_workspace;
    Array<double> boundary;                   ///< along the boundaries of all subdomains
    Array<double> local_coarse;               ///< products with the bases of all subdomains
    Array<double> coarse_right, coarse;       ///< coarse unknowns
    Array<double> interior, solution;         ///< unknowns of all interiors
    Array<double> interface, preconditioned;  ///< along the interface
    [[nodiscard]] std::size_t bytes() const;
  };

  [[nodiscard]] Outcome setup(const std::vector<SubdomainMatrix>& subdomains, std::int64_t unknowns,
                              const Dense<double>& vectors, const PreconditionerSettings& settings);

  [[nodiscard]] std::int64_t interface_size() const { return interface_unknowns_.size(); }
  [[nodiscard]] Scratch make_scratch() const;
  [[nodiscard]] const std::vector<Statistic>& statistics() const { return statistics_; }
  [[nodiscard]] std::size_t bytes() const;

  void precondition(Scratch& scratch, const double* r, double* z) const;
  void multiply(Scratch& scratch, const double* x, double* y) const;
  void reduce(Scratch& scratch, const double* r, double* g, double* z) const;
  void extend(Scratch& scratch, const double* u, double* z) const;
  void apply(Scratch& scratch, const double* r, double* z) const;

 private:
  /// Preconditioner::Gather on the device.
  struct Gather {
    Array<std::int64_t> begin, places;
    [[nodiscard]] std::int64_t targets() const { return begin.size() - 1; }
  };

  void number_boundaries(Preconditioner& host);
  [[nodiscard]] std::optional<Outcome> check_memory(Preconditioner& host) const;
  [[nodiscard]] Outcome set_subdomain(Preconditioner& host, std::int64_t s,
                                      const PreconditionerSettings& settings);
  [[nodiscard]] int complements_at_once() const;
  [[nodiscard]] Outcome set_schur(LocalProblem& local, std::int64_t s,
                                  const PreconditionerSettings& settings);
  [[nodiscard]] Outcome set_constrained(const LocalProblem& local, std::int64_t s, bool is_exact);
  void scale(const LocalWeights& weights, std::int64_t s);
  void set_basis(const LocalProblem& local, const LocalWeights& weights, std::int64_t s);
  [[nodiscard]] Outcome set_coarse(const CoarseProblem& coarse);
  [[nodiscard]] Outcome set_interiors(Preconditioner& host, const PreconditionerSettings& settings);
  /// The block of subdomain s in an array of dense matrices.
  [[nodiscard]] DenseView<double> block(Array<double>& matrices, std::int64_t s) const;
  [[nodiscard]] std::int64_t boundary_size(std::int64_t s) const {
    return boundary_begin_[s + 1] - boundary_begin_[s];
  }

  Device device_;
  std::int64_t unknowns_ = 0;
  std::vector<std::int64_t> boundary_begin_, block_begin_, coarse_begin_, basis_begin_;  // of each subdomain
  std::vector<Statistic> statistics_;

  Array<std::int32_t> interface_unknowns_, interior_unknowns_;  // rows of A
  Array<std::int32_t> place_in_interface_;                      // of each place of a boundary
  Array<std::int32_t> subdomain_of_place_, subdomain_of_coarse_;
  Array<std::int32_t> coarse_number_;  // of each local coarse unknown
  Array<std::int64_t> boundary_offsets_, block_offsets_, coarse_offsets_, basis_offsets_;
  Gather interface_gather_, coarse_gather_;
  Array<double> schur_, constrained_, basis_;
  Array<double> coarse_inverse_;
  Csr<double> interior_matrix_, interior_to_interface_, interface_to_interior_;
  std::optional<Solver<double>> interior_;
};

}  // namespace echelon::bddc
