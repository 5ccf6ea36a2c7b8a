// SPDX-License-Identifier: BSD-3-Clause
/// Conjugate gradients on the core of a graph's Laplacian, preconditioned by its approximate factor.
#include "graph_laplacian/approximate_cholesky/preconditioner.hpp"
#include "graph_laplacian/inverse_diagonal.hpp"
#include "graph_laplacian/laplacian_method.hpp"
#include "krylov/cg.hpp"
#include "linalg/spmv/row_products.hpp"
#include "linalg/vector/column_list.hpp"
#include "solver/instantiate.hpp"

#include <echelon/methods/approximate_cholesky.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace echelon {

namespace {

using namespace graph_laplacian;

template <class B, class T>
class ApproximateCholeskyMethod final : public LaplacianMethod<B, T, double> {
  using Base = LaplacianMethod<B, T, double>;
  using typename Base::SolveWorkspace;
  using Column = krylov::CgColumn<double>;

  /// Vectors of one solve, of the vertices or of those of the core.
  struct Vectors final : Base::Vectors {
    Vectors(const ApproximateCholeskyMethod& method, std::int64_t size, bool has_core)
        : Base::Vectors(method),
          u(method.device(), size),
          r(method.device(), has_core ? size : 0),
          cg(method.device(), size, true) {}
    [[nodiscard]] std::size_t bytes() const override {
      return Base::Vectors::bytes() + u.bytes() + r.bytes() + cg.bytes() + scratch.bytes();
    }
    Array<double> u;  ///< iterate
    Array<double> r;  ///< residual on the core, if that is not all of the graph; otherwise y is the residual
    krylov::CgVectors<double> cg;
    ApproximateCholeskyPreconditioner::Scratch scratch;
    bool has_system = false;  ///< false if a factorisation was cancelled
  };
  using Group = std::span<typename Base::Vectors* const>;

 public:
  ApproximateCholeskyMethod(const Device& device, const ApproximateCholeskyOptions& options)
      : Base(device, options.stop), options_(options) {}

  Outcome setup(const MatrixRef<T>& A) override {
    Outcome outcome = this->set_form(A, Excess::diagonal);
    if (!outcome.ok()) return outcome;
    take_matrix();
    factored_.store(false);
    factor_ = {};
    inverse_diagonal_.clear();
    if (tries_diagonal()) {
      inverse_diagonal_.resize(static_cast<std::size_t>(matrix_->rows()));
      this->setup_backend().for_each(matrix_->rows(),
                                     InvertDiagonal<double>{*matrix_, inverse_diagonal_.data()});
    } else if (!factor(this->setup_backend(), this->control())) {
      return {Status::cancelled, "stopped by the caller"};
    }
    outcome.statistics = {{"components", this->form().components()}};
    if (factored_) {
      const std::vector<Statistic> own = factor_.statistics();
      outcome.statistics.insert(outcome.statistics.end(), own.begin(), own.end());
    }
    return outcome;
  }
  Outcome update_values(const MatrixRef<T>& A) override { return setup(A); }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    const bool has_core = tries_diagonal() || factor_.is_reduced();
    const std::int64_t size = tries_diagonal() ? matrix_->rows() : factor_.core().rows();
    return this->complete_workspace(std::make_unique<Vectors>(*this, size, has_core));
  }
  [[nodiscard]] std::size_t bytes() const override {
    const std::lock_guard<std::mutex> lock(mutex_);  // a solve may be computing the factor
    return Base::bytes() + converted_.bytes() + factor_.bytes() +
           (excess_.capacity() + inverse_diagonal_.capacity()) * sizeof(double);
  }

 private:
  static Vectors& of(typename Base::Vectors* column) { return static_cast<Vectors&>(*column); }

  [[nodiscard]] bool tries_diagonal() const { return options_.jacobi_iterations > 0; }
  [[nodiscard]] std::int64_t preliminary_iterations() const override { return options_.jacobi_iterations; }
  /// With weights of many decades the residual of the recurrence may stop falling at rounding errors, from
  /// which a restart goes on.
  [[nodiscard]] std::int64_t idle_steps() const override { return 200; }

  /// Sets the matrix to factor, in double, and its excess.
  void take_matrix() {
    const Csr<T>& L = this->form().laplacian();
    const Array<T>& excess = this->form().excess();
    excess_.assign(excess.data(), excess.data() + excess.size());
    if constexpr (std::is_same_v<T, double>) {
      matrix_ = &L;
    } else {
      Array<double> values(this->device(), L.nonzeros());
      this->setup_backend().for_each(
          L.nonzeros(), LiftVector<T, double>{L.values().data(), nullptr, L.nonzeros(), T{1}, values.data()});
      converted_ = Csr<double>::unchecked(L.rows(), L.columns(), L.row_offsets(), L.column_indices(),
                                          std::move(values));
      matrix_ = &converted_;
    }
  }

  /// Factors the matrix; false when asked to stop. Called by set-up, or by the first solve that needs the
  /// factor.
  bool factor(B& backend, const SetupControl& control) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!factored_) factored_ = factor_.setup(backend, *matrix_, excess_, options_, control);
    return factored_;
  }

  /// Whether the cycle in progress is that with the diagonal, on all vertices.
  [[nodiscard]] bool is_preliminary(Group columns) const {
    return tries_diagonal() && columns.front()->cycles == 1;
  }
  [[nodiscard]] const Csr<double>& system(Group columns) const {
    return is_preliminary(columns) ? *matrix_ : factor_.core();
  }
  [[nodiscard]] krylov::CgTraits cg_traits(Group columns) const {
    const double copies = this->form().kind() == DominanceKind::sdd ? 2 : 1;
    return {.preconditioning =
                is_preliminary(columns) ? krylov::Preconditioning::diagonal : krylov::Preconditioning::any,
            .norm_factor = 1 / std::sqrt(copies)};
  }
  /// The residual of the system.
  static double* residual_of(Vectors& v, bool on_core) { return on_core ? v.r.data() : v.y.data(); }

  /// The columns as those of the recurrence.
  [[nodiscard]] ColumnList<Column> cg_columns(Group columns) const {
    const bool on_core = !is_preliminary(columns) && factor_.is_reduced();
    return {columns.size(), [&](std::size_t c) {
              Vectors& v = of(columns[c]);
              return Column{v.state(), &v.cg, v.u.data(), residual_of(v, on_core), c};
            }};
  }

  void start_lifted(Group columns) const override {
    B& backend = columns.front()->backend;
    const bool preliminary = is_preliminary(columns);
    const bool has_system = preliminary || factor(backend, columns.front()->control->cancel);
    for (typename Base::Vectors* column : columns) of(column).has_system = has_system;
    if (!has_system) return;
    if (!preliminary) restrict_to_core(columns);
    const std::int64_t n = system(columns).rows();
    for (typename Base::Vectors* column : columns) backend.fill(n, 0.0, of(column).u.data());
    krylov::start_cg(backend, n, cg_columns(columns).span(), cg_traits(columns));
  }
  void restrict_to_core(Group columns) const {
    if (!factor_.is_reduced()) return;
    const ColumnList<ReducedVector> vectors(columns.size(), [&](std::size_t c) {
      Vectors& v = of(columns[c]);
      return ReducedVector{v.y.data(), v.r.data()};
    });
    factor_.reduction().restrict_to(vectors.span());
  }
  /// Writes solutions for all vertices to y, from those of the core, core_x(vectors).
  template <class CoreX>
  void prolong(Group columns, CoreX core_x) const {
    ColumnList<ProlongedVector> vectors;
    for (typename Base::Vectors* column : columns) {
      Vectors& v = of(column);
      vectors.add({v.y.data(), core_x(v)});
      if (!factor_.is_reduced()) v.backend.copy(v.y.size(), core_x(v), v.y.data());
    }
    if (factor_.is_reduced()) factor_.reduction().prolong(vectors.span());
  }

  void step_lifted(Group columns) const override {
    if (!of(columns.front()).has_system) return;
    B& backend = columns.front()->backend;
    const Csr<double>& S = system(columns);
    const bool preliminary = is_preliminary(columns);
    krylov::step_cg(
        backend, S.rows(), cg_columns(columns).span(), cg_traits(columns),
        [&] {
          for_column_products(backend, S, columns, [](typename Base::Vectors* column) {
            krylov::CgVectors<double>& own = of(column).cg;
            return VectorProduct{static_cast<const double*>(own.p.data()), PutElement<double>{own.q.data()}};
          });
        },
        [&](auto use) {
          if (preliminary) {
            use([&](const Column& column) {
              return ScaledElement<double>{inverse_diagonal_.data(), column.r};
            });
          } else {
            apply_factor(columns);
            use([](const Column& column) { return static_cast<const double*>(column.own->z.data()); });
          }
        });
  }

  void finish_lifted(Group columns) const override {
    if (of(columns.front()).has_system && !is_preliminary(columns)) {
      return prolong(columns, [](Vectors& v) -> const double* { return v.u.data(); });
    }
    for (typename Base::Vectors* column : columns) {
      Vectors& v = of(column);
      if (v.has_system) {
        v.backend.copy(v.y.size(), v.u.data(), v.y.data());
      } else {
        v.backend.fill(v.y.size(), 0.0, v.y.data());
      }
    }
  }

  /// y = M^-1 y by the factor.
  void apply_lifted(Group columns) const override {
    static_cast<void>(factor(columns.front()->backend, {}));
    restrict_to_core(columns);
    apply_factor(columns);
    prolong(columns, [](Vectors& v) -> const double* { return v.cg.z.data(); });
  }

  /// z = M^-1 r on the core.
  void apply_factor(Group columns) const {
    std::array<CoreColumn, usual_columns> applied{};
    while (!columns.empty()) {
      const Group some = columns.first(std::min(columns.size(), usual_columns));
      for (std::size_t c = 0; c < some.size(); ++c) {
        Vectors& v = of(some[c]);
        applied[c] = {residual_of(v, factor_.is_reduced()), v.cg.z.data()};
      }
      Vectors& first = of(some.front());
      factor_.apply(first.backend, first.scratch, {applied.data(), some.size()});
      columns = columns.subspan(some.size());
    }
  }

  /// ||x|| / ||b|| is a lower bound of the norm of the inverse.
  void estimate_condition(SolveWorkspace& workspace, const T* x, Job& job) const override {
    if (this->form().is_singular() || !(job.right_hand_side_norm > 0)) return;
    double square = 0;
    workspace.backend.reduce(workspace.n, Product<T>{x, x}, [&square](Sum sum) { square = sum.value; });
    job.inverse_norm = std::sqrt(square) / job.right_hand_side_norm;
  }

  ApproximateCholeskyOptions options_;
  Csr<double> converted_;  // the form's matrix in double
  const Csr<double>* matrix_ = nullptr;
  std::vector<double> excess_;
  std::vector<double> inverse_diagonal_;  // if iterations with it precede the factorisation

  // Made by set-up, or by the first solve that needs it.
  mutable std::mutex mutex_;
  mutable std::atomic<bool> factored_ = false;
  mutable ApproximateCholeskyPreconditioner factor_;
};

}  // namespace

template <>
struct MethodWith<ApproximateCholeskyOptions> {
  template <class B, class T>
  using Type = ApproximateCholeskyMethod<B, T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<HostTarget>(
    const Device&, const ApproximateCholeskyOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<HostTarget>(
    const Device&, const ApproximateCholeskyOptions&);

}  // namespace echelon
