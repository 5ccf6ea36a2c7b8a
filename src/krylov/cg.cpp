// SPDX-License-Identifier: BSD-3-Clause
// The methods cg and cocg: one recurrence, with two inner products.
#include "krylov/cg.hpp"

#include "linalg/vector/column_list.hpp"
#include "solver/hermitian.hpp"
#include "solver/instantiate.hpp"
#include "solver/iteration/iterative_method.hpp"

#include <echelon/methods/cg.hpp>
#include <echelon/methods/krylov/cocg.hpp>

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace echelon {

namespace {

using krylov::InnerProduct;

template <class B, class T>
class ConjugateGradients final : public IterativeMethod<B, T> {
  using Base = IterativeMethod<B, T>;
  using typename Base::IteratedColumn;
  using typename Base::SolveWorkspace;

  using Column = krylov::CgColumn<T>;

  struct Vectors : SolveWorkspace {
    Vectors(const Device& device, std::int64_t size, bool stores_z)
        : SolveWorkspace(device, size), cg(device, size, stores_z) {}
    [[nodiscard]] std::size_t bytes() const override { return SolveWorkspace::bytes() + cg.bytes(); }
    krylov::CgVectors<T> cg;
  };

 public:
  ConjugateGradients(const Device& device, const CgOptions& options)
      : Base(device, options.stop), flexible_asked_(options.flexible) {
    this->make_preconditioner(options.preconditioner, options.preconditioner_options);
  }
  ConjugateGradients(const Device& device, const CocgOptions& options)
      : Base(device, options.stop), product_(InnerProduct::bilinear) {
    this->make_preconditioner(options.preconditioner, options.preconditioner_options);
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return this->complete_workspace(
        std::make_unique<Vectors>(this->device(), this->matrix().rows(), this->stores_preconditioned()));
  }

 private:
  [[nodiscard]] bool supports_scaling() const override { return true; }
  [[nodiscard]] bool is_bilinear() const { return product_ == InnerProduct::bilinear; }
  [[nodiscard]] bool flexible() const {
    return this->preconditioned() && !is_bilinear() &&
           (flexible_asked_ || this->preconditioner_operator() != AppliedOperator::symmetric);
  }
  Outcome complete_setup(Outcome outcome) override {
    if (is_bilinear()) return this->with_operator_warning(std::move(outcome), AppliedOperator::symmetric);
    if (flexible()) outcome.statistics.push_back({"recurrence", std::string("flexible")});
    return require_hermitian(this->matrix(), std::move(outcome), Status::not_spd);
  }

  [[nodiscard]] krylov::CgTraits cg_traits() const {
    using krylov::Preconditioning;
    // Without conjugates r^T r is not the r^H r that every step computes.
    const auto none = is_bilinear() && is_complex<T> ? Preconditioning::diagonal : Preconditioning::none;
    return {.preconditioning = this->preconditioned() ? Preconditioning::any : none,
            .flexible = flexible(),
            .product = product_};
  }

  /// Products with A, and with a preconditioner that can, read their matrices once for all columns.
  [[nodiscard]] bool iterates_together() const override { return this->matrix().is_sparse(); }

  void start(SolveWorkspace& workspace, const T* b, T* x) const override {
    const IteratedColumn column{&workspace, b, x};
    start_together({&column, 1});
  }
  void start_together(std::span<const IteratedColumn> columns) const override {
    krylov::start_cg(cg_columns(columns).span());
  }
  void step(SolveWorkspace& workspace, const T* b, T* x) const override {
    const IteratedColumn column{&workspace, b, x};
    step_with({&column, 1}, [&] {
      Vectors& v = of(column);
      this->apply_operator(v, v.cg.p.data(), v.cg.q.data());
    });
  }
  void step_together(std::span<const IteratedColumn> columns) const override {
    step_with(columns, [&] {
      this->apply_operator(
          columns, [](const IteratedColumn& column) { return of(column).cg.p.data(); },
          [](const IteratedColumn& column) { return of(column).cg.q.data(); });
    });
  }
  template <class Multiply>
  void step_with(std::span<const IteratedColumn> columns, Multiply multiply) const {
    Vectors& first = of(columns.front());
    krylov::step_cg(first.backend, first.n, cg_columns(columns).span(), cg_traits(), multiply, [&](auto use) {
      this->use_preconditioned(
          columns, [](const IteratedColumn& column) { return of(column).cg.z.data(); },
          [&](auto z_of) { use([&](const Column& column) { return z_of(column.number); }); });
    });
  }

  /// The columns as those of the recurrence.
  static ColumnList<Column> cg_columns(std::span<const IteratedColumn> columns) {
    return {columns.size(), [&](std::size_t c) {
              Vectors& v = of(columns[c]);
              return Column{v.state(),  &v.cg, columns[c].x,
                            v.r.data(), c,     std::ldexp(1.0, v.scale.preconditioned)};
            }};
  }

  static Vectors& of(const IteratedColumn& column) { return static_cast<Vectors&>(*column.workspace); }

  void collect_coefficients(SolveWorkspace& workspace, std::int64_t place) const override {
    static_cast<Vectors&>(workspace).cg.collect(workspace.host_state, place);
  }

  void estimate_condition(SolveWorkspace& workspace, const T* /*x*/, Job& job) const override {
    if (is_bilinear()) return;
    auto& v = static_cast<Vectors&>(workspace);
    double inverse_norm = v.host_state.inverse_norm;
    const RitzRange ritz = v.cg.ritz_values();
    if (ritz.smallest > 0 && !this->preconditioned()) {
      inverse_norm = std::max(inverse_norm, 1 / ritz.smallest);
    }
    this->add_condition(v, inverse_norm, ritz.smallest > 0 ? ritz.largest / ritz.smallest : 0, job);
  }

  [[nodiscard]] std::optional<double> relative_curvature(SolveWorkspace& workspace) const override {
    if (is_bilinear()) return std::nullopt;
    auto& v = static_cast<Vectors&>(workspace);
    return krylov::relative_curvature<B, T>(v.backend, this->matrix(), v.cg.p.data());
  }

  bool flexible_asked_ = false;
  InnerProduct product_ = InnerProduct::sesquilinear;
};

}  // namespace

template <>
struct MethodWith<CgOptions> {
  template <class B, class T>
  using Type = ConjugateGradients<B, T>;
};
template <>
struct MethodWith<CocgOptions> {
  template <class B, class T>
  using Type = ConjugateGradients<B, T>;
};

#define ECHELON_INSTANTIATE(T)                                                                         \
  template std::unique_ptr<SolverImplementation<T>> make_implementation<ThisTarget>(const Device&,     \
                                                                                    const CgOptions&); \
  template std::unique_ptr<SolverImplementation<T>> make_implementation<ThisTarget>(const Device&,     \
                                                                                    const CocgOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
