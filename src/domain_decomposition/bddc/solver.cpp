// SPDX-License-Identifier: BSD-3-Clause
#include "backend/openmp/openmp.hpp"
#include "backend/serial/serial.hpp"
#include "domain_decomposition/bddc/null_space.hpp"
#include "domain_decomposition/bddc/orthonormal.hpp"
#include "domain_decomposition/bddc/preconditioner.hpp"
#include "domain_decomposition/bddc/subdomain_user.hpp"
#include "domain_decomposition/bddc/subdomains/read_partition.hpp"
#include "krylov/lanczos.hpp"
#include "linalg/spmv/multiply.hpp"
#include "solver/corrections.hpp"
#include "solver/factor_status.hpp"
#include "solver/instantiate.hpp"
#include "solver/nested_solver.hpp"
#include "sparse_direct/multifrontal/symmetry.hpp"
#include "support/text.hpp"

#include <echelon/methods/bddc.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

namespace {

using bddc::dot;

template <class B, class T>
class BddcMethod final : public SolverImplementation<T>,
                         public bddc::SubdomainUser,
                         public NearNullSpaceUser,
                         public NullSpaceFinder<T> {
  /// Vectors of one solve or application, in double.
  struct Vectors : Workspace {
    Vectors(const Device& device, const bddc::Preconditioner& preconditioner, std::int64_t n)
        : backend(device), scratch(preconditioner.make_scratch()) {
      for (std::vector<double>* const v : {&b, &x, &r, &z}) v->resize(static_cast<std::size_t>(n));
      for (std::vector<double>* const v : {&u, &g, &preconditioned, &p, &q}) {
        v->resize(static_cast<std::size_t>(preconditioner.interface_size()));
      }
    }
    [[nodiscard]] std::size_t bytes() const override {
      return scratch.bytes() + (4 * x.capacity() + 5 * u.capacity()) * sizeof(double);
    }
    B backend;
    bddc::Preconditioner::Scratch scratch;
    std::vector<double> b, x, r, z;                  // rows of A
    std::vector<double> u, g, preconditioned, p, q;  // interface
  };

 public:
  BddcMethod(const Device& device, const BddcOptions& options)
      : SolverImplementation<T>(device), options_(options) {}

  void set_subdomain_matrices(std::vector<SubdomainMatrix> subdomains) override {
    given_ = std::move(subdomains);
  }
  void set_partition(std::vector<std::int32_t> subdomain_of_row) override {
    partition_ = std::move(subdomain_of_row);
  }
  void set_near_null_space(const Dense<double>& vectors) override { near_null_space_ = vectors; }
  [[nodiscard]] const Dense<T>& null_space_basis() const override { return null_space_basis_; }

  Outcome setup(const MatrixRef<T>& A) override {
    copy(A);
    const std::int64_t n = A_->rows();
    null_space_.clear();
    null_space_basis_ = Dense<T>(this->device(), n, 0);
    if (asymmetry_) return not_symmetric(asymmetry_->row, asymmetry_->column, Status::not_spd);
    check_block_size(n);
    Outcome outcome;
    const bddc::Subdomains subdomains = make_subdomains(outcome.warnings);
    const Dense<double> vectors =
        near_null_space_.columns() > 0 ? near_null_space_ : bddc::component_vectors(n, options_.block_size);
    find_null_space(vectors);
    if (this->cancel().stop_requested()) return {Status::cancelled, "stopped by the caller"};
    Outcome prepared = preconditioner_.setup(subdomains.matrices, n, vectors, settings());
    if (!prepared.ok()) {
      if (subdomains.splitting == bddc::Splitting::heuristic && prepared.status == Status::not_spd) {
        prepared.message +=
            "; the subdomain matrices were derived from A, which is not diagonally dominant, by a "
            "heuristic: give element or subdomain matrices";
      }
      return prepared;
    }
    outcome.statistics = preconditioner_.statistics();
    outcome.statistics.push_back({"subdomain_matrices", to_string(subdomains.splitting)});
    return outcome;
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<Vectors>(this->device(), preconditioner_, A_->rows());
  }
  [[nodiscard]] const Stop* stop() const override { return &options_.stop; }
  [[nodiscard]] std::size_t bytes() const override {
    return copy_.bytes() + preconditioner_.bytes() + null_space_basis_.bytes();
  }

  void solve(Workspace& workspace, DenseView<const T> right, DenseView<T> left,
             std::vector<Job>& jobs) const override {
    auto& own = static_cast<Vectors&>(workspace);
    for (std::int64_t j = 0; j < right.columns(); ++j) {
      Job& job = jobs[static_cast<std::size_t>(j)];
      std::copy_n(right.column(j), right.rows(), own.b.data());
      project(own.b, job);
      std::fill(own.x.begin(), own.x.end(), 0.0);
      if (job.control->use_initial_guess) std::copy_n(left.column(j), left.rows(), own.x.data());
      solve_column(own, job);
      for (std::size_t i = 0; i < own.x.size(); ++i) left.column(j)[i] = static_cast<T>(own.x[i]);
    }
  }

  void apply(Workspace& workspace, const T* r, T* z) const override {
    auto& own = static_cast<Vectors&>(workspace);
    if constexpr (std::is_same_v<T, double>) {
      preconditioner_.apply(own.scratch, r, z);
    } else {
      std::copy_n(r, own.r.size(), own.r.data());
      preconditioner_.apply(own.scratch, own.r.data(), own.z.data());
      for (std::size_t i = 0; i < own.z.size(); ++i) z[i] = static_cast<T>(own.z[i]);
    }
  }

 private:
  /// Keeps a copy of A in double, or a reference where A is one, and looks for elements that differ from
  /// their mirror images.
  void copy(const MatrixRef<T>& A) {
    copy_ = {};
    if constexpr (std::is_same_v<T, double>) {
      if (!A.is_sparse()) copy_ = to_csr(A);
      A_ = A.is_sparse() ? A.csr() : &copy_;
      asymmetry_ = sparse_direct::find_asymmetry(*A_);
    } else {
      const Csr<T> converted = A.is_sparse() ? Csr<T>() : to_csr(A);
      const Csr<T>& given = A.is_sparse() ? *A.csr() : converted;
      asymmetry_ = sparse_direct::find_asymmetry(given);
      Array<double> values(Device::serial(), given.nonzeros());
      std::copy_n(given.values().data(), given.nonzeros(), values.data());
      copy_ = Csr<double>::unchecked(given.rows(), given.columns(), given.row_offsets(),
                                     given.column_indices(), std::move(values));
      A_ = &copy_;
    }
  }

  void check_block_size(std::int64_t n) const {
    if (n % options_.block_size != 0) {
      throw BadOption("block_size", std::to_string(options_.block_size) + " does not divide the " +
                                        std::to_string(n) + " rows of A");
    }
    if (near_null_space_.columns() > 0 && near_null_space_.rows() != n) {
      throw DimensionMismatch("the near-null-space vectors have " + std::to_string(near_null_space_.rows()) +
                              " rows, and A has " + std::to_string(n));
    }
  }

  [[nodiscard]] bddc::PreconditionerSettings settings() const {
    return {.constraints = {options_.corners, options_.edges, options_.faces},
            .scaling = options_.scaling,
            .block_size = options_.block_size,
            .vertex_size = options_.vertex_size,
            .edge_ends = options_.edge_ends,
            .singular = !null_space_.empty(),
            .local = {.interior = options_.interior,
                      .schur = options_.schur,
                      .schur_tolerance = options_.schur_tolerance,
                      .cancel = this->cancel()},
            .threads = this->device().threads()};
  }

  /// The matrices that were given, or those of a partition that was given or is computed.
  bddc::Subdomains make_subdomains(std::vector<std::string>& warnings) const {
    if (!given_.empty()) {
      bddc::Subdomains subdomains{given_};
      bddc::check_sum(subdomains.matrices, *A_, symmetry_tolerance<T>);
      warn_of_split(bddc::split_disconnected(subdomains.matrices), warnings);
      return subdomains;
    }
    const std::int64_t n = A_->rows();
    const auto graph = bddc::node_graph(*A_, options_.block_size);
    bddc::Partition partition = make_partition(graph.view(), n);
    warn_of_split(bddc::split_disconnected_parts(graph.view(), partition), warnings);
    return bddc::split(*A_, options_.block_size, partition);
  }

  bddc::Partition make_partition(const sparse_direct::Pattern& graph, std::int64_t n) const {
    std::vector<std::int32_t> rows = partition_;
    if (rows.empty() && !options_.partition.empty()) rows = bddc::read_partition(options_.partition);
    if (!rows.empty()) {
      return bddc::node_partition(bddc::checked_partition(rows, n, "row"), options_.block_size);
    }
    if (n == 0) return {};
    if (options_.subdomains > 0) return bddc::partition_graph(graph, options_.subdomains);
    constexpr std::int64_t unknowns_per_subdomain = 2000;
    constexpr std::int64_t least = 4;
    const std::int64_t wanted = std::max((n + unknowns_per_subdomain - 1) / unknowns_per_subdomain, least);
    return bddc::partition_graph(graph, std::min(wanted, graph.n));
  }

  static void warn_of_split(std::int64_t added, std::vector<std::string>& warnings) {
    if (added <= 0) return;
    warnings.push_back("the parts of disconnected subdomains became " + std::to_string(added) +
                       " subdomains of their own");
  }

  /// Null vectors of A among the combinations of `vectors`; a basis for a Krylov method if they are few.
  void find_null_space(const Dense<double>& vectors) {
    constexpr double rounding = 1e-14;
    null_space_ = bddc::null_space(*A_, vectors, rounding);
    constexpr std::int64_t most = 8;
    std::int64_t count = 0;
    for (const bddc::NullSpacePart& part : null_space_) count += std::ssize(part.columns);
    if (count == 0 || count > most) return;
    null_space_basis_ = Dense<T>(this->device(), A_->rows(), count);
    std::fill_n(null_space_basis_.data(), A_->rows() * count, T{0});
    std::int64_t column = 0;
    for (const bddc::NullSpacePart& part : null_space_) {
      for (const std::vector<double>& vector : part.columns) {
        for (std::size_t i = 0; i < vector.size(); ++i) {
          null_space_basis_(part.rows[i], column) = static_cast<T>(vector[i]);
        }
        ++column;
      }
    }
  }

  /// Removes the part of b outside the range of A, and notes it in the job.
  void project(std::vector<double>& b, Job& job) const {
    const double removed = bddc::remove_null_space(null_space_, b);
    const double rounding = std::numeric_limits<T>::epsilon() * std::sqrt(static_cast<double>(b.size())) *
                            job.right_hand_side_norm;
    if (removed <= rounding) return;
    job.unreachable = removed;
    job.outcome = {Status::converged, "A is singular, and a part of b outside its range, of relative norm " +
                                          short_number(removed / job.right_hand_side_norm) + ", was removed"};
  }

  /// Solves for corrections until the true residual meets the tolerance or no longer falls.
  void solve_column(Vectors& v, Job& job) const {
    double before = std::numeric_limits<double>::infinity();
    for (;;) {
      v.r = v.b;
      multiply(v.backend, -1.0, MatrixRef<double>(*A_), v.x.data(), 1.0, v.r.data());
      const double norm = std::sqrt(dot(v.r, v.r));
      if (job.history.empty()) job.history.push_back(norm);
      if (!job.outcome.ok() || corrections_have_ended<T>(job, options_.stop.max_iterations, before, norm,
                                                         [&] { return norms(v); })) {
        return;
      }
      before = norm;
      preconditioner_.reduce(v.scratch, v.r.data(), v.g.data(), v.z.data());
      iterate(v, job);
      preconditioner_.extend(v.scratch, v.u.data(), v.z.data());
      for (std::size_t i = 0; i < v.x.size(); ++i) v.x[i] += v.z[i];
    }
  }

  static AnswerNorms norms(const Vectors& v) {
    AnswerNorms found;
    for (const double r : v.r) found.residual = std::max(found.residual, std::abs(r));
    for (const double x : v.x) found.solution = std::max(found.solution, std::abs(x));
    return found;
  }

  /// Solves S u = g by preconditioned conjugate gradients, to the tolerance of the job; the residual replaces
  /// g. With exact interiors the residual of the interface is that of A.
  void iterate(Vectors& v, Job& job) const {
    std::fill(v.u.begin(), v.u.end(), 0.0);
    std::vector<double> alphas;
    std::vector<double> betas;
    double rho = 0;
    double norm = std::sqrt(dot(v.g, v.g));
    while (norm > job.tolerance && job.iterations < options_.stop.max_iterations &&
           !job.control->cancel.stop_requested()) {
      preconditioner_.precondition(v.scratch, v.g.data(), v.preconditioned.data());
      const double rho_before = std::exchange(rho, dot(v.g, v.preconditioned));
      if (!is_positive(rho, job)) break;
      const double beta = alphas.empty() ? 0 : rho / rho_before;
      if (!alphas.empty()) betas.push_back(beta);
      for (std::size_t i = 0; i < v.p.size(); ++i)
        v.p[i] = v.preconditioned[i] + (beta != 0 ? beta * v.p[i] : 0);
      preconditioner_.multiply(v.scratch, v.p.data(), v.q.data());
      const double curvature = dot(v.p, v.q);
      if (!is_positive(curvature, job)) break;
      const double alpha = rho / curvature;
      alphas.push_back(alpha);
      for (std::size_t i = 0; i < v.u.size(); ++i) {
        v.u[i] += alpha * v.p[i];
        v.g[i] -= alpha * v.q[i];
      }
      norm = std::sqrt(dot(v.g, v.g));
      record(norm, job);
    }
    if (alphas.empty()) return;
    const RitzRange ritz = ritz_range(alphas, betas);
    if (!(ritz.smallest > 0)) return;
    job.preconditioned_condition = std::max(job.preconditioned_condition, ritz.largest / ritz.smallest);
    job.statistics = {{"smallest_ritz_value", ritz.smallest}, {"largest_ritz_value", ritz.largest}};
  }

  bool is_positive(double value, Job& job) const {
    if (value > 0) return true;
    job.outcome = {std::isnan(value) ? Status::diverged : Status::not_spd,
                   "A, or the preconditioner, is not positive definite: a direction of negative or zero "
                   "curvature after " +
                       std::to_string(job.iterations) + " iterations"};
    return false;
  }

  void record(double norm, Job& job) const {
    ++job.iterations;
    job.history.push_back(norm);
    if (!job.control->on_progress) return;
    job.control->on_progress({this->name(), job.number, job.iterations, norm / job.right_hand_side_norm,
                              job.tolerance / job.right_hand_side_norm});
  }

  BddcOptions options_;
  std::vector<SubdomainMatrix> given_;
  std::vector<std::int32_t> partition_;
  Dense<double> near_null_space_{Device(), 0, 0};
  Csr<double> copy_;
  std::optional<sparse_direct::Place> asymmetry_;
  const Csr<double>* A_ = &copy_;
  bddc::Preconditioner preconditioner_;
  std::vector<bddc::NullSpacePart> null_space_;
  Dense<T> null_space_basis_{Device(), 0, 0};
};

}  // namespace

template <>
struct MethodWith<BddcOptions> {
  template <class B, class T>
  using Type = BddcMethod<B, T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<HostTarget>(const Device&,
                                                                                      const BddcOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<HostTarget>(const Device&,
                                                                                       const BddcOptions&);

}  // namespace echelon
