// SPDX-License-Identifier: BSD-3-Clause
// LU of band matrices as a Solver.
#include "backend/target.hpp"
#include "linalg/condition.hpp"
#include "linalg/refinement.hpp"
#include "linalg/spmv/multiply.hpp"
#include "solver/factor_status.hpp"
#include "solver/instantiate.hpp"
#include "solver/transposed.hpp"
#include "sparse_direct/banded/assemble.hpp"
#include "sparse_direct/banded/cost.hpp"
#include "sparse_direct/banded/factorization.hpp"
#include "sparse_direct/banded/order.hpp"
#include "sparse_direct/banded/rank.hpp"
#include "sparse_direct/banded/singular.hpp"
#include "sparse_direct/banded/tridiagonal.hpp"
#include "support/hash.hpp"
#include "support/text.hpp"

#include <echelon/methods/banded_lu.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace echelon {

namespace {

using namespace banded;

/// Right-hand sides that a solve works on at once.
constexpr std::int64_t columns_at_once = 8;

/// Computes y(i, j) = x(order[i], j) scale[i] for element i + j n; without an order it is i, without a scale
/// 1.
template <class T>
struct GatherScaled {
  std::int64_t n;
  const std::int32_t* order;
  const T* scale;
  const T* x;
  std::int64_t x_leading;
  T* y;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t i = e % n;
    const T value = x[e / n * x_leading + (order == nullptr ? i : order[i])];
    y[e] = scale == nullptr ? value : value * scale[i];
  }
};

/// Computes x(order[i], j) = y(i, j) scale[i].
template <class T>
struct ScatterScaled {
  std::int64_t n;
  const std::int32_t* order;
  const T* scale;
  const T* y;
  T* x;
  std::int64_t x_leading;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t i = e % n;
    x[e / n * x_leading + (order == nullptr ? i : order[i])] = scale == nullptr ? y[e] : y[e] * scale[i];
  }
};

/// Multiplies row e / width of a band, and the scale of that row, by a number between 1 and 2.
template <class T>
struct ScaleRowsAtRandom {
  std::int64_t width;
  T* band;
  T* row_scale;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t i = e / width;
    const T factor = 1 + static_cast<T>(hash_bits(static_cast<std::uint64_t>(i)) >> 44) / T{1 << 20};
    band[e] *= factor;
    if (e % width == 0) row_scale[i] *= factor;
  }
};

std::string list_of(const std::vector<std::int64_t>& numbers) {
  constexpr std::size_t most = 5;
  std::string text;
  for (std::size_t i = 0; i < numbers.size() && i < most; ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(numbers[i]);
  }
  return numbers.size() > most ? text + ", ..." : text;
}

template <class B, class T>
class BandedLuImplementation final : public SolverImplementation<T> {
  struct SolveWorkspace : Workspace {
    SolveWorkspace(const Device& device, std::int64_t n)
        : backend(device), refinement(device, n), sizes(device, 2) {}
    [[nodiscard]] std::size_t bytes() const override {
      return refinement.bytes() + staged.bytes() + substitution.bytes() + transposed.bytes() +
             (tridiagonal == nullptr ? 0 : tridiagonal->bytes());
    }
    B backend;
    SubstitutionWorkspace<T> substitution, transposed;
    std::unique_ptr<TridiagonalElimination<T>> tridiagonal;
    Array<T> staged;  // scaled and permuted right-hand sides
    RefinementArrays<T> refinement;
    Array<Largest> sizes;
  };

 public:
  BandedLuImplementation(const Device& device, const BandedLuOptions& options)
      : SolverImplementation<T>(device), options_(options), factorization_(device) {}

  Outcome setup(const MatrixRef<T>& A) override { return setup(A, false); }
  /// Sets up again with the numbering of the last set-up.
  Outcome update_values(const MatrixRef<T>& A) override { return setup(A, true); }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<SolveWorkspace>(this->device(), A_.rows());
  }
  [[nodiscard]] std::size_t bytes() const override {
    return factorization_.bytes() + band_.elements.bytes() + band_.row_scale.bytes() +
           band_.column_scale.bytes() + order_.bytes() + (singular_ ? singular_->bytes() : 0);
  }

  void solve(Workspace& workspace, DenseView<const T> rhs, DenseView<T> X,
             std::vector<Job>& jobs) const override {
    solve(nullptr, workspace, rhs, X, jobs);
  }

  [[nodiscard]] MatrixRef<T> factored_matrix() const override { return A_; }
  void solve_transposed(const Csr<T>& transpose, Workspace& workspace, DenseView<const T> rhs, DenseView<T> X,
                        std::vector<Job>& jobs) const override {
    solve(&transpose, workspace, rhs, X, jobs);
  }

  /// Substitution without refinement. Does not wait, unless A is singular.
  void apply(Workspace& workspace, const MultiVector<const T>& r, const MultiVector<T>& z,
             Operation /*operation*/) const override {
    if (A_.rows() == 0) return;
    for_matrices(r, z, 1, this->device(), [&](DenseView<const T> R, DenseView<T> Z) {
      if (singular_) return singular_->apply(R, Z);
      substitute(static_cast<SolveWorkspace&>(workspace), R, Z);
    });
  }

 private:
  /// Solves A X = B, or A^T X = B if `transpose` is not null.
  void solve(const Csr<T>* transpose, Workspace& workspace, DenseView<const T> rhs, DenseView<T> X,
             std::vector<Job>& jobs) const {
    if (rhs.rows() == 0 || rhs.columns() == 0) return;
    if (singular_) return singular_->solve(transpose, rhs, X, jobs);
    auto& own = static_cast<SolveWorkspace&>(workspace);
    substitute(transpose, own, rhs, X);
    for (Job& job : jobs) {
      if (job.control->cancel.stop_requested()) {
        job.outcome = {Status::cancelled, "stopped by the caller before refinement"};
        continue;
      }
      refine_column(transpose, own, job, rhs.column(job.number), X.column(job.number));
    }
  }

  Outcome setup(const MatrixRef<T>& A, bool keep_order) {
    A_ = A;
    band_ = AssembledBand<T>();
    singular_.reset();
    tridiagonal_ = false;
    growth_ = 0;
    if (A.rows() == 0) return {};
    B backend(this->device());
    Csr<T> converted;
    if (!A.is_sparse()) converted = to_csr(A);
    const Csr<T>& csr = A.is_sparse() ? *A.csr() : converted;
    if (!keep_order) order_ = BandOrder();
    natural_widths_ = find_bandwidths(backend, csr.rows(), ordered(csr, BandOrder()));
    const Bandwidths widths =
        keep_order ? find_bandwidths(backend, csr.rows(), ordered(csr, order_)) : choose_order(backend, csr);
    if (Outcome refused = check_cost(csr.rows(), widths); !refused.ok()) return refused;
    band_ = BandAssembly<B, T>(backend, csr.rows(), ordered(csr, order_), widths).assemble();
    Outcome outcome = factor(backend);
    if (!tridiagonal_) band_.elements = Array<T>();  // the factors take its place
    add_statistics(outcome);
    return outcome;
  }

  /// Renumbers by reverse Cuthill-McKee on request, or if the factorisation costs far more than the numbering
  /// and the band becomes narrower. Returns the half-bandwidths.
  [[nodiscard]] Bandwidths choose_order(B& backend, const Csr<T>& A) {
    const std::int64_t n = A.rows();
    if (options_.ordering == BandOrdering::natural) return natural_widths_;
    const double natural_seconds = predicted_seconds(n, natural_widths_, sizeof(T));
    const bool automatic = options_.ordering == BandOrdering::automatic;
    const double entries = static_cast<double>(n + A.nonzeros());
    if (automatic && natural_seconds < 2 * ordering_seconds(entries)) return natural_widths_;
    const Csr<T> host = this->device().on_host() ? Csr<T>() : A.to(Device::serial());
    order_ = BandOrder::reverse_cuthill_mckee(this->device().on_host() ? A : host, this->device());
    const Bandwidths widths = find_bandwidths(backend, n, ordered(A, order_));
    if (!automatic || predicted_seconds(n, widths, sizeof(T)) < 0.7 * natural_seconds) return widths;
    order_ = BandOrder();
    return natural_widths_;
  }

  /// Rejects a matrix whose factors take more memory than is available, or more than a dense factorisation.
  [[nodiscard]] Outcome check_cost(std::int64_t n, Bandwidths widths) const {
    const BandShape shape = {n, widths.lower, widths.upper, 1};
    const BandPlan plan = make_band_plan(n, widths.lower, widths.upper,
                                         partition_rule(this->device(), shape, options_.partitions));
    const auto rows = static_cast<std::size_t>(n);
    const std::size_t band = rows * static_cast<std::size_t>(widths.lower + widths.upper + 1);
    const std::size_t needed = factor_bytes(plan, sizeof(T)) + band * sizeof(T);
    const std::size_t dense = rows * rows * sizeof(T);
    const std::string facts = "A has " + std::to_string(widths.lower) + " diagonals below the main one and " +
                              std::to_string(widths.upper) + " above: banded-lu needs " + byte_count(needed);
    constexpr std::int64_t small = 4096;
    if (n > small && needed > 2 * dense) {
      return {Status::breakdown,
              facts + ", more than those of a dense factorisation (" + byte_count(dense) + "); use lu"};
    }
    const std::size_t available = memory(this->device()).available + factorization_.bytes();
    if (needed > available) {
      return {Status::out_of_memory,
              facts + ", and " + this->device().name() + " has " + byte_count(available)};
    }
    return {};
  }

  Outcome factor(B& backend) {
    if (band_.zero_row.value != FirstIndex::none) {
      return singular(zero_line("row", order_.original(band_.zero_row.value)));
    }
    if (band_.zero_column.value != FirstIndex::none) {
      return singular(zero_line("column", order_.original(band_.zero_column.value)));
    }
    tridiagonal_ = has_tridiagonal_kernels();
    if (!tridiagonal_)
      factorization_.prepare({band_.n, band_.widths.lower, band_.widths.upper, 1}, options_.partitions);
    if (this->cancel().stop_requested()) return cancelled_factorization();
    BandFacts facts = run_factorization(backend);
    if (this->cancel().stop_requested()) return cancelled_factorization();
    std::vector<std::string> warnings;
    if (!(growth_ <= acceptable_growth<T>(band_.n))) {
      warnings.push_back("elements grew " + short_number(growth_) +
                         " times in LU with partial pivoting: factored again with rows scaled at random");
      scale_rows_at_random(backend);
      facts = run_factorization(backend);
    }
    if (this->cancel().stop_requested()) return cancelled_factorization();
    Outcome outcome = assess(backend, facts);
    outcome.warnings.insert(outcome.warnings.begin(), warnings.begin(), warnings.end());
    return outcome;
  }

  /// True for a single tridiagonal matrix on a GPU, which each solve eliminates again.
  [[nodiscard]] bool has_tridiagonal_kernels() const {
    return !B::on_host && options_.partitions == 0 &&
           is_tridiagonal(band_.n, band_.widths.lower, band_.widths.upper);
  }

  BandFacts run_factorization(B& backend) {
    const BandFacts facts = tridiagonal_ ? run_elimination() : run_partitions(backend);
    growth_ = facts.largest / band_.largest;
    return facts;
  }

  BandFacts run_partitions(B& backend) {
    factorization_.factor(backend, {band_.view(), 0}, this->cancel());
    return backend.read(factorization_.facts());
  }

  BandFacts run_elimination() const {
    BandFacts facts;
    if constexpr (!B::on_host) {
      const auto elimination = make_elimination();
      elimination->eliminate(band_.view());
      const TridiagonalOutcome outcome = elimination->outcome();
      facts.largest = outcome.largest_pivot;
      if (outcome.zero_column >= 0) facts.zero_column.value = outcome.zero_column;
    }
    return facts;
  }

  /// Makes the elimination of a tridiagonal band; nullptr for other bands.
  [[nodiscard]] std::unique_ptr<TridiagonalElimination<T>> make_elimination() const {
    if constexpr (!B::on_host) {
      if (tridiagonal_) return make_tridiagonal_elimination<T>(this->device(), band_.n);
    }
    return nullptr;
  }

  void scale_rows_at_random(B& backend) {
    if (band_.row_scale.size() == 0) {
      band_.row_scale = Array<T>(this->device(), band_.n);
      backend.fill(band_.n, T{1}, band_.row_scale.data());
    }
    backend.for_each(band_.n * band_.width(),
                     ScaleRowsAtRandom<T>{band_.width(), band_.elements.data(), band_.row_scale.data()});
  }

  Outcome assess(B& backend, const BandFacts& facts) {
    if (!(growth_ <= acceptable_growth<T>(band_.n))) {
      return {Status::breakdown, "LU with partial pivoting failed: elements grew " + short_number(growth_) +
                                     " times, and " + "rounding errors with them"};
    }
    if (facts.zero_column.value != FirstIndex::none) {
      return singular(zero_pivot(order_.original(facts.zero_column.value)));
    }
    if (!options_.condition) return {};
    SubstitutionWorkspace<T> own;
    if (!tridiagonal_) own = factorization_.make_workspace(1, true);
    const auto elimination = make_elimination();
    const double rcond =
        estimate_reciprocal_condition<T>(backend, band_.n, band_.norm_one, [&](bool transposed, T* v) {
          if (elimination != nullptr) {
            const BandElements<T> A = band_.view();
            elimination->solve(transposed ? A.transposed() : A, v, v);
          } else if (transposed) {
            factorization_.solve_transposed(backend, own, v);
          } else {
            RhsBatch<T> rhs;
            rhs.b = rhs.x = v;
            rhs.columns = 1;
            factorization_.solve(backend, own, rhs);
          }
        });
    Outcome outcome = assess_condition<T>(rcond);
    return outcome.ok() ? outcome : singular(std::move(outcome));
  }

  /// Determines the rank of a matrix that seems to be singular, and the columns and rows that depend on
  /// others; `outcome` stands if the rank is full. Consistent systems can be solved afterwards.
  Outcome singular(Outcome outcome) {
    const Array<T> host = this->device().on_host() ? Array<T>() : band_.elements.to(Device::serial());
    BandElements<T> A = band_.view();
    if (!this->device().on_host()) A.data = host.data() + band_.widths.lower;
    constexpr double tolerance = 64 * static_cast<double>(std::numeric_limits<T>::epsilon());
    BandRank found = find_rank(A, band_.n, tolerance);
    if (found.rank == band_.n) return outcome;
    order_.number_originally(found.dependent_columns);
    order_.number_originally(found.dependent_rows);
    outcome.rank = found.rank;
    if (outcome.row) outcome.row = found.dependent_rows.front();
    outcome.message = "A is singular: its rank is " + std::to_string(found.rank) + " of " +
                      std::to_string(band_.n) +
                      "; columns that depend on others: " + list_of(found.dependent_columns) +
                      "; rows that depend on others: " + list_of(found.dependent_rows) +
                      " (from 0); largest rejected pivot " + short_number(found.largest_rejected);
    outcome.statistics.push_back({"dependent_columns", found.dependent_columns});
    outcome.statistics.push_back({"dependent_rows", found.dependent_rows});
    factor_singular(outcome);
    return outcome;
  }

  /// Factors A so that consistent systems can be solved, unless sparse-lu finds another rank.
  void factor_singular(Outcome& outcome) {
    singular_.emplace(A_, this->device(), this->cancel());
    const Outcome& factored = singular_->outcome();
    if (factored.status == Status::singular && factored.rank == outcome.rank) {
      outcome.row.reset();
      return;
    }
    if (factored.status == Status::cancelled) {
      outcome = factored;
    } else {
      outcome.message += outcome.row ? "; systems are not solved" : "";
      if (factored.rank) outcome.message += "; sparse-lu finds a rank of " + std::to_string(*factored.rank);
    }
    singular_.reset();
  }

  void add_statistics(Outcome& outcome) const {
    outcome.statistics.push_back({"lower_bandwidth", band_.widths.lower});
    outcome.statistics.push_back({"upper_bandwidth", band_.widths.upper});
    outcome.statistics.push_back({"natural_lower_bandwidth", natural_widths_.lower});
    outcome.statistics.push_back({"natural_upper_bandwidth", natural_widths_.upper});
    outcome.statistics.push_back({"ordering", std::string(order_.natural() ? "natural" : "rcm")});
    if (!tridiagonal_) {
      outcome.statistics.push_back({"partitions", factorization_.plan().partitions});
      outcome.statistics.push_back({"levels", factorization_.plan().levels() - 1});
    }
    outcome.statistics.push_back({"pivot_growth", growth_});
  }

  /// Computes X = A^-1 B by the factors.
  void substitute(SolveWorkspace& own, DenseView<const T> rhs, DenseView<T> X) const {
    const std::int64_t at_once = std::min(columns_at_once, rhs.columns());
    if (!tridiagonal_ || own.tridiagonal == nullptr) own.tridiagonal = make_elimination();
    if (!tridiagonal_ && own.substitution.columns < at_once)
      own.substitution = factorization_.make_workspace(at_once, false);
    if (band_.row_scale.size() == 0 && band_.column_scale.size() == 0 && order_.natural()) {
      substitute_scaled(own, {.b = rhs.data(),
                              .b_leading = rhs.leading(),
                              .x = X.data(),
                              .x_leading = X.leading(),
                              .columns = rhs.columns()});
      return;
    }
    const std::int64_t n = rhs.rows();
    if (own.staged.size() < n * at_once) {
      own.staged = Array<T>();
      own.staged = Array<T>(this->device(), n * at_once);
    }
    T* staged = own.staged.data();
    for (std::int64_t first = 0; first < rhs.columns(); first += at_once) {
      const std::int64_t columns = std::min(at_once, rhs.columns() - first);
      own.backend.for_each(n * columns, GatherScaled<T>{n, order_.order.data(), band_.row_scale.data(),
                                                        rhs.column(first), rhs.leading(), staged});
      substitute_scaled(own, {.b = staged, .b_leading = n, .x = staged, .x_leading = n, .columns = columns});
      own.backend.for_each(n * columns, ScatterScaled<T>{n, order_.order.data(), band_.column_scale.data(),
                                                         staged, X.column(first), X.leading()});
    }
  }

  /// Solves for right-hand sides of the band in the scaling in which it was factored.
  void substitute_scaled(SolveWorkspace& own, const RhsBatch<T>& rhs) const {
    if (own.tridiagonal == nullptr) return factorization_.solve(own.backend, own.substitution, rhs);
    for (std::int64_t j = 0; j < rhs.columns; ++j)
      own.tridiagonal->solve(band_.view(), rhs.b + j * rhs.b_leading, rhs.x + j * rhs.x_leading);
  }

  void substitute(const Csr<T>* transpose, SolveWorkspace& own, DenseView<const T> rhs,
                  DenseView<T> X) const {
    if (transpose == nullptr) return substitute(own, rhs, X);
    for (std::int64_t j = 0; j < rhs.columns(); ++j) substitute_transposed(own, rhs.column(j), X.column(j));
  }

  /// Computes x = A^-T b by the factors. With the scaled band S = R A C, A^-T is R S^-T C.
  void substitute_transposed(SolveWorkspace& own, const T* b, T* x) const {
    const std::int64_t n = A_.rows();
    if (own.staged.size() < n) own.staged = Array<T>(this->device(), n);
    T* staged = own.staged.data();
    own.backend.for_each(n, GatherScaled<T>{n, order_.order.data(), band_.column_scale.data(), b, n, staged});
    if (tridiagonal_) {
      if (own.tridiagonal == nullptr) own.tridiagonal = make_elimination();
      own.tridiagonal->solve(band_.view().transposed(), staged, staged);
    } else {
      if (own.transposed.columns == 0) own.transposed = factorization_.make_workspace(1, true);
      factorization_.solve_transposed(own.backend, own.transposed, staged);
    }
    own.backend.for_each(n, ScatterScaled<T>{n, order_.order.data(), band_.row_scale.data(), staged, x, n});
  }

  /// Refines. The host does so only if the backward error is above rounding. On a GPU the device decides
  /// about every step, and unnecessary steps change nothing.
  void refine_column(const Csr<T>* transpose, SolveWorkspace& own, Job& job, const T* b, T* x) const {
    const MatrixRef<T> A = transpose == nullptr ? A_ : MatrixRef<T>(*transpose);
    const std::int64_t n = A_.rows();
    if (options_.refine == 0 || (this->device().on_host() && is_accurate(A, own, job, b, x))) return;
    refine(
        own.backend, n, options_.refine, x, own.refinement,
        [&](const T* at, T* r) { residual(A, own, b, at, r); },
        [&](const T* r, T* z) {
          substitute(transpose, own, {r, n, 1, n, this->device()}, {z, n, 1, n, this->device()});
        });
  }

  [[nodiscard]] bool is_accurate(const MatrixRef<T>& A, SolveWorkspace& own, const Job& job, const T* b,
                                 const T* x) const {
    constexpr double level = 4 * static_cast<double>(std::numeric_limits<T>::epsilon());
    T* r = own.refinement.residual.data();
    Largest* sizes = own.sizes.data();
    residual(A, own, b, x, r);
    own.backend.reduce(A_.rows(), ElementMagnitude<T>{x}, Store<Largest>{sizes});
    own.backend.reduce(A_.rows(), ElementMagnitude<T>{r}, Store<Largest>{sizes + 1});
    const double x_norm = own.backend.read(sizes).value;
    const double r_norm = own.backend.read(sizes + 1).value;
    return r_norm <= level * (job.matrix_norm * x_norm + job.right_hand_side_norm_inf);
  }

  /// Computes r = b - A x.
  void residual(const MatrixRef<T>& A, SolveWorkspace& own, const T* b, const T* x, T* r) const {
    own.backend.copy(A.rows(), b, r);
    multiply(own.backend, T{-1}, A, x, T{1}, r);
  }

  BandedLuOptions options_;
  MatrixRef<T> A_;
  BandOrder order_;
  Bandwidths natural_widths_;  // in A's own numbering
  AssembledBand<T> band_;      // without its elements after the set-up, unless it is tridiagonal
  bool tridiagonal_ = false;   // has kernels of its own
  std::optional<SingularSystem<T>> singular_;
  BandFactorizationOn<B, T> factorization_;
  double growth_ = 0;
};

}  // namespace

template <>
struct MethodWith<BandedLuOptions> {
  template <class B, class T>
  using Type = BandedLuImplementation<B, T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<ThisTarget>(const Device&,
                                                                                      const BandedLuOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<ThisTarget>(
    const Device&, const BandedLuOptions&);

}  // namespace echelon
