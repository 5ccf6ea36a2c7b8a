// SPDX-License-Identifier: BSD-3-Clause
/// Right-looking LU on several threads with look-ahead: one thread updates the next panel and factors it
/// while the others update the columns on its right.
#pragma once

#include "dense/lu/factorization.hpp"
#include "dense/lu/host/kernels.hpp"
#include "support/setup_control.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace echelon::lu {

/// P A = L U in place of a column-major A with fewer than 2^31 rows and columns. The bits do not depend on
/// the number of threads: every element is updated by one panel after the other.
template <class T>
class DenseLuElimination {
 public:
  DenseLuElimination(DenseView<T> A, std::int64_t* pivots, int threads, const SetupControl& control)
      : kernels_(host_kernels<T>()),
        A_(A),
        rows_(static_cast<int>(A.rows())),
        columns_(static_cast<int>(A.columns())),
        steps_(std::min(rows_, columns_)),
        width_(panel_width(steps_)),
        pivots_(pivots),
        control_(control),
        panel_pivots_(static_cast<std::size_t>(width_)),
        workers_(static_cast<std::size_t>(threads)) {
    const int blocks = (rows_ + kernels_.tile_rows - 1) / kernels_.tile_rows;
    packed_ = Array<T>(Device(), static_cast<std::int64_t>(blocks) * kernels_.tile_rows * width_);
    for (Worker& worker : workers_) worker.buffers.allocate();
  }

  /// Work of one thread, of `parts` threads that run at the same time.
  void work(int part, int parts) {
    Worker& worker = workers_[static_cast<std::size_t>(part)];
    if (part == 0) factor_panel(worker, 0);
    for (int first = 0; first < steps_; first += width_) {
      if (part == 0) {
        cancelled_ = control_.stops_at(eliminated_share(first, steps_));
        next_chunk_ = 0;
      }
      wait(parts);
      if (cancelled_) return;
      const int last = std::min(first + width_, steps_);
      pack(first, last, part, parts);
      wait(parts);
      update(worker, first, last);
      wait(parts);
    }
    exchange_left(part, parts);
  }

  [[nodiscard]] LuResult result() const {
    LuResult result{zero_pivot_, 0, cancelled_};
    for (const Worker& worker : workers_) {
      const auto largest = static_cast<double>(worker.largest);
      if (!(largest <= result.largest)) result.largest = largest;
      if (std::isnan(result.largest)) break;
    }
    return result;
  }

 private:
  struct Worker {
    PackBuffers<T> buffers;
    T largest = 0;  ///< |u_ij|, NaN if one is not finite
  };

  /// Panel width, measured on one and two cores with AVX-512: the panels of small matrices take most of the
  /// time, those of large ones overlap with products, which are faster with more terms.
  static int panel_width(int steps) { return steps <= 1500 ? 64 : (steps <= 3000 ? 128 : 192); }
  /// Columns that a thread updates at a time.
  static constexpr int chunk_columns = 64;

  /// Barrier of the threads of the factorisation. With one thread it returns at once, since an OpenMP barrier
  /// would wait for threads of the caller.
  static void wait(int parts) {
    if (parts > 1) {
#pragma omp barrier
    }
  }

  [[nodiscard]] T* at(int i, int j) const {
    return A_.data() + i + j * A_.leading();
  }

  void record(Worker& worker, T largest) const {
    if (!(largest <= worker.largest) && !std::isnan(worker.largest)) worker.largest = largest;
  }

  /// Factors the panel that begins at column `first` and has been updated.
  void factor_panel(Worker& worker, int first) {
    const int width = std::min(width_, steps_ - first);
    const int zero = kernels_.factor_panel(worker.buffers, rows_ - first, width, at(first, first),
                                           A_.leading(), panel_pivots_.data());
    if (zero >= 0 && zero_pivot_ < 0) zero_pivot_ = first + zero;
    for (int j = 0; j < width; ++j) {
      pivots_[first + j] = first + panel_pivots_[static_cast<std::size_t>(j)];
      record(worker, kernels_.largest(j + 1, 1, at(first, first + j), A_.leading()));
    }
  }

  /// A thread's share of the rows below the panel's triangle.
  void pack(int first, int last, int part, int parts) {
    const int below = rows_ - last;
    const int blocks = (below + kernels_.tile_rows - 1) / kernels_.tile_rows;
    const int begin = static_cast<int>(std::int64_t{blocks} * part / parts) * kernels_.tile_rows;
    const int end =
        std::min(static_cast<int>(std::int64_t{blocks} * (part + 1) / parts) * kernels_.tile_rows, below);
    if (begin >= end) return;
    kernels_.pack(end - begin, last - first, at(last + begin, first), A_.leading(),
                  packed_.data() + static_cast<std::int64_t>(begin) * (last - first));
  }

  /// Applies the panel [first, last) to the columns on its right, chunk by chunk. The first chunk is the next
  /// panel.
  void update(Worker& worker, int first, int last) {
    const int next = std::min(last + width_, steps_) - last;
    const int chunks = (columns_ - last - next + chunk_columns - 1) / chunk_columns;
    for (int chunk = next_chunk_++; chunk <= chunks; chunk = next_chunk_++) {
      if (chunk == 0 && next > 0) {
        apply(worker, first, last, last, last + next);
        factor_panel(worker, last);
      } else if (chunk > 0) {
        const int begin = last + next + (chunk - 1) * chunk_columns;
        apply(worker, first, last, begin, std::min(begin + chunk_columns, columns_));
      }
    }
  }

  /// Applies the panel [first, last) to columns [begin, end).
  void apply(Worker& worker, int first, int last, int begin, int end) {
    exchange_rows(first, last, begin, end);
    const FactoredPanel<T> panel{last - first, rows_ - last, at(first, first), A_.leading(), packed_.data()};
    kernels_.apply_panel(worker.buffers, panel, end - begin, at(first, begin), A_.leading());
    record(worker, kernels_.largest(last - first, end - begin, at(first, begin), A_.leading()));
  }

  /// Exchanges rows as pivots [first, last) did, in columns [begin, end).
  void exchange_rows(int first, int last, int begin, int end) const {
    for (int j = begin; j < end; ++j) {
      T* const column = at(0, j);
      for (int p = first; p < last; ++p) std::swap(column[p], column[pivots_[p]]);
    }
  }

  /// Exchanges the rows of L as the pivots of later panels did.
  void exchange_left(int part, int parts) {
    for (int first = part * chunk_columns; first < steps_; first += parts * chunk_columns) {
      for (int j = first; j < std::min(first + chunk_columns, steps_); ++j) {
        exchange_rows(std::min(j / width_ * width_ + width_, steps_), steps_, j, j + 1);
      }
    }
  }

  const HostKernels<T>& kernels_;
  DenseView<T> A_;
  int rows_, columns_, steps_, width_;
  std::int64_t* pivots_;
  const SetupControl& control_;
  std::vector<std::int32_t> panel_pivots_;
  std::vector<Worker> workers_;
  Array<T> packed_;  // rows below the panel
  std::atomic<int> next_chunk_ = 0;
  std::int64_t zero_pivot_ = -1;
  bool cancelled_ = false;
};

}  // namespace echelon::lu
