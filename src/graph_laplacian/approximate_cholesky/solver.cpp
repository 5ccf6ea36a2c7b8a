// SPDX-License-Identifier: BSD-3-Clause
#include "backend/lower_bound.hpp"
#include "graph_laplacian/approximate_cholesky/factor.hpp"
#include "graph_laplacian/approximate_cholesky/low_degree.hpp"
#include "graph_laplacian/approximate_cholesky/pcg.hpp"
#include "graph_laplacian/laplacian_form.hpp"
#include "solver/corrections.hpp"
#include "solver/inconsistent.hpp"
#include "solver/instantiate.hpp"
#include "support/text.hpp"

#include <echelon/matrix/matrix.hpp>
#include <echelon/methods/approximate_cholesky.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace echelon {

namespace {

using namespace graph_laplacian;

/// Ratio of the largest to the smallest weight up to which the factor is kept in float. Beyond it, rounding
/// errors of heavy edges could exceed the weights of light edges that alone connect a part of the graph.
constexpr double float_weight_ratio = 1e5;
/// Largest number of columns that are solved together.
constexpr int wide = 8;

/// Range of the nonzero off-diagonal magnitudes; empty if there are none.
struct WeightRange {
  double smallest = INFINITY;
  double largest = 0;
  friend WeightRange combine(WeightRange a, WeightRange b) {
    return {std::min(a.smallest, b.smallest), std::max(a.largest, b.largest)};
  }
};
struct RowWeights {
  const std::int64_t* offsets;
  const std::int32_t* columns;
  const double* values;
  WeightRange operator()(std::int64_t i) const {
    WeightRange range;
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
      const double weight = std::abs(values[k]);
      if (columns[k] != i && weight != 0) range = combine(range, {weight, weight});
    }
    return range;
  }
};
template <class B>
WeightRange weight_range(B& backend, const Csr<double>& A) {
  WeightRange range;
  backend.reduce(A.rows(), RowWeights{A.row_offsets().data(), A.column_indices().data(), A.values().data()},
                 [&range](WeightRange all) { range = all; });
  return range;
}

template <class B, class T>
class ApproximateCholeskyMethod final : public SolverImplementation<T> {
  /// Vectors of a block of K columns.
  template <int K>
  struct Block {
    std::vector<double> b, x, r;  ///< n K elements each, before the elimination of low degrees
    PcgVectors core;
    std::array<double, K> tolerances;  ///< on the residuals of the parts of b in the range of A
    [[nodiscard]] std::size_t bytes() const {
      return (b.capacity() + x.capacity() + r.capacity()) * sizeof(double) + core.bytes();
    }
  };
  struct SolveWorkspace : Workspace {
    explicit SolveWorkspace(const Device& device) : backend(device) {}
    B backend;
    typename LaplacianForm<B, T>::Workspace form;
    std::vector<double> column;  ///< a vector of the form, not interleaved
    Block<1> one;
    Block<wide> many;
    [[nodiscard]] std::size_t bytes() const override {
      return form.bytes() + column.capacity() * sizeof(double) + one.bytes() + many.bytes();
    }
  };

 public:
  ApproximateCholeskyMethod(const Device& device, const ApproximateCholeskyOptions& options)
      : SolverImplementation<T>(device), options_(options), backend_(device) {}

  Outcome setup(const MatrixRef<T>& A) override {
    copy_ = A.is_sparse() ? Csr<T>() : to_csr(A);
    const Csr<T>& sparse = A.is_sparse() ? *A.csr() : copy_;
    n_ = sparse.rows();
    Outcome outcome = form_.setup(backend_, sparse, Excess::diagonal);
    if (!outcome.ok()) return outcome;
    take_matrix();
    factored_.store(false);
    reduction_ = {};
    single_ = {};
    double_ = {};
    diagonal_.values.clear();
    if (options_.jacobi_iterations > 0) {
      invert_diagonal();
    } else if (!factor(backend_, this->cancel())) {
      return {Status::cancelled, "stopped by the caller"};
    }
    outcome.statistics = {{"components", form_.components()}};
    if (factored_) add_factor_statistics(outcome.statistics);
    return outcome;
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    auto workspace = std::make_unique<SolveWorkspace>(this->device());
    workspace->form = form_.make_workspace(workspace->backend);
    workspace->column.resize(static_cast<std::size_t>(form_.vertices()));
    return workspace;
  }
  [[nodiscard]] const Stop* stop() const override { return &options_.stop; }
  [[nodiscard]] std::size_t bytes() const override {
    const std::lock_guard<std::mutex> lock(mutex_);  // a solve may be computing the factor
    return copy_.bytes() + form_.bytes() + converted_.bytes() + reduction_.bytes() + single_.bytes() +
           double_.bytes() + (excess_.capacity() + diagonal_.values.capacity()) * sizeof(double);
  }

  void solve(Workspace& workspace, DenseView<const T> right, DenseView<T> left,
             std::vector<Job>& jobs) const override {
    auto& own = static_cast<SolveWorkspace&>(workspace);
    std::int64_t j = 0;
    for (; j + 1 < right.columns(); j += wide) {
      const std::int64_t count = std::min<std::int64_t>(wide, right.columns() - j);
      solve_block<wide>(own, own.many, right, left, j, count, jobs);
    }
    if (j < right.columns()) solve_block<1>(own, own.one, right, left, j, 1, jobs);
  }

  /// z = M^-1 r.
  void apply(Workspace& workspace, const MultiVector<const T>& r, const MultiVector<T>& z,
             Operation /*operation*/) const override {
    auto& own = static_cast<SolveWorkspace&>(workspace);
    factor(own.backend, {});
    for (int c = 0; c < r.columns(); ++c) apply_to(own, r[c], z[c]);
  }

 private:
  void apply_to(SolveWorkspace& own, const T* r, T* z) const {
    Block<1>& block = own.one;
    block.r.resize(own.column.size());
    form_.spread(own.backend, r, block.r.data());
    restrict_to_core<1>(block.r, block.core.r);
    block.core.z.resize(block.core.r.size());
    with_factor([&](const auto& factor) {
      apply_factor<1>(own.backend, factor, block.core.r.data(), block.core.z.data(), block.core.blocks);
    });
    block.x.assign(block.r.size(), 0.0);
    add_correction<1>(own.backend, block.core.z, block.r, block.x);
    form_.restore(own.backend, own.form, block.x.data(), z);
  }

  /// Factors the matrix; false when asked to stop. Called by set-up, or by the first solve that needs the
  /// factor.
  bool factor(B& backend, const CancellationToken& cancel) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (factored_) return true;
    reduction_ = eliminate_low_degrees(backend, *matrix_, excess_);
    const bool reduced = !reduction_.steps.empty();
    const Csr<double>& core = reduced ? reduction_.core : *matrix_;
    const std::vector<double>& excess = reduced ? reduction_.core_excess : excess_;
    const WeightRange range = weight_range(backend, core);
    in_double_ = range.largest > float_weight_ratio * range.smallest;
    const SamplingOptions sampling{static_cast<std::uint64_t>(options_.seed),
                                   static_cast<int>(options_.split),
                                   range.largest > 0 ? std::ldexp(1.0, -std::ilogb(range.largest)) : 1.0};
    const EliminationTree tree = dissect(backend, core);
    if (in_double_) {
      double_ = eliminate_by_degree<double>(backend, core, excess.data(), tree, sampling, cancel);
    } else {
      single_ = eliminate_by_degree<float>(backend, core, excess.data(), tree, sampling, cancel);
    }
    factored_ = with_factor([](const auto& f) { return f.vertices(); }) == core.rows();
    return factored_;
  }

  void add_factor_statistics(std::vector<Statistic>& statistics) const {
    const std::int64_t nonzeros = with_factor([](const auto& f) { return f.nonzeros(); });
    const Csr<double>& core = core_matrix();
    const std::int64_t edges = (core.nonzeros() - core.rows()) / 2;
    statistics.push_back({"eliminated", static_cast<std::int64_t>(reduction_.steps.size())});
    statistics.push_back({"factor_nonzeros", nonzeros});
    statistics.push_back(
        {"fill", edges > 0 ? static_cast<double>(nonzeros) / static_cast<double>(edges) : 0.0});
  }

  void invert_diagonal() {
    const std::int64_t* const offsets = matrix_->row_offsets().data();
    const std::int32_t* const columns = matrix_->column_indices().data();
    const double* const values = matrix_->values().data();
    diagonal_.values.resize(static_cast<std::size_t>(matrix_->rows()));
    double* const inverse = diagonal_.values.data();
    backend_.for_each(matrix_->rows(), [=](std::int64_t i) {
      const std::int64_t k = lower_bound(columns, offsets[i], offsets[i + 1], i);
      const bool has_diagonal = k < offsets[i + 1] && columns[k] == i && values[k] != 0;
      inverse[i] = has_diagonal ? 1 / values[k] : 0;
    });
  }

  /// Ratio of the norm of the residual in terms of the form, which may be doubled, to that of the caller's.
  [[nodiscard]] double norm_ratio() const {
    return form_.kind() == DominanceKind::sdd ? std::sqrt(2.0) : 1.0;
  }
  [[nodiscard]] const Csr<double>& core_matrix() const {
    return reduction_.steps.empty() ? *matrix_ : reduction_.core;
  }

  /// Calls f with the factor in its precision.
  template <class Function>
  auto with_factor(const Function& f) const {
    return in_double_ ? f(double_) : f(single_);
  }

  /// Sets the matrix to factor, in double, and its excess.
  void take_matrix() {
    const Csr<T>& L = form_.laplacian();
    excess_.assign(form_.excess().data(), form_.excess().data() + form_.excess().size());
    if constexpr (std::is_same_v<T, double>) {
      matrix_ = &L;
    } else {
      Array<double> values(this->device(), L.nonzeros());
      backend_.for_each(L.nonzeros(),
                        LiftVector<T, double>{L.values().data(), nullptr, L.nonzeros(), T{1}, values.data()});
      converted_ = Csr<double>::unchecked(L.rows(), L.columns(), L.row_offsets(), L.column_indices(),
                                          std::move(values));
      matrix_ = &converted_;
    }
  }

  /// Interleaves the workspace's column with others in `block`, as column c, or copies it back.
  template <int K>
  void put_column(SolveWorkspace& own, int c, std::vector<double>& block) const {
    double* const target = block.data() + c;
    const double* const source = own.column.data();
    own.backend.for_each(form_.vertices(), [=](std::int64_t i) { target[K * i] = source[i]; });
  }
  template <int K>
  void take_column(SolveWorkspace& own, int c, const std::vector<double>& block) const {
    const double* const source = block.data() + c;
    double* const target = own.column.data();
    own.backend.for_each(form_.vertices(), [=](std::int64_t i) { target[i] = source[K * i]; });
  }

  /// Eliminates the vertices of low degree from r and copies the remaining elements to `core`.
  template <int K>
  void restrict_to_core(std::vector<double>& r, std::vector<double>& core) const {
    if (reduction_.steps.empty()) {
      core = r;
      return;
    }
    for (const LowDegreeStep& step : reduction_.steps) {
      const double* const own = r.data() + K * std::int64_t{step.vertex};
      for (int side = 0; side < 2; ++side) {
        if (step.neighbour[side] < 0) continue;
        double* const target = r.data() + K * std::int64_t{step.neighbour[side]};
        for (int c = 0; c < K; ++c) target[c] += step.fraction[side] * own[c];
      }
    }
    core.resize(static_cast<std::size_t>(K) * reduction_.kept.size());
    for (std::size_t i = 0; i < reduction_.kept.size(); ++i) {
      const double* const source = r.data() + K * std::int64_t{reduction_.kept[i]};
      for (int c = 0; c < K; ++c) core[K * i + static_cast<std::size_t>(c)] = source[c];
    }
  }

  /// Extends the correction of the core to the eliminated vertices and adds it to x. r is as restrict_to_core
  /// left it on entry, and the correction on return.
  template <int K>
  void add_correction(B& backend, const std::vector<double>& core, std::vector<double>& r,
                      std::vector<double>& x) const {
    if (reduction_.steps.empty()) {
      add(backend, core, x);
      return;
    }
    for (std::size_t i = 0; i < reduction_.kept.size(); ++i) {
      double* const target = r.data() + K * std::int64_t{reduction_.kept[i]};
      for (int c = 0; c < K; ++c) target[c] = core[K * i + static_cast<std::size_t>(c)];
    }
    for (std::size_t k = reduction_.steps.size(); k-- > 0;) {
      const LowDegreeStep& step = reduction_.steps[k];
      double* const own = r.data() + K * std::int64_t{step.vertex};
      for (int c = 0; c < K; ++c) own[c] *= step.inverse_pivot;
      for (int side = 0; side < 2; ++side) {
        if (step.neighbour[side] < 0) continue;
        const double* const source = r.data() + K * std::int64_t{step.neighbour[side]};
        for (int c = 0; c < K; ++c) own[c] += step.fraction[side] * source[c];
      }
    }
    add(backend, r, x);
  }

  static void add(B& backend, const std::vector<double>& y, std::vector<double>& x) {
    const double* const source = y.data();
    double* const target = x.data();
    backend.for_each(static_cast<std::int64_t>(x.size()), [=](std::int64_t k) { target[k] += source[k]; });
  }

  /// r = b - A x; returns ||r||_2 of each column in terms of the caller's system.
  template <int K>
  ColumnSums<K> form_residual(B& backend, Block<K>& block, bool x_is_nonzero) const {
    double* const r = block.r.data();
    const double* const b = block.b.data();
    if (x_is_nonzero) {
      multiply_columns<K>(backend, *matrix_, block.x.data(), r);
    } else {
      backend.fill(K * matrix_->rows(), 0.0, r);
    }
    ColumnSums<K> norms =
        sum_over_rows<K>(backend, matrix_->rows(), [=](std::int64_t begin, std::int64_t end) {
          return sum_elements<K>(K * begin, K * end, [=](std::int64_t k) {
            r[k] = b[k] - r[k];
            return r[k] * r[k];
          });
        });
    for (double& norm : norms) norm = std::sqrt(norm) / norm_ratio();
    return norms;
  }

  template <int K>
  void solve_block(SolveWorkspace& own, Block<K>& block, DenseView<const T> right, DenseView<T> left,
                   std::int64_t first, std::int64_t count, std::vector<Job>& jobs) const {
    const auto size = static_cast<std::size_t>(K * matrix_->rows());
    block.b.assign(size, 0.0);
    block.x.assign(size, 0.0);
    block.r.resize(size);
    std::array<bool, K> active{};
    std::array<OutsideRange, K> outside{};
    bool guessed = false;
    for (int c = 0; c < count; ++c) {
      Job& job = jobs[static_cast<std::size_t>(first + c)];
      const auto column = static_cast<std::size_t>(c);
      outside[column] = form_.lift(own.backend, own.form, right.column(first + c), own.column.data());
      block.tolerances[column] = tolerance_in_range<T>(outside[column], n_, job);
      put_column<K>(own, c, block.b);
      if (job.control->use_initial_guess && job.right_hand_side_norm > 0) {
        form_.spread_guess(own.backend, left.column(first + c), own.column.data());
        put_column<K>(own, c, block.x);
        guessed = true;
      }
      active[column] = true;
    }
    refine<K>(own.backend, block, active, guessed, first, count, jobs);
    for (int c = 0; c < count; ++c) {
      Job& job = jobs[static_cast<std::size_t>(first + c)];
      take_column<K>(own, c, block.x);
      bound_inverse(own, job);
      report_removed(own.backend, outside[static_cast<std::size_t>(c)], job);
      form_.restore(own.backend, own.form, own.column.data(), left.column(first + c));
    }
  }

  /// Sets the lower bound ||x|| / ||b|| of the norm of the inverse, unless A is singular.
  void bound_inverse(SolveWorkspace& own, Job& job) const {
    if (form_.is_singular() || !(job.right_hand_side_norm > 0)) return;
    const double* const x = own.column.data();
    double square = 0;
    own.backend.reduce(
        form_.vertices(), [=](std::int64_t i) { return Sum{x[i] * x[i]}; },
        [&square](Sum sum) { square = sum.value; });
    job.inverse_norm = std::sqrt(square) / (norm_ratio() * job.right_hand_side_norm);
  }

  /// Reports the part of b outside the range of A, which was removed.
  void report_removed(B& backend, const OutsideRange& outside, Job& job) const {
    const bool is_removed = is_outside_range<T>(outside, n_, job);
    job.statistics.push_back({"removed_norm", outside.norm()});
    if (is_removed) name_part_outside_range<T>(form_.verified(backend, outside), n_, job);
  }

  /// Solves for corrections until the true residuals meet the tolerances or no longer fall.
  template <int K>
  void refine(B& backend, Block<K>& block, std::array<bool, K> active, bool guessed, std::int64_t first,
              std::int64_t count, std::vector<Job>& jobs) const {
    ColumnSums<K> before;
    before.fill(INFINITY);
    for (int cycle = 0;; ++cycle) {
      const ColumnSums<K> norms = form_residual<K>(backend, block, cycle > 0 || guessed);
      for (int c = 0; c < count; ++c) {
        if (!active[c]) continue;
        Job& job = jobs[static_cast<std::size_t>(first + c)];
        if (cycle == 0) job.history.push_back(norms[c]);
        active[c] = !corrections_have_ended<T>(job, block.tolerances[c], options_.stop.max_iterations,
                                               before[c], norms[c], [&] { return norms_of<K>(block, c); });
      }
      if (std::none_of(active.begin(), active.end(), [](bool a) { return a; })) return;
      // The diagonal preconditioner's iterations may leave the residual as large as it was.
      const bool by_diagonal = cycle == 0 && !diagonal_.values.empty();
      if (!by_diagonal) before = norms;
      iterate<K>(backend, block, active, by_diagonal, first, count, jobs);
    }
  }

  template <int K>
  AnswerNorms norms_of(const Block<K>& block, int c) const {
    AnswerNorms found;
    for (std::int64_t i = 0; i < form_.vertices(); ++i) {
      found.residual = std::max(found.residual, std::abs(block.r[static_cast<std::size_t>(K * i + c)]));
      found.solution = std::max(found.solution, std::abs(block.x[static_cast<std::size_t>(K * i + c)]));
    }
    return found;
  }

  /// Computes corrections of the active columns by conjugate gradients, to their tolerances.
  template <int K>
  void iterate(B& backend, Block<K>& block, const std::array<bool, K>& active, bool by_diagonal,
               std::int64_t first, std::int64_t count, std::vector<Job>& jobs) const {
    for (int c = 0; c < K; ++c) {
      if (active[c]) continue;
      for (std::size_t i = static_cast<std::size_t>(c); i < block.r.size(); i += K) block.r[i] = 0;
    }
    if (by_diagonal) {
      block.core.resize(block.r.size());
      block.core.r = block.r;
      ColumnPcg pcg(std::integral_constant<int, K>(), backend, *matrix_, diagonal_, block.core);
      pcg.start(active);
      iterate(pcg, options_.jacobi_iterations, block.tolerances.data(), first, count, jobs);
      add(backend, block.core.x, block.x);
      return;
    }
    if (!factor(backend, jobs[static_cast<std::size_t>(first)].control->cancel)) return;
    block.core.resize(static_cast<std::size_t>(K * core_matrix().rows()));
    restrict_to_core<K>(block.r, block.core.r);
    with_factor([&](const auto& f) {
      ColumnPcg pcg(std::integral_constant<int, K>(), backend, core_matrix(), f, block.core);
      pcg.start(active);
      iterate(pcg, options_.stop.max_iterations, block.tolerances.data(), first, count, jobs);
    });
    add_correction<K>(backend, block.core.x, block.r, block.x);
  }

  /// Ends a column, too, when its residual has not fallen for many steps: with weights of many decades the
  /// residual of the recurrence may stop at rounding errors, from which a restart goes on.
  template <class Pcg>
  void iterate(Pcg& pcg, std::int64_t most, const double* tolerances, std::int64_t first, std::int64_t count,
               std::vector<Job>& jobs) const {
    constexpr int most_idle_steps = 200;
    struct Progress {
      double best = INFINITY;
      int idle = 0;
    };
    std::vector<Progress> progress(static_cast<std::size_t>(count));
    for (;;) {
      const auto squares = pcg.step();
      bool any = false;
      for (int c = 0; c < count; ++c) {
        if (!pcg.is_active(c)) continue;
        Job& job = jobs[static_cast<std::size_t>(first + c)];
        const double norm = std::sqrt(squares[c]) / norm_ratio();
        record(norm, job);
        auto& [best, idle] = progress[static_cast<std::size_t>(c)];
        idle = norm < 0.99 * best ? 0 : idle + 1;
        best = std::min(best, norm);
        const bool ends = job.iterations >= most || idle >= most_idle_steps || must_stop(job, tolerances[c]);
        if (pcg.is_broken(c) || ends) pcg.end(c);
        any = any || pcg.is_active(c);
      }
      if (!any) return;
      pcg.update_direction();
    }
  }

  void record(double norm, Job& job) const {
    ++job.iterations;
    job.history.push_back(norm);
    if (job.control->on_progress) {
      job.control->on_progress({this->name(), job.number, job.iterations, norm / job.right_hand_side_norm,
                                job.tolerance / job.right_hand_side_norm});
    }
  }
  [[nodiscard]] bool must_stop(const Job& job, double tolerance) const {
    const double norm = job.history.back();
    return norm <= tolerance || !std::isfinite(norm) || job.iterations >= options_.stop.max_iterations ||
           job.control->cancel.stop_requested();
  }

  ApproximateCholeskyOptions options_;
  mutable B backend_;
  std::int64_t n_ = 0;
  Csr<T> copy_;  // A in CSR if A is dense
  LaplacianForm<B, T> form_;
  Csr<double> converted_;  // the form's matrix in double
  const Csr<double>* matrix_ = nullptr;
  std::vector<double> excess_;
  InverseDiagonal diagonal_;  // empty unless iterations with it precede the factorisation

  // Made by set-up, or by the first solve that needs them.
  mutable std::mutex mutex_;
  mutable std::atomic<bool> factored_ = false;
  mutable LowDegreeElimination reduction_;
  mutable bool in_double_ = false;
  mutable ApproximateFactor<float> single_;
  mutable ApproximateFactor<double> double_;
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
