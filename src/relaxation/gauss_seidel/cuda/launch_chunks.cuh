// SPDX-License-Identifier: BSD-3-Clause
/// Launches of sweeps by chunks.
#pragma once

#include "backend/cuda/shared_memory.cuh"
#include "relaxation/gauss_seidel/cuda/chunks.cuh"
#include "relaxation/gauss_seidel/cuda/gpu.cuh"
#include "relaxation/gauss_seidel/cuda/long_rows.cuh"

#include <algorithm>

namespace echelon::gauss_seidel {

/// The fewest rows per thread, up to 4, that keep all rows in flight. More rows per thread cost more polls
/// per value.
inline int rows_per_thread_for(std::int64_t rows, const Gpu& gpu) {
  const std::int64_t threads = std::int64_t{1024} * gpu.multiprocessors;
  return rows <= threads ? 1 : rows <= 2 * threads ? 2 : 4;
}

/// Parameters of a launch by chunks.
struct ChunkLaunch {
  ChunkPlan plan;
  unsigned threads;
  unsigned blocks;
  std::size_t shared_bytes;
};

template <class T>
ChunkLaunch plan_chunks(const DeviceSweep<T>& task, std::int64_t nonzeros, const SweepTuning& tuning,
                        int rows_per_thread, const Gpu& gpu) {
  const int chunk = tuning.threads * rows_per_thread;
  const int row_bytes = static_cast<int>(sizeof(T)) * (task.relaxation.omega == T{1} ? 3 : 4);
  ChunkLaunch launch{};
  launch.threads = static_cast<unsigned>(tuning.threads);
  launch.plan.max_rows = chunk;
  if (nonzeros <= tuning.staged_per_row * task.rows) {
    const auto wanted = static_cast<int>(chunk * nonzeros / task.rows) * 5 / 4 + chunk / 4;
    const int free_bytes = std::max(0, gpu.shared_bytes - chunk * row_bytes);
    launch.plan.staged_elements = std::min(wanted, free_bytes / static_cast<int>(sizeof(T) + 4)) / 2 * 2;
  }
  launch.shared_bytes = static_cast<std::size_t>(chunk) * static_cast<std::size_t>(row_bytes) +
                        static_cast<std::size_t>(launch.plan.staged_elements) * (sizeof(T) + 4);
  launch.blocks = static_cast<unsigned>((task.rows + chunk - 1) / chunk * task.right_hand_sides);
  return launch;
}

template <class T>
void launch_chunks(void (*kernel)(DeviceSweep<T>, ChunkPlan), const ChunkLaunch& launch,
                   const DeviceSweep<T>& task) {
  allow_shared_memory(kernel);
  kernel<<<launch.blocks, launch.threads, launch.shared_bytes, stream()>>>(task, launch.plan);
  check(cudaGetLastError());
}

/// Plans one block per multiprocessor, or more if their chunks would exceed the capacity.
template <class T>
ChunkLaunch plan_long_rows(const DeviceSweep<T>& task, std::int64_t nonzeros, const Gpu& gpu) {
  constexpr std::int64_t most_work = std::int64_t{long_rows_threads} * row_work;
  const std::int64_t all_work = nonzeros + row_work * task.rows;
  const auto blocks_for = [&](std::int64_t work) { return (all_work + work - 1) / work; };
  const std::int64_t even_work = blocks_for(gpu.multiprocessors) / row_work + 1;
  const std::int64_t work = std::min(most_work, even_work * row_work);
  const int row_bytes = static_cast<int>(sizeof(T)) * (task.relaxation.omega == T{1} ? 3 : 4);
  ChunkLaunch launch{};
  launch.plan.work = static_cast<int>(work);
  launch.plan.max_rows = static_cast<int>(work / row_work);
  const int free_bytes =
      gpu.shared_bytes - static_cast<int>(sizeof(RowList)) - launch.plan.max_rows * row_bytes;
  launch.plan.staged_elements = std::max(0, free_bytes) / static_cast<int>(sizeof(T) + 4) / 2 * 2;
  launch.shared_bytes = static_cast<std::size_t>(launch.plan.max_rows) * static_cast<std::size_t>(row_bytes) +
                        static_cast<std::size_t>(launch.plan.staged_elements) * (sizeof(T) + 4);
  launch.threads = long_rows_threads;
  launch.blocks = static_cast<unsigned>(blocks_for(work) * task.right_hand_sides);
  return launch;
}

template <class T, bool forward>
void launch_chunk_sweep(const DeviceSweep<T>& task, const Sweeps<T>& sweeps, const SweepTuning& tuning,
                        const Gpu& gpu) {
  const std::int64_t nonzeros = sweeps.A->nonzeros();
  const auto planned = [&](int rows_per_thread) {
    return plan_chunks(task, nonzeros, tuning, rows_per_thread, gpu);
  };
  const int rows_per_thread = tuning.rows_per_thread > 0
                                  ? tuning.rows_per_thread
                                  : rows_per_thread_for(task.rows * task.right_hand_sides, gpu);
  // sweep_chunks() addresses the elements of a chunk with 32 bits.
  if (sweeps.nonzeros_of_both_triangles() >=
      std::min(tuning.long_rows_from * task.rows, std::int64_t{1} << 32)) {
    launch_chunks(sweep_chunks_with_long_rows<T, forward>, plan_long_rows(task, nonzeros, gpu), task);
  } else if (rows_per_thread == 1) {
    launch_chunks(sweep_chunks<T, forward, 1>, planned(1), task);
  } else if (rows_per_thread == 2) {
    launch_chunks(sweep_chunks<T, forward, 2>, planned(2), task);
  } else {
    launch_chunks(sweep_chunks<T, forward, 4>, planned(4), task);
  }
}

}  // namespace echelon::gauss_seidel
