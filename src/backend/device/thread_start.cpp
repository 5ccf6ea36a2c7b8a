// SPDX-License-Identifier: BSD-3-Clause
#include "backend/device/thread_start.hpp"

#include "backend/device/memory_limits.hpp"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <vector>

// OpenBLAS takes a buffer for each call in progress, and keeps it. Absent in other BLAS libraries.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
[[gnu::weak]] void* blas_memory_alloc(int where);
[[gnu::weak]] void blas_memory_free(void* buffer);
}
// NOLINTEND(readability-identifier-naming)

namespace echelon {

namespace {

/// A child of fork() has only the thread that called it, and OpenMP's run time waits forever for the others.
/// It therefore ends its idle threads before a fork, and starts new ones when they are needed. Within a
/// parallel region it cannot, and the child gets one thread.
std::atomic<bool> has_paused = true;
std::atomic<bool> has_lost_threads = false;

void prepare_for_fork() {
  has_paused = omp_pause_resource(omp_pause_soft, omp_get_initial_device()) == 0;
}
void begin_in_child() {
  has_lost_threads = !has_paused;
}

/// Stack size of OpenMP's threads, by the environment variable OMP_STACKSIZE: a number and B, K (the
/// default), M or G; 0 for the system's.
std::size_t openmp_stack_bytes() {
  const char* const text = std::getenv("OMP_STACKSIZE");
  if (text == nullptr) return 0;
  char* end = nullptr;
  const std::size_t size = std::strtoull(text, &end, 10);
  while (*end == ' ') ++end;
  switch (*end) {
    case 'b':
    case 'B':
      return size;
    case 'm':
    case 'M':
      return size << 20;
    case 'g':
    case 'G':
      return size << 30;
    default:
      return size << 10;
  }
}

void* wait_for(void* mutex) {
  const std::lock_guard lock(*static_cast<std::mutex*>(mutex));
  return nullptr;
}

/// Number of threads, at most `wanted`, that exist at once when they are started.
int count_started(int wanted) {
  std::mutex release;
  std::vector<pthread_t> threads;
  threads.reserve(static_cast<std::size_t>(wanted));
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  const std::size_t stack_bytes = openmp_stack_bytes();
  const bool valid = stack_bytes == 0 || pthread_attr_setstacksize(&attributes, stack_bytes) == 0;
  {
    const std::lock_guard lock(release);
    pthread_t thread = {};
    while (valid && static_cast<int>(threads.size()) < wanted &&
           pthread_create(&thread, &attributes, wait_for, &release) == 0) {
      threads.push_back(thread);
    }
  }
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  return static_cast<int>(threads.size());
}

/// Starts the threads of OpenMP, which keeps them.
void start_team(int threads) {
#pragma omp parallel num_threads(threads)
  {}
}

/// Number of buffers of BLAS, at most `wanted`, for which the limits of the process leave memory; they are
/// allocated.
int count_blas_buffers(int wanted) {
  if (blas_memory_alloc == nullptr || !is_memory_of_process_limited()) return wanted;
  constexpr std::size_t buffer_bytes = std::size_t{160} << 20;  // 128 MiB, and some for its alignment
  std::vector<void*> buffers;
  buffers.reserve(static_cast<std::size_t>(wanted));
  while (static_cast<int>(buffers.size()) < wanted && host_memory().info.available > buffer_bytes) {
    buffers.push_back(blas_memory_alloc(0));
  }
  for (void* const buffer : buffers) blas_memory_free(buffer);
  if (buffers.empty() && wanted > 0) throw host_out_of_memory(buffer_bytes);
  return static_cast<int>(buffers.size());
}

/// The largest number of threads that was asked for, and the number that can be started.
class StartedThreads {
 public:
  int at_most(int wanted) {
    wanted = std::clamp(wanted, 1, most_threads);
    if (has_lost_threads) return 1;
    if (wanted > asked_) ask(wanted);
    return std::min<int>(wanted, started_);
  }

 private:
  void ask(int wanted) {
    const std::lock_guard lock(mutex_);
    if (wanted <= asked_) return;
    if (asked_ == 0) pthread_atfork(prepare_for_fork, nullptr, begin_in_child);
    const int possible = asked_ > started_ ? started_.load() : count_started(wanted - 1) + 1;
    if (possible > 1) start_team(std::min(possible, wanted));
    started_ = count_blas_buffers(possible);
    asked_ = wanted;
  }

  std::mutex mutex_;
  std::atomic<int> asked_ = 0;
  std::atomic<int> started_ = 0;
};

}  // namespace

int startable_threads(int wanted) {
  static StartedThreads threads;
  return threads.at_most(wanted);
}

}  // namespace echelon
