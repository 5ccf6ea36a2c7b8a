// SPDX-License-Identifier: BSD-3-Clause
#include "backend/store.hpp"
#include "multigrid/coarsening/aggregation/aggregation.hpp"
#include "multigrid/coarsening/aggregation/node_matrix.hpp"
#include "multigrid/coarsening/classical/classical.hpp"
#include "multigrid/coarsening/real_companion.hpp"
#include "multigrid/cycle_operator.hpp"
#include "multigrid/estimates/character.hpp"
#include "multigrid/estimates/symmetry.hpp"
#include "multigrid/level_statistics.hpp"
#include "multigrid/method.hpp"
#include "multigrid/null_space.hpp"
#include "solver/hermitian.hpp"
#include "solver/instantiate.hpp"
#include "solver/iteration/iterative_method.hpp"
#include "solver/nested_solver.hpp"
#include "solver/null_space.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/matrix.hpp>

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

namespace multigrid {

namespace {

/// Coarsening by the user's prolongations: level l takes prolongation l.
template <class T>
class GivenProlongations final : public Coarsening<T> {
 public:
  explicit GivenProlongations(const std::vector<Csr<T>>& prolongations) : prolongations_(&prolongations) {}
  Csr<T> prolongation(const Csr<T>& A, int level, std::string& reason) override {
    const auto l = static_cast<std::size_t>(level);
    if (l == prolongations_->size()) {
      reason = "there are no more prolongations";
      return {};
    }
    const Csr<T>& P = (*prolongations_)[l];
    if (P.rows() == A.rows()) return P;
    throw DimensionMismatch("prolongation " + std::to_string(l) + " (from 0) has " +
                            std::to_string(P.rows()) + " rows, the matrix of its level " +
                            std::to_string(A.rows()));
  }

 private:
  const std::vector<Csr<T>>* prolongations_;
};

/// Whether A equals its adjoint, and its transpose; for real numbers they are one.
struct MirrorSymmetry {
  bool hermitian = true;
  bool symmetric = true;
  [[nodiscard]] bool any() const { return hermitian || symmetric; }
  friend bool operator==(const MirrorSymmetry&, const MirrorSymmetry&) = default;
};

/// The symmetry of A up to rounding. Waits.
template <class B, class T>
MirrorSymmetry find_symmetry(B& backend, const Csr<T>& A) {
  if constexpr (is_complex<T>) {
    const MirrorComparison found = compare_with_mirror(MatrixRef<T>(A));
    return {!found.not_hermitian, !found.not_symmetric};
  } else {
    const bool symmetric = is_symmetric(backend, A);
    return {symmetric, symmetric};
  }
}

template <class B, class T>
class MultigridMethod final : public IterativeMethod<B, T> {
  using Base = IterativeMethod<B, T>;
  using typename Base::IteratedColumn;
  using typename Base::SolveWorkspace;

  struct Vectors : SolveWorkspace {
    Vectors(const Device& device, std::int64_t size) : SolveWorkspace(device, size), z(device, size) {}
    [[nodiscard]] std::size_t bytes() const override { return SolveWorkspace::bytes() + z.bytes(); }
    Array<T> z;
  };
  /// Memory of apply(), in the workspace's `preconditioner`.
  struct Application final : Workspace {
    Application(const Device& device, std::int64_t size, std::int64_t null_space, std::int64_t weak_modes,
                std::unique_ptr<Workspace> scratch)
        : parts(device, null_space),
          weak(device, weak_modes),
          balanced(device, weak_modes > 0 ? size : 0),
          cycle(std::move(scratch)) {}
    [[nodiscard]] std::size_t bytes() const override { return balanced.bytes() + cycle->bytes(); }
    Array<double> parts;            // inner products of a correction with the null vectors
    MultiVectorArray<double> weak;  // coefficients of weak modes
    MultiVectorArray<T> balanced;   // right-hand sides without weak modes
    std::unique_ptr<Workspace> cycle;
  };

 public:
  MultigridMethod(const Device& device, const AmgOptions& options)
      : Base(device, options.stop), options_(options), backend_(device) {
    if (is_complex<T> && options.cycle == CycleKind::k)
      throw BadOption("cycle", "a K-cycle is for real matrices; v, w and f take complex ones");
  }
  MultigridMethod(const Device& device, const AmgOptions& options, std::vector<Csr<T>> prolongations)
      : Base(device, options.stop),
        options_(options),
        backend_(device),
        prolongations_(std::move(prolongations)),
        given_(true) {}

  Outcome setup(const MatrixRef<T>& A) override {
    Base::setup(A);
    cycle_.reset();
    hierarchy_.reset();
    coarsening_.reset();
    description_ = {};
    const Csr<T>& sparse = to_sparse(A);
    choose_coarsening(sparse);
    coarsening_ = make_coarsening();
    hierarchy_ = std::make_unique<Hierarchy<T>>(sparse, *coarsening_, limits(), this->control(), largest());
    if (this->control().stop_requested()) return {Status::cancelled, "stopped by the caller"};
    return make_operator();
  }

  Outcome update_values(const MatrixRef<T>& A) override {
    if (!hierarchy_) return setup(A);
    Base::setup(A);
    cycle_.reset();
    const Csr<T>& sparse = to_sparse(A);
    // A matrix that has become unsymmetric, or symmetric, or has another pattern, needs another hierarchy.
    if (find_symmetry(backend_, sparse) != symmetry_) return setup(A);
    const MatrixCharacter character = characterise(backend_, real_companion(backend_, sparse));
    if (character.pattern != character_.pattern) return setup(A);
    character_ = character;
    choose_precision();
    hierarchy_->update_values(sparse, *coarsening_, largest());
    return make_operator();
  }

  [[nodiscard]] const HierarchyDescription* hierarchy() const override { return &description_; }
  [[nodiscard]] std::optional<Csr<T>> level_matrix(std::size_t level) const override {
    if (!hierarchy_ || level >= hierarchy_->levels().size()) return {};
    if (level == 0) return sparse();
    B backend(this->device());
    return cycle_ ? std::optional<Csr<T>>(cycle_->level_matrix(backend, level)) : std::nullopt;
  }
  /// Symmetric for V- and W-cycles, whose post-smoothing is adjoint to the pre-smoothing.
  [[nodiscard]] OperatorTraits traits() const override {
    OperatorTraits traits;
    if (options_.cycle == CycleKind::f || !symmetry_.any()) traits.kind = AppliedOperator::linear;
    if (options_.cycle == CycleKind::k) traits.kind = AppliedOperator::varying;
    // A null space is projected out of vectors of T, and weak modes are added to them.
    traits.leaves_floats = single_ != nullptr && null_space_.columns() + weak_.count() == 0;
    return traits;
  }
  void set_near_null_space(const Dense<double>& vectors) override {
    const std::vector<double> elements = vectors.to(Device()).to_vector();
    const std::vector<Real<T>> rounded(elements.begin(), elements.end());
    near_null_space_ = Dense<Real<T>>(vectors.rows(), vectors.columns(),
                                      Array<Real<T>>(this->device(), std::span<const Real<T>>(rounded)));
  }
  [[nodiscard]] bool finds_null_space() const override { return finds_null_spaces<T>; }
  [[nodiscard]] const Dense<T>& null_space_basis() const override { return null_space_; }
  [[nodiscard]] std::int64_t proven_null_vectors() const override { return proven_; }
  [[nodiscard]] const Array<std::int32_t>& zero_rows() const override { return zero_rows_; }
  [[nodiscard]] std::size_t bytes() const override {
    return copy_.bytes() + near_null_space_.bytes() + null_space_.bytes() + weak_.bytes() +
           zero_rows_.bytes() + (hierarchy_ ? hierarchy_->bytes() : 0) + (cycle_ ? cycle_->bytes() : 0);
  }
  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    const std::int64_t n = this->matrix().rows();
    auto workspace = this->complete_workspace(std::make_unique<Vectors>(this->device(), n));
    static_cast<Vectors&>(*workspace).preconditioner = std::make_unique<Application>(
        this->device(), n, null_space_.columns(), weak_.count(), cycle_ ? cycle_->make_workspace() : nullptr);
    return workspace;
  }

  void apply(Workspace& workspace, const MultiVector<const T>& r, const MultiVector<T>& z,
             Operation /*operation*/) const override {
    B& backend = static_cast<Vectors&>(workspace).backend;
    Application& own = application_of(workspace);
    if constexpr (finds_null_spaces<T>) {
      apply_outside_null_space(backend, own, r, z);
    } else {
      cycle_->apply(backend, *own.cycle, r, z);
    }
  }
  WidenedVectors<T> apply_in_float(Workspace& workspace, const MultiVector<const T>& r,
                                   const MultiVector<const double>& norms) const override {
    if constexpr (is_complex<T>) {
      return Base::apply_in_float(workspace, r, norms);
    } else {
      B& backend = static_cast<Vectors&>(workspace).backend;
      return single_->apply_in_float(backend, *application_of(workspace).cycle, r, norms);
    }
  }

 private:
  /// The cycle, without the null space in its results, and exact along weak modes.
  void apply_outside_null_space(B& backend, Application& own, const MultiVector<const T>& r,
                                const MultiVector<T>& z) const {
    const int columns = r.columns();
    own.weak.make_room(columns);
    own.balanced.make_room(columns);
    const MultiVector<double> weak = own.weak.first(columns);
    const MultiVector<T> balanced = own.balanced.first(columns);
    const bool has_weak_modes = weak_.count() > 0;
    for (int c = 0; c < columns && has_weak_modes; ++c) weak_.balance(backend, weak[c], r[c], balanced[c]);
    cycle_->apply(backend, *own.cycle, has_weak_modes ? MultiVector<const T>(balanced) : r, z);
    for (int c = 0; c < columns; ++c) {
      if (null_space_.columns() > 0) project_out(backend, null_space_, own.parts.data(), z[c]);
      if (has_weak_modes) weak_.complete(backend, weak[c], z[c]);
    }
  }
  void start(SolveWorkspace& /*workspace*/, const T* /*b*/, T* /*x*/) const override {}

  [[nodiscard]] bool iterates_together() const override { return true; }
  [[nodiscard]] bool records_true_residual() const override { return true; }

  void step(SolveWorkspace& workspace, const T* b, T* x) const override {
    const IteratedColumn column{&workspace, b, x};
    step_together({&column, 1});
  }
  /// x += M r, r = b - A x.
  void step_together(std::span<const IteratedColumn> columns) const override {
    auto& first = static_cast<Vectors&>(*columns.front().workspace);
    B& backend = first.backend;
    MultiVector<const T> b(first.n);
    MultiVector<T> x(first.n);
    MultiVector<T> r(first.n);
    MultiVector<T> z(first.n);
    for (const IteratedColumn& column : columns) {
      auto& own = static_cast<Vectors&>(*column.workspace);
      b.add(column.b);
      x.add(column.x);
      r.add(own.r.data());
      z.add(own.z.data());
    }
    const auto state = [&](int c) { return columns[static_cast<std::size_t>(c)].workspace->state(); };
    apply(first, r, z, Operation::none);
    for (int c = 0; c < x.columns(); ++c) {
      backend.for_each(x.rows(), AddCorrection<T>{state(c), z[c], x[c]});
    }
    form_residuals(backend, sparse(), b, x, r);
    for (int c = 0; c < x.columns(); ++c) {
      backend.reduce(x.rows(), SquaredMagnitude{r[c]}, RecordResidual{state(c)});
    }
  }

  static Application& application_of(Workspace& workspace) {
    return static_cast<Application&>(*static_cast<Vectors&>(workspace).preconditioner);
  }

  /// A in CSR.
  [[nodiscard]] const Csr<T>& sparse() const {
    return this->matrix().is_sparse() ? *this->matrix().csr() : copy_;
  }
  const Csr<T>& to_sparse(const MatrixRef<T>& A) {
    copy_ = A.is_sparse() ? Csr<T>() : to_csr(A);
    return sparse();
  }

  /// Largest share of off-diagonal magnitude with the sign of the diagonal for which `auto` takes classical
  /// coarsening: up to it A is close enough to an M-matrix, and classical coarsening is the faster one.
  static constexpr double m_matrix_part = 0.01;
  /// Largest such share for which aggressive levels pay: they take up to 2.5 times as many iterations, but
  /// save half of the set-up and a third of each iteration.
  static constexpr double aggressive_part = 0.1;
  /// Largest such share for which `auto` takes classical coarsening of symmetric A: anisotropy along no axis
  /// of the mesh gives up to a third. Smoothed aggregation takes three times as many iterations there, since
  /// its aggregates do not follow the direction.
  static constexpr double anisotropic_part = 0.4;

  /// Least ratio of the smallest to the largest diagonal magnitude for which the automatic precision is
  /// float: below it the smallest elements would approach the end of float's range.
  static constexpr double least_diagonal_ratio = 1e-24;

  /// Largest growth of the inverse of the coarsest matrix for which the automatic precision is float. Beyond
  /// it float rounds away what distinguishes the matrix from a singular one: conjugate gradients did not
  /// converge for a mesh without boundary condition with 1e-10 added to the diagonal.
  static constexpr double growth_of_float = 1e6;

  void choose_precision() {
    const bool is_moderate = character_.least_diagonal >= least_diagonal_ratio * character_.largest_diagonal;
    is_single_ = options_.precision == HierarchyPrecision::single ||
                 (options_.precision == HierarchyPrecision::automatic && !given_ && is_moderate);
    is_single_ = is_single_ && std::is_same_v<T, double>;
  }

  void choose_coarsening(const Csr<T>& A) {
    const auto& companion = real_companion(backend_, A);
    symmetry_ = find_symmetry(backend_, A);
    character_ = characterise(backend_, companion);
    choose_precision();
    block_ = options_.block_size;
    if (block_ > 0 && A.rows() % block_ != 0) {
      throw BadOption("block_size", "a block size of " + std::to_string(block_) + " does not divide the " +
                                        std::to_string(A.rows()) + " rows of A");
    }
    if (block_ == 0) block_ = find_block_size(backend_, companion);
    kind_ = options_.coarsening;
    if (near_null_space_.columns() > 0) {
      check_near_null_space(A);
      if (kind_ == AmgCoarsening::automatic) kind_ = AmgCoarsening::smoothed_aggregation;
    }
    aggressive_levels_ = options_.aggressive_levels;
    coarsening_reason_.clear();
    if (kind_ != AmgCoarsening::automatic) return;
    const double part = character_.same_sign_part();
    const bool classical =
        block_ == 1 && (part <= m_matrix_part || (symmetry_.any() && part <= anisotropic_part));
    kind_ = classical ? AmgCoarsening::classical : AmgCoarsening::smoothed_aggregation;
    // Coarse points far apart do not represent the waves of a shifted Laplacian.
    const bool may_be_shifted = is_complex<T> && !symmetry_.hermitian;
    if (classical && (part > aggressive_part || may_be_shifted)) aggressive_levels_ = 0;
    coarsening_reason_ = reason_for_coarsening(part);
  }

  /// Reason for the automatic coarsening of a matrix with this share of off-diagonal magnitude that has the
  /// sign of the diagonal.
  [[nodiscard]] std::string reason_for_coarsening(double part) const {
    if (block_ > 1) return "A has dense blocks of " + std::to_string(block_) + " unknowns";
    const long tenths = std::lround(1000 * part);
    const std::string share = std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) +
                              " % of the off-diagonal magnitude has the sign of the diagonal";
    if (part <= m_matrix_part) return "A is close to an M-matrix: " + share;
    return (symmetry_.any() ? "A is symmetric, " : "A is not symmetric, ") + share;
  }

  void check_near_null_space(const Csr<T>& A) {
    const std::int64_t vectors = near_null_space_.columns();
    if (near_null_space_.rows() != A.rows()) {
      throw DimensionMismatch("the near-null-space vectors have " + std::to_string(near_null_space_.rows()) +
                              " rows, A has " + std::to_string(A.rows()));
    }
    if (vectors > aggregation::max_block) {
      throw DimensionMismatch("there are " + std::to_string(vectors) + " near-null-space vectors, and " +
                              std::to_string(aggregation::max_block) + " are possible");
    }
    Array<double> largest(this->device(), 1);
    backend_.reduce(A.rows() * vectors, LargestMagnitude<const Real<T>*>{near_null_space_.data()},
                    StoreDouble{largest.data()});
    if (const double found = backend_.read(largest.data()); !std::isfinite(found) || found == 0) {
      throw Error(found == 0 ? "the near-null-space vectors are zero"
                             : "the near-null-space vectors have elements that are not finite");
    }
    if (kind_ == AmgCoarsening::classical) {
      throw BadOption("coarsening", "classical coarsening takes no near-null-space vectors");
    }
  }

  [[nodiscard]] HierarchyLimits limits() const {
    HierarchyLimits limits{.max_levels = options_.max_levels, .coarse_size = options_.coarse_size};
    if (given_) limits = {.max_levels = INT64_MAX, .coarse_size = 0, .rows_ratio = 1};
    return limits;
  }

  /// The largest magnitude in A, as far as it is known.
  [[nodiscard]] std::optional<double> largest() const {
    return is_complex<T> ? std::nullopt : std::optional(character_.largest.value);
  }

  [[nodiscard]] std::unique_ptr<Coarsening<T>> make_coarsening() const {
    if (given_) return std::make_unique<GivenProlongations<T>>(prolongations_);
    if constexpr (is_complex<T>) {
      return std::make_unique<CompanionCoarsening<B, T>>(this->device(), make_real_coarsening());
    } else {
      return make_real_coarsening();
    }
  }
  [[nodiscard]] std::unique_ptr<Coarsening<Real<T>>> make_real_coarsening() const {
    if (kind_ == AmgCoarsening::classical) {
      classical::CoarseningOptions classical{.interpolation = interpolation_of(options_.interpolation),
                                             .max_elements = options_.max_elements,
                                             .aggressive_levels = aggressive_levels_};
      classical.threshold = options_.strength.value_or(classical.threshold);
      return classical::make_coarsening<ThisTarget, Real<T>>(this->device(), classical);
    }
    AggregationOptions aggregation{.smoothed = kind_ == AmgCoarsening::smoothed_aggregation,
                                   .block = block_,
                                   .symmetric = symmetry_.any()};
    aggregation.threshold = options_.strength.value_or(aggregation.threshold);
    return make_aggregation<ThisTarget, Real<T>>(this->device(), aggregation, near_null_space_);
  }

  [[nodiscard]] static classical::InterpolationFormula interpolation_of(AmgInterpolation interpolation) {
    switch (interpolation) {
      case AmgInterpolation::direct:
        return classical::InterpolationFormula::direct;
      case AmgInterpolation::extended:
        return classical::InterpolationFormula::extended;
      case AmgInterpolation::extended_i:
        return classical::InterpolationFormula::extended_i;
      case AmgInterpolation::extended_e:
        break;
    }
    return classical::InterpolationFormula::extended_e;
  }

  [[nodiscard]] SmootherKind smoother() const {
    if (options_.smoother != SmootherKind::automatic) return options_.smoother;
    if (options_.weight) return SmootherKind::jacobi;
    // Jacobi converges for nonsymmetric M-matrices. After classical coarsening a stronger smoother saves
    // fewer iterations than it costs: for an anisotropy of 1 : 1000 7 in place of 9, at twice the products.
    if (!symmetry_.hermitian || (!given_ && kind_ == AmgCoarsening::classical)) return SmootherKind::jacobi;
    return SmootherKind::chebyshev;
  }

  /// The coarsest matrix and, of a real one, its inverse, which comes with the null space of A.
  CoarsestMatrix<T> make_coarsest() {
    const Csr<T>& matrix = *hierarchy_->levels().back().A;
    if constexpr (!finds_null_spaces<T>) {
      return {matrix, symmetry_.hermitian};
    } else {
      NullSpace<B, T> known{Dense<T>(this->device(), 0, 0)};  // no columns
      if (symmetry_.hermitian) {
        known = find_null_space(backend_, hierarchy_->levels(), character_, zero_rows_, near_null_space_);
      }
      null_space_ = std::move(known.basis);
      proven_ = known.proven;
      weak_ = std::move(known.weak);
      if (!symmetry_.hermitian && matrix.rows() <= largest_inverse) {
        known.coarsest_inverse = host_inverse(matrix, false);
      }
      if (options_.precision == HierarchyPrecision::automatic &&
          known.coarsest_inverse.growth > growth_of_float) {
        is_single_ = false;
      }
      return {matrix, symmetry_.hermitian, std::move(known.coarsest_inverse)};
    }
  }

  /// Makes the cycle in float, unless a part of it fails: `why` then has the reason.
  void make_single_cycle(const CoarsestMatrix<T>& coarsest, std::string& why) {
    const auto release = [this](std::size_t level) { hierarchy_->release_values(level, *coarsening_); };
    auto single =
        std::make_unique<SingleCycle<B, T>>(backend_, hierarchy_->levels(), character_.largest, release);
    if (!single->make(backend_, options_, smoother(), coarsest, why)) return;
    single_ = single.get();
    cycle_ = std::move(single);
  }

  /// Makes smoothers and the coarse solver for the hierarchy.
  Outcome make_operator() {
    std::string why;
    for (const HierarchyLevel<T>& level : hierarchy_->levels()) CsrAccess::find_stencils(*level.A);
    zero_rows_ = list_zero_rows(backend_, sparse(), character_.zero_rows);
    const CoarsestMatrix<T> coarsest = make_coarsest();
    single_ = nullptr;
    if constexpr (!is_complex<T>) {
      if (is_single_) make_single_cycle(coarsest, why);
    }
    if (!is_single_) {
      auto cycle = make_cycle<B, T>(backend_, options_, smoother(), hierarchy_->levels(), coarsest, 1, why);
      if (cycle) cycle_ = std::make_unique<WorkingCycle<B, T>>(this->device(), std::move(cycle));
    }
    if (!cycle_) return {Status::breakdown, why};
    if (is_single_) hierarchy_->release_values(hierarchy_->levels().size() - 1, *coarsening_);
    describe();
    return outcome();
  }

  void describe() {
    description_ = {};
    description_.coarsening = given_ ? "given" : std::string(to_string(kind_));
    if (!given_) description_.coarsening_reason = coarsening_reason_;
    const auto& levels = hierarchy_->levels();
    for (std::size_t l = 0; l < levels.size(); ++l) {
      const bool coarsest = l + 1 == levels.size();
      description_.levels.push_back(
          {.rows = levels[l].A->rows(),
           .nonzeros = pattern_size(*levels[l].A),
           .prolongation_nonzeros = pattern_size(levels[l].P),
           .method = coarsest ? cycle_->coarse_solver() : std::string(to_string(smoother())),
           .seconds = levels[l].seconds,
           .bytes = levels[l].bytes() + cycle_->level_bytes(l)});
    }
    description_.operator_complexity = hierarchy_->operator_complexity();
    description_.grid_complexity = hierarchy_->grid_complexity();
    description_.end = hierarchy_->end();
    description_.null_space = std::max(cycle_->null_space(), null_space_.columns()) + zero_rows_.size();
    description_.near_null_space = near_null_space_.columns();
  }

  [[nodiscard]] Outcome outcome() const {
    Outcome outcome;
    outcome.statistics = level_statistics(description_);
    if (!description_.coarsening_reason.empty()) {
      outcome.statistics.push_back({"coarsening_reason", description_.coarsening_reason});
    }
    outcome.statistics.push_back({"smoother", std::string(to_string(smoother()))});
    outcome.statistics.push_back({"coarse_solver", description_.levels.back().method});
    outcome.statistics.push_back({"precision", std::string(is_single_ ? "single" : "working")});
    if (block_ > 1) outcome.statistics.push_back({"block_size", block_});
    if (near_null_space_.columns() > 0) {
      outcome.statistics.push_back({"near_null_space", near_null_space_.columns()});
    }
    if (description_.null_space > 0) outcome.statistics.push_back({"null_space", description_.null_space});
    if (zero_rows_.size() > 0) {
      outcome.warnings.push_back(zero_rows_.size() == 1
                                     ? "A is singular: one of its rows is zero"
                                     : "A is singular: " + std::to_string(zero_rows_.size()) +
                                           " of its rows are zero");
    }
    if (character_.zero_diagonals > 0) {
      outcome.warnings.push_back("A is not definite: the diagonal element is zero, and others are not, in " +
                                 std::to_string(character_.zero_diagonals) + " of its rows");
    }
    if (null_space_.columns() > 0) outcome.warnings.push_back(null_space_text());
    const bool has_all_given = given_ && description_.levels.size() == prolongations_.size() + 1;
    if (hierarchy_->ended_early() && !has_all_given) {
      outcome.statistics.push_back({"end_of_coarsening", description_.end});
      outcome.warnings.push_back("the hierarchy ends at " + std::to_string(description_.levels.back().rows) +
                                 " rows: " + description_.end);
    }
    return outcome;
  }

  /// The dimensions are lower bounds: only vectors that were found are counted.
  [[nodiscard]] std::string null_space_text() const {
    const std::string known = std::to_string(null_space_.columns());
    if (proven_ == 0) {
      return "A is singular to working precision: its null space, of dimension " + known +
             " or more up to rounding, is projected out of every correction";
    }
    const std::string exact =
        proven_ < null_space_.columns() ? ", and " + known + " or more up to rounding" : std::string();
    return "A is singular: its null space, of dimension " + std::to_string(proven_) + " or more" + exact +
           ", is projected out of every correction";
  }

  AmgOptions options_;
  B backend_;
  std::vector<Csr<T>> prolongations_;
  bool given_ = false;
  MirrorSymmetry symmetry_;
  bool is_single_ = false;
  std::int64_t block_ = 1;
  MatrixCharacter character_;
  AmgCoarsening kind_ = AmgCoarsening::smoothed_aggregation;
  std::string coarsening_reason_;  // if the kind was chosen by the matrix
  std::int64_t aggressive_levels_ = 0;
  Csr<T> copy_;                                     // A in CSR if A is dense
  Dense<Real<T>> near_null_space_{Device(), 0, 0};  // no columns: constants
  Dense<T> null_space_{Device(), 0, 0};             // orthonormal basis, excluding unit vectors of zero rows
  std::int64_t proven_ = 0;                         // its first columns, which are exact null vectors
  WeakModes<B, T> weak_;                            // constants that are almost null vectors
  Array<std::int32_t> zero_rows_;
  std::unique_ptr<Coarsening<T>> coarsening_;
  std::unique_ptr<Hierarchy<T>> hierarchy_;
  std::unique_ptr<CycleOperator<B, T>> cycle_;
  const SingleCycle<B, T>* single_ = nullptr;  // cycle_ if it computes in float, or null
  HierarchyDescription description_;
};

}  // namespace

template <class Target, class T>
std::unique_ptr<SolverImplementation<T>> make_with_prolongations(const Device& device,
                                                                 std::vector<Csr<T>> prolongations,
                                                                 const AmgOptions& options) {
  static_assert(std::is_same_v<Target, ThisTarget>);
  return on_backend(device, [&]<class B>() -> std::unique_ptr<SolverImplementation<T>> {
    return std::make_unique<MultigridMethod<B, T>>(device, options, std::move(prolongations));
  });
}

#define ECHELON_INSTANTIATE(T)                                                           \
  template std::unique_ptr<SolverImplementation<T>> make_with_prolongations<ThisTarget>( \
      const Device&, std::vector<Csr<T>>, const AmgOptions&);
ECHELON_FOR_EACH_SCALAR_OF_HOST(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace multigrid

template <>
struct MethodWith<AmgOptions> {
  template <class B, class T>
  using Type = multigrid::MultigridMethod<B, T>;
};

#define ECHELON_INSTANTIATE(T)                                                                     \
  template std::unique_ptr<SolverImplementation<T>> make_implementation<ThisTarget>(const Device&, \
                                                                                    const AmgOptions&);
ECHELON_FOR_EACH_SCALAR_OF_HOST(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
