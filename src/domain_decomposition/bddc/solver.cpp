// SPDX-License-Identifier: BSD-3-Clause
#include "backend/target.hpp"
#include "domain_decomposition/bddc/cuda/preconditioner.hpp"
#include "domain_decomposition/bddc/preconditioner/hosted_preconditioner.hpp"
#include "domain_decomposition/bddc/preconditioner/null_space.hpp"
#include "domain_decomposition/bddc/preconditioner/orthonormal.hpp"
#include "domain_decomposition/bddc/preconditioner/preconditioner.hpp"
#include "domain_decomposition/bddc/subdomains/read_partition.hpp"
#include "krylov/cg.hpp"
#include "linalg/spmv/relative_curvature.hpp"
#include "solver/factor_status.hpp"
#include "solver/inconsistent.hpp"
#include "solver/instantiate.hpp"
#include "solver/iteration/iterative_method.hpp"
#include "sparse_direct/multifrontal/symmetry.hpp"
#include "support/text.hpp"

#include <echelon/methods/bddc.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <span>
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

/// x = x + z, computed in double and rounded to T.
template <class T>
struct AddRounded {
  const double* z;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    x[i] = static_cast<T>(static_cast<double>(x[i]) + z[i]);
  }
};

/// The preconditioner for vectors of a backend.
template <class B>
struct PreconditionerOf {
  using Type = bddc::HostedPreconditioner;
};
template <>
struct PreconditionerOf<Host> {
  using Type = bddc::BddcPreconditioner;
};
template <>
struct PreconditionerOf<Cuda> {
  using Type = bddc::DevicePreconditioner;
};

/// Conjugate gradients for S u = g on the interface, where g is made from the residual b - A x. The
/// correction of x is u on the interface; with exact interiors the residual of the interface is that of A.
template <class B, class T>
class BddcMethod final : public IterativeMethod<B, T> {
  using Base = IterativeMethod<B, T>;
  using typename Base::IteratedColumn;
  using typename Base::SolvedColumn;
  using typename Base::SolvedColumns;
  using typename Base::SolveWorkspace;
  using Preconditioner = typename PreconditionerOf<B>::Type;

  /// Vectors of one solve or application, in double.
  struct Vectors : SolveWorkspace {
    explicit Vectors(const BddcMethod& method)
        : SolveWorkspace(method.device(), method.rows_),
          scratch(method.preconditioner_.make_scratch()),
          residual(method.device(), method.rows_),
          z(method.device(), method.rows_),
          u(method.device(), method.preconditioner_.interface_size()),
          g(method.device(), u.size()),
          cg(method.device(), u.size(), true) {}
    [[nodiscard]] std::size_t bytes() const override {
      return SolveWorkspace::bytes() + scratch.bytes() + residual.bytes() + z.bytes() + u.bytes() +
             g.bytes() + cg.bytes();
    }
    typename Preconditioner::Scratch scratch;
    Array<double> residual, z;  // rows of A
    Array<double> u, g;         // interface; g becomes the residual
    krylov::CgVectors<double> cg;
    double norm_of_g = 0;  // at the beginning of the solve
  };

 public:
  BddcMethod(const Device& device, const BddcOptions& options)
      : Base(device, checked_often(options.stop)), options_(options) {}

  void set_subdomain_matrices(std::vector<SubdomainMatrix>&& subdomains) override {
    given_ = std::move(subdomains);
  }
  void set_partition(std::vector<std::int32_t>&& subdomain_of_row) override {
    partition_ = std::move(subdomain_of_row);
    divided_ = {};
  }
  void set_near_null_space(const Dense<double>& vectors) override { near_null_space_ = vectors; }
  [[nodiscard]] bool takes_subdomains() const override { return true; }
  [[nodiscard]] bool finds_null_space() const override { return true; }
  [[nodiscard]] const Dense<T>& null_space_basis() const override { return null_space_basis_; }
  [[nodiscard]] std::int64_t proven_null_vectors() const override { return proven_; }

  Outcome setup(const MatrixRef<T>& A) override { return prepare(A, false); }
  /// Keeps the partition, and the analyses of subdomains whose patterns are the last ones.
  Outcome update_values(const MatrixRef<T>& A) override { return prepare(A, true); }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return this->complete_workspace(std::make_unique<Vectors>(*this));
  }
  [[nodiscard]] std::size_t bytes() const override {
    return converted_.bytes() + host_.bytes() + preconditioner_.bytes() + null_space_basis_.bytes();
  }

  void solve(Workspace& workspace, DenseView<const T> right, DenseView<T> left,
             std::vector<Job>& jobs) const override {
    if (prepared_.ok()) return Base::solve(workspace, right, left, jobs);
    for (std::int64_t j = 0; j < right.columns(); ++j) {
      static_cast<Vectors&>(workspace).backend.fill(right.rows(), T{0}, left.column(j));
      jobs[static_cast<std::size_t>(j)].outcome = prepared_;
    }
  }

  void apply(Workspace& workspace, const MultiVector<const T>& r, const MultiVector<T>& z,
             Operation /*operation*/) const override {
    for (int c = 0; c < r.columns(); ++c) apply_to(static_cast<Vectors&>(workspace), r[c], z[c]);
  }

 private:
  Outcome prepare(const MatrixRef<T>& A, bool updates) {
    copy(A);
    this->set_matrix(A.is_sparse() ? A : MatrixRef<T>(converted_));
    const std::int64_t n = rows_ = A_->rows();
    null_space_.clear();
    null_space_basis_ = Dense<T>(this->device(), n, 0);
    proven_ = 0;
    if (asymmetry_) return not_symmetric(asymmetry_->row, asymmetry_->column, Status::not_spd);
    check_block_size(n);
    Outcome outcome;
    const bddc::Subdomains subdomains = make_subdomains(updates, outcome.warnings);
    const Dense<double> vectors =
        near_null_space_.columns() > 0 ? near_null_space_ : bddc::component_vectors(n, options_.block_size);
    find_null_space(vectors);
    if (this->control().stop_requested()) return {Status::cancelled, "stopped by the caller"};
    prepared_ = preconditioner_.setup(subdomains.matrices, n, vectors, settings(updates));
    if (!prepared_.ok()) {
      if (subdomains.origin == bddc::MatrixOrigin::heuristic && prepared_.status == Status::not_spd) {
        prepared_.message +=
            "; the subdomain matrices were derived from A, which is not diagonally dominant, by a "
            "heuristic: give element or subdomain matrices";
      }
      return prepared_;
    }
    outcome.warnings.insert(outcome.warnings.end(), prepared_.warnings.begin(), prepared_.warnings.end());
    outcome.statistics = preconditioner_.statistics();
    outcome.statistics.push_back({"subdomain_matrices", to_string(subdomains.origin)});
    host_ = {};  // the copy for the set-up
    A_ = nullptr;
    return outcome;
  }

  void apply_to(Vectors& own, const T* r, T* z) const {
    if constexpr (std::is_same_v<T, double>) {
      preconditioner_.apply(own.scratch, r, z);
      if (sign_ < 0) own.backend.for_each(rows_, Convert<double, double>{z, z, -1});
    } else {
      own.backend.for_each(rows_, Convert<T, double>{r, own.residual.data()});
      preconditioner_.apply(own.scratch, own.residual.data(), own.z.data());
      own.backend.for_each(rows_, Convert<double, T>{own.z.data(), z, static_cast<T>(sign_)});
    }
  }

  /// Sets A, or -A if its diagonal is negative, in double on the host for the set-up, as a copy only where A
  /// is not that itself, and looks for elements that differ from their mirror images.
  void copy(const MatrixRef<T>& A) {
    const bool on_host = this->device().on_host();
    converted_ = A.is_sparse() ? Csr<T>() : to_csr(A);
    const Csr<T>& given = A.is_sparse() ? *A.csr() : converted_;
    Csr<T> fetched = on_host ? Csr<T>() : given.to(Device());
    const Csr<T>& values = on_host ? given : fetched;
    asymmetry_ = sparse_direct::find_asymmetry(values, on_host ? this->device() : Device());
    sign_ = has_negative_diagonal(values) ? -1 : 1;
    A_ = &host_;
    if constexpr (std::is_same_v<T, double>) {
      if (sign_ > 0) {
        host_ = std::move(fetched);
        if (on_host) A_ = &given;
        return;
      }
    }
    host_ = in_double(values, sign_);
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

  [[nodiscard]] bddc::PreconditionerSettings settings(bool updates) const {
    return {.constraints = {options_.corners, options_.edges, options_.faces},
            .scaling = options_.scaling,
            .block_size = options_.block_size,
            .vertex_size = options_.vertex_size,
            .edge_ends = options_.edge_ends,
            .singular = !null_space_.empty(),
            .updates = updates,
            .local = {.interior = options_.interior,
                      .schur = options_.schur,
                      .schur_tolerance = options_.schur_tolerance,
                      .schur_pivoting = options_.schur_pivoting,
                      .cancel = this->control()},
            .control = this->control(),
            .threads = this->device().on_host() ? this->device().threads() : Device().threads(),
            .device = this->device()};
  }

  /// The matrices that were given, or those of a partition that was given or is computed.
  bddc::Subdomains make_subdomains(bool updates, std::vector<std::string>& warnings) {
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
    if (!updates || divided_.part.empty()) divided_ = make_partition(graph.view(), n);
    warn_of_split(bddc::split_disconnected_parts(graph.view(), divided_), warnings);
    return bddc::split(*A_, options_.block_size, divided_);
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

  void remove_inconsistent_parts(SolvedColumns& columns) const override {
    if (null_space_.empty()) return;
    for (SolvedColumn& column : columns) {
      auto& v = static_cast<Vectors&>(*column.workspace);
      v.backend.for_each(rows_, Convert<T, double>{column.b, v.residual.data()});
      column.outside = project(v.residual);
      column.tolerance = tolerance_in_range<T>(column.outside, rows_, *column.job);
      if (v.consistent_rhs.size() != rows_) v.consistent_rhs = Array<T>(this->device(), rows_);
      column.b = v.consistent_rhs.data();
      v.backend.for_each(rows_, Convert<double, T>{v.residual.data(), v.consistent_rhs.data()});
    }
  }

  static krylov::CgColumn<double> cg_column(Vectors& v) { return {v.state(), &v.cg, v.u.data(), v.g.data()}; }

  void start(SolveWorkspace& workspace, const T* /*b*/, T* /*x*/) const override {
    auto& v = static_cast<Vectors&>(workspace);
    v.backend.for_each(rows_, Convert<T, double>{v.r.data(), v.residual.data(), sign_});
    // Rounding to T adds a part outside the range of A, which would grow in the iteration.
    if constexpr (!std::is_same_v<T, double>) static_cast<void>(project(v.residual));
    preconditioner_.reduce(v.scratch, v.residual.data(), v.g.data(), v.z.data());
    v.backend.fill(v.u.size(), 0.0, v.u.data());
    const krylov::CgColumn<double> column = cg_column(v);
    krylov::start_cg(v.backend, v.u.size(), std::span(&column, 1), krylov::CgTraits());
  }

  void step(SolveWorkspace& workspace, const T* /*b*/, T* /*x*/) const override {
    auto& v = static_cast<Vectors&>(workspace);
    const krylov::CgColumn<double> column = cg_column(v);
    krylov::step_cg(
        v.backend, v.u.size(), std::span(&column, 1), krylov::CgTraits(),
        [&] { preconditioner_.multiply(v.scratch, v.cg.p.data(), v.cg.q.data()); },
        [&](auto use) {
          preconditioner_.precondition(v.scratch, v.g.data(), v.cg.z.data());
          use([](const krylov::CgColumn<double>& own) {
            return static_cast<const double*>(own.own->z.data());
          });
        });
  }

  void finish(SolveWorkspace& workspace, T* x) const override {
    auto& v = static_cast<Vectors&>(workspace);
    preconditioner_.extend(v.scratch, v.u.data(), v.z.data());
    v.backend.for_each(rows_, AddRounded<T>{v.z.data(), x});
  }

  /// Keeps the part of z inside subdomains, to which finish() adds.
  void finish_copy(SolveWorkspace& workspace, T* x) const override {
    auto& v = static_cast<Vectors&>(workspace);
    v.backend.copy(rows_, v.z.data(), v.residual.data());
    finish(workspace, x);
    v.backend.copy(rows_, v.residual.data(), v.z.data());
  }

  void collect_coefficients(SolveWorkspace& workspace, std::int64_t place) const override {
    static_cast<Vectors&>(workspace).cg.collect(workspace.host_state, place);
  }

  void estimate_condition(SolveWorkspace& workspace, const T* /*x*/, Job& job) const override {
    auto& v = static_cast<Vectors&>(workspace);
    if (v.cycles == 1) v.norm_of_g = v.host_state.initial;
    const RitzRange ritz = v.cg.ritz_values();
    if (!(ritz.smallest > 0)) return;
    this->add_condition(v, 0, ritz.largest / ritz.smallest, job);
    job.statistics = {{"smallest_ritz_value", ritz.smallest},
                      {"largest_ritz_value", ritz.largest},
                      {"interface_right_hand_side", v.norm_of_g / job.right_hand_side_norm}};
  }

  [[nodiscard]] std::optional<double> relative_curvature(SolveWorkspace& workspace) const override {
    auto& v = static_cast<Vectors&>(workspace);
    preconditioner_.extend(v.scratch, v.cg.p.data(), v.z.data());
    const std::optional<double> found =
        echelon::relative_curvature<B, T>(v.backend, this->matrix(), v.z.data());
    return found ? std::optional(sign_ * *found) : std::nullopt;
  }

  /// An iteration takes longer than the wait for its result on a GPU, too: each is checked by default.
  static Stop checked_often(Stop stop) {
    if (stop.check_every == 0) stop.check_every = 1;
    return stop;
  }

  BddcOptions options_;
  std::vector<SubdomainMatrix> given_;
  std::vector<std::int32_t> partition_;  // that was given
  bddc::Partition divided_;              // of the nodes of A
  Dense<double> near_null_space_{Device(), 0, 0};
  std::int64_t rows_ = 0;
  Csr<T> converted_;  // a dense A
  Csr<double> host_;  // A in double on the host, where A is not that itself
  double sign_ = 1;   // -1 if the set-up is that of -A
  std::optional<sparse_direct::Place> asymmetry_;
  const Csr<double>* A_ = &host_;
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
