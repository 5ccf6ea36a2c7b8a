// SPDX-License-Identifier: BSD-3-Clause
/// The candidates for a matrix one after another, found as far as they are asked for.
#pragma once

#include "solver/selection/method_selection.hpp"
#include "solver/selection/placed_solver.hpp"

#include <echelon/solve.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace echelon {

/// Limits of a choice.
struct ChoiceLimits {
  std::optional<MethodKind> kind;  ///< that of all candidates, if set
  bool stencils = true;            ///< whether to look for a stencil on a grid
};

/// Whether two candidates are one method on one device with the same options.
[[nodiscard]] bool same_method(const Candidate& a, const Candidate& b);

template <class T>
class CandidateQueue {
 public:
  /// Analyses A. `device`: that to which candidates are limited, if set.
  CandidateQueue(const MatrixRef<T>& A, const std::optional<Device>& device, const ChoiceLimits& limits);

  /// The structural rank of an A that is singular whatever its values.
  [[nodiscard]] std::optional<std::int64_t> deficient_rank() const {
    return selection_ ? selection_->deficient_rank : std::nullopt;
  }
  /// The next candidate, best first, that `accepts` takes; none at the end.
  [[nodiscard]] std::optional<Candidate> next(const std::function<bool(const Candidate&)>& accepts);
  /// The next candidate for an A that has turned out to be singular.
  [[nodiscard]] std::optional<Candidate> next_for_singular();
  /// The candidate as a solver: the one that was analysed to choose it, in some seconds; or else `known`, a
  /// solver or null, if that is the same method; or a new one.
  [[nodiscard]] std::shared_ptr<PlacedSolver<T>> make(const Candidate& candidate,
                                                      const std::shared_ptr<PlacedSolver<T>>& known);

  /// Time of the analyses so far.
  [[nodiscard]] double seconds() const { return seconds_; }
  /// Relative difference between A and its transpose if it is taken as rounding errors.
  [[nodiscard]] std::optional<double> ignored_asymmetry() const;

 private:
  enum class Stage { listed, completed, others, others_completed, substitutes, end };

  /// Lists the candidates of the next stage; false at the end.
  bool list_more();
  /// Finds what a selection had deferred, and lists what it has in addition.
  void complete(MethodSelection& selection);
  void list(MethodSelection& selection, std::size_t first = 0);
  [[nodiscard]] bool has_kind(const Candidate& candidate) const;

  MatrixRef<T> A_;
  std::optional<Device> device_;
  ChoiceLimits limits_;
  std::optional<MethodSelection> selection_;  // none for an operator
  std::optional<MethodSelection> others_;     // for an SDDM matrix, without the methods for graphs
  Stage stage_ = Stage::listed;
  std::vector<Candidate> list_;  // of one stage
  bool is_complete_ = true;      // whether the list has all candidates of its stage
  std::size_t next_ = 0;
  bool has_given_ = false;  // a candidate of the kind
  std::optional<std::vector<Candidate>> singular_;
  std::size_t next_singular_ = 0;
  std::optional<AnalyzedSolver<T>> analyzed_;
  double seconds_ = 0;
};

}  // namespace echelon
