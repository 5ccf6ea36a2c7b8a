// SPDX-License-Identifier: BSD-3-Clause
#include "backend/store.hpp"
#include "backend/target.hpp"
#include "domain_decomposition/bddc/device_preconditioner.hpp"
#include "domain_decomposition/bddc/interface_iteration.hpp"
#include "domain_decomposition/bddc/null_space.hpp"
#include "domain_decomposition/bddc/orthonormal.hpp"
#include "domain_decomposition/bddc/preconditioner.hpp"
#include "domain_decomposition/bddc/subdomain_user.hpp"
#include "domain_decomposition/bddc/subdomains/read_partition.hpp"
#include "krylov/lanczos.hpp"
#include "linalg/spmv/multiply.hpp"
#include "linalg/vector/functors.hpp"
#include "solver/corrections.hpp"
#include "solver/factor_status.hpp"
#include "solver/inconsistent.hpp"
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
#include <type_traits>
#include <utility>
#include <vector>

namespace echelon {

namespace {

/// target = source, in another precision.
template <class From, class To>
struct Convert {
  const From* source;
  To* target;
  To factor = 1;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { target[i] = factor * static_cast<To>(source[i]); }
};

/// x += z.
struct AddVector {
  const double* z;
  double* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { x[i] += z[i]; }
};

template <class B, class T>
class BddcMethod final : public SolverImplementation<T>, public bddc::SubdomainUser {
  using Preconditioner = std::conditional_t<B::on_host, bddc::Preconditioner, bddc::DevicePreconditioner>;

  /// Vectors of one solve or application, in double.
  struct Vectors : Workspace {
    Vectors(const Device& device, const Preconditioner& preconditioner, std::int64_t n)
        : backend(device),
          scratch(preconditioner.make_scratch()),
          sum(device, 1),
          largest(device, 1),
          iteration(device, 1) {
      for (Array<double>* const v : {&b, &x, &r, &z}) *v = Array<double>(device, n);
      for (Array<double>* const v : {&u, &g, &preconditioned, &p, &q})
        *v = Array<double>(device, preconditioner.interface_size());
    }
    [[nodiscard]] std::size_t bytes() const override {
      return scratch.bytes() + 4 * x.bytes() + 5 * u.bytes();
    }
    B backend;
    typename Preconditioner::Scratch scratch;
    Array<double> b, x, r, z;                  // rows of A
    Array<double> u, g, preconditioned, p, q;  // interface
    Array<Sum> sum;
    Array<Largest> largest;
    Array<bddc::InterfaceIteration> iteration;
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
  [[nodiscard]] bddc::SubdomainUser* subdomain_user() override { return this; }
  [[nodiscard]] bool finds_null_space() const override { return true; }
  [[nodiscard]] const Dense<T>& null_space_basis() const override { return null_space_basis_; }
  [[nodiscard]] std::int64_t proven_null_vectors() const override { return proven_; }

  Outcome setup(const MatrixRef<T>& A) override {
    copy(A);
    const std::int64_t n = rows_ = A_->rows();
    null_space_.clear();
    null_space_basis_ = Dense<T>(this->device(), n, 0);
    proven_ = 0;
    if (asymmetry_) return not_symmetric(asymmetry_->row, asymmetry_->column, Status::not_spd);
    check_block_size(n);
    Outcome outcome;
    const bddc::Subdomains subdomains = make_subdomains(outcome.warnings);
    const Dense<double> vectors =
        near_null_space_.columns() > 0 ? near_null_space_ : bddc::component_vectors(n, options_.block_size);
    find_null_space(vectors);
    if (this->cancel().stop_requested()) return {Status::cancelled, "stopped by the caller"};
    prepared_ = preconditioner_.setup(subdomains.matrices, n, vectors, settings());
    if (!prepared_.ok()) {
      if (subdomains.splitting == bddc::Splitting::heuristic && prepared_.status == Status::not_spd) {
        prepared_.message +=
            "; the subdomain matrices were derived from A, which is not diagonally dominant, by a "
            "heuristic: give element or subdomain matrices";
      }
      return prepared_;
    }
    outcome.warnings.insert(outcome.warnings.end(), prepared_.warnings.begin(), prepared_.warnings.end());
    outcome.statistics = preconditioner_.statistics();
    outcome.statistics.push_back({"subdomain_matrices", to_string(subdomains.splitting)});
    if (A_ != product_matrix_) host_ = {};  // the copy for the set-up
    return outcome;
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<Vectors>(this->device(), preconditioner_, rows_);
  }
  [[nodiscard]] const Stop* stop() const override { return &options_.stop; }
  [[nodiscard]] std::size_t bytes() const override {
    return converted_.bytes() + host_.bytes() + device_copy_.bytes() + preconditioner_.bytes() +
           null_space_basis_.bytes();
  }

  void solve(Workspace& workspace, DenseView<const T> right, DenseView<T> left,
             std::vector<Job>& jobs) const override {
    auto& own = static_cast<Vectors&>(workspace);
    const std::int64_t n = right.rows();
    for (std::int64_t j = 0; j < right.columns(); ++j) {
      Job& job = jobs[static_cast<std::size_t>(j)];
      if (!prepared_.ok()) {
        own.backend.fill(n, T{0}, left.column(j));
        job.outcome = prepared_;
        continue;
      }
      own.backend.for_each(n, Convert<T, double>{right.column(j), own.b.data(), sign_});
      const OutsideRange outside = project(own.b);
      own.backend.fill(n, 0.0, own.x.data());
      if (job.control->use_initial_guess)
        own.backend.for_each(n, Convert<T, double>{left.column(j), own.x.data()});
      solve_column(own, tolerance_in_range<T>(outside, n, job), job);
      name_part_outside_range<T>(outside, n, job);
      own.backend.for_each(n, Convert<double, T>{own.x.data(), left.column(j)});
    }
  }

  void apply(Workspace& workspace, const MultiVector<const T>& r, const MultiVector<T>& z,
             Operation /*operation*/) const override {
    for (int c = 0; c < r.columns(); ++c) apply_to(static_cast<Vectors&>(workspace), r[c], z[c]);
  }

 private:
  void apply_to(Vectors& own, const T* r, T* z) const {
    if constexpr (std::is_same_v<T, double>) {
      preconditioner_.apply(own.scratch, r, z);
      if (sign_ < 0) own.backend.for_each(rows_, Convert<double, double>{z, z, -1});
    } else {
      own.backend.for_each(rows_, Convert<T, double>{r, own.r.data()});
      preconditioner_.apply(own.scratch, own.r.data(), own.z.data());
      own.backend.for_each(rows_, Convert<double, T>{own.z.data(), z, static_cast<T>(sign_)});
    }
  }

  /// Sets A, or -A if its diagonal is negative, in double on the host for the set-up, and on the device for
  /// products, as copies only where A is not one of them, and looks for elements that differ from their
  /// mirror images.
  void copy(const MatrixRef<T>& A) {
    const bool on_host = this->device().on_host();
    converted_ = A.is_sparse() ? Csr<T>() : to_csr(A);
    const Csr<T>& given = A.is_sparse() ? *A.csr() : converted_;
    Csr<T> fetched = on_host ? Csr<T>() : given.to(Device());
    const Csr<T>& values = on_host ? given : fetched;
    asymmetry_ = sparse_direct::find_asymmetry(values, on_host ? this->device() : Device());
    device_copy_ = {};
    sign_ = has_negative_diagonal(values) ? -1 : 1;
    if (sign_ < 0) {
      take_copies(in_double(values, -1));
    } else if constexpr (std::is_same_v<T, double>) {
      host_ = std::move(fetched);
      A_ = on_host ? &given : &host_;
      product_matrix_ = &given;
    } else {
      take_copies(in_double(values, 1));
    }
  }

  void take_copies(Csr<double> on_host) {
    host_ = std::move(on_host);
    A_ = &host_;
    if (!this->device().on_host()) device_copy_ = host_.to(this->device());
    product_matrix_ = this->device().on_host() ? &host_ : &device_copy_;
  }

  /// Whether the diagonal has a negative element and no positive one, as that of a negative semidefinite A.
  static bool has_negative_diagonal(const Csr<T>& A) {
    bool has_negative = false;
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
        if (A.column_indices()[k] != i) continue;
        if (A.values()[k] > T{0}) return false;
        has_negative = has_negative || A.values()[k] < T{0};
      }
    }
    return has_negative;
  }

  template <class V>
  static Csr<double> in_double(const Csr<V>& A, double factor) {
    Array<double> values(Device::serial(), A.nonzeros());
    std::transform(A.values().data(), A.values().data() + A.nonzeros(), values.data(),
                   [factor](V value) { return factor * static_cast<double>(value); });
    return Csr<double>::unchecked(A.rows(), A.columns(), A.row_offsets(), A.column_indices(),
                                  std::move(values));
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
            .threads = this->device().on_host() ? this->device().threads() : Device().threads(),
            .device = this->device()};
  }

  /// The matrices that were given, or those of a partition that was given or is computed.
  bddc::Subdomains make_subdomains(std::vector<std::string>& warnings) const {
    if (!given_.empty()) {
      std::vector<SubdomainMatrix> given = given_;
      if (sign_ < 0) {
        for (SubdomainMatrix& own : given) own.matrix = in_double(own.matrix, -1);
      }
      bddc::check_sum(given, *A_, symmetry_tolerance<T>);
      bddc::Subdomains subdomains{bddc::split_disconnected(given)};
      const auto has_rows = [](const SubdomainMatrix& own) { return own.matrix.rows() > 0; };
      const std::int64_t before = std::count_if(given.begin(), given.end(), has_rows);
      warn_of_split(std::ssize(subdomains.matrices) - before, warnings);
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
    null_space_ = bddc::null_space_by_row_sums(*A_, vectors, rounding, std::numeric_limits<T>::epsilon());
    bddc::require_exact_symmetry(*A_, null_space_);
    constexpr std::int64_t most = 8;
    std::vector<std::pair<const bddc::NullSpacePart*, std::size_t>> columns;  // those that are proven first
    for (const bddc::NullSpacePart& part : null_space_) {
      if (part.is_proven) columns.emplace_back(&part, 0);
    }
    const auto proven = static_cast<std::int64_t>(columns.size());
    for (const bddc::NullSpacePart& part : null_space_) {
      for (std::size_t k = part.is_proven ? 1 : 0; k < part.columns.size(); ++k) {
        columns.emplace_back(&part, k);
      }
    }
    const std::int64_t count = std::ssize(columns);
    if (count == 0 || count > most) return;
    Dense<T> basis(Device(), A_->rows(), count);
    std::fill_n(basis.data(), A_->rows() * count, T{0});
    for (std::int64_t column = 0; column < count; ++column) {
      const auto& [part, k] = columns[static_cast<std::size_t>(column)];
      const std::vector<double>& vector = part->columns[k];
      for (std::size_t i = 0; i < vector.size(); ++i) {
        basis(part->rows[i], column) = static_cast<T>(vector[i]);
      }
    }
    null_space_basis_ = basis.to(this->device());
    proven_ = proven;
  }

  /// Removes the part of b outside the range of A. Returns its norms.
  OutsideRange project(Array<double>& b) const {
    if (null_space_.empty()) return {};
    std::vector<double> on_host = b.to_vector();
    const OutsideRange removed = bddc::remove_null_space(null_space_, on_host);
    b = Array<double>(this->device(), std::span<const double>(on_host));
    return removed;
  }

  /// Solves for corrections until the true residual meets the tolerance or no longer falls.
  void solve_column(Vectors& v, double tolerance, Job& job) const {
    double before = std::numeric_limits<double>::infinity();
    for (;;) {
      v.backend.copy(rows_, v.b.data(), v.r.data());
      echelon::multiply(v.backend, -1.0, MatrixRef<double>(*product_matrix_), v.x.data(), 1.0, v.r.data());
      const double norm = std::sqrt(dot(v, v.r, v.r));
      if (job.history.empty()) job.history.push_back(norm);
      if (!job.outcome.ok() || corrections_have_ended<T>(job, tolerance, options_.stop.max_iterations, before,
                                                         norm, [&] { return norms(v); })) {
        return;
      }
      before = norm;
      preconditioner_.reduce(v.scratch, v.r.data(), v.g.data(), v.z.data());
      iterate(v, tolerance, job);
      preconditioner_.extend(v.scratch, v.u.data(), v.z.data());
      v.backend.for_each(rows_, AddVector{v.z.data(), v.x.data()});
    }
  }

  static double dot(Vectors& v, const Array<double>& x, const Array<double>& y) {
    v.backend.reduce(x.size(), Product<double>{x.data(), y.data()}, Store<Sum>{v.sum.data()});
    return v.backend.read(v.sum.data()).value;
  }

  static double largest_magnitude(Vectors& v, const Array<double>& x) {
    v.backend.reduce(x.size(), LargestMagnitude<const double*>{x.data()}, Store<Largest>{v.largest.data()});
    return v.backend.read(v.largest.data()).value;
  }

  static AnswerNorms norms(Vectors& v) {
    AnswerNorms found;
    found.residual = largest_magnitude(v, v.r);
    found.solution = largest_magnitude(v, v.x);
    return found;
  }

  /// Solves S u = g by preconditioned conjugate gradients, to the tolerance; the residual replaces
  /// g. With exact interiors the residual of the interface is that of A.
  void iterate(Vectors& v, double tolerance, Job& job) const {
    v.backend.fill(v.u.size(), 0.0, v.u.data());
    v.backend.reduce(
        v.g.size(), Product<double>{v.g.data(), v.g.data()},
        bddc::BeginIteration{v.iteration.data(), tolerance, options_.stop.max_iterations - job.iterations,
                             job.iterations == 0});
    std::vector<double> alphas;
    std::vector<double> betas;
    double right_hand_side = 0;
    bddc::IterationPhase phase = bddc::IterationPhase::running;
    while (phase == bddc::IterationPhase::running && !job.control->cancel.stop_requested()) {
      v.backend.for_each(1, bddc::BeginBatch{v.iteration.data()});
      for (std::int64_t k = 0; k < iterations_of_batch(); ++k) queue_iteration(v);
      const bddc::InterfaceIteration state = v.backend.read(v.iteration.data());
      phase = state.phase;
      right_hand_side = state.right_hand_side;
      for (std::int64_t k = 0; k < state.recorded; ++k) {
        if (!alphas.empty()) betas.push_back(state.betas[k]);
        alphas.push_back(state.alphas[k]);
        record(state.norms[k], job);
      }
    }
    report_phase(phase, job);
    if (alphas.empty()) return;
    const RitzRange ritz = ritz_range(alphas, betas);
    if (!(ritz.smallest > 0)) return;
    job.preconditioned_condition = std::max(job.preconditioned_condition, ritz.largest / ritz.smallest);
    job.statistics = {{"smallest_ritz_value", ritz.smallest},
                      {"largest_ritz_value", ritz.largest},
                      {"interface_right_hand_side", right_hand_side / job.right_hand_side_norm}};
  }

  /// Number of iterations between convergence checks. The default is 1 on a GPU as well: an iteration takes
  /// longer than the wait.
  [[nodiscard]] std::int64_t iterations_of_batch() const {
    return std::max<std::int64_t>(options_.stop.check_every, 1);
  }

  /// Queues an iteration that changes nothing if a former one has ended.
  void queue_iteration(Vectors& v) const {
    const std::int64_t size = v.u.size();
    bddc::InterfaceIteration* const state = v.iteration.data();
    preconditioner_.precondition(v.scratch, v.g.data(), v.preconditioned.data());
    v.backend.reduce(size, Product<double>{v.g.data(), v.preconditioned.data()}, bddc::SetRho{state});
    v.backend.for_each(size, bddc::UpdateDirection{state, v.preconditioned.data(), v.p.data()});
    preconditioner_.multiply(v.scratch, v.p.data(), v.q.data());
    v.backend.reduce(size, Product<double>{v.p.data(), v.q.data()}, bddc::SetAlpha{state});
    v.backend.reduce(size, bddc::Advance{state, v.p.data(), v.q.data(), v.u.data(), v.g.data()},
                     bddc::EndIteration{state});
  }

  static void report_phase(bddc::IterationPhase phase, Job& job) {
    const bool is_nan = phase == bddc::IterationPhase::not_a_number;
    if (!is_nan && phase != bddc::IterationPhase::not_positive) return;
    job.outcome = {is_nan ? Status::diverged : Status::not_spd,
                   "A, or the preconditioner, is not positive definite: a direction of negative or zero "
                   "curvature after " +
                       std::to_string(job.iterations) + " iterations"};
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
  std::int64_t rows_ = 0;
  Csr<T> converted_;         // a dense A
  Csr<double> host_;         // A in double on the host, where A is not that itself
  Csr<double> device_copy_;  // and on the device
  double sign_ = 1;          // -1 if the set-up and the products are those of -A
  std::optional<sparse_direct::Place> asymmetry_;
  const Csr<double>* A_ = &host_;
  const Csr<double>* product_matrix_ = &host_;
  Preconditioner preconditioner_;
  std::vector<bddc::NullSpacePart> null_space_;
  Dense<T> null_space_basis_{Device(), 0, 0};
  Outcome prepared_;         // of the preconditioner: x = 0 is returned where it failed
  std::int64_t proven_ = 0;  // columns of the basis, its first ones, that are exact null vectors
};

}  // namespace

template <>
struct MethodWith<BddcOptions> {
  template <class B, class T>
  using Type = BddcMethod<B, T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<ThisTarget>(const Device&,
                                                                                      const BddcOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<ThisTarget>(const Device&,
                                                                                       const BddcOptions&);

}  // namespace echelon
