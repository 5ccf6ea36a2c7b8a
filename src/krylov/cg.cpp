// SPDX-License-Identifier: BSD-3-Clause
// The methods cg and cocg: one recurrence, with two inner products.
#include "krylov/cg_method.hpp"
#include "solver/hermitian.hpp"
#include "solver/instantiate.hpp"

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
class ConjugateGradients final : public krylov::CgMethod<ConjugateGradients<B, T>, B, T> {
  using Base = krylov::CgMethod<ConjugateGradients<B, T>, B, T>;
  friend Base;
  using typename Base::Column;
  using typename Base::IteratedColumn;
  using typename Base::SolveWorkspace;
  using typename Base::Vectors;

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
  [[nodiscard]] bool iterates_together() const override { return this->multiplies_columns(); }

  void multiply_directions(std::span<const IteratedColumn> columns) const {
    if (columns.size() == 1) {
      Vectors& v = Base::of(columns.front());
      return this->apply_operator(v, v.cg.p.data(), v.cg.q.data());
    }
    this->apply_operator(
        columns, [](const IteratedColumn& column) { return Base::of(column).cg.p.data(); },
        [](const IteratedColumn& column) { return Base::of(column).cg.q.data(); });
  }
  template <class Use>
  void precondition_residuals(std::span<const IteratedColumn> columns, Use use) const {
    this->use_preconditioned(
        columns, [](const IteratedColumn& column) { return Base::of(column).cg.z.data(); },
        [&](auto z_of) { use([&](const Column& column) { return z_of(column.number); }); });
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
    return is_bilinear() ? std::nullopt : Base::relative_curvature(workspace);
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
