// SPDX-License-Identifier: BSD-3-Clause
/// Systems of any shape, solved with a mapped echelon form.
#pragma once

#include "exact/decide_rank.hpp"
#include "exact/integers.hpp"
#include "linalg/doubled_sum.hpp"
#include "linalg/vector/functors.hpp"
#include "mapped_echelon/combination.hpp"
#include "mapped_echelon/dependent_unknowns.hpp"
#include "mapped_echelon/form.hpp"
#include "mapped_echelon/scaled_matrix.hpp"
#include "solver/implementation.hpp"
#include "support/text.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/methods/mapped_echelon.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace echelon::mapped {

/// Default of the relative size up to which an element counts as zero: the rounding error of a sum of a few
/// dozen terms.
template <class T>
constexpr double default_tolerance = 32 * static_cast<double>(std::numeric_limits<T>::epsilon());

/// Memory of a solve of one right-hand side.
template <class B, class Field, class T>
struct MappedSolveWorkspace : Workspace {
  MappedSolveWorkspace(const Device& device, std::int64_t rows, std::int64_t columns)
      : backend(device),
        reduced(device, rows),
        x(device, columns),
        correction(device, columns),
        candidate(device, columns),
        largest(device, 1),
        worst(device, 1),
        fraction(device, 1) {}
  [[nodiscard]] std::size_t bytes() const override {
    return rhs.bytes() + reduced.bytes() + x.bytes() + correction.bytes() + candidate.bytes();
  }
  B backend;
  Array<T> rhs;  // scaled, if A is
  Array<typename Field::Element> reduced;
  Array<typename Field::Value> x, correction, candidate;
  Array<Largest> largest;
  Array<LargestRowError> worst;
  Array<FirstIndex> fraction;
};

template <class B, class Field, class T>
class MappedSystem {
  using Form = MappedForm<B, Field>;
  using Element = typename Field::Element;

 public:
  using Workspace = MappedSolveWorkspace<B, Field, T>;

  MappedSystem(const Device& device, const Field& field, const MappedEchelonOptions& options)
      : backend_(device), field_(field), options_(options) {}

  /// Reduces A, which must outlive the system, to mapped echelon form: scaled, in floating point. Not ok if
  /// the elimination was cancelled, ran out of memory or overflowed; a rank that is not full is no failure.
  /// The exact rank replaces a doubtful one, see `decide_rank`.
  Outcome factor(const Csr<T>& A, const CancellationToken& cancel) {
    matrix_.set(backend_, A, !Field::is_exact);
    A_ = &matrix_.matrix();
    claim_ = options_.claim;
    proven_ = Field::is_exact;
    Outcome outcome = eliminate_without_noise(cancel);
    if constexpr (!Field::is_exact) {
      if (claim_ == ClaimRule::largest && outcome.ok() && (is_doubtful() || !is_stable())) {
        claim_ = ClaimRule::ordered;
        outcome = eliminate_without_noise(cancel);
        outcome.warnings.emplace_back(
            "claim=largest was not stable enough: eliminated again with claim=ordered");
      }
      if (outcome.ok() && !options_.tolerance) decide(cancel, outcome);
    }
    return outcome;
  }

  /// Throws InvalidMatrix if an element of A has no residue.
  void require_residues_of(const Csr<T>& A) const {
    B backend(backend_.device());
    require_residues(backend, field_, A);
  }

  [[nodiscard]] std::int64_t rank() const { return form_->rank(); }
  /// Whether the rank is the exact one, or that modulo a prime.
  [[nodiscard]] bool is_proven() const { return proven_; }
  /// The map: the row of each unknown, -1 for a free one.
  [[nodiscard]] std::vector<std::int64_t> row_of_unknown() const {
    return {form_->owner().begin(), form_->owner().end()};
  }
  [[nodiscard]] std::size_t bytes() const {
    return matrix_.bytes() + (form_ == nullptr ? 0 : form_->bytes());
  }
  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const {
    return std::make_unique<Workspace>(backend_.device(), A_->rows(), A_->columns());
  }

  /// Text for a report, such as "A has rank 3 of 5: unknowns 2 and 4 are free, row 1 depends on others".
  [[nodiscard]] std::string rank_description() const {
    const Facts& facts = form_->facts();
    std::string text = "A has rank " + std::to_string(rank()) + " of " + std::to_string(A_->columns()) +
                       field_.modulus_text();
    if (proven_ && !Field::is_exact) text += " (proven)";
    if (is_doubtful()) {
      text += " (doubtful: of the pivots relative to their terms, the smallest accepted is " +
              short_number(facts.smallest_accepted) + ", the largest rejected " +
              short_number(facts.largest_rejected) + ")";
    }
    if (!facts.free_unknowns.empty()) text += ", free unknowns: " + list_of(facts.free_unknowns);
    if (!facts.dependent_rows.empty()) text += ", dependent rows: " + list_of(facts.dependent_rows);
    return text + (facts.free_unknowns.empty() && facts.dependent_rows.empty() ? "" : " (from 0)");
  }

  /// True if another tolerance could lead to another rank: if pivots are within a factor of 1000 of the
  /// tolerance or of each other, the largest rejected one exceeds rounding errors, or a
  /// pivot is within a factor of 1000 of being taken for an amplified rounding error.
  [[nodiscard]] bool is_doubtful() const {
    if constexpr (Field::is_exact) {
      return false;
    } else {
      const Facts& facts = form_->facts();
      const double tolerance = field_.tolerance;
      const double rejected = facts.dependent_rows.empty() ? 0 : facts.largest_rejected;
      return !proven_ && (facts.smallest_accepted <= doubtful_gap * std::max(tolerance, rejected) ||
                          (rejected > default_tolerance<T> && doubtful_gap * rejected >= tolerance) ||
                          smallest_residual_ <= doubtful_gap * null_vector_residual<T>);
    }
  }

  /// Ratio of the largest to the smallest factor of a column.
  [[nodiscard]] double column_spread() const { return spread_of(matrix_.scales().columns.to_vector()); }

  [[nodiscard]] std::vector<Statistic> statistics() const {
    const Facts& facts = form_->facts();
    std::vector<Statistic> statistics = {{"rounds", facts.rounds},
                                         {"levels", facts.levels},
                                         {"local_slices", facts.slices_of_teams},
                                         {"reductions", form_->record().size()},
                                         {"factor_elements", form_->factor().elements()},
                                         {"back_substitution_steps", form_->factor().steps().size()}};
    if constexpr (!Field::is_exact) {
      statistics.push_back({"smallest_accepted_pivot", facts.smallest_accepted});
      statistics.push_back({"largest_rejected_pivot", facts.largest_rejected});
    }
    if (form_->owner().size() <= most_numbers) statistics.push_back({"map", row_of_unknown()});
    if (is_doubtful()) statistics.push_back({"doubtful", std::int64_t{1}});
    if (proven_) statistics.push_back({"proven", std::int64_t{1}});
    if (!facts.dependent_rows.empty())
      statistics.push_back({"dependent_rows", first_of(facts.dependent_rows)});
    if (!facts.free_unknowns.empty()) statistics.push_back({"free_unknowns", first_of(facts.free_unknowns)});
    return statistics;
  }

  /// A particular solution for b, refined, and the outcome.
  void solve(Workspace& own, const T* given_b, T* x, Job& job) const {
    if constexpr (Field::is_exact) {
      if (job.control->least_squares)
        throw BadOption("least_squares", "a residual modulo a prime has no size");
      require_residues_in(own, given_b);
    }
    const T* const b = matrix_.scale_rhs(own.backend, given_b, own.rhs);
    load(own, b);
    form_->solve(own.backend, own.reduced.data(), own.x.data());
    const Contradictory contradictory = find_contradiction(own);
    if constexpr (!Field::is_exact) refine(own, b, job);
    if (contradictory.row >= 0 && !is_satisfied(own, b)) {
      describe(contradictory, given_b, job);
    } else {
      if (rank() < A_->columns()) {
        job.outcome = {Status::underdetermined,
                       rank_description() + "; x is the solution with zeros in the free unknowns"};
        if (proven_) job.outcome.certainty = Certainty::proven;
      }
      if constexpr (Field::is_exact) check_exactly(own, b, job);
    }
    store(own, x);
  }

 private:
  static constexpr std::size_t most_numbers = 1000;  // of a list among the statistics

  /// First numbers of a long list, for the report.
  static std::vector<std::int64_t> first_of(const std::vector<std::int64_t>& numbers) {
    const std::size_t count = std::min(numbers.size(), most_numbers);
    return {numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(count)};
  }

  /// Marks the rank as proven, or eliminates A again with tolerances that give the exact rank, if that
  /// decides. If none does, the form is that of the numerical rank.
  void decide(const CancellationToken& cancel, Outcome& outcome) {
    constexpr int most_eliminations = 20;
    const std::optional<std::int64_t> exact =
        decide_rank(MatrixRef<T>(matrix_.given()), {rank(), is_doubtful()}, estimated_operations());
    proven_ = exact == rank();
    if (!exact || proven_) return warn_of_small_pivots(outcome);
    const bool may_have_gap = *exact > rank() && !is_regular_by_inspection(MatrixRef<T>(matrix_.given()));
    if (may_have_gap && eliminate_with_gap(cancel, outcome)) return;
    double tolerance = 0;
    for (int k = 0; k < most_eliminations; ++k) {
      outcome = eliminate({}, tolerance, cancel);
      if (!outcome.ok()) return;
      proven_ = exact == rank();
      if (proven_) return warn_of_small_pivots(outcome);
      if (rank() < *exact) break;
      tolerance = form_->facts().smallest_accepted * (1 + std::numeric_limits<T>::epsilon());
    }
    outcome = eliminate_without_noise(cancel);
  }
  /// Eliminates A with larger tolerances until its pivots have a gap; false if they have none.
  bool eliminate_with_gap(const CancellationToken& cancel, Outcome& outcome) {
    for (const double growth : multiples_of_tolerance) {
      outcome = eliminate({}, growth * field_.tolerance, cancel);
      if (!outcome.ok()) return true;
      const Facts& facts = form_->facts();
      const double rejected = facts.dependent_rows.empty() ? 0 : facts.largest_rejected;
      if (facts.smallest_accepted > doubtful_gap * std::max(field_.tolerance, rejected)) return true;
    }
    return false;
  }
  /// Says that an A whose exact rank is full is singular to working precision.
  void warn_of_small_pivots(Outcome& outcome) const {
    const double smallest = form_->facts().smallest_accepted;
    const bool full = rank() == std::min(A_->rows(), A_->columns());
    if (!proven_ || !full || smallest > default_tolerance<T>) return;
    outcome.warnings.push_back(
        "A has full rank in exact arithmetic, but is singular to working precision: "
        "relative to its terms, the smallest pivot is " +
        short_number(smallest));
  }
  /// Operations of the elimination: reductions times the mean length of a row.
  [[nodiscard]] double estimated_operations() const {
    const double rows = std::max(1.0, static_cast<double>(rank()));
    return static_cast<double>(form_->record().size()) *
           (1 + static_cast<double>(form_->factor().elements()) / rows);
  }

  /// Eliminates A again without the pivots that exceed the tolerance although they are noise: see
  /// DependentUnknowns.
  Outcome eliminate_without_noise(const CancellationToken& cancel) {
    std::vector<std::uint8_t> free;
    while (true) {
      Outcome outcome = eliminate(free, std::nullopt, cancel);
      if (!outcome.ok() || !find_free(free)) return outcome;
    }
  }

  /// Eliminates A; `tolerance` replaces that of a real field.
  Outcome eliminate(const std::vector<std::uint8_t>& free, const std::optional<double>& tolerance,
                    const CancellationToken& cancel) try {
    form_.reset();
    Field field = field_;
    if constexpr (!Field::is_exact) field.tolerance = tolerance.value_or(field_.tolerance);
    MappedElimination<B, Field> elimination(backend_, field, claim_, order(), A_->rows(), A_->columns(),
                                            free);
    if (!elimination.run(*A_, cancel)) {
      return {Status::cancelled, "stopped by the caller between two rounds of the elimination"};
    }
    form_ = std::make_unique<Form>(elimination);
    if (form_->facts().overflow) {
      return {Status::not_a_number, "the elimination overflowed at unknown " +
                                        std::to_string(*form_->facts().overflow) + " (from 0)"};
    }
    return {};
  } catch (const OutOfMemory& error) {
    return {Status::out_of_memory, std::string("the rows of the elimination fill up: ") + error.what()};
  }

  /// Marks unknowns whose pivots are noise. Returns false if there are none.
  bool find_free(std::vector<std::uint8_t>& free) {
    if constexpr (Field::is_exact) {
      return false;
    } else {
      smallest_residual_ = std::numeric_limits<double>::infinity();
      const Facts& facts = form_->facts();
      if (options_.tolerance || !is_suspicious<T>(facts.smallest_accepted, facts.smallest_of_row))
        return false;
      const FoundNoise tested = DependentUnknowns<B, T>(*form_, *A_).find();
      smallest_residual_ = tested.smallest_residual;
      const std::vector<std::uint8_t>& found = tested.noise;
      free.resize(found.size(), 0);
      std::transform(found.begin(), found.end(), free.begin(), free.begin(), std::bit_or<>());
      return std::find(found.begin(), found.end(), 1) != found.end();
    }
  }

  /// Order of the unknowns. With claim=ordered they are eliminated one by one, with slices or without.
  [[nodiscard]] UnknownOrder order() const {
    return claim_ == ClaimRule::ordered ? UnknownOrder::natural : options_.order;
  }

  /// Whether the solution of A x = A v, for a v of numbers between 1 and 2, has a backward error that
  /// refinement removes.
  [[nodiscard]] bool is_stable() const {
    const auto own = make_workspace();
    B& backend = own->backend;
    Array<T> zero(backend_.device(), A_->rows());
    Array<T> b(backend_.device(), A_->rows());
    backend.fill(A_->rows(), T{0}, zero.data());
    backend.for_each(A_->columns(), TestSolution<T>{own->candidate.data()});
    const double size = residual(*own, zero.data(), own->candidate.data());
    backend.for_each(A_->rows(), StoreRightHandSide<T>{own->reduced.data(), b.data()});
    load(*own, b.data());
    form_->solve(backend, own->reduced.data(), own->x.data());
    return residual(*own, b.data(), own->x.data()) <= std::sqrt(std::numeric_limits<T>::epsilon()) * size;
  }

  void load(Workspace& own, const T* b) const {
    own.backend.for_each(A_->rows(), LoadRightHandSide<Field, T>{field_, b, own.reduced.data()});
  }
  void store(Workspace& own, T* x) const {
    own.backend.for_each(A_->columns(), StoreSolution<Field, T>{field_, own.x.data(), x});
    matrix_.unscale_solution(own.backend, x);
  }

  /// Dependent row, and the value to which the reductions bring its right-hand side; row -1: all are zero.
  struct Contradictory {
    std::int64_t row = -1;
    double left = 0;
  };

  /// The dependent row whose right-hand side differs most from zero, after the first solve.
  Contradictory find_contradiction(Workspace& own) const {
    if (form_->facts().dependent_rows.empty()) return {};
    form_->find_contradiction(own.backend, own.reduced.data(), own.worst.data());
    const LargestRowError worst = own.backend.read(own.worst.data());
    if (!(worst.error > 0)) return {};
    const Element left = own.backend.read(own.reduced.data() + worst.row);
    return {worst.row, static_cast<double>(field_.signed_number(left.value))};
  }

  /// Whether x satisfies every equation up to rounding.
  [[nodiscard]] bool is_satisfied(Workspace& own, const T* b) const {
    if constexpr (Field::is_exact) {
      return false;
    } else {
      own.backend.reduce(A_->columns(), LargestMagnitude<const T*>{own.x.data()},
                         Store<Largest>{own.largest.data()});
      own.backend.reduce(A_->rows(),
                         RelativeRowError<T>{A_->row_offsets().data(), A_->column_indices().data(),
                                             A_->values().data(), b, own.x.data(), own.largest.data()},
                         Store<LargestRowError>{own.worst.data()});
      const double error = own.backend.read(own.worst.data()).error;
      return error <= 10 * std::max(field_.tolerance, default_tolerance<T>);
    }
  }

  /// Names the rows that contradict each other: a combination of them has zero on the left of the equation,
  /// and another number on the right.
  void describe(const Contradictory& contradictory, const T* b, Job& job) const {
    auto w = combination_of(field_, form_->record().to_host(), A_->rows(), contradictory.row);
    double left = contradictory.left;
    if constexpr (!Field::is_exact) {
      const std::vector<int> exponents = matrix_.row_exponents();
      const int own = exponents[static_cast<std::size_t>(contradictory.row)];
      for (std::size_t i = 0; i < w.size(); ++i) w[i] = std::ldexp(w[i], exponents[i] - own);
      left = std::ldexp(left, -own);
    }
    std::vector<std::int64_t> rows;
    for (std::size_t i = 0; i < w.size(); ++i) {
      if (w[i] != 0) rows.push_back(static_cast<std::int64_t>(i));
    }
    job.outcome = {Status::inconsistent,
                   "the equations contradict each other: " + combination_text(field_, w) +
                       " (from 0) is 0 = " + short_number(left) + field_.modulus_text(),
                   contradictory.row};
    if (Field::is_exact || contradicts_exactly(w, b)) job.outcome.certainty = Certainty::proven;
    job.statistics.push_back({"contradiction_rows", first_of(rows)});
  }

  /// Whether the combination w of the equations is 0 = c with c other than zero, without rounding errors.
  template <class W>
  [[nodiscard]] bool contradicts_exactly(const std::vector<W>& w, const T* b) const {
    const Csr<T> host = matrix_.given().to(Device::serial());
    Array<T> copy(backend_.device(), A_->rows());
    B backend(backend_.device());
    backend.copy(A_->rows(), b, copy.data());
    backend.synchronize();
    const std::vector<T> right = copy.to_vector();
    std::vector<DoubledSum> left(static_cast<std::size_t>(A_->columns()));
    DoubledSum sum;
    bool underflows = false;
    const auto add = [&underflows](DoubledSum& to, double factor, double element) {
      constexpr double least = 0x1p-960;  // the rounding error of a smaller product need not be a number
      underflows = underflows || (element != 0 && !(std::abs(factor * element) >= least));
      to.add_product(factor, element);
    };
    for (std::int64_t i = 0; i < A_->rows(); ++i) {
      const auto factor = static_cast<double>(w[static_cast<std::size_t>(i)]);
      if (factor == 0) continue;
      for (std::int64_t k = host.row_offsets()[i]; k < host.row_offsets()[i + 1]; ++k) {
        add(left[static_cast<std::size_t>(host.column_indices()[k])], factor,
            static_cast<double>(host.values()[k]));
      }
      add(sum, factor, static_cast<double>(right[static_cast<std::size_t>(i)]));
    }
    // Sums are exact where all their rounding errors are zero.
    const auto is_zero = [](const DoubledSum& s) { return s.high == 0 && s.magnitude == 0; };
    return !underflows && std::all_of(left.begin(), left.end(), is_zero) && sum.high != 0 &&
           sum.magnitude == 0;
  }

  void require_residues_in(Workspace& own, const T* b) const {
    if (field_.prime != 2) return;
    const std::int64_t row = find_fraction(own.backend, A_->rows(), b, own.fraction.data());
    if (row == FirstIndex::none) return;
    throw InvalidMatrix("modulo 2 the elements of b have to be integers, and that at row " +
                        std::to_string(row) + ", counted from 0, is not an integer");
  }

  void check_exactly(Workspace& own, const T* b, Job& job) const {
    job.exact = residual(own, b, own.x.data()) == 0;
    if (!job.exact) job.outcome = {Status::breakdown, "A x is not b in exact arithmetic"};
  }

  /// Refines x while the residual becomes smaller.
  void refine(Workspace& own, const T* b, Job& job) const {
    double before = options_.refine > 0 ? residual(own, b, own.x.data()) : 0;
    for (std::int64_t step = 0; step < options_.refine && before > 0; ++step) {
      form_->solve(own.backend, own.reduced.data(), own.correction.data());
      own.backend.for_each(A_->columns(),
                           AddVectors<T>{own.x.data(), own.correction.data(), own.candidate.data()});
      const double after = residual(own, b, own.candidate.data());
      if (!(after < before)) return;
      own.x.swap(own.candidate);
      job.iterations = step + 1;
      before = after;
    }
  }

  /// Computes the residual of x; returns its largest magnitude.
  double residual(Workspace& own, const T* b, const typename Field::Value* x) const {
    own.backend.reduce(A_->rows(),
                       Residual<Field, T>{field_, A_->row_offsets().data(), A_->column_indices().data(),
                                          A_->values().data(), b, x, own.reduced.data()},
                       Store<Largest>{own.largest.data()});
    return own.backend.read(own.largest.data()).value;
  }

  B backend_;
  Field field_;
  MappedEchelonOptions options_;
  ClaimRule claim_ = ClaimRule::largest;
  ScaledMatrix<B, T> matrix_;
  const Csr<T>* A_ = nullptr;  // that is eliminated
  std::unique_ptr<Form> form_;
  double smallest_residual_ =
      std::numeric_limits<double>::infinity();  // of FoundNoise, for the last elimination
  bool proven_ = false;                         // the rank is the exact one, or one modulo a prime
};

}  // namespace echelon::mapped
