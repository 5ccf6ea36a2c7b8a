// SPDX-License-Identifier: BSD-3-Clause
// Multigrid whose prolongations depend on a grid alone: `geometric-multigrid`, and `multigrid` on a line.
#include "matrix/stencil/find_grid.hpp"
#include "multigrid/geometric/interpolation.hpp"
#include "multigrid/method.hpp"
#include "solver/instantiate.hpp"
#include "solver/nested_solver.hpp"

#include <echelon/error.hpp>
#include <echelon/methods/multigrid/geometric_multigrid.hpp>
#include <echelon/methods/multigrid/multigrid.hpp>

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

namespace {

AmgOptions cycle_options(const GeometricMultigridOptions& options) {
  return {.stop = options.stop,
          .cycle = options.cycle,
          .smoother = options.smoother,
          .sweeps = options.sweeps,
          .weight = options.weight};
}
AmgOptions cycle_options(const MultigridOptions& options) {
  return {.stop = options.stop,
          .smoother = SmootherKind::jacobi,
          .sweeps = options.sweeps,
          .weight = options.weight};
}

template <class B, class T>
std::optional<Grid> grid_of(B& backend, const GeometricMultigridOptions& options, const MatrixRef<T>& A) {
  std::optional<Grid> grid = find_grid(backend, options.grid, A);
  if (grid) grid->periodic = {};  // the interpolation ends at the last point of a periodic axis, too
  return grid;
}
template <class B, class T>
std::optional<Grid> grid_of(B& /*backend*/, const MultigridOptions& /*options*/, const MatrixRef<T>& A) {
  return Grid{{A.rows(), 1, 1}};
}

/// Multigrid by interpolation on a grid: makes the prolongations for A and delegates to the algebraic method.
template <class B, class T, class O>
class GridMultigrid final : public SolverImplementation<T> {
 public:
  GridMultigrid(const Device& device, const O& options)
      : SolverImplementation<T>(device), options_(options), backend_(device) {
    make_cycles({});
  }

  [[nodiscard]] const Stop* stop() const override { return cycles_->stop(); }

  Outcome setup(const MatrixRef<T>& A) override {
    const std::optional<Grid> recognised = grid_of(backend_, options_, A);
    const Grid grid = recognised.value_or(Grid{{A.rows(), 1, 1}});
    std::vector<Csr<T>> prolongations;
    Grid coarsest = grid;
    for (; coarsest.size() > options_.coarse_size && coarsest.coarse() != coarsest &&
           static_cast<std::int64_t>(prolongations.size()) + 1 < options_.max_levels;
         coarsest = coarsest.coarse()) {
      prolongations.push_back(multigrid::interpolation<ThisTarget, T>(this->device(), coarsest));
    }
    grids_ = prolongations.size() + 1;
    end_ = coarsest.size() <= options_.coarse_size ? "the level is small" : "the number of levels is limited";
    make_cycles(std::move(prolongations));
    grid_ = to_string(grid);
    Outcome outcome = complete(cycles_->setup(A));
    if (!recognised) {
      outcome.warnings.insert(
          outcome.warnings.begin(),
          "no grid is given by the option `grid`, and none was recognised: the unknowns are taken to lie on "
          "a line");
    }
    return outcome;
  }
  Outcome update_values(const MatrixRef<T>& A) override { return complete(cycles_->update_values(A)); }

  [[nodiscard]] std::size_t bytes() const override { return cycles_->bytes(); }
  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return cycles_->make_workspace();
  }
  void solve(Workspace& workspace, DenseView<const T> right, DenseView<T> left,
             std::vector<Job>& jobs) const override {
    cycles_->solve(workspace, right, left, jobs);
  }
  void apply(Workspace& workspace, const MultiVector<const T>& r, const MultiVector<T>& z,
             Operation operation) const override {
    cycles_->apply(workspace, r, z, operation);
  }
  WidenedVectors<T> apply_in_float(Workspace& workspace, const MultiVector<const T>& r,
                                   const MultiVector<const double>& norms) const override {
    return cycles_->apply_in_float(workspace, r, norms);
  }
  [[nodiscard]] OperatorTraits traits() const override { return cycles_->traits(); }

  [[nodiscard]] const HierarchyDescription* hierarchy() const override { return &description_; }
  [[nodiscard]] std::optional<Csr<T>> level_matrix(std::size_t level) const override {
    return cycles_->level_matrix(level);
  }
  [[nodiscard]] bool finds_null_space() const override { return true; }
  [[nodiscard]] const Dense<T>& null_space_basis() const override { return cycles_->null_space_basis(); }
  [[nodiscard]] std::int64_t proven_null_vectors() const override { return cycles_->proven_null_vectors(); }
  [[nodiscard]] const Array<std::int32_t>& zero_rows() const override { return cycles_->zero_rows(); }

 private:
  void make_cycles(std::vector<Csr<T>> prolongations) {
    cycles_ = multigrid::make_with_prolongations<ThisTarget, T>(this->device(), std::move(prolongations),
                                                                cycle_options(options_));
    cycles_->set_description(std::string(O::name), "");
    cycles_->set_control(this->control());
  }

  /// Describes the levels by their grids instead of as user-given prolongations.
  Outcome complete(Outcome outcome) {
    description_ = *cycles_->hierarchy();
    description_.coarsening = "grid " + grid_;
    if (description_.levels.size() == grids_) description_.end = end_;
    for (Statistic& statistic : outcome.statistics) {
      if (statistic.name == "coarsening") statistic.value = description_.coarsening;
    }
    return outcome;
  }

  O options_;
  B backend_;
  std::unique_ptr<SolverImplementation<T>> cycles_;
  std::string grid_;
  std::size_t grids_ = 0;  // levels, if no coarse matrix is too dense
  std::string end_;        // why there are no more of them
  HierarchyDescription description_;
};

}  // namespace

template <>
struct MethodWith<GeometricMultigridOptions> {
  template <class B, class T>
  using Type = GridMultigrid<B, T, GeometricMultigridOptions>;
};
template <>
struct MethodWith<MultigridOptions> {
  template <class B, class T>
  using Type = GridMultigrid<B, T, MultigridOptions>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<ThisTarget>(
    const Device&, const GeometricMultigridOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<ThisTarget>(
    const Device&, const GeometricMultigridOptions&);
#define ECHELON_INSTANTIATE(T)                                                       \
  template std::unique_ptr<SolverImplementation<T>> make_implementation<ThisTarget>( \
      const Device&, const MultigridOptions&);
ECHELON_FOR_EACH_SCALAR_OF_HOST(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
