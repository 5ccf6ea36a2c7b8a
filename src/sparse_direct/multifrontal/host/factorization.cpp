// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/multifrontal/host/factorization.hpp"

#include "sparse_direct/multifrontal/host/complete_pivoting.hpp"
#include "sparse_direct/multifrontal/host/front_storage.hpp"
#include "sparse_direct/multifrontal/host/inertia.hpp"
#include "sparse_direct/multifrontal/host/kernels.hpp"
#include "sparse_direct/multifrontal/host/tree_schedule.hpp"
#include "support/first_exception.hpp"

#include <omp.h>
#include <support/scalar_list.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

namespace {

/// Working memory of one thread.
template <class T>
struct Worker {
  Array<T> stack;
  PackBuffers<T> pack;
  std::vector<T> scratch;
  std::vector<std::int32_t> exchanges;
  FactorFacts facts;
};

/// Computes parts of a product as OpenMP tasks, which are created by the thread that calls the product. While
/// that thread waits for its tasks it starts no others, so that its buffers are free.
template <class T>
class TaskThreads final : public ProductThreads<T> {
 public:
  explicit TaskThreads(std::vector<Worker<T>>& workers) : workers_(workers) {}
  [[nodiscard]] int count() const override { return static_cast<int>(workers_.size()); }
  void run(int parts, typename ProductThreads<T>::Work work, const void* product) override {
    Worker<T>* workers = workers_.data();
    for (int part = parts; part-- > 0;) {
#pragma omp task firstprivate(part, work, product, workers)
      work(product, part, workers[omp_get_thread_num()].pack);
    }
#pragma omp taskwait
  }

 private:
  std::vector<Worker<T>>& workers_;
};

template <class T>
class Factorization {
 public:
  Factorization(const PanelLayout& layout, const TreeSchedule& schedule, const ScaledValues<T>& values,
                const FactorOptions<T>& options, MultifrontalFactors<T>& factors)
      : layout_(layout),
        tree_(layout.tree),
        values_(values),
        options_(options),
        factors_(factors),
        kernels_(front_kernels<T>()),
        schedule_(schedule),
        storage_(layout, factors),
        updates_(tree_.parent.size(), nullptr) {}

  FactorResult run() {
    factors_.facts = {};
    factors_.border = Array<T>();
    if (has_border()) separate_.resize(tree_.parent.size());
    workers_.resize(static_cast<std::size_t>(schedule_.parallel ? options_.threads : 1));
    for (Worker<T>& worker : workers_) worker.pack.cancel = &options_.control;
    if (schedule_.parallel) {
      run_parallel();
    } else if (!schedule_.ranges.empty()) {
      process_range(0, workers_.front());
    }
    exception_.rethrow();
    if (is_cancelled_ || options_.control.stop_requested()) return {FactorEnd::cancelled};
    if (failed_) return {FactorEnd::no_pivot, failed_};
    for (const Worker<T>& worker : workers_) add_facts(worker.facts);
    if (has_border()) factors_.border = std::move(separate_.back());
    storage_.number_pivots();
    const bool has_signs = layout_.kind == FactorKind::hermitian_ldlt || !is_complex<T>;
    if (has_signs && has_block_diagonal(layout_.kind)) count_signs(factors_);
    return {};
  }

 private:
  [[nodiscard]] bool delays() const { return layout_.kind != FactorKind::cholesky; }
  [[nodiscard]] bool has_border() const { return tree_.border() > 0; }
  /// True for the front whose rows are the border.
  [[nodiscard]] bool is_border(std::int32_t s) const { return has_border() && tree_.parent[s] < 0; }

  /// Factors with one task for each range. The task that finishes the last child of a front above the ranges
  /// factors that front.
  void run_parallel() {
    separate_.resize(tree_.parent.size());
    missing_ = std::vector<std::atomic<std::int32_t>>(tree_.parent.size());
    for (const std::int32_t s : schedule_.top)
      missing_[s] = static_cast<std::int32_t>(layout_.children_of(s).size());
    TaskThreads<T> threads(workers_);
    for (Worker<T>& worker : workers_) {
      worker.pack.threads = &threads;
      worker.pack.allocate();
    }
#pragma omp parallel num_threads(options_.threads)
#pragma omp single
    for (std::size_t r = 0; r < schedule_.ranges.size(); ++r) {
#pragma omp task firstprivate(r)
      exception_.catch_from([&] { run_task(r, workers_[static_cast<std::size_t>(omp_get_thread_num())]); });
    }
  }

  void run_task(std::size_t r, Worker<T>& worker) {
    process_range(r, worker);
    const SupernodeRange range = schedule_.ranges[r];
    std::int32_t next = tree_.parent[range.end - 1];
    std::int32_t finished = 0;
    for (std::int32_t s = range.begin; s < range.end; ++s) finished += tree_.parent[s] == next ? 1 : 0;
    while (next >= 0 && !is_stopped()) {
      if (missing_[next].fetch_sub(finished) != finished) return;
      process(next, worker);
      next = tree_.parent[next];
      finished = 1;
    }
  }

  void process_range(std::size_t r, Worker<T>& worker) {
    if (worker.stack.size() < schedule_.stack_entries[r]) {
      worker.stack = Array<T>();
      worker.stack = Array<T>(Device::serial(), schedule_.stack_entries[r]);
    }
    const SupernodeRange range = schedule_.ranges[r];
    for (std::int32_t s = range.begin; s < range.end && !is_stopped(); ++s) process(s, worker);
  }

  /// True if the factorisation cannot succeed any more. A Cholesky factorisation by several threads continues
  /// where it can, so that the first failed pivot is reported, in any order of the tasks.
  [[nodiscard]] bool is_stopped() {
    if (options_.control.stops_at(done_flops_ / std::max(tree_.flops, 1.0))) is_cancelled_ = true;
    return is_cancelled_ || exception_.caught() || (!schedule_.parallel && failed_);
  }

  void process(std::int32_t s, Worker<T>& worker) {
    const auto children = layout_.children_of(s);
    const auto has_failed = [&](std::int32_t c) {
      return factors_.fronts[c].eliminated < factors_.fronts[c].pivots;
    };
    if (!delays() && std::any_of(children.begin(), children.end(), has_failed)) {
      factors_.fronts[s].pivots = 1;  // none of them is eliminated
      return;
    }
    const FrontMemory<T> front = place(s, worker);
    assemble(s, front, worker);
    FrontRecord& record = factors_.fronts[s];
    record.eliminated = eliminate(s, front, worker);
    if (options_.control.reports()) done_flops_ += elimination_flops(record);
    if (tree_.parent[s] >= 0) worker.facts.delayed_pivots += record.pivots - record.eliminated;
    if (tree_.parent[s] >= 0 && layout_.collects(tree_.parent[s])) add_to_collecting_parent(s, worker);
    if (separate_.empty()) return;
    for (const std::int32_t child : children) separate_[child] = Array<T>();
  }

  /// Sum of the squared column counts of a front's pivots, as in SymbolicFactor::flops.
  static double elimination_flops(const FrontRecord& front) {
    const auto size = static_cast<double>(front.size);
    const auto pivots = static_cast<double>(front.eliminated);
    return pivots * (size * (size - pivots) + pivots * pivots / 3);
  }

  /// Memory of a front, with the pivots that its children have delayed.
  FrontMemory<T> place(std::int32_t s, Worker<T>& worker) {
    std::int64_t pivots = tree_.pivots(s);
    if (delays()) {
      for (const std::int32_t c : layout_.children_of(s)) {
        pivots += factors_.fronts[c].pivots - factors_.fronts[c].eliminated;
      }
    }
    storage_.add(s, pivots);
    if (!layout_.collects(s)) place_update(s, worker);
    return memory_of(s);
  }

  [[nodiscard]] FrontMemory<T> memory_of(std::int32_t s) {
    FrontMemory<T> front = storage_.front(s);
    front.update = updates_[s];
    return front;
  }

  void place_update(std::int32_t s, Worker<T>& worker) {
    const std::int64_t below = layout_.below(s);
    if (below == 0) return;
    if (schedule_.update_begin[s] >= 0) {
      updates_[s] = worker.stack.data() + schedule_.update_begin[s];
    } else {
      separate_[s] = Array<T>(Device::serial(), below * below);
      updates_[s] = separate_[s].data();
    }
  }

  /// Adds the update matrix of front s to that of its parent, for which the first child finds a place.
  /// Children follow each other on one thread.
  void add_to_collecting_parent(std::int32_t s, Worker<T>& worker) {
    const std::int32_t parent = tree_.parent[s];
    const bool is_first = updates_[parent] == nullptr;
    if (is_first) place_update(parent, worker);
    FrontMemory<T> front;
    front.size = layout_.below(parent);
    front.update = updates_[parent];
    if (is_first) clear_update(front, worker);
    add_update_of(s, front, worker);
  }

  void assemble(std::int32_t s, const FrontMemory<T>& front, Worker<T>& worker) {
    const bool collects = layout_.collects(s);
    clear_panel(front, worker);
    if (!collects) clear_update(front, worker);
    add_elements(layout_, s, values_, front);
    if (is_border(s)) add_border_elements(layout_, values_, front.update);
    std::int64_t at = front.own_pivots;
    for (const std::int32_t child : layout_.children_of(s)) {
      if (!collects) add_update_of(child, front, worker);
      if (front.delayed_in() == 0) continue;
      const auto positions = layout_.positions_of(child);
      const FrontMemory<T> memory = memory_of(child);
      if (layout_.symmetric()) {
        add_delayed<true>(positions, memory, at, front);
      } else {
        add_delayed<false>(positions, memory, at, front);
      }
      at += memory.pivots - memory.eliminated;
    }
  }

  /// Adds the update matrix of a child to a front.
  void add_update_of(std::int32_t child, const FrontMemory<T>& front, Worker<T>& worker) {
    const auto positions = layout_.positions_of(child);
    const auto rows = static_cast<std::int64_t>(positions.size());
    divide(worker, rows, rows, [&](std::int64_t begin, std::int64_t end) {
      if (layout_.symmetric()) {
        add_update<true>(positions, updates_[child], begin, end, front);
      } else {
        add_update<false>(positions, updates_[child], begin, end, front);
      }
    });
  }

  void clear_panel(const FrontMemory<T>& front, Worker<T>& worker) {
    const std::int64_t panel = layout_.panel_entries(front.pivots, front.below());
    divide(worker, front.pivots, panel / std::max<std::int64_t>(front.pivots, 1),
           [&](std::int64_t begin, std::int64_t end) {
             const std::int64_t length = panel / front.pivots;
             std::fill_n(front.lower + begin * length, (end - begin) * length, T{0});
           });
  }

  void clear_update(const FrontMemory<T>& front, Worker<T>& worker) {
    const std::int64_t below = front.below();
    divide(worker, below, below, [&](std::int64_t begin, std::int64_t end) {
      if (!layout_.symmetric()) {
        std::fill_n(front.update + begin * below, (end - begin) * below, T{0});
        return;
      }
      for (std::int64_t j = begin; j < end; ++j) std::fill_n(front.update + j * below + j, below - j, T{0});
    });
  }

  /// Calls f(begin, end) for parts of `count` columns of the given length: on several threads for parts of
  /// columns if there are many elements, otherwise once.
  template <class F>
  static void divide(Worker<T>& worker, std::int64_t count, std::int64_t length, const F& f) {
    constexpr std::int64_t worth_threads = 200'000;  // elements: about 0.1 ms
    struct Division {
      const F& f;
      std::int64_t count;
      std::int64_t parts;
      static void work(const void* division, int part, PackBuffers<T>& /*buffers*/) {
        const auto& [f, count, parts] = *static_cast<const Division*>(division);
        f(part * count / parts, (part + 1) * count / parts);
      }
    };
    if (count == 0) return;
    ProductThreads<T>* threads = worker.pack.threads;
    if (threads == nullptr || count * length < worth_threads) return f(0, count);
    const Division division{f, count, std::min<std::int64_t>(count, std::int64_t{4} * threads->count())};
    threads->run(static_cast<int>(division.parts), &Division::work, &division);
  }

  /// Eliminates front s. Returns the number of eliminated pivots. A collecting front passes delayed pivots
  /// on, since its elements of their columns are those of the children, where no threshold allowed them.
  std::int32_t eliminate(std::int32_t s, const FrontMemory<T>& front, Worker<T>& worker) {
    if (front.pivots == 0 || layout_.collects(s)) return 0;
    if (has_block_diagonal(layout_.kind)) return eliminate_ldlt(s, front, worker);
    if (layout_.kind == FactorKind::cholesky) return eliminate_cholesky(s, front, worker);
    return eliminate_lu(s, front, worker);
  }

  std::int32_t eliminate_ldlt(std::int32_t s, const FrontMemory<T>& front, Worker<T>& worker) {
    T* diagonal = front.lower + front.size * front.pivots;
    const SymmetricFront<T> symmetric{static_cast<int>(front.size),
                                      static_cast<int>(front.pivots),
                                      front.lower,
                                      front.update,
                                      front.column_ids,
                                      diagonal,
                                      front.mirror};
    const std::int32_t eliminated =
        taken(kernels_.factor_ldlt(worker.pack, worker.scratch, symmetric, thresholds_for(s, front)), worker);
    if (!decides_rank(s) && !is_border(s)) return eliminated;
    const std::int64_t complete =
        eliminate_completely(front, diagonal, eliminated, options_.thresholds.smallest, options_.control);
    return without_rejected(front, complete, worker);
  }

  std::int32_t eliminate_lu(std::int32_t s, const FrontMemory<T>& front, Worker<T>& worker) {
    const auto pivots = static_cast<int>(front.pivots);
    if (worker.exchanges.size() < static_cast<std::size_t>(pivots)) worker.exchanges.resize(front.pivots);
    const UnsymmetricFront<T> unsymmetric{static_cast<int>(front.size),
                                          pivots,
                                          front.lower,
                                          front.upper,
                                          front.update,
                                          front.row_ids,
                                          front.column_ids,
                                          worker.exchanges.data()};
    const std::int32_t eliminated =
        taken(kernels_.factor_lu(worker.pack, unsymmetric, thresholds_for(s, front)), worker);
    if (!decides_rank(s) && !is_border(s)) return eliminated;
    const std::int64_t complete =
        eliminate_completely(front, eliminated, options_.thresholds.smallest, options_.control);
    return without_rejected(front, complete, worker);
  }

  /// Notes the size of the pivots that a root rejects. Returns the number of the others.
  std::int32_t without_rejected(const FrontMemory<T>& front, std::int64_t eliminated,
                                Worker<T>& worker) const {
    worker.facts.largest_rejected =
        std::max(worker.facts.largest_rejected, largest_remaining(front, eliminated, layout_.symmetric()));
    return static_cast<std::int32_t>(eliminated);
  }

  /// True for a root when the rank is to be decided. A root has no rows below: pivots at the level of
  /// rounding errors count as zero.
  [[nodiscard]] bool decides_rank(std::int32_t s) const {
    return tree_.parent[s] < 0 && options_.thresholds.smallest > 0;
  }

  /// Thresholds for front s. A front that decides the rank takes well determined pivots only, with small
  /// multipliers, which limits the growth of rounding errors. The other pivots, and all of a small front, are
  /// left to complete pivoting.
  [[nodiscard]] PivotThresholds<T> thresholds_for(std::int32_t s, const FrontMemory<T>& front) const {
    constexpr std::int64_t small = 500;
    constexpr auto well_determined = Real<T>(0.01);
    PivotThresholds<T> thresholds = options_.thresholds;
    if (decides_rank(s)) {
      thresholds.smallest =
          front.pivots <= small ? std::numeric_limits<Real<T>>::infinity() : well_determined;
      thresholds.column = thresholds.last = layout_.symmetric() ? Real<T>(0.5) : Real<T>{1};
    }
    if (tree_.parent[s] >= 0 && thresholds.smallest == 0 && has_many_delayed_pivots(front)) {
      thresholds.perturbation = std::sqrt(std::numeric_limits<Real<T>>::epsilon());
    }
    return thresholds;
  }

  /// True if a front has many delayed pivots, and more than own ones. Their delay to the parent would make
  /// the fronts above dense, so they are eliminated with perturbed pivots instead.
  [[nodiscard]] static bool has_many_delayed_pivots(const FrontMemory<T>& front) {
    constexpr std::int64_t tolerated = 1000;
    return front.delayed_in() > std::max(tolerated, front.own_pivots);
  }

  static std::int32_t taken(const FrontResult<T>& result, Worker<T>& worker) {
    worker.facts.perturbed_pivots += result.perturbed;
    worker.facts.largest_element =
        std::max(worker.facts.largest_element, static_cast<double>(result.largest));
    return result.eliminated;
  }

  std::int32_t eliminate_cholesky(std::int32_t s, const FrontMemory<T>& front, Worker<T>& worker) {
    const int eliminated =
        kernels_.factor_cholesky(worker.pack, worker.scratch, static_cast<int>(front.size),
                                 static_cast<int>(front.pivots), front.lower, front.update);
    if (eliminated < front.pivots) {
      const std::lock_guard lock(mutex_);
      if (!failed_ || s < failed_supernode_) {
        failed_supernode_ = s;
        failed_ = FailedPivot{tree_.permutation[tree_.supernode_begin[s] + eliminated],
                              real(front.lower[eliminated + eliminated * front.size])};
      }
    }
    return eliminated;
  }

  void add_facts(const FactorFacts& facts) const {
    factors_.facts.delayed_pivots += facts.delayed_pivots;
    factors_.facts.perturbed_pivots += facts.perturbed_pivots;
    factors_.facts.largest_rejected = std::max(factors_.facts.largest_rejected, facts.largest_rejected);
    factors_.facts.largest_element = std::max(factors_.facts.largest_element, facts.largest_element);
  }

  const PanelLayout& layout_;
  const SymbolicFactor& tree_;
  ScaledValues<T> values_;
  const FactorOptions<T>& options_;
  MultifrontalFactors<T>& factors_;
  const FrontKernels<T>& kernels_;
  const TreeSchedule& schedule_;
  FrontStorage<T> storage_;
  std::vector<T*> updates_;
  std::vector<Array<T>> separate_;                  // update matrices outside of stacks
  std::vector<std::atomic<std::int32_t>> missing_;  // children of a front that are not factored yet
  std::vector<Worker<T>> workers_;
  FirstException exception_;
  std::mutex mutex_;  // guards what follows
  std::atomic<bool> is_cancelled_ = false;
  std::atomic<double> done_flops_ = 0;  // counted only for reports
  std::optional<FailedPivot> failed_;
  std::int32_t failed_supernode_ = 0;
};

}  // namespace

template <class T>
FactorResult factor(const PanelLayout& layout, const TreeSchedule& schedule, const ScaledValues<T>& values,
                    const FactorOptions<T>& options, MultifrontalFactors<T>& factors) {
  return Factorization<T>(layout, schedule, values, options, factors).run();
}

#define ECHELON_INSTANTIATE(T)                                                                  \
  template FactorResult factor(const PanelLayout&, const TreeSchedule&, const ScaledValues<T>&, \
                               const FactorOptions<T>&, MultifrontalFactors<T>&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::sparse_direct
