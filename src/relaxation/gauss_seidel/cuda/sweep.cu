// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/cuda.cuh"
#include "relaxation/gauss_seidel/cuda/chunks.cuh"
#include "relaxation/gauss_seidel/cuda/line_length.cuh"
#include "relaxation/gauss_seidel/cuda/lines.cuh"
#include "relaxation/gauss_seidel/cuda/long_rows.cuh"
#include "relaxation/gauss_seidel/cuda/region_selection.cuh"
#include "relaxation/gauss_seidel/cuda/regions.cuh"
#include "relaxation/gauss_seidel/sweep.hpp"

#include <algorithm>
#include <utility>

namespace echelon::gauss_seidel {

namespace {

/// Columns of a matrix in which rows of all right-hand sides are visited at once.
template <class T>
struct Columns {
  T* data;
  std::int64_t leading;
};

template <class T>
__device__ void unpublish(T* element) {
  *element = to_value<T>(unpublished<T>);
}

/// Makes a vector that has been read to its end ready to be written by the next sweep.
template <class T>
struct Arm {
  const IterationState* state;
  std::int64_t right_hand_sides;
  Columns<T> x;
  __device__ void operator()(std::int64_t i) const {
    if (state != nullptr && !state->running()) return;
    for (std::int64_t k = 0; k < right_hand_sides; ++k) unpublish(x.data + i + k * x.leading);
  }
  template <int count>
  __device__ void several(std::int64_t first, std::int64_t stride, std::int64_t rows) const {
#pragma unroll
    for (int e = 0; e < count; ++e) {
      if (first + e * stride < rows) (*this)(first + e * stride);
    }
  }
};

/// Moves results to where they are wanted.
template <class T>
struct Deliver {
  const IterationState* state;
  std::int64_t right_hand_sides;
  Columns<T> source;
  Columns<T> target;
  /// Loads before it stores, so that loads are under way together.
  template <int count>
  __device__ void several(std::int64_t first, std::int64_t stride, std::int64_t rows) const {
    if (state != nullptr && !state->running()) return;
    for (std::int64_t k = 0; k < right_hand_sides; ++k) {
      T* const from = source.data + k * source.leading;
      T* const to = target.data + k * target.leading;
      T value[count];
#pragma unroll
      for (int e = 0; e < count; ++e) {
        if (first + e * stride < rows) value[e] = from[first + e * stride];
      }
#pragma unroll
      for (int e = 0; e < count; ++e) {
        if (first + e * stride >= rows) continue;
        to[first + e * stride] = value[e];
        unpublish(from + first + e * stride);
      }
    }
  }
};

struct ForgetSkipped {
  const IterationState* state;
  SkippedRows* skipped;
  __device__ void operator()(std::int64_t /*i*/) const {
    if (state == nullptr || state->running()) *skipped = {};
  }
};

int attribute(const Device& device, cudaDeviceAttr which) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, device.id()));
  return value;
}

/// What a launch depends on besides its task.
struct Gpu {
  explicit Gpu(const Device& device)
      : multiprocessors(attribute(device, cudaDevAttrMultiProcessorCount)),
        shared_bytes(attribute(device, cudaDevAttrMaxSharedMemoryPerBlockOptin) - 1024),
        starts_early(attribute(device, cudaDevAttrComputeCapabilityMajor) >= 9) {}
  int multiprocessors;
  int shared_bytes;   ///< that a block may have, less what the runtime takes
  bool starts_early;  ///< a kernel's blocks before the kernel before has ended
};

/// What follows a sweep. Its blocks may be there before the sweep has ended, and wait for that.
inline constexpr int after_sweep_threads = 256;
inline constexpr int after_sweep_rows = 4;  ///< for each thread
template <class F>
__global__ void __launch_bounds__(after_sweep_threads) after_sweep(std::int64_t rows, F f) {
  wait_for_kernel_before();
  const std::int64_t first = std::int64_t{blockIdx.x} * (after_sweep_threads * after_sweep_rows);
  f.template several<after_sweep_rows>(first + threadIdx.x, after_sweep_threads, rows);
}

template <class F>
void launch_after_sweep(const Gpu& gpu, std::int64_t rows, F f) {
  constexpr std::int64_t rows_of_block = after_sweep_threads * after_sweep_rows;
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.blockDim = after_sweep_threads;
  config.gridDim = static_cast<unsigned>((rows + rows_of_block - 1) / rows_of_block);
  config.stream = stream();
  config.attrs = &early;
  config.numAttrs = gpu.starts_early ? 1 : 0;
  check(cudaLaunchKernelEx(&config, after_sweep<F>, rows, f));
}

/// As few as keep all rows in flight, for each of which there is less to look after then; at most 4.
int slots_for(std::int64_t rows, const Gpu& gpu) {
  const std::int64_t threads = std::int64_t{1024} * gpu.multiprocessors;
  return rows <= threads ? 1 : rows <= 2 * threads ? 2 : 4;
}

/// A launch: how rows are shared out, and what a block needs for it.
struct Launch {
  Shape shape;
  unsigned threads;
  unsigned blocks;
  std::size_t shared_bytes;
};

template <class T>
Launch plan_launch(const DeviceSweep<T>& task, std::int64_t nonzeros, const SweepTuning& tuning, int slots,
                   const Gpu& gpu) {
  const int chunk = tuning.threads * slots;
  const int row_bytes = static_cast<int>(sizeof(T)) * (task.relaxation.omega == T{1} ? 3 : 4);
  Launch launch{};
  launch.threads = static_cast<unsigned>(tuning.threads);
  launch.shape.chunk = chunk;
  if (nonzeros <= tuning.staged_per_row * task.rows) {
    const auto room = static_cast<int>(chunk * nonzeros / task.rows) * 5 / 4 + chunk / 4;
    const int free_bytes = std::max(0, gpu.shared_bytes - chunk * row_bytes);
    launch.shape.room = std::min(room, free_bytes / static_cast<int>(sizeof(T) + 4)) / 2 * 2;
  }
  launch.shared_bytes = static_cast<std::size_t>(chunk) * static_cast<std::size_t>(row_bytes) +
                        static_cast<std::size_t>(launch.shape.room) * (sizeof(T) + 4);
  launch.blocks = static_cast<unsigned>((task.rows + chunk - 1) / chunk * task.right_hand_sides);
  return launch;
}

template <class T>
void start(void (*kernel)(DeviceSweep<T>, Shape), const Launch& launch, const DeviceSweep<T>& task) {
  // Without this a block gets at most 48 KB.
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(launch.shared_bytes)));
  kernel<<<launch.blocks, launch.threads, launch.shared_bytes, stream()>>>(task, launch.shape);
  check(cudaGetLastError());
}

/// A block for each multiprocessor, or, so that its rows find room, more of them.
template <class T>
Launch plan_long_rows(const DeviceSweep<T>& task, std::int64_t nonzeros, const Gpu& gpu) {
  constexpr std::int64_t most_work = std::int64_t{long_rows_threads} * row_work;
  const std::int64_t all_work = nonzeros + row_work * task.rows;
  const auto blocks_for = [&](std::int64_t work) { return (all_work + work - 1) / work; };
  const std::int64_t even_work = blocks_for(gpu.multiprocessors) / row_work + 1;
  const std::int64_t work = std::min(most_work, even_work * row_work);
  const int row_bytes = static_cast<int>(sizeof(T)) * (task.relaxation.omega == T{1} ? 3 : 4);
  Launch launch{};
  launch.shape.work = static_cast<int>(work);
  launch.shape.chunk = static_cast<int>(work / row_work);
  const int free_bytes =
      gpu.shared_bytes - static_cast<int>(sizeof(ListedRows)) - launch.shape.chunk * row_bytes;
  launch.shape.room = std::max(0, free_bytes) / static_cast<int>(sizeof(T) + 4) / 2 * 2;
  launch.shared_bytes = static_cast<std::size_t>(launch.shape.chunk) * static_cast<std::size_t>(row_bytes) +
                        static_cast<std::size_t>(launch.shape.room) * (sizeof(T) + 4);
  launch.threads = long_rows_threads;
  launch.blocks = static_cast<unsigned>(blocks_for(work) * task.right_hand_sides);
  return launch;
}

template <class T, bool forward>
void launch_half(const DeviceSweep<T>& task, std::int64_t nonzeros, const SweepTuning& tuning,
                 const Gpu& gpu) {
  const auto planned = [&](int slots) { return plan_launch(task, nonzeros, tuning, slots, gpu); };
  const int slots = tuning.slots > 0 ? tuning.slots : slots_for(task.rows * task.right_hand_sides, gpu);
  // Other chunks count a row's places with 32 bits.
  if (nonzeros >= std::min(tuning.warps_from * task.rows, std::int64_t{1} << 32)) {
    start(sweep_by_lanes_and_warps<T, forward>, plan_long_rows(task, nonzeros, gpu), task);
  } else if (slots == 1) {
    start(sweep_by_lanes<T, forward, 1>, planned(1), task);
  } else if (slots == 2) {
    start(sweep_by_lanes<T, forward, 2>, planned(2), task);
  } else {
    start(sweep_by_lanes<T, forward, 4>, planned(4), task);
  }
}

/// For up to 5, 7 and 27 nonzeros a row on average, as grids have them.
using ShortRowsShape = LineShape<4, 2, 32, 4, 7, 3, 32, 4, 3, 1>;
using MiddleRowsShape = LineShape<4, 1, 8, 4, 7, 3, 32, 4, 3, 3>;
using LongRowsShape = LineShape<4, 2, 16, 4, 27, 4, 32, 14, 9, 1>;

/// Calls visit(shape) with the shape for a matrix.
template <class Visit>
void visit_line_shape(std::int64_t rows, std::int64_t nonzeros, const Visit& visit) {
  if (nonzeros <= 5 * rows) {
    visit(ShortRowsShape{});
  } else if (nonzeros <= 7 * rows) {
    visit(MiddleRowsShape{});
  } else {
    visit(LongRowsShape{});
  }
}

/// Does nothing if it turns out that rows do not lie in lines.
template <class T, bool forward>
void launch_along_lines(const DeviceSweep<T>& task, std::int64_t nonzeros, const Gpu& gpu) {
  visit_line_shape(task.rows, nonzeros, [&]<class Shape>(Shape) {
    const auto kernel = sweep_along_lines<T, forward, Shape>;
    constexpr std::size_t shared_bytes = sizeof(LineStorage<T, Shape>);
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(shared_bytes)));
    kernel<<<static_cast<unsigned>(gpu.multiprocessors * Shape::blocks), Shape::threads, shared_bytes,
             stream()>>>(task);
    check(cudaGetLastError());
  });
}

/// Whether it pays to find out if rows lie in lines.
template <class T>
bool may_lie_in_lines(const Sweeps<T>& sweeps, std::int64_t from_rows, const Gpu& gpu) {
  const std::int64_t rows = sweeps.A->rows();
  const std::int64_t nonzeros = sweeps.A->nonzeros();
  bool fits = false;
  visit_line_shape(rows, nonzeros, [&]<class Shape>(Shape) {
    fits = sizeof(LineStorage<T, Shape>) <= static_cast<std::size_t>(gpu.shared_bytes);
  });
  return fits && rows >= std::max<std::int64_t>(from_rows, shortest_line * fewest_lines) &&
         rows * sweeps.right_hand_sides < std::int64_t{1} << 30 && nonzeros >= 3 * rows &&
         nonzeros <= 27 * rows;
}

/// Whether it pays to find out if blocks should walk through the rows.
template <class T>
bool may_walk(const Sweeps<T>& sweeps, const SweepTuning& tuning, const Gpu& gpu) {
  const auto aligned = [](const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 16 == 0; };
  const Csr<T>& A = *sweeps.A;
  return A.rows() >= std::max<std::int64_t>(tuning.walk_from, RowSample::size) &&
         A.nonzeros() <= tuning.staged_per_row * A.rows() && A.nonzeros() < INT32_MAX &&
         aligned(A.column_indices().data()) && aligned(A.values().data()) &&
         walk_bytes<T>(true) <= static_cast<std::size_t>(gpu.shared_bytes);
}

template <class T>
using WalkKernel = void (*)(DeviceSweep<T>, Walk<T>);
template <class T, bool forward>
WalkKernel<T> walk_kernel(bool relaxes) {
  return relaxes ? sweep_by_walking<T, forward, true> : sweep_by_walking<T, forward, false>;
}

/// Blocks that walk at the same time. Has to come before a launch: without it they get at most 48 KB.
template <class T>
std::int64_t walking_blocks(bool relaxes, const Gpu& gpu) {
  int blocks = INT32_MAX;
  for (const WalkKernel<T> kernel : {walk_kernel<T, true>(relaxes), walk_kernel<T, false>(relaxes)}) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(walk_bytes<T>(relaxes))));
    int fit = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, kernel, Gait<T>::threads,
                                                        walk_bytes<T>(relaxes)));
    blocks = std::min(blocks, fit);
  }
  return std::int64_t{blocks} * gpu.multiprocessors;
}

/// How blocks walk: as many regions as blocks fit onto the GPU, unless they would be so small that their
/// leftovers need more than 4 bytes a row.
template <class T>
Walk<T> plan_walk(const Sweeps<T>& sweeps, const Gpu& gpu) {
  constexpr std::int64_t bytes_of_row = 4;
  constexpr std::int64_t bytes = sizeof(Leftover<T>);
  const std::int64_t rows = sweeps.A->rows();
  const std::int64_t most = rows * bytes_of_row / (Gait<T>::least_room * bytes);
  const std::int64_t blocks = walking_blocks<T>(sweeps.omega != T{1}, gpu);
  const std::int64_t wanted = std::clamp<std::int64_t>(blocks, 1, std::max<std::int64_t>(most, 1));
  Walk<T> walk{};
  walk.rows_of_region = ((rows + wanted - 1) / wanted + Gait<T>::tile - 1) / Gait<T>::tile * Gait<T>::tile;
  walk.regions = (rows + walk.rows_of_region - 1) / walk.rows_of_region;
  walk.room = static_cast<int>(std::clamp<std::int64_t>(rows * bytes_of_row / (walk.regions * bytes),
                                                        Gait<T>::least_room, UINT16_MAX));
  return walk;
}

template <class T>
std::int64_t bytes_of(const Walk<T>& walk, std::int64_t right_hand_sides) {
  return walk.regions * right_hand_sides * walk.room * static_cast<std::int64_t>(sizeof(Leftover<T>));
}

/// Does nothing if it turned out that another way is better.
template <class T, bool forward>
void launch_walk(const DeviceSweep<T>& task, const Walk<T>& walk) {
  const bool relaxes = task.relaxation.omega != T{1};
  walk_kernel<T, forward>(relaxes)<<<static_cast<unsigned>(walk.regions * task.right_hand_sides),
                                     Gait<T>::threads, walk_bytes<T>(relaxes), stream()>>>(task, walk);
  check(cudaGetLastError());
}

/// Sums left of the diagonal are kept for the later half of the rows: all of them would take as much memory
/// as a vector.
std::int64_t first_kept(std::int64_t rows) {
  return rows - rows / 2;
}

/// Grows `array` to n elements that hold no value, all of them.
template <class T>
void arm_scratch(Cuda& backend, std::int64_t n, Array<T>& array) {
  if (array.size() >= n) return;
  array = Array<T>(backend.device(), n);
  backend.for_each(n, Arm<T>{nullptr, 1, {array.data(), n}});
}

/// The ways that a call's sweeps may take, and where the GPU notes which they do.
template <class T>
struct Ways {
  bool maybe_lines = false;
  bool may_walk = false;
  Walk<T> walk{};
  const std::int32_t* forward = nullptr;
  const std::int32_t* backward = nullptr;
};

/// Queues what finds out which way is best.
template <class T>
Ways<T> choose(Cuda& backend, const Sweeps<T>& sweeps, SweepScratch<Cuda, T>& scratch, const Gpu& gpu) {
  const Csr<T>& A = *sweeps.A;
  Ways<T> ways;
  ways.maybe_lines = may_lie_in_lines(sweeps, scratch.tuning.lines_from, gpu);
  ways.may_walk = may_walk(sweeps, scratch.tuning, gpu);
  if (ways.maybe_lines) {
    find_line_length(A, scratch.line_length.data());
    ways.forward = ways.backward = scratch.line_length.data();
  }
  if (!ways.may_walk) return ways;
  ways.walk = plan_walk(sweeps, gpu);
  const std::int64_t bytes = bytes_of(ways.walk, sweeps.right_hand_sides);
  if (scratch.leftovers.size() < bytes) scratch.leftovers = Array<unsigned char>(backend.device(), bytes);
  ways.walk.leftovers = reinterpret_cast<Leftover<T>*>(scratch.leftovers.data());
  backend.fill(2, by_walking, scratch.ways.data());
  choose_ways<<<2 * RowSample::samples, 1024, 0, stream()>>>(
      RowSample{A.rows(), A.row_offsets().data(), A.column_indices().data()}, ways.forward,
      scratch.tuning.walk_always, scratch.ways.data());
  check(cudaGetLastError());
  ways.forward = scratch.ways.data();
  ways.backward = scratch.ways.data() + 1;
  return ways;
}

/// One call's half sweeps, from vector to vector.
template <class T>
class Queue {
 public:
  Queue(Cuda& backend, const Sweeps<T>& sweeps, SweepScratch<Cuda, T>& scratch, const Gpu& gpu,
        const Ways<T>& ways)
      : backend_(backend),
        sweeps_(sweeps),
        tuning_(scratch.tuning),
        gpu_(gpu),
        lower_(scratch.lower.data()),
        tickets_(scratch.tickets.data()),
        ways_(ways),
        source_{sweeps.x, sweeps.leading_x},
        target_{scratch.other.data(), sweeps.A->rows()} {}

  void half_sweep(bool forward, bool keep_lower) {
    const Csr<T>& A = *sweeps_.A;
    const DeviceSweep<T> task{A.rows(),
                              A.row_offsets().data(),
                              A.column_indices().data(),
                              A.values().data(),
                              static_cast<unsigned>(sweeps_.right_hand_sides),
                              sweeps_.b,
                              sweeps_.leading_b,
                              source_.data,
                              source_.leading,
                              target_.data,
                              target_.leading,
                              keep_lower ? lower_ : nullptr,
                              first_kept(A.rows()),
                              Relaxation<T>(sweeps_.omega),
                              sweeps_.state,
                              first_ ? sweeps_.skipped : nullptr,
                              tickets_,
                              forward ? ways_.forward : ways_.backward};
    if (forward) {
      launch_all_ways<true>(task, A.nonzeros());
    } else {
      launch_all_ways<false>(task, A.nonzeros());
    }
    first_ = false;
    std::swap(source_, target_);
  }

  /// After a half sweep, unless it was the call's last: the vector it read will be written next.
  void arm_target() {
    launch_after_sweep(gpu_, sweeps_.A->rows(), Arm<T>{sweeps_.state, sweeps_.right_hand_sides, target_});
  }

  /// After the last: the result is in x, and the other vector holds no value.
  void finish() {
    if (source_.data == sweeps_.x) {
      arm_target();
    } else {
      launch_after_sweep(gpu_, sweeps_.A->rows(),
                         Deliver<T>{sweeps_.state, sweeps_.right_hand_sides, source_, target_});
    }
  }

 private:
  /// All launches but one find that another does the work.
  template <bool forward>
  void launch_all_ways(const DeviceSweep<T>& task, std::int64_t nonzeros) {
    if (ways_.maybe_lines) launch_along_lines<T, forward>(task, nonzeros, gpu_);
    if (ways_.may_walk) launch_walk<T, forward>(task, ways_.walk);
    launch_half<T, forward>(task, nonzeros, tuning_, gpu_);
  }

  Cuda& backend_;
  const Sweeps<T>& sweeps_;
  const SweepTuning& tuning_;
  const Gpu& gpu_;
  T* lower_;
  unsigned* tickets_;
  const Ways<T>& ways_;
  Columns<T> source_;
  Columns<T> target_;
  bool first_ = true;
};

}  // namespace

template <class T>
void sweep(Cuda& backend, const Sweeps<T>& sweeps, SweepScratch<Cuda, T>& scratch) {
  const std::int64_t elements = sweeps.A->rows() * sweeps.right_hand_sides;
  if (elements == 0 || sweeps.sweeps == 0) return;
  const CurrentDevice current(backend.device().id());
  const bool symmetric = sweeps.kind == SweepKind::symmetric;
  // Blocks that walk keep no sums: memory for both would be too much.
  const Gpu gpu(backend.device());
  const bool keep_lower = symmetric && scratch.tuning.keep_lower && !may_walk(sweeps, scratch.tuning, gpu);
  arm_scratch(backend, elements, scratch.other);
  const std::int64_t kept = (sweeps.A->rows() - first_kept(sweeps.A->rows())) * sweeps.right_hand_sides;
  if (keep_lower && scratch.lower.size() < kept) scratch.lower = Array<T>(backend.device(), kept);
  if (scratch.tickets.size() == 0) {
    scratch.tickets = Array<unsigned>(backend.device(), 1);
    backend.fill(1, 0u, scratch.tickets.data());
    scratch.line_length = Array<std::int32_t>(backend.device(), 1);
    scratch.ways = Array<std::int32_t>(backend.device(), 2);
  }
  const Ways<T> ways = choose(backend, sweeps, scratch, gpu);
  if (sweeps.skipped != nullptr) backend.for_each(1, ForgetSkipped{sweeps.state, sweeps.skipped});
  Queue<T> queue(backend, sweeps, scratch, gpu, ways);
  for (std::int64_t k = 0; k < sweeps.sweeps; ++k) {
    if (k > 0) queue.arm_target();
    queue.half_sweep(sweeps.kind != SweepKind::backward, keep_lower);
    if (!symmetric) continue;
    queue.arm_target();
    queue.half_sweep(false, keep_lower);
  }
  queue.finish();
}

template void sweep(Cuda&, const Sweeps<float>&, SweepScratch<Cuda, float>&);
template void sweep(Cuda&, const Sweeps<double>&, SweepScratch<Cuda, double>&);

}  // namespace echelon::gauss_seidel
