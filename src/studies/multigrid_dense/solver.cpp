// SPDX-License-Identifier: BSD-3-Clause
// Multigrid for dense matrices as a Solver.
#include "linalg/vector/functors.hpp"
#include "multigrid/estimates/spectral_radius.hpp"
#include "multigrid/smoothers/jacobi.hpp"
#include "solver/instantiate.hpp"
#include "solver/iteration/iterative_method.hpp"
#include "studies/multigrid_dense/linear_transfer.hpp"

#include <echelon/methods/dense/lu.hpp>
#include <echelon/methods/multigrid/multigrid_dense.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

namespace {

using namespace multigrid;

template <class B, class T>
class DenseMultigrid final : public IterativeMethod<B, T> {
  using Base = IterativeMethod<B, T>;
  using typename Base::SolveWorkspace;

  /// A level above the coarsest.
  struct Level {
    MatrixRef<T> A;
    Dense<T> own;    ///< matrix of the level; empty on the finest, which refers to the caller's A
    Array<T> scale;  ///< weight / a_ii, the factors of the Jacobi sweeps
  };

  /// Right-hand side and correction, on all levels but the finest; residual, on all levels but the coarsest.
  struct LevelVectors {
    Array<T> b, x, r;
  };

  struct Vectors : SolveWorkspace {
    Vectors(const Device& device, std::int64_t size) : SolveWorkspace(device, size), z(device, size) {}
    [[nodiscard]] std::size_t bytes() const override {
      std::size_t bytes = SolveWorkspace::bytes() + z.bytes() + (elimination ? elimination->bytes() : 0);
      for (const LevelVectors& level : levels) bytes += level.b.bytes() + level.x.bytes() + level.r.bytes();
      return bytes;
    }
    Array<T> z;
    std::vector<LevelVectors> levels;
    std::unique_ptr<Workspace> elimination;
  };

 public:
  DenseMultigrid(const Device& device, const MultigridDenseOptions& options)
      : Base(device, options.stop), options_(options), coarsest_(make_solver<T>(device, LuOptions{})) {}

  Outcome setup(const MatrixRef<T>& A) override {
    Base::setup(A);
    levels_.clear();
    dense_ = Dense<T>();
    B backend(this->device());
    MatrixRef<T> level = A;
    if (A.is_sparse()) {
      dense_ = to_dense(A);
      level = dense_;
    }
    Dense<T> own;
    while (level.rows() > options_.coarse_size && level.rows() > 1 &&
           static_cast<std::int64_t>(levels_.size()) + 1 < options_.max_levels) {
      levels_.push_back({level, std::move(own), Array<T>(this->device(), level.rows())});
      if (Outcome outcome = set_weights(backend, levels_.back()); !outcome.ok()) return outcome;
      own = coarse_matrix(backend, level.dense());
      level = own;
    }
    coarsest_matrix_ = std::move(own);
    if (!levels_.empty()) level = coarsest_matrix_;
    return eliminate(level);
  }
  Outcome update_values(const MatrixRef<T>& A) override { return setup(A); }

  [[nodiscard]] std::size_t bytes() const override {
    std::size_t bytes = dense_.bytes() + coarsest_matrix_.bytes() + elimination().bytes();
    for (const Level& level : levels_) bytes += level.own.bytes() + level.scale.bytes();
    return bytes;
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    auto vectors = std::make_unique<Vectors>(this->device(), this->matrix().rows());
    for (std::size_t l = 0; l <= levels_.size(); ++l) {
      const std::int64_t n = l < levels_.size() ? levels_[l].A.rows() : elimination_rows_;
      const std::int64_t below_finest = l > 0 ? n : 0;
      vectors->levels.push_back({Array<T>(this->device(), below_finest),
                                 Array<T>(this->device(), below_finest),
                                 Array<T>(this->device(), l < levels_.size() ? n : 0)});
    }
    vectors->elimination = elimination().make_workspace();
    return this->complete_workspace(std::move(vectors));
  }

  void apply(Workspace& workspace, const MultiVector<const T>& r, const MultiVector<T>& z,
             Operation /*operation*/) const override {
    for (int c = 0; c < r.columns(); ++c) cycle(static_cast<Vectors&>(workspace), 0, r[c], z[c]);
  }

 private:
  [[nodiscard]] bool records_true_residual() const override { return true; }
  void start(SolveWorkspace& /*workspace*/, const T* /*b*/, T* /*x*/) const override {}

  void step(SolveWorkspace& workspace, const T* b, T* x) const override {
    auto& v = static_cast<Vectors&>(workspace);
    cycle(v, 0, v.r.data(), v.z.data());
    v.backend.for_each(v.n, AddCorrection<T>{v.state(), v.z.data(), x});
    form_residual(v.backend, this->matrix(), b, x, v.r.data());
    v.backend.reduce(v.n, Product<T>{v.r.data(), v.r.data()}, RecordResidual{v.state()});
  }

  /// scale = weight / a_ii. Waits.
  Outcome set_weights(B& backend, Level& level) const {
    const std::int64_t n = level.A.rows();
    const DiagonalFacts facts = invert_diagonal(backend, level.A, level.scale.data());
    if (facts.zero > 0) {
      return {Status::breakdown, "the Jacobi sweeps divide by the diagonal, and " +
                                     std::to_string(facts.zero) + " of the " + std::to_string(n) +
                                     " rows of level " + std::to_string(levels_.size() - 1) + " have none"};
    }
    const double weight = options_.weight
                              ? *options_.weight
                              : 4 / (3 * spectral_radius(backend, level.A, level.scale.data(), facts, true));
    backend.for_each(n, Multiply<T>{static_cast<T>(weight), level.scale.data()});
    return {};
  }

  [[nodiscard]] Dense<T> coarse_matrix(B& backend, const DenseView<const T>& A) const {
    const std::int64_t n = linear_coarse_size(A.rows());
    Dense<T> coarse(this->device(), n, n);
    backend.for_each(n * n, CoarsenLinearly<T>{A.rows(), DenseRows<T>(A), n, coarse.data()});
    return coarse;
  }

  /// Factors the coarsest matrix.
  Outcome eliminate(const MatrixRef<T>& A) {
    elimination_rows_ = A.rows();
    elimination().set_control(this->control());
    Outcome outcome = elimination().setup(A);
    if (!outcome.ok() && outcome.status != Status::cancelled && outcome.status != Status::out_of_memory) {
      outcome = {Status::breakdown, "the matrix of the coarsest level, of " + std::to_string(A.rows()) +
                                        " rows, cannot be eliminated: " + outcome.message};
    }
    outcome.rank.reset();
    outcome.reciprocal_condition.reset();
    outcome.statistics = {{"levels", static_cast<std::int64_t>(levels_.size()) + 1},
                          {"coarsest_rows", A.rows()}};
    return outcome;
  }

  /// x = an approximation of A_l^-1 b by a V-cycle from x = 0.
  void cycle(Vectors& v, std::size_t l, const T* b, T* x) const {
    if (l == levels_.size()) {
      elimination().apply(*v.elimination, {b, elimination_rows_}, {x, elimination_rows_});
      return;
    }
    const Level& level = levels_[l];
    const std::int64_t n = level.A.rows();
    const std::int64_t coarse_n = linear_coarse_size(n);
    T* r = v.levels[l].r.data();
    LevelVectors& coarse = v.levels[l + 1];
    v.backend.for_each(n, ScaleVector<T>{level.scale.data(), b, x});
    smooth(v.backend, level, options_.sweeps - 1, b, x, r);
    form_residual(v.backend, level.A, b, x, r);
    v.backend.for_each(coarse_n, RestrictLinearly<T>{n, r, coarse.b.data()});
    cycle(v, l + 1, coarse.b.data(), coarse.x.data());
    v.backend.for_each(n, AddLinearInterpolation<T>{coarse_n, coarse.x.data(), x});
    smooth(v.backend, level, options_.sweeps, b, x, r);
  }

  static void smooth(B& backend, const Level& level, std::int64_t sweeps, const T* b, T* x, T* r) {
    for (std::int64_t sweep = 0; sweep < sweeps; ++sweep) {
      form_residual(backend, level.A, b, x, r);
      backend.for_each(level.A.rows(), AddScaled<T>{level.scale.data(), r, x});
    }
  }

  /// r = b - A x.
  static void form_residual(B& backend, const MatrixRef<T>& A, const T* b, const T* x, T* r) {
    backend.copy(A.rows(), b, r);
    multiply(backend, T{-1}, A, x, T{1}, r);
  }

  [[nodiscard]] SolverImplementation<T>& elimination() const {
    return SolverAccess<T>::implementation(coarsest_);
  }

  MultigridDenseOptions options_;
  Solver<T> coarsest_;
  std::vector<Level> levels_;
  Dense<T> dense_;            ///< dense copy of A if A is sparse
  Dense<T> coarsest_matrix_;  ///< empty if the coarsest matrix is A
  std::int64_t elimination_rows_ = 0;
};

}  // namespace

template <>
struct MethodWith<MultigridDenseOptions> {
  template <class B, class T>
  using Type = DenseMultigrid<B, T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<ThisTarget>(
    const Device&, const MultigridDenseOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<ThisTarget>(
    const Device&, const MultigridDenseOptions&);

}  // namespace echelon
