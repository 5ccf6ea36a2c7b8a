// SPDX-License-Identifier: BSD-3-Clause
/// The BDDC preconditioner on the interface, and on all of A.
///
/// Interface: M^-1 r = sum_i R_i^T D_i (w_i + Phi_i u_c), where w_i solves the constrained problem of
/// subdomain i for r_i = D_i^T R_i r, and K u_c = sum_i Phi_i^T r_i. All of A: interior solves before and
/// after, which make the interior residual zero:
///   z_I = A_II^-1 r_I,   z_G = M^-1 (r_G - A_GI z_I),   z_I -= A_II^-1 A_IG z_G.
/// Subdomains are processed in parallel, and sums over them are taken in their order: results do not depend
/// on the number of threads.
#pragma once

#include "domain_decomposition/bddc/local/problem.hpp"
#include "domain_decomposition/bddc/preconditioner/coarse_problem.hpp"
#include "domain_decomposition/bddc/preconditioner/constraints.hpp"
#include "domain_decomposition/bddc/preconditioner/scaling.hpp"
#include "domain_decomposition/bddc/subdomains/interface.hpp"
#include "domain_decomposition/bddc/subdomains/subdomains.hpp"
#include "support/setup_control.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace echelon::bddc {

struct PreconditionerSettings {
  ConstraintChoice constraints;
  BddcScaling scaling = BddcScaling::stiffness;
  std::int64_t block_size = 1;
  std::int64_t vertex_size = 1;
  bool edge_ends = false;
  bool singular = false;  ///< whether A maps combinations of the vectors of the constraints to zero
  bool updates = false;   ///< uses the analyses of the last set-up where patterns are equal
  LocalSettings local;
  SetupControl control = {};  ///< told of each subdomain; `local` has its request to stop
  int threads = 1;
  Device device = {};  ///< of the vectors; the set-up is the host's
};

class BddcPreconditioner {
 public:
  /// Vectors of one application at a time.
  struct Scratch {
    std::vector<LocalProblem::Scratch> locals;
    std::vector<double> boundary, correction;       ///< along the boundaries of all subdomains
    std::vector<double> local_coarse;               ///< products with the bases of all subdomains
    std::vector<double> coarse_right, coarse;       ///< coarse unknowns
    std::vector<double> interface, preconditioned;  ///< along the interface
    std::unique_ptr<Workspace> coarse_workspace;
    [[nodiscard]] std::size_t bytes() const;
  };

  /// Sets up for an A of `unknowns` rows, the sum of the subdomain matrices. `vectors`: see
  /// make_constraints().
  [[nodiscard]] Outcome setup(const std::vector<SubdomainMatrix>& subdomains, std::int64_t unknowns,
                              const Dense<double>& vectors, const PreconditionerSettings& settings);

  [[nodiscard]] std::int64_t interface_size() const { return std::ssize(interface_.unknowns); }
  [[nodiscard]] Scratch make_scratch() const;
  [[nodiscard]] const Interface& interface() const { return interface_; }
  [[nodiscard]] const CoarseProblem& coarse() const { return coarse_; }
  [[nodiscard]] std::vector<Statistic> statistics() const;
  [[nodiscard]] std::size_t bytes() const;

  /// z = M^-1 r on the interface.
  void precondition(Scratch& scratch, const double* r, double* z) const;
  // Parts that an application on a GPU is made of.

  /// First part of setup(): the interface, the constraints, and the subdomains up to setup_interior().
  [[nodiscard]] Outcome setup_subdomains(const std::vector<SubdomainMatrix>& subdomains,
                                         std::int64_t unknowns, const Dense<double>& vectors,
                                         const PreconditionerSettings& settings);
  /// Second part, for which deluxe scaling needs the Schur complements.
  void set_weights(BddcScaling scaling);
  /// Third part, in which every subdomain has been set up with these.
  [[nodiscard]] LocalConstraints constraints_of(std::int64_t s) const;
  /// Last part.
  [[nodiscard]] Outcome setup_coarse(std::int64_t unknowns, const Dense<double>& vectors,
                                     const PreconditionerSettings& settings);
  /// Settings of the subdomains.
  [[nodiscard]] static LocalSettings local_settings(const PreconditionerSettings& settings);

  /// Lists of places in an array that are summed, in order, for each target.
  struct Gather {
    std::vector<std::int64_t> begin;
    std::vector<std::int64_t> places;
    void sum(int threads, const double* source, double* target) const;
  };
  [[nodiscard]] std::vector<LocalProblem>& locals() { return locals_; }
  [[nodiscard]] const std::vector<LocalProblem>& locals() const { return locals_; }
  [[nodiscard]] const std::vector<LocalWeights>& weights() const { return weights_; }
  /// Places of each boundary in the interface.
  [[nodiscard]] const std::vector<std::vector<std::int32_t>>& places() const { return places_; }
  /// Sums over the boundaries of all subdomains for each unknown of the interface, and over the bases of all
  /// subdomains for each coarse unknown.
  [[nodiscard]] const Gather& interface_gather() const { return interface_gather_; }
  [[nodiscard]] const Gather& coarse_gather() const { return coarse_gather_; }
  /// Calls setup_one(s) for all subdomains on up to `threads` threads, and returns the outcome of the first
  /// that fails, which names the subdomain.
  [[nodiscard]] Outcome for_all(int threads, const std::function<Outcome(std::int64_t)>& setup_one) const;
  /// for_all() by the threads of the set-up, of which it is the share from `begin` to `end`.
  [[nodiscard]] Outcome for_all(const SetupControl& control, double begin, double end,
                                const std::function<Outcome(std::int64_t)>& setup_one) const;
  /// An outcome with the name of the subdomain in its message.
  [[nodiscard]] Outcome in_subdomain(std::int64_t s, Outcome outcome) const;

  /// y = S x on the interface.
  void multiply(Scratch& scratch, const double* x, double* y) const;
  /// g = r_G - A_GI A_II^-1 r_I on the interface; A_II^-1 r_I is written to the interior of z. r and z have
  /// an element for each row of A and do not overlap.
  void reduce(Scratch& scratch, const double* r, double* g, double* z) const;
  /// Completes z: u on the interface, and z_I -= A_II^-1 A_IG u in the interior.
  void extend(Scratch& scratch, const double* u, double* z) const;
  /// z = M^-1 r for all of A; r and z do not overlap.
  void apply(Scratch& scratch, const double* r, double* z) const;

 private:
  static Gather make_gather(std::int64_t targets, const std::vector<std::int32_t>& target_of_place);

  void number_boundaries();
  [[nodiscard]] std::vector<std::int32_t> places_of(const InterfaceClass& c, std::int64_t s) const;
  void set_deluxe_blocks();
  [[nodiscard]] Csr<double> coarse_matrix() const;
  [[nodiscard]] std::int64_t subdomains() const { return std::ssize(locals_); }

  int threads_ = 1;
  Interface interface_;
  Constraints constraints_;
  std::vector<LocalProblem> locals_;
  std::vector<LocalWeights> weights_;
  std::vector<std::vector<std::int32_t>> places_;   // of each boundary in the interface
  std::vector<std::vector<std::int32_t>> classes_;  // of each subdomain
  std::vector<std::int64_t> boundary_begin_;        // of each subdomain in `boundary`
  std::vector<std::int64_t> coarse_begin_;          // and in `local_coarse`
  Gather interface_gather_;
  Gather coarse_gather_;
  CoarseProblem coarse_;
  std::int64_t plain_classes_ = 0;  // without deluxe blocks, although these were asked for
};

}  // namespace echelon::bddc
