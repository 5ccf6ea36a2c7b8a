// SPDX-License-Identifier: BSD-3-Clause
// LU of band matrices as a Solver.
#include "backend/target.hpp"
#include "solver/direct/direct_method.hpp"
#include "solver/direct/growth.hpp"
#include "solver/direct/updated_condition.hpp"
#include "solver/factor_status.hpp"
#include "solver/has_factor.hpp"
#include "solver/instantiate.hpp"
#include "sparse_direct/banded/assemble.hpp"
#include "sparse_direct/banded/cost.hpp"
#include "sparse_direct/banded/factorization.hpp"
#include "sparse_direct/banded/order.hpp"
#include "sparse_direct/banded/rank.hpp"
#include "sparse_direct/banded/sparse_lu_system.hpp"
#include "sparse_direct/banded/tridiagonal.hpp"
#include "support/hash.hpp"
#include "support/machine_epsilon.hpp"
#include "support/text.hpp"

#include <echelon/error.hpp>
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
using direct::UpdatedCondition;

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

}  // namespace

namespace banded {

/// P A P^T = R^-1 L U C^-1 for a numbering P of the band and scales R and C, with row exchanges.
template <class B, class T>
class BandedLuFactorization {
  using Operation = direct::Operation;
  using SystemForm = direct::SystemForm;
  using Context = direct::FactorContext<B, T>;

  /// Memory of a solve in progress, which grows with the number of right-hand sides.
  struct Space {
    [[nodiscard]] std::size_t bytes() const {
      return staged.bytes() + substitution.bytes() + transposed.bytes() +
             (tridiagonal == nullptr ? 0 : tridiagonal->bytes());
    }
    SubstitutionWorkspace<T> substitution, transposed;
    std::unique_ptr<TridiagonalElimination<T>> tridiagonal;
    Array<T> staged;  // scaled and permuted right-hand sides
  };

 public:
  /// update_values() keeps the numbering of the last set-up.
  static constexpr bool keeps_analysis = true;
  static constexpr double negligible_error = rounding_backward_error<T>;

  BandedLuFactorization(const Device& device, const BandedLuOptions& options)
      : device_(device), options_(options), factorization_(device) {}

  Outcome factor(const Context& context) {
    band_ = AssembledBand<T>();
    sparse_lu_.reset();
    tridiagonal_ = false;
    growth_ = 0;
    failure_.clear();
    B& backend = context.backend;
    const MatrixRef<T>& A = context.A;
    Csr<T> converted;
    if (!A.is_sparse()) converted = to_csr(A);
    const Csr<T>& csr = A.is_sparse() ? *A.csr() : converted;
    if (!context.same_pattern) order_ = BandOrder();
    natural_widths_ = find_bandwidths(backend, csr.rows(), ordered(csr, BandOrder()));
    const Bandwidths widths = context.same_pattern
                                  ? find_bandwidths(backend, csr.rows(), ordered(csr, order_))
                                  : choose_order(backend, csr);
    if (Outcome refused = check_cost(csr.rows(), widths); !refused.ok()) return refused;
    band_ = BandAssembly<B, T>(backend, csr.rows(), ordered(csr, order_), widths).assemble();
    Outcome outcome = factor_band(context);
    return outcome.ok() ? outcome : complete(std::move(outcome));
  }

  /// 1 / condition number of the scaled band. By the ratio of the pivots after a change of values, see
  /// UpdatedCondition.
  [[nodiscard]] double reciprocal_condition(const Context& context) {
    if (tridiagonal_) return context.reciprocal_condition();
    if (!context.same_pattern || options_.condition_of_updates || !failure_.empty()) condition_.forget();
    return condition_.value(factorization_.pivot_ratio(context.backend), machine_epsilon<T>,
                            context.reciprocal_condition);
  }

  /// Factors by sparse-lu where growth of elements or a zero pivot spoilt the factors, and determines the
  /// rank if A seems to be singular.
  direct::Factored conclude(const Context& context, Outcome outcome) {
    if (!failure_.empty()) return complete(factor_by_sparse_lu(context, std::move(outcome.warnings)));
    return complete(outcome.ok() ? std::move(outcome) : singular(context, std::move(outcome)));
  }

  [[nodiscard]] Space make_workspace(B& /*backend*/) const { return {}; }

  void substitute(Operation operation, SystemForm form, B& backend, Space& space, DenseView<const T> V,
                  DenseView<T> X) const {
    if (form == SystemForm::scaled) return substitute_scaled(operation, backend, space, V.data(), X.data());
    if (operation == Operation::none) return substitute(backend, space, V, X);
    for (std::int64_t j = 0; j < V.columns(); ++j)
      substitute_transposed(backend, space, V.column(j), X.column(j));
  }

  /// Solves in place of the factors where A is singular; null otherwise.
  [[nodiscard]] const SparseLuSystem<T>* replacement() const { return sparse_lu_ ? &*sparse_lu_ : nullptr; }

  [[nodiscard]] DeterminantProduct determinant(B& /*backend*/) const {
    if (tridiagonal_) {
      throw Error(
          "banded-lu keeps no factors of a tridiagonal matrix on a GPU: set it up on the host, or with the "
          "option partitions=1");
    }
    DeterminantProduct product = factorization_.determinant();
    product.divide_by_all(band_.row_scale.to_vector());
    product.divide_by_all(band_.column_scale.to_vector());
    return product;
  }
  [[nodiscard]] double norm() const { return band_.norm_one; }
  [[nodiscard]] std::size_t bytes() const {
    return factorization_.bytes() + band_.elements.bytes() + band_.row_scale.bytes() +
           band_.column_scale.bytes() + order_.bytes() + (sparse_lu_ ? sparse_lu_->bytes() : 0);
  }

 private:
  /// Releases what solves do not need, and adds the statistics.
  Outcome complete(Outcome outcome) {
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
    const Csr<T> host = device_.on_host() ? Csr<T>() : A.to(Device::serial());
    order_ = BandOrder::reverse_cuthill_mckee(device_.on_host() ? A : host, device_);
    const Bandwidths widths = find_bandwidths(backend, n, ordered(A, order_));
    if (!automatic || predicted_seconds(n, widths, sizeof(T)) < 0.7 * natural_seconds) return widths;
    order_ = BandOrder();
    return natural_widths_;
  }

  /// Rejects a matrix whose factors take more memory than is available, or more than a dense factorisation.
  [[nodiscard]] Outcome check_cost(std::int64_t n, Bandwidths widths) const {
    const BandShape shape = {n, widths.lower, widths.upper, 1};
    const auto rows = static_cast<std::size_t>(n);
    const std::size_t band = rows * static_cast<std::size_t>(widths.lower + widths.upper + 1);
    const std::size_t needed = factorization_.bytes_for(shape, options_.partitions) + band * sizeof(T);
    const std::size_t dense = rows * rows * sizeof(T);
    const std::string facts = "A has " + std::to_string(widths.lower) + " diagonals below the main one and " +
                              std::to_string(widths.upper) + " above: banded-lu needs " + byte_count(needed);
    constexpr std::int64_t small = 4096;
    if (n > small && needed > 2 * dense) {
      return {Status::breakdown,
              facts + ", more than those of a dense factorisation (" + byte_count(dense) + "); use lu"};
    }
    const std::size_t available = memory(device_).available + factorization_.bytes();
    if (needed > available) {
      return {Status::out_of_memory, facts + ", and " + device_.name() + " has " + byte_count(available)};
    }
    return {};
  }

  Outcome factor_band(const Context& context) {
    if (band_.zero_row.value != FirstIndex::none) {
      return singular(context, zero_line("row", order_.original(band_.zero_row.value)));
    }
    if (band_.zero_column.value != FirstIndex::none) {
      return singular(context, zero_line("column", order_.original(band_.zero_column.value)));
    }
    tridiagonal_ = is_single_tridiagonal();
    if (!tridiagonal_)
      factorization_.prepare({band_.n, band_.widths.lower, band_.widths.upper, 1}, options_.partitions);
    if (context.control.stop_requested()) return cancelled_factorization();
    BandFacts facts = run_factorization(context);
    failure_ = find_growth_failure(context, facts);
    Outcome outcome;
    if (!failure_.empty()) {
      outcome.warnings.push_back(failure_ + ": factored again with rows scaled at random");
      scale_rows_at_random(context.backend);
      facts = run_factorization(context);
      failure_ = find_growth_failure(context, facts);
    }
    if (context.control.stop_requested()) return cancelled_factorization();
    if (!failure_.empty() || facts.zero_column.value == FirstIndex::none) return outcome;
    Outcome rank = singular(context, zero_pivot(order_.original(facts.zero_column.value)));
    rank.warnings.insert(rank.warnings.begin(), outcome.warnings.begin(), outcome.warnings.end());
    return rank;
  }

  /// Says how growth of elements spoilt the factors; empty if they are accurate.
  [[nodiscard]] std::string find_growth_failure(const Context& context, const BandFacts& facts) const {
    if (growth_ <= direct::harmless_growth(band_.n) || context.control.stop_requested()) return {};
    const bool repairable = growth_ <= acceptable_growth<T>(band_.n);
    const bool has_zero = facts.zero_column.value != FirstIndex::none;
    if (repairable && has_zero) return {};
    const std::string why =
        repairable ? direct::inaccuracy(context) : std::string("refinement does not repair that");
    if (why.empty()) return {};
    return "elements grew " + short_number(growth_) + " times in LU with partial pivoting, and " + why;
  }

  /// True for a single tridiagonal matrix with kernels of its own, which each solve eliminates again.
  [[nodiscard]] bool is_single_tridiagonal() const {
    return has_tridiagonal_kernels<B> && options_.partitions == 0 &&
           is_tridiagonal(band_.n, band_.widths.lower, band_.widths.upper);
  }

  BandFacts run_factorization(const Context& context) {
    const BandFacts facts = tridiagonal_ ? run_elimination() : run_partitions(context);
    growth_ = facts.largest / band_.largest;
    return facts;
  }

  BandFacts run_partitions(const Context& context) {
    factorization_.factor(context.backend, {band_.view(), 0}, context.control);
    return context.backend.read(factorization_.facts());
  }

  BandFacts run_elimination() const {
    BandFacts facts;
    if constexpr (has_tridiagonal_kernels<B>) {
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
    if constexpr (has_tridiagonal_kernels<B>) {
      if (tridiagonal_) return make_tridiagonal_elimination<T>(device_, band_.n);
    }
    return nullptr;
  }

  void scale_rows_at_random(B& backend) {
    if (band_.row_scale.size() == 0) {
      band_.row_scale = Array<T>(device_, band_.n);
      backend.fill(band_.n, T{1}, band_.row_scale.data());
    }
    backend.for_each(band_.n * band_.width(),
                     ScaleRowsAtRandom<T>{band_.width(), band_.elements.data(), band_.row_scale.data()});
  }

  /// Determines the rank of a matrix that seems to be singular, and the columns and rows that depend on
  /// others. Consistent systems can be solved afterwards. If the rank is full, `outcome` stands, but for a
  /// zero pivot, which ends these factors.
  Outcome singular(const Context& context, Outcome outcome) {
    const Array<T> host = device_.on_host() ? Array<T>() : band_.elements.to(Device::serial());
    BandElements<T> A = band_.view();
    if (!device_.on_host()) A.data = host.data() + band_.widths.lower;
    constexpr double tolerance = 64 * static_cast<double>(std::numeric_limits<T>::epsilon());
    BandRank found = find_rank(A, band_.n, tolerance);
    if (found.rank == band_.n || has_full_rank_by_sparse_lu(context)) {
      sparse_lu_.reset();
      if (!outcome.row) return outcome;
      failure_ = "pivot " + std::to_string(*outcome.row) + " (from 0) is zero although A has full rank";
      return {.warnings = std::move(outcome.warnings)};
    }
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
    take_sparse_lu(outcome);
    return outcome;
  }

  /// Factors A by sparse-lu, whose rank is the exact one where pivots leave a doubt.
  [[nodiscard]] bool has_full_rank_by_sparse_lu(const Context& context) {
    sparse_lu_.emplace(context.A, device_, context.control);
    return sparse_lu_->outcome().rank == band_.n;
  }

  /// Takes the factors of sparse-lu, by which consistent systems can be solved, and its rank, if that is
  /// another one.
  void take_sparse_lu(Outcome& outcome) {
    const Outcome& factored = sparse_lu_->outcome();
    if (!has_factor(factored)) {
      if (factored.status == Status::cancelled) outcome = factored;
      if (outcome.row) outcome.message += "; systems are not solved";
      sparse_lu_.reset();
      return;
    }
    outcome.row.reset();
    if (factored.rank == outcome.rank) return;
    outcome.rank = factored.rank;
    outcome.message = factored.message;
    outcome.statistics.clear();
  }

  /// Factors A by sparse-lu in place of factors that are not accurate or not complete.
  Outcome factor_by_sparse_lu(const Context& context, std::vector<std::string> warnings) {
    sparse_lu_.emplace(context.A, device_, context.control);
    Outcome outcome = sparse_lu_->outcome();
    if (!has_factor(outcome)) sparse_lu_.reset();
    warnings.push_back(failure_ + ": factored by sparse-lu instead");
    outcome.warnings.insert(outcome.warnings.begin(), warnings.begin(), warnings.end());
    outcome.statistics.clear();
    return outcome;
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
    if (condition_.is_predicted()) outcome.statistics.push_back({"condition_by_pivots", std::int64_t{1}});
  }

  /// Computes X = A^-1 V by the factors.
  void substitute(B& backend, Space& space, DenseView<const T> V, DenseView<T> X) const {
    const std::int64_t at_once = std::min(columns_at_once, V.columns());
    if (!tridiagonal_ || space.tridiagonal == nullptr) space.tridiagonal = make_elimination();
    if (!tridiagonal_ && space.substitution.columns < at_once)
      space.substitution = factorization_.make_workspace(at_once, false);
    if (band_.row_scale.size() == 0 && band_.column_scale.size() == 0 && order_.natural()) {
      solve_band(backend, space,
                 {.b = V.data(),
                  .b_leading = V.leading(),
                  .x = X.data(),
                  .x_leading = X.leading(),
                  .columns = V.columns()});
      return;
    }
    const std::int64_t n = V.rows();
    if (space.staged.size() < n * at_once) {
      space.staged = Array<T>();
      space.staged = Array<T>(device_, n * at_once);
    }
    T* staged = space.staged.data();
    for (std::int64_t first = 0; first < V.columns(); first += at_once) {
      const std::int64_t columns = std::min(at_once, V.columns() - first);
      backend.for_each(n * columns, GatherScaled<T>{n, order_.order.data(), band_.row_scale.data(),
                                                    V.column(first), V.leading(), staged});
      solve_band(backend, space,
                 {.b = staged, .b_leading = n, .x = staged, .x_leading = n, .columns = columns});
      backend.for_each(n * columns, ScatterScaled<T>{n, order_.order.data(), band_.column_scale.data(),
                                                     staged, X.column(first), X.leading()});
    }
  }

  /// Solves for right-hand sides of the band in the scaling in which it was factored.
  void solve_band(B& backend, Space& space, const RhsBatch<T>& rhs) const {
    if (space.tridiagonal == nullptr) return factorization_.solve(backend, space.substitution, rhs);
    for (std::int64_t j = 0; j < rhs.columns; ++j)
      space.tridiagonal->solve(band_.view(), rhs.b + j * rhs.b_leading, rhs.x + j * rhs.x_leading);
  }

  /// Computes x = S^-1 v, or S^-T v, for the scaled band S; x may be v.
  void substitute_scaled(Operation operation, B& backend, Space& space, const T* v, T* x) const {
    const bool transposed = operation == Operation::transpose;
    if (tridiagonal_) {
      if (space.tridiagonal == nullptr) space.tridiagonal = make_elimination();
      const BandElements<T> S = band_.view();
      return space.tridiagonal->solve(transposed ? S.transposed() : S, v, x);
    }
    if (space.transposed.columns == 0) space.transposed = factorization_.make_workspace(1, true);
    if (!transposed) {
      RhsBatch<T> rhs;
      rhs.b = v;
      rhs.x = x;
      rhs.columns = 1;
      return factorization_.solve(backend, space.transposed, rhs);
    }
    if (x != v) backend.copy(band_.n, v, x);
    factorization_.solve_transposed(backend, space.transposed, x);
  }

  /// Computes x = A^-T b by the factors. With the scaled band S = R A C, A^-T is R S^-T C.
  void substitute_transposed(B& backend, Space& space, const T* b, T* x) const {
    const std::int64_t n = band_.n;
    if (space.staged.size() < n) space.staged = Array<T>(device_, n);
    T* staged = space.staged.data();
    backend.for_each(n, GatherScaled<T>{n, order_.order.data(), band_.column_scale.data(), b, n, staged});
    substitute_scaled(Operation::transpose, backend, space, staged, staged);
    backend.for_each(n, ScatterScaled<T>{n, order_.order.data(), band_.row_scale.data(), staged, x, n});
  }

  Device device_;
  BandedLuOptions options_;
  BandOrder order_;
  Bandwidths natural_widths_;  // in A's own numbering
  AssembledBand<T> band_;      // without its elements after the set-up, unless it is tridiagonal
  bool tridiagonal_ = false;   // has kernels of its own
  std::optional<SparseLuSystem<T>> sparse_lu_;  // solves in place of the factors
  BandFactorizationOn<B, T> factorization_;
  UpdatedCondition condition_;
  double growth_ = 0;
  std::string failure_;  // of factors that are not accurate or not complete
};

}  // namespace banded

template <>
struct MethodWith<BandedLuOptions> {
  template <class B, class T>
  using Type = DirectMethod<B, T, banded::BandedLuFactorization<B, T>>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<ThisTarget>(const Device&,
                                                                                      const BandedLuOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<ThisTarget>(
    const Device&, const BandedLuOptions&);

}  // namespace echelon
