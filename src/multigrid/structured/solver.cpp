// SPDX-License-Identifier: BSD-3-Clause
// Multigrid for matrices that are stencils on a grid, in conjugate gradients, or in BiCGStab for an
// unsymmetric matrix: `structured-multigrid`.
#include "krylov/bicgstab.hpp"
#include "krylov/cg_method.hpp"
#include "linalg/vector/float_vector.hpp"
#include "matrix/stencil/find_grid.hpp"
#include "matrix/stencil/find_stencil.hpp"
#include "matrix/stencil/stencil_product.hpp"
#include "matrix/stencil/stencil_state.hpp"
#include "multigrid/level_statistics.hpp"
#include "multigrid/null_space.hpp"
#include "multigrid/structured/cycle.hpp"
#include "multigrid/structured/stencil_constants.hpp"
#include "solver/instantiate.hpp"
#include "solver/null_space.hpp"
#include "support/stopwatch.hpp"

#include <echelon/methods/multigrid/structured_multigrid.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

namespace {

using namespace multigrid;

template <class B, class T>
class StructuredMultigridMethod final : public krylov::CgMethod<StructuredMultigridMethod<B, T>, B, T> {
  using Base = krylov::CgMethod<StructuredMultigridMethod<B, T>, B, T>;
  friend Base;
  using typename Base::Column;
  using typename Base::IteratedColumn;
  using typename Base::SolveWorkspace;

  /// Vectors of conjugate gradients, and what BiCGStab has in addition.
  struct Vectors : Base::Vectors {
    Vectors(const Device& device, std::int64_t size, bool stores_z, bool symmetric)
        : Base::Vectors(device, size, stores_z || !symmetric),
          s(device, symmetric ? 0 : size),
          t(device, symmetric ? 0 : size),
          y(device, symmetric ? 0 : size) {}
    [[nodiscard]] std::size_t bytes() const override { return Base::Vectors::bytes() + 3 * s.bytes(); }
    [[nodiscard]] krylov::BicgstabVectors<T> stabilised() {
      return {s.data(), this->cg.p.data(), this->cg.q.data(), t.data(), y.data(), this->cg.z.data()};
    }
    Array<T> s, t, y;
  };

  /// Memory of apply(), in the workspace's `preconditioner`.
  struct Application final : Workspace {
    Application(const Device& device, std::int64_t size, std::int64_t null_space, std::int64_t weak_modes)
        : parts(device, null_space),
          weak(device, weak_modes),
          balanced(device, weak_modes > 0 ? size : 0),
          z(device, size),
          scales(device, 1) {}
    [[nodiscard]] std::size_t bytes() const override {
      return balanced.bytes() + z.bytes() + (cycle ? cycle->bytes() : 0) + (other ? other->bytes() : 0);
    }
    Array<double> parts;        // inner products of a correction with the null vectors
    Array<double> weak;         // coefficients of weak modes
    Array<T> balanced;          // a right-hand side without weak modes
    MultiVectorArray<float> z;  // results of the cycle, of columns after the first
    MultiVectorArray<FloatScale> scales;
    std::unique_ptr<typename StencilCycle<B>::Scratch> cycle;
    std::unique_ptr<Workspace> other;  // of the method for another A
  };

 public:
  StructuredMultigridMethod(const Device& device, const StructuredMultigridOptions& options)
      : Base(device, options.stop), options_(options), backend_(device) {}

  [[nodiscard]] bool takes_stencil() const override { return true; }
  Outcome setup(const MatrixRef<T>& A) override {
    grid_ = find_grid(backend_, options_.grid, A);
    return setup_on_grid(A);
  }
  Outcome update_values(const MatrixRef<T>& A) override {
    if (!other_) return setup_on_grid(A);
    Base::set_matrix(A);
    return with_reason(SolverAccess<T>::implementation(*other_).update_values(A));
  }

  [[nodiscard]] const HierarchyDescription* hierarchy() const override {
    return other_ ? implementation().hierarchy() : &description_;
  }
  [[nodiscard]] OperatorTraits traits() const override {
    OperatorTraits traits;
    if (other_) {
      traits = implementation().traits();
      traits.leaves_floats = false;  // apply_in_float() is that of the cycle
      return traits;
    }
    if (!symmetric_) traits.kind = AppliedOperator::linear;
    traits.leaves_floats = leaves_floats();
    return traits;
  }
  [[nodiscard]] bool finds_null_space() const override { return true; }
  [[nodiscard]] const Dense<T>& null_space_basis() const override {
    return other_ ? implementation().null_space_basis() : null_space_;
  }
  [[nodiscard]] std::int64_t proven_null_vectors() const override {
    return other_ ? implementation().proven_null_vectors() : proven_;
  }
  [[nodiscard]] const Array<std::int32_t>& zero_rows() const override {
    return other_ ? implementation().zero_rows() : zero_rows_;
  }
  [[nodiscard]] std::size_t bytes() const override {
    if (other_) return implementation().bytes();
    return stencil_.bytes() + null_space_.bytes() + weak_.bytes() + (cycle_ ? cycle_->bytes() : 0);
  }
  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    const std::int64_t n = this->matrix().rows();
    auto workspace = this->complete_workspace(
        std::make_unique<Vectors>(this->device(), n, !leaves_floats() || other_, symmetric_));
    auto own =
        std::make_unique<Application>(this->device(), other_ ? 0 : n, null_space_.columns(), weak_.count());
    if (other_) {
      own->other = implementation().make_workspace();
    } else {
      own->cycle = cycle_->make_scratch(this->device());
    }
    static_cast<Vectors&>(*workspace).preconditioner = std::move(own);
    return workspace;
  }

  void apply(Workspace& workspace, const MultiVector<const T>& r, const MultiVector<T>& z,
             Operation /*operation*/) const override {
    Vectors& first = vectors_of(static_cast<SolveWorkspace&>(workspace));
    apply_to(first.backend, application_of(workspace), r, z);
  }
  WidenedVectors<T> apply_in_float(Workspace& workspace, const MultiVector<const T>& r,
                                   const MultiVector<const double>& norms) const override {
    Vectors& first = vectors_of(static_cast<SolveWorkspace&>(workspace));
    return cycle_in_float(first.backend, application_of(workspace), r, norms);
  }

 private:
  static Application& application_of(Workspace& workspace) {
    return static_cast<Application&>(*static_cast<Vectors&>(workspace).preconditioner);
  }
  [[nodiscard]] SolverImplementation<T>& implementation() const {
    return SolverAccess<T>::implementation(*other_);
  }
  /// Whether the result of the cycle is that of the method: nothing is added to it or projected out.
  [[nodiscard]] bool leaves_floats() const { return !other_ && null_space_.columns() + weak_.count() == 0; }

  Outcome setup_on_grid(const MatrixRef<T>& A) {
    const Stopwatch stopwatch;
    Base::set_matrix(A);
    other_.reset();
    cycle_.reset();
    stencil_ = {};
    if (std::string reason = obtain_stencil(A); !reason.empty()) return use_amg(A, reason);
    const StencilCharacter character = describe_stencil<true>(backend_, stencil_);
    detection_seconds_ = stopwatch.seconds();
    if (character.largest_nonpositive > 0) return use_amg(A, "a diagonal element is not positive");
    constexpr double positive_part = 0.1;
    if (character.rows.same_sign_part() > positive_part) {
      return use_amg(
          A, "it is far from an M-matrix: of the magnitude off the diagonal more than a tenth is positive");
    }
    constexpr double range_of_float = 1e-24;
    if (character.rows.least_diagonal < range_of_float * character.rows.largest_diagonal) {
      return use_amg(A, "its diagonal elements differ by more than the range of float");
    }
    constexpr double rounding = std::is_same_v<T, double> ? 1e-11 : 1e-5;
    symmetric_ = character.asymmetry.value <= rounding;
    const auto& periodic = stencil_.grid.periodic;
    if (convects(character) && (periodic[0] || periodic[1] || periodic[2])) {
      return use_amg(A, "it has convection and a periodic axis, around which coarse grids err");
    }
    return make_cycle(A, character);
  }

  /// Sets the stencil matrix: that of an A that is a stencil, or the one that is found in A. Returns why
  /// there is none.
  std::string obtain_stencil(const MatrixRef<T>& A) {
    if (const StencilMatrix<T>* given = stencil_matrix_of(A)) {
      stencil_ = given->borrowed();
      return {};
    }
    if (!grid_) return "its first row is not that of a stencil on a grid";
    std::string reason;
    std::optional<StencilMatrix<T>> found = A.is_sparse() ? find_stencil(backend_, *A.csr(), *grid_, reason)
                                                          : find_stencil(backend_, to_csr(A), *grid_, reason);
    if (found) stencil_ = std::move(*found);
    return reason;
  }

  /// Takes algebraic multigrid in place of the cycle on arrays, which needs the elements of A.
  Outcome use_amg(const MatrixRef<T>& A, const std::string& reason) {
    stencil_ = {};
    null_space_ = Dense<T>(this->device(), 0, 0);
    weak_ = {};
    if (A.is_stencil()) {
      description_ = {};
      return {Status::breakdown,
              "the stencil A does not suit this method: " + reason +
                  "; gmres solves with its products, and amg and direct methods with to_csr(A)"};
    }
    reason_ = reason;
    other_ = make_solver<T>("amg", this->device());
    implementation().set_control(this->control());
    Outcome outcome = implementation().setup(A);
    symmetric_ = implementation().traits().kind == AppliedOperator::symmetric;
    return with_reason(std::move(outcome));
  }
  Outcome with_reason(Outcome outcome) const {
    outcome.warnings.insert(outcome.warnings.begin(),
                            "A is not a stencil that suits this method, which is amg instead: " + reason_);
    return outcome;
  }

  Outcome make_cycle(const MatrixRef<T>& A, const StencilCharacter& character) {
    FloatScale scale;
    StoreScale{&scale}(character.rows.largest);
    matrix_factor_ = scale.factor;
    find_null_vectors(character);
    StencilHierarchy<T> hierarchy = make_hierarchy(character);
    const Csr<T> coarsest = to_csr(hierarchy.coarsest);
    const bool is_singular = null_space_.columns() > 0;
    const HostInverse inverse =
        is_singular ? semidefinite_inverse(coarsest) : host_inverse(coarsest, symmetric_);
    if (inverse.transpose.rows() != coarsest.rows()) {
      return {Status::breakdown, "the coarsest matrix has elements that are not finite"};
    }
    // Beyond it float rounds away what distinguishes the matrix from a singular one.
    constexpr double growth_of_float = 1e6;
    if (inverse.growth > growth_of_float) {
      return use_amg(A, "it is nearly singular");
    }
    const std::int64_t coarsest_rows = coarsest.rows();
    cycle_ =
        std::make_unique<StencilCycle<B>>(std::move(hierarchy.levels), coarsest_rows,
                                          rounded_inverse<float>(inverse, matrix_factor_, this->device()));
    describe();
    return outcome();
  }

  /// Whether convection dominates, for which point smoothers and interpolation by the rows of A fail.
  [[nodiscard]] static bool convects(const StencilCharacter& character) {
    constexpr double strong_asymmetry = 0.25;  // upwind differences at a cell Peclet number of 2/3
    return character.asymmetry.value > strong_asymmetry;
  }
  [[nodiscard]] StencilHierarchy<T> make_hierarchy(const StencilCharacter& character) {
    const bool by_points = convects(character) && stencil_.constant;
    const StencilMatrix<T> points = by_points ? expanded(backend_, stencil_) : StencilMatrix<T>();
    return coarsen_stencil(backend_, by_points ? points : stencil_, character, matrix_factor_,
                           options_.coarse_size, convects(character));
  }

  /// Finds constants that A maps to zero, or close to it.
  void find_null_vectors(const StencilCharacter& character) {
    null_space_ = Dense<T>(this->device(), 0, 0);
    proven_ = 0;
    weak_ = {};
    if (!symmetric_ || excludes_constant<T>(stencil_.rows(), character.rows)) return;
    NullSpace<B, T> found = find_null_space(backend_, stencil_, character);
    null_space_ = std::move(found.basis);
    proven_ = found.proven;
    weak_ = std::move(found.weak);
  }

  void describe() {
    description_ = {};
    description_.coarsening = "stencil " + to_string(stencil_);
    double nonzeros = 0;
    double rows = 0;
    const auto add = [&](const Grid& grid, std::int64_t points, std::string method, double seconds,
                         std::size_t bytes) {
      description_.levels.push_back({.rows = grid.size(),
                                     .nonzeros = points * grid.size(),
                                     .method = std::move(method),
                                     .seconds = seconds,
                                     .bytes = bytes});
      rows += static_cast<double>(grid.size());
      nonzeros += static_cast<double>(points * grid.size());
    };
    for (const StencilLevel& level : cycle_->levels()) {
      add(level.A.grid, level.A.points, level.lines.empty() ? "chebyshev" : "line-jacobi", level.seconds,
          level.bytes());
    }
    const std::int64_t coarsest = cycle_->inverse().transpose.rows();
    add(Grid{{coarsest, 1, 1}}, coarsest, cycle_->inverse().null_space > 0 ? "pseudo-inverse" : "inverse", 0,
        cycle_->inverse().transpose.bytes());
    const LevelDescription& finest = description_.levels.front();
    description_.operator_complexity = nonzeros / static_cast<double>(finest.nonzeros);
    description_.grid_complexity = rows / static_cast<double>(finest.rows);
    description_.end = "the level is small";
    description_.null_space = null_space_.columns();
  }

  [[nodiscard]] Outcome outcome() const {
    Outcome outcome;
    outcome.statistics = level_statistics(description_);
    outcome.statistics.push_back({"structure", to_string(stencil_)});
    outcome.statistics.push_back({"detection_seconds", detection_seconds_});
    if (null_space_.columns() > 0) {
      outcome.statistics.push_back({"null_space", null_space_.columns()});
      outcome.warnings.push_back("A is singular" + std::string(proven_ > 0 ? "" : " to working precision") +
                                 ": constants are null vectors, which are projected out of every correction");
    }
    outcome.statistics.push_back({"recurrence", std::string(symmetric_ ? "cg" : "bicgstab")});
    return outcome;
  }

  /// z = M^-1 r for each column.
  void apply_to(B& backend, Application& own, const MultiVector<const T>& r, const MultiVector<T>& z) const {
    if (other_) return apply_as_alone(implementation(), *own.other, r, z);
    for (int c = 0; c < r.columns(); ++c) {
      const T* rhs = r[c];
      if (weak_.count() > 0) {
        weak_.balance(backend, own.weak.data(), r[c], own.balanced.data());
        rhs = own.balanced.data();
      }
      const WidenedVectors<T> widened = cycle_in_float(backend, own, MultiVector<const T>(rhs, r.rows()), {});
      backend.for_each(z.rows(), StoreVector<T, WidenedVector<T>>{widened[0], z[c]});
      if (null_space_.columns() > 0) project_out(backend, null_space_, own.parts.data(), z[c]);
      if (weak_.count() > 0) weak_.complete(backend, own.weak.data(), z[c]);
    }
  }

  /// The cycle for each column. The results stay in `own`: that of the first column in the cycle's memory.
  WidenedVectors<T> cycle_in_float(B& backend, Application& own, const MultiVector<const T>& r,
                                   const MultiVector<const double>& norms) const {
    own.z.make_room(r.columns());
    own.scales.make_room(r.columns());
    const auto& finest = own.cycle->levels.front();
    const MultiVector<FloatScale> scales = own.scales.first(r.columns());
    const MultiVector<float> copies = own.z.first(r.columns());
    MultiVector<const float> results(r.rows());
    for (int c = 0; c < r.columns(); ++c) results.add(c == 0 ? finest.x : copies[c]);
    for (int c = r.columns() - 1; c >= 0; --c) {
      if (norms.columns() > 0) {
        backend.for_each(1, ScaleByNorm{norms[c], scales[c]});
      } else {
        backend.reduce(r.rows(), LargestMagnitude<const T*>{r[c]}, StoreScale{scales[c]});
      }
      cycle_->round_residual(backend, stencil_.grid, scales[c], r[c], finest.b);
      cycle_->apply(backend, *own.cycle);
      if (c > 0) backend.copy(r.rows(), finest.x, copies[c]);
    }
    return {results, scales, matrix_factor_};
  }

  // The iteration, whose products are those of the stencil.
  [[nodiscard]] bool iterates_together() const override { return symmetric_; }

  static Vectors& vectors_of(SolveWorkspace& workspace) { return static_cast<Vectors&>(workspace); }
  void start(SolveWorkspace& workspace, const T* b, T* x) const override {
    if (symmetric_) return Base::start(workspace, b, x);
    Vectors& v = vectors_of(workspace);
    krylov::start_bicgstab<B, T>(v.backend, v.n, v.state(), v.stabilised(), v.r.data());
  }
  void step(SolveWorkspace& workspace, const T* b, T* x) const override {
    if (symmetric_) return Base::step(workspace, b, x);
    Vectors& v = vectors_of(workspace);
    krylov::step_bicgstab<B, T>(
        v.backend, v.n, v.state(), v.stabilised(), x, v.r.data(),
        [&](const T* from, T* to) { multiply(v, from, to); },
        [&](const T* r, T* z) {
          apply_to(v.backend, application_of(v), MultiVector<const T>(r, v.n), MultiVector<T>(z, v.n));
          return static_cast<const T*>(z);
        });
  }
  void collect_coefficients(SolveWorkspace& workspace, std::int64_t place) const override {
    if (symmetric_) Base::collect_coefficients(workspace, place);
  }

  [[nodiscard]] krylov::CgTraits cg_traits() const {
    return {.preconditioning = krylov::Preconditioning::any,
            .flexible = traits().kind != AppliedOperator::symmetric};
  }
  /// q = A p for the direction p of each column.
  void multiply_directions(std::span<const IteratedColumn> columns) const {
    for (const IteratedColumn& column : columns) {
      auto& v = Base::of(column);
      multiply(v, v.cg.p.data(), v.cg.q.data());
    }
  }
  /// to = A from.
  void multiply(SolveWorkspace& v, const T* from, T* to) const {
    if (other_) return this->apply_operator(v, from, to);
    multiply_stencil(v.backend, stencil_, static_cast<T>(v.scale.matrix_factor()), from, T{0}, to);
  }
  template <class Use>
  void precondition_residuals(std::span<const IteratedColumn> columns, Use use) const {
    auto& first = Base::of(columns.front());
    Application& own = application_of(first);
    MultiVector<const T> r(first.n);
    MultiVector<T> z(first.n);
    MultiVector<const double> norms(1);
    for (const IteratedColumn& column : columns) {
      r.add(Base::of(column).r.data());
      z.add(Base::of(column).cg.z.data());
      norms.add(&Base::of(column).state()->residual);
    }
    if (leaves_floats()) {
      const WidenedVectors<T> widened = cycle_in_float(first.backend, own, r, norms);
      use([&](const Column& column) { return widened[static_cast<int>(column.number)]; });
    } else {
      apply_to(first.backend, own, r, z);
      use([&](const Column& column) { return static_cast<const T*>(z[static_cast<int>(column.number)]); });
    }
  }

  void estimate_condition(SolveWorkspace& workspace, const T* /*x*/, Job& job) const override {
    if (!symmetric_) return;
    Vectors& v = vectors_of(workspace);
    const RitzRange ritz = v.cg.ritz_values();
    this->add_condition(v, v.host_state.inverse_norm, ritz.smallest > 0 ? ritz.largest / ritz.smallest : 0,
                        job);
  }
  StructuredMultigridOptions options_;
  B backend_;
  std::optional<Grid> grid_;
  StencilMatrix<T> stencil_;  // found in A, or coefficients that A has
  double detection_seconds_ = 0;
  bool symmetric_ = true;
  double matrix_factor_ = 1;
  std::unique_ptr<StencilCycle<B>> cycle_;
  Dense<T> null_space_{Device(), 0, 0};  // orthonormal basis
  std::int64_t proven_ = 0;              // its first columns, which are exact null vectors
  WeakModes<B, T> weak_;                 // constants that are almost null vectors
  Array<std::int32_t> zero_rows_;        // none: diagonal elements are positive
  std::optional<Solver<T>> other_;       // amg, for an A that is no stencil
  std::string reason_;                   // why it is none
  HierarchyDescription description_;
};

}  // namespace

template <>
struct MethodWith<StructuredMultigridOptions> {
  template <class B, class T>
  using Type = StructuredMultigridMethod<B, T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<ThisTarget>(
    const Device&, const StructuredMultigridOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<ThisTarget>(
    const Device&, const StructuredMultigridOptions&);

}  // namespace echelon
