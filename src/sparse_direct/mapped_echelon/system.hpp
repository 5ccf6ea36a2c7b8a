// SPDX-License-Identifier: BSD-3-Clause
/// Systems of any shape, solved with a mapped echelon form.
#pragma once

#include "solver/implementation.hpp"
#include "sparse_direct/mapped_echelon/combination.hpp"
#include "sparse_direct/mapped_echelon/form.hpp"
#include "sparse_direct/mapped_echelon/integers.hpp"
#include "sparse_direct/mapped_echelon/verification.hpp"
#include "support/text.hpp"

#include <echelon/csr.hpp>
#include <echelon/error.hpp>
#include <echelon/methods/mapped_echelon.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace echelon::mapped {

/// Default of the relative size up to which an element counts as zero: what rounding leaves of a sum of a few
/// dozen terms.
template <class T>
constexpr double default_tolerance = 32 * static_cast<double>(std::numeric_limits<T>::epsilon());

/// "2, 4 and 7": at most eight numbers.
inline std::string list_text(const std::vector<std::int64_t>& numbers) {
  constexpr std::size_t most = 8;
  const std::size_t shown = std::min(numbers.size(), most);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    const bool last = i + 1 == numbers.size();
    text += (i == 0 ? "" : last ? " and " : ", ") + std::to_string(numbers[i]);
  }
  return shown == numbers.size() ? text : text + " and " + std::to_string(numbers.size() - shown) + " more";
}

/// Memory of a solve of one right-hand side.
template <class B, class Field, class T>
struct SolveWorkspace : Workspace {
  SolveWorkspace(const Device& device, std::int64_t rows, std::int64_t columns)
      : backend(device),
        reduced(device, rows),
        x(device, columns),
        correction(device, columns),
        candidate(device, columns),
        largest(device, 1),
        worst(device, 1),
        fraction(device, 1) {}
  [[nodiscard]] std::size_t bytes() const override {
    return reduced.bytes() + x.bytes() + correction.bytes() + candidate.bytes();
  }
  B backend;
  Array<typename Field::Element> reduced;
  Array<typename Field::Value> x, correction, candidate;
  Array<Largest> largest;
  Array<WorstRow> worst;
  Array<FirstIndex> fraction;
};

template <class B, class Field, class T>
class System {
  using Form = MappedForm<B, Field>;

 public:
  using Space = SolveWorkspace<B, Field, T>;

  System(const Device& device, const Field& field, const MappedEchelonOptions& options)
      : backend_(device), field_(field), options_(options) {}

  /// Brings A, which must outlive the system, to mapped echelon form. Not ok when that was cancelled, ran out
  /// of memory or overflowed; a rank that is not full is no failure.
  ///
  /// Where a pivot is noise although it exceeds the tolerance, A is eliminated again with a larger one: see
  /// PivotCheck.
  Outcome factor(const Csr<T>& A, const std::stop_token& cancel) {
    A_ = &A;
    form_.reset();
    Field field = field_;
    while (true) {
      Outcome outcome = eliminate(field, cancel);
      if (!outcome.ok() || !raise_tolerance(field)) return outcome;
    }
  }

  [[nodiscard]] std::int64_t rank() const { return form_->rank(); }
  [[nodiscard]] std::size_t bytes() const { return form_ == nullptr ? 0 : form_->bytes(); }
  [[nodiscard]] std::unique_ptr<Space> make_workspace() const {
    return std::make_unique<Space>(backend_.device(), A_->rows(), A_->columns());
  }

  /// "A has rank 3 of 5: unknowns 2 and 4 are free, row 1 depends on others".
  [[nodiscard]] std::string rank_description() const {
    const Facts& facts = form_->facts();
    std::string text = "A has rank " + std::to_string(rank()) + " of " + std::to_string(A_->columns());
    if (is_doubtful()) {
      text += ", doubtfully (pivots relative to their terms: smallest accepted " +
              short_number(facts.smallest_accepted) + ", largest rejected " +
              short_number(facts.largest_rejected) + ")";
    }
    if (!facts.free_unknowns.empty()) text += ", free unknowns: " + list_text(facts.free_unknowns);
    if (!facts.dependent_rows.empty()) text += ", dependent rows: " + list_text(facts.dependent_rows);
    return text + (facts.free_unknowns.empty() && facts.dependent_rows.empty() ? "" : " (from 0)");
  }

  /// Whether another tolerance could lead to another rank.
  [[nodiscard]] bool is_doubtful() const {
    constexpr double clear_gap = 1000;
    const Facts& facts = form_->facts();
    return !facts.dependent_rows.empty() && facts.smallest_accepted <= clear_gap * facts.largest_rejected;
  }

  [[nodiscard]] std::vector<Statistic> statistics() const {
    const Facts& facts = form_->facts();
    return {{"rounds", facts.rounds},
            {"reductions", form_->record().size()},
            {"factor_elements", form_->factor().elements()},
            {"back_substitution_steps", form_->factor().steps().size()},
            {"dependent_rows", first_of(facts.dependent_rows)},
            {"free_unknowns", first_of(facts.free_unknowns)}};
  }

  /// z = a particular solution for r, unrefined. Queued.
  void apply(Space& space, const T* r, T* z) const {
    load(space, r);
    form_->solve(space.backend, space.reduced.data(), space.x.data());
    store(space, z);
  }

  /// A particular solution for b, refined, and the outcome.
  void solve(Space& space, const T* b, T* x, Job& job) const {
    if constexpr (Field::is_exact) require_integers_in(space, b);
    load(space, b);
    form_->solve(space.backend, space.reduced.data(), space.x.data());
    const WorstRow worst = find_contradiction(space);
    if (worst.error > acceptable_error()) {
      describe_contradiction(space, worst, job);
    } else if (rank() < A_->columns()) {
      job.outcome = {Status::underdetermined,
                     rank_description() + "; x is the solution with zeros in the free unknowns"};
    }
    if constexpr (Field::is_exact) {
      check_exactly(space, b, job);
    } else {
      refine(space, b, job);
    }
    store(space, x);
  }

 private:
  /// Long lists are cut in the report.
  static std::vector<std::int64_t> first_of(const std::vector<std::int64_t>& numbers) {
    constexpr std::size_t most = 1000;
    return {numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(std::min(numbers.size(), most))};
  }

  Outcome eliminate(const Field& field, const std::stop_token& cancel) try {
    form_.reset();
    Elimination<B, Field> elimination(backend_, field, options_.claim == ClaimRule::largest, A_->rows(),
                                      A_->columns());
    if (!elimination.run(*A_, cancel)) {
      return {Status::cancelled, "stopped by the caller between two rounds of the elimination"};
    }
    form_ = std::make_unique<Form>(elimination);
    if (form_->facts().overflow) {
      return {Status::not_a_number,
              "the elimination overflowed at unknown " + std::to_string(*form_->facts().overflow) + " (from 0)"};
    }
    return {};
  } catch (const OutOfMemory& error) {
    return {Status::out_of_memory, std::string("the rows of the elimination fill up: ") + error.what()};
  }

  /// A tolerance above the first pivot that is noise. False where there is none.
  bool raise_tolerance(Field& field) const {
    if constexpr (Field::is_exact) {
      return false;
    } else {
      if (options_.tolerance || form_->facts().smallest_accepted > suspicious_pivot<T>) return false;
      const std::optional<double> noise = PivotCheck<B, T>(*form_, *A_).find_noise();
      constexpr double margin = 8;  // rounding errors of one elimination vary in size
      if (noise) field.tolerance = margin * *noise;
      return noise.has_value();
    }
  }

  void load(Space& space, const T* b) const {
    space.backend.for_each(A_->rows(), LoadRightHandSide<Field, T>{field_, b, space.reduced.data()});
  }
  void store(Space& space, T* x) const {
    space.backend.for_each(A_->columns(), StoreSolution<Field, T>{field_, space.x.data(), x});
  }

  /// Errors up to this are due to rounding.
  [[nodiscard]] double acceptable_error() const {
    if constexpr (Field::is_exact) {
      return 0;
    } else {
      return 10 * std::max(form_->field().tolerance, default_tolerance<T>);
    }
  }

  WorstRow find_contradiction(Space& space) const {
    if (form_->facts().dependent_rows.empty()) return {};
    if constexpr (!Field::is_exact) {
      space.backend.reduce(A_->columns(), Magnitude<T>{space.x.data()}, Store<Largest>{space.largest.data()});
    }
    form_->find_contradiction(space.backend, space.reduced.data(), space.largest.data(), space.worst.data());
    return space.backend.read(space.worst.data());
  }

  /// Names the rows that contradict each other: their combination is zero on the left of the equations, and
  /// not on the right.
  void describe_contradiction(Space& space, const WorstRow& worst, Job& job) const {
    const auto left = space.backend.read(space.reduced.data() + worst.row);
    const auto w = combination_of(field_, form_->record().to_host(), A_->rows(), worst.row);
    std::vector<std::int64_t> rows;
    for (std::size_t i = 0; i < w.size(); ++i) {
      if (w[i] != 0) rows.push_back(static_cast<std::int64_t>(i));
    }
    job.outcome = {Status::inconsistent,
                   "the equations contradict each other: " + combination_text(field_, w) + " (from 0) is 0 = " +
                       short_number(static_cast<double>(field_.number(left.value))),
                   worst.row};
    job.statistics.push_back({"contradiction_rows", first_of(rows)});
  }

  void require_integers_in(Space& space, const T* b) const {
    const std::int64_t row = find_fraction(space.backend, A_->rows(), b, space.fraction.data());
    if (row == FirstIndex::none) return;
    throw InvalidMatrix("b has to hold integers, and its element at row " + std::to_string(row) +
                        ", counted from 0, is none");
  }

  void check_exactly(Space& space, const T* b, Job& job) const {
    if (!job.outcome.ok() || residual(space, b, space.x.data()) == 0) return;
    job.outcome = {Status::breakdown, "A x is not b in exact arithmetic"};
  }

  /// Adds the solution for the residual as long as that makes the residual smaller.
  void refine(Space& space, const T* b, Job& job) const {
    double before = options_.refine > 0 ? residual(space, b, space.x.data()) : 0;
    for (std::int64_t step = 0; step < options_.refine && before > 0; ++step) {
      form_->solve(space.backend, space.reduced.data(), space.correction.data());
      space.backend.for_each(A_->columns(),
                             Add<T>{space.x.data(), space.correction.data(), space.candidate.data()});
      const double after = residual(space, b, space.candidate.data());
      if (!(after < before)) return;
      space.x.swap(space.candidate);
      job.iterations = step + 1;
      before = after;
    }
  }

  /// Computes the residual of x; returns its largest magnitude.
  double residual(Space& space, const T* b, const typename Field::Value* x) const {
    space.backend.reduce(A_->rows(),
                         Residual<Field, T>{field_, A_->row_offsets().data(), A_->column_indices().data(),
                                            A_->values().data(), b, x, space.reduced.data()},
                         Store<Largest>{space.largest.data()});
    return space.backend.read(space.largest.data()).value;
  }

  B backend_;
  Field field_;
  MappedEchelonOptions options_;
  const Csr<T>* A_ = nullptr;
  std::unique_ptr<Form> form_;
};

}  // namespace echelon::mapped
