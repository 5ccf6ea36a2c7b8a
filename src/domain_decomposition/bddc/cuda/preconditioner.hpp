// SPDX-License-Identifier: BSD-3-Clause
/// The BDDC preconditioner on a GPU.
///
/// The host classifies the interface, makes the constraints, and analyses the subdomains. The GPU factors
/// their interiors together, which leaves the Schur complements S_i, and inverts the constrained problems.
/// It has S_i and, with the weights D_i and the constraints, the operator D_i N_i D_i^T of each subdomain as
/// dense matrices, D_i Phi_i, and the inverse of the coarse matrix, so that an application is a few products
/// that read each matrix once. Sums are formed in the order of the subdomains, whatever the timing.
#pragma once

#include "domain_decomposition/bddc/cuda/interiors.hpp"
#include "domain_decomposition/bddc/preconditioner/preconditioner.hpp"

#include <echelon/array.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace echelon::bddc {

struct DeviceTools;

/// Members as those of BddcPreconditioner; vectors are in the memory of the GPU. Only the set-up waits.
class DevicePreconditioner {
 public:
  struct Scratch {
    Array<double> rows, interior_workspace;   ///< rows of all subdomain matrices
    Array<double> boundary;                   ///< along the boundaries of all subdomains
    Array<double> local_coarse;               ///< products with the bases of all subdomains
    Array<double> coarse_right, coarse;       ///< coarse unknowns
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
  /// BddcPreconditioner::Gather on the device.
  struct Gather {
    Array<std::int64_t> begin, places;
    [[nodiscard]] std::int64_t targets() const { return begin.size() - 1; }
  };

  void number_boundaries(BddcPreconditioner& host);
  [[nodiscard]] std::optional<Outcome> check_memory(std::int64_t copies) const;
  [[nodiscard]] static bool is_inverted(BddcSchur schur);
  [[nodiscard]] int problems_at_once(int threads) const;
  [[nodiscard]] Outcome set_schur(BddcPreconditioner& host, const PreconditionerSettings& settings);
  [[nodiscard]] Outcome set_constrained(BddcPreconditioner& host, const PreconditionerSettings& settings);
  [[nodiscard]] Outcome set_subdomain(DeviceTools& tools, BddcPreconditioner& host, std::int64_t s,
                                      const LocalSettings& settings);
  void set_operator(DeviceTools& tools, const LocalProblem& local, const Dense<double>& free_inverse,
                    std::int64_t s);
  void scale(DeviceTools& tools, const LocalWeights& weights, std::int64_t s);
  [[nodiscard]] Outcome set_coarse_space(const BddcPreconditioner& host);
  [[nodiscard]] Outcome set_coarse(const CoarseProblem& coarse);
  [[nodiscard]] std::int64_t largest_boundary() const;
  /// The block of subdomain s in an array of dense matrices.
  [[nodiscard]] DenseView<double> block(Array<double>& matrices, std::int64_t s) const;
  [[nodiscard]] std::int64_t boundary_size(std::int64_t s) const {
    return boundary_begin_[s + 1] - boundary_begin_[s];
  }

  Device device_;
  std::int64_t unknowns_ = 0;
  std::vector<std::int64_t> boundary_begin_, block_begin_;  // of each subdomain
  std::vector<Statistic> statistics_;

  Array<std::int32_t> interface_unknowns_, interior_unknowns_;  // rows of A
  Array<std::int32_t> interior_rows_, boundary_rows_;           // of the subdomain matrices
  Array<std::int32_t> place_in_interface_;                      // of each place of a boundary
  Array<std::int32_t> subdomain_of_place_, subdomain_of_coarse_;
  Array<std::int32_t> coarse_number_;  // of each local coarse unknown
  Array<std::int64_t> boundary_offsets_, block_offsets_, coarse_offsets_, basis_offsets_;
  Gather interface_gather_, coarse_gather_;
  Array<double> schur_, constrained_, basis_;
  Array<double> coarse_inverse_;
  DeviceInteriors interiors_;
};

}  // namespace echelon::bddc
