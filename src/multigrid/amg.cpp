// SPDX-License-Identifier: BSD-3-Clause
#include "backend/store.hpp"
#include "multigrid/coarsening/aggregation/aggregation.hpp"
#include "multigrid/cycle_operator.hpp"
#include "multigrid/estimates/symmetry.hpp"
#include "multigrid/method.hpp"
#include "solver/instantiate.hpp"
#include "solver/iteration.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/matrix.hpp>

#include <string>
#include <utility>
#include <vector>

namespace echelon {

namespace multigrid {

namespace {

/// x += z while the iteration runs.
template <class T>
struct AddCorrection {
  const IterationState* state;
  const T* z;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    if (state->running()) x[i] += z[i];
  }
};

/// A user's prolongations, one after the other.
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
    throw DimensionMismatch("the first prolongation has " + std::to_string(P.rows()) + " rows, A has " +
                            std::to_string(A.rows()));
  }

 private:
  const std::vector<Csr<T>>* prolongations_;
};

template <class B, class T>
class MultigridMethod final : public IterativeMethod<B, T>, public HierarchyOwner {
  using Base = IterativeMethod<B, T>;
  using typename Base::SolveWorkspace;

  struct Vectors : SolveWorkspace {
    Vectors(const Device& device, std::int64_t size, std::unique_ptr<Workspace> scratch)
        : SolveWorkspace(device, size), z(device, size), cycle(std::move(scratch)) {}
    [[nodiscard]] std::size_t bytes() const override {
      return SolveWorkspace::bytes() + z.bytes() + cycle->bytes();
    }
    Array<T> z;
    std::unique_ptr<Workspace> cycle;
  };

 public:
  MultigridMethod(const Device& device, const AmgOptions& options)
      : Base(device, options.stop), options_(options), backend_(device) {}
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
    check_block_size(sparse);
    symmetric_ = is_symmetric(backend_, sparse);
    coarsening_ = make_coarsening();
    hierarchy_ = std::make_unique<Hierarchy<T>>(sparse, *coarsening_, limits(), this->cancel());
    if (this->cancel().stop_requested()) return {Status::cancelled, "stopped by the caller"};
    return make_operator();
  }

  Outcome update_values(const MatrixRef<T>& A) override {
    if (!hierarchy_) return setup(A);
    Base::setup(A);
    cycle_.reset();
    const Csr<T>& sparse = to_sparse(A);
    // A matrix that has become unsymmetric, or symmetric, needs another hierarchy.
    if (is_symmetric(backend_, sparse) != symmetric_) return setup(A);
    hierarchy_->update_values(sparse, *coarsening_);
    return make_operator();
  }

  [[nodiscard]] const HierarchyDescription& description() const override { return description_; }
  [[nodiscard]] std::size_t bytes() const override {
    return copy_.bytes() + (hierarchy_ ? hierarchy_->bytes() : 0) + (cycle_ ? cycle_->bytes() : 0);
  }
  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return this->complete_workspace(std::make_unique<Vectors>(this->device(), this->matrix().rows(),
                                                              cycle_ ? cycle_->make_workspace() : nullptr));
  }

  void apply(Workspace& workspace, const T* r, T* z) const override {
    auto& v = static_cast<Vectors&>(workspace);
    cycle_->apply(v.backend, *v.cycle, r, z);
  }

 private:
  void start(SolveWorkspace& /*workspace*/, const T* /*b*/, T* /*x*/) const override {}

  void step(SolveWorkspace& workspace, const T* b, T* x) const override {
    auto& v = static_cast<Vectors&>(workspace);
    cycle_->apply(v.backend, *v.cycle, v.r.data(), v.z.data());
    v.backend.for_each(v.n, AddCorrection<T>{v.state(), v.z.data(), x});
    v.backend.copy(v.n, b, v.r.data());
    multiply(v.backend, T{-1}, this->matrix(), x, T{1}, v.r.data());
    v.backend.reduce(v.n, Product<T>{v.r.data(), v.r.data()}, RecordResidual{v.state()});
  }

  const Csr<T>& to_sparse(const MatrixRef<T>& A) {
    copy_ = A.is_sparse() ? Csr<T>() : to_csr(A);
    return A.is_sparse() ? *A.csr() : copy_;
  }

  void check_block_size(const Csr<T>& A) const {
    if (A.rows() % options_.block_size == 0) return;
    throw BadOption("block_size", std::to_string(options_.block_size) + " does not divide the " +
                                      std::to_string(A.rows()) + " rows of A");
  }

  [[nodiscard]] HierarchyLimits limits() const {
    HierarchyLimits limits{.max_levels = options_.max_levels, .coarse_size = options_.coarse_size};
    if (given_) limits = {.max_levels = INT64_MAX, .coarse_size = 0, .rows_ratio = 1};
    return limits;
  }

  [[nodiscard]] std::unique_ptr<Coarsening<T>> make_coarsening() const {
    if (given_) return std::make_unique<GivenProlongations<T>>(prolongations_);
    const AggregationOptions aggregation{.smoothed = options_.coarsening != AmgCoarsening::aggregation,
                                         .threshold = options_.strength,
                                         .block = options_.block_size,
                                         .symmetric = symmetric_};
    return make_aggregation<ThisTarget, T>(this->device(), aggregation, Dense<T>(this->device(), 0, 0));
  }

  [[nodiscard]] SmootherKind smoother() const {
    if (options_.smoother != SmootherKind::automatic) return options_.smoother;
    return SmootherKind::jacobi;
  }

  /// Makes smoothers and the coarse solver for the hierarchy.
  Outcome make_operator() {
    std::string why;
    if (options_.precision == HierarchyPrecision::single && sizeof(T) > sizeof(float)) {
      auto single = std::make_unique<SingleCycle<B, T>>(backend_, hierarchy_->levels());
      if (single->make(backend_, options_, smoother(), symmetric_, why)) cycle_ = std::move(single);
    } else {
      auto cycle = make_cycle<B, T>(backend_, options_, smoother(), hierarchy_->levels(), symmetric_, why);
      if (cycle) cycle_ = std::make_unique<WorkingCycle<B, T>>(this->device(), std::move(cycle));
    }
    if (!cycle_) return {Status::breakdown, why};
    describe();
    return outcome();
  }

  void describe() {
    description_ = {};
    description_.coarsening = given_ ? "given" : std::string(to_string(coarsening_kind()));
    const auto& levels = hierarchy_->levels();
    for (std::size_t l = 0; l < levels.size(); ++l) {
      const bool coarsest = l + 1 == levels.size();
      description_.levels.push_back(
          {.rows = levels[l].A->rows(),
           .nonzeros = levels[l].A->nonzeros(),
           .prolongation_nonzeros = levels[l].P.nonzeros(),
           .method = coarsest ? cycle_->coarse_solver() : std::string(to_string(smoother())),
           .seconds = levels[l].seconds,
           .bytes = levels[l].bytes() + cycle_->level_bytes(l)});
    }
    description_.operator_complexity = hierarchy_->operator_complexity();
    description_.grid_complexity = hierarchy_->grid_complexity();
    description_.end = hierarchy_->end();
    description_.null_space = cycle_->null_space();
  }

  [[nodiscard]] AmgCoarsening coarsening_kind() const {
    return options_.coarsening == AmgCoarsening::automatic ? AmgCoarsening::smoothed_aggregation
                                                           : options_.coarsening;
  }

  [[nodiscard]] Outcome outcome() const {
    Outcome outcome;
    std::vector<std::int64_t> rows;
    std::vector<std::int64_t> nonzeros;
    std::vector<std::int64_t> bytes;
    for (const LevelDescription& level : description_.levels) {
      rows.push_back(level.rows);
      nonzeros.push_back(level.nonzeros);
      bytes.push_back(static_cast<std::int64_t>(level.bytes));
    }
    outcome.statistics = {{"levels", static_cast<std::int64_t>(rows.size())},
                          {"coarsening", description_.coarsening},
                          {"smoother", std::string(to_string(smoother()))},
                          {"coarse_solver", description_.levels.back().method},
                          {"operator_complexity", description_.operator_complexity},
                          {"grid_complexity", description_.grid_complexity},
                          {"level_rows", rows},
                          {"level_nonzeros", nonzeros},
                          {"level_bytes", bytes}};
    if (description_.null_space > 0) outcome.statistics.push_back({"null_space", description_.null_space});
    if (hierarchy_->ended_early() && !given_) {
      outcome.statistics.push_back({"end_of_coarsening", description_.end});
      outcome.warnings.push_back("the hierarchy ends at " + std::to_string(rows.back()) +
                                 " rows: " + description_.end);
    }
    return outcome;
  }

  AmgOptions options_;
  B backend_;
  std::vector<Csr<T>> prolongations_;
  bool given_ = false;
  bool symmetric_ = true;
  Csr<T> copy_;  // of a dense A
  std::unique_ptr<Coarsening<T>> coarsening_;
  std::unique_ptr<Hierarchy<T>> hierarchy_;
  std::unique_ptr<CycleOperator<B, T>> cycle_;
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

template std::unique_ptr<SolverImplementation<float>> make_with_prolongations<ThisTarget>(
    const Device&, std::vector<Csr<float>>, const AmgOptions&);
template std::unique_ptr<SolverImplementation<double>> make_with_prolongations<ThisTarget>(
    const Device&, std::vector<Csr<double>>, const AmgOptions&);

}  // namespace multigrid

template <>
struct MethodWith<AmgOptions> {
  template <class B, class T>
  using Type = multigrid::MultigridMethod<B, T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<ThisTarget>(const Device&,
                                                                                      const AmgOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<ThisTarget>(const Device&,
                                                                                       const AmgOptions&);

}  // namespace echelon
