// SPDX-License-Identifier: BSD-3-Clause
#include "solver/selection/candidate_queue.hpp"

#include "support/stopwatch.hpp"

#include <echelon/matrix/structure.hpp>

#include <support/scalar_list.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace echelon {

bool same_method(const Candidate& a, const Candidate& b) {
  const auto same = [](const Options::Entry& x, const Options::Entry& y) {
    return x.first == y.first && x.second.get() == y.second.get();
  };
  return a.method == b.method && a.device == b.device &&
         std::ranges::equal(a.parameters.entries(), b.parameters.entries(), same);
}

template <class T>
CandidateQueue<T>::CandidateQueue(const MatrixRef<T>& A, const std::optional<Device>& device,
                                  const ChoiceLimits& limits)
    : A_(A), device_(device), limits_(limits) {
  const Stopwatch stopwatch;
  if (A.is_operator()) {
    list_ = choose(A, device);
    stage_ = Stage::others_completed;
  } else {
    selection_ = MethodSelection::of(A, device, true, limits.stencils);
    if (selection_->deficient_rank) {
      stage_ = Stage::end;
    } else {
      // Most systems are solved by the first candidate; the texts of all take longer than small systems.
      list_ = selection_->candidates(1);
      analyzed_ = selection_->take_analyzed<T>();
      is_complete_ = false;
    }
  }
  seconds_ = stopwatch.seconds();
}

template <class T>
std::optional<Candidate> CandidateQueue<T>::next(const std::function<bool(const Candidate&)>& accepts) {
  do {
    while (next_ < list_.size()) {
      Candidate& candidate = list_[next_++];
      if (!has_kind(candidate)) continue;
      has_given_ = true;
      if (accepts(candidate)) return std::move(candidate);
    }
  } while (list_more());
  return std::nullopt;
}

template <class T>
std::optional<Candidate> CandidateQueue<T>::next_for_singular() {
  if (!selection_) return std::nullopt;
  if (!singular_) {
    const Stopwatch stopwatch;
    selection_->complete(A_);
    singular_ = selection_->singular_candidates();
    if (!analyzed_) analyzed_ = selection_->take_analyzed<T>();
    seconds_ += stopwatch.seconds();
  }
  while (next_singular_ < singular_->size()) {
    Candidate& candidate = (*singular_)[next_singular_++];
    if (has_kind(candidate)) return std::move(candidate);
  }
  return std::nullopt;
}

template <class T>
std::shared_ptr<PlacedSolver<T>> CandidateQueue<T>::make(const Candidate& candidate,
                                                         const std::shared_ptr<PlacedSolver<T>>& known) {
  const std::optional<CostPrediction> factor = selection_ ? selection_->factor : std::nullopt;
  if (analyzed_ && analyzed_->method == candidate.method && analyzed_->solver.device() == candidate.device &&
      candidate.parameters.empty()) {
    AnalyzedSolver<T> analyzed = std::move(*analyzed_);
    analyzed_.reset();
    return std::make_shared<PlacedSolver<T>>(candidate, std::move(analyzed.solver), analyzed.seconds, factor);
  }
  if (known != nullptr && same_method(candidate, known->candidate())) return known;
  Candidate placed = candidate;
  const Method& method = find_method(placed.method);
  const bool runs = is_complex<T> ? method.takes_complex_on(placed.device) : method.runs_on(placed.device);
  if (!runs) placed.device = Device::openmp();
  return std::make_shared<PlacedSolver<T>>(
      placed, make_solver<T>(placed.method, placed.device, placed.parameters), 0, factor);
}

template <class T>
std::optional<double> CandidateQueue<T>::ignored_asymmetry() const {
  if (!selection_ || !selection_->nearly_symmetric) return std::nullopt;
  return selection_->structure.asymmetry;
}

template <class T>
bool CandidateQueue<T>::list_more() {
  if (stage_ == Stage::end) return false;
  if (!std::exchange(is_complete_, true)) {
    list_ = selection_->candidates();
    return true;
  }
  const Stopwatch stopwatch;
  stage_ = static_cast<Stage>(static_cast<int>(stage_) + 1);
  list_.clear();
  next_ = 0;
  const bool is_sddm = selection_ && selection_->graph == DominanceKind::sddm;
  switch (stage_) {
    case Stage::completed:
      complete(*selection_);
      break;
    case Stage::others:
      if (!is_sddm) break;
      others_ = MethodSelection::of(A_, device_, false, false);  // a stencil was among the first candidates
      list(*others_);
      break;
    case Stage::others_completed:
      if (others_) complete(*others_);
      break;
    case Stage::substitutes:
      if (limits_.kind && !has_given_) {
        const bool square = A_.rows() == A_.columns();
        const std::string iterative = square ? "gmres" : "lsmr";
        const std::string direct = !square ? "qr" : A_.is_sparse() ? "sparse-lu" : "lu";
        const std::string method = *limits_.kind == MethodKind::iterative ? iterative : direct;
        list_ = {{method, device_.value_or(A_.device()), {}, "no better method of this kind is known for A"}};
      }
      break;
    case Stage::listed:
    case Stage::end:
      break;
  }
  seconds_ += stopwatch.seconds();
  return true;
}

template <class T>
void CandidateQueue<T>::complete(MethodSelection& selection) {
  if (!selection.factor_deferred) return;
  const std::size_t known = selection.candidates().size();
  selection.complete(A_);
  list(selection, known);
}

template <class T>
void CandidateQueue<T>::list(MethodSelection& selection, std::size_t first) {
  list_ = selection.candidates();
  list_.erase(list_.begin(), list_.begin() + static_cast<std::ptrdiff_t>(first));
  analyzed_ = selection.take_analyzed<T>();
}

template <class T>
bool CandidateQueue<T>::has_kind(const Candidate& candidate) const {
  return !limits_.kind || find_method(candidate.method).kind == *limits_.kind;
}

#define ECHELON_INSTANTIATE(T) template class CandidateQueue<T>;
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
