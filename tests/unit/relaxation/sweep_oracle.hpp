// SPDX-License-Identifier: BSD-3-Clause
/// Sweeps row by row in the documented order, as oracle, and sweeps on several threads to compare with it.
#pragma once

#include "backend/host/host.hpp"
#include "relaxation/gauss_seidel/sweep.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

namespace echelon::test {

/// Runs f, and ends the program if f takes a minute: a deadlocked thread cannot be cancelled.
template <class F>
void within_a_minute(const F& f) {
  std::packaged_task<void()> task(f);
  std::future<void> done = task.get_future();
  std::thread thread(std::move(task));
  if (done.wait_for(std::chrono::minutes(1)) != std::future_status::ready) {
    std::fputs("the sweep does not terminate\n", stderr);
    std::_Exit(EXIT_FAILURE);
  }
  thread.join();
  done.get();
}

// The oracle: one row after another, with sums as the guide documents them.

template <class T>
T documented_sum(const std::vector<std::pair<T, T>>& factors) {
  const std::size_t chains = factors.size() <= 32 ? 1 : 32;
  std::array<T, 32> partial{};
  for (std::size_t k = 0; k < factors.size(); ++k) {
    partial[k % chains] = std::fma(factors[k].first, factors[k].second, partial[k % chains]);
  }
  if (chains == 32) {
    for (const std::size_t width : {16, 8, 4, 2, 1}) {
      for (std::size_t l = 0; l < width; ++l) partial[l] = partial[l] + partial[l + width];
    }
  }
  return partial[0];
}

template <class T>
std::int64_t plain_half(const Csr<T>& A, const T* b, T* x, T omega, bool forward) {
  std::int64_t skipped = 0;
  for (std::int64_t step = 0; step < A.rows(); ++step) {
    const std::int64_t i = forward ? step : A.rows() - 1 - step;
    std::vector<std::pair<T, T>> lower;
    std::vector<std::pair<T, T>> upper;
    T diagonal = 0;
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      const std::int64_t j = A.column_indices()[k];
      if (j < i) lower.emplace_back(A.values()[k], x[j]);
      if (j == i) diagonal = A.values()[k];
      if (j > i) upper.emplace_back(A.values()[k], x[j]);
    }
    std::reverse(upper.begin(), upper.end());  // from the far end
    if (diagonal == 0) {
      ++skipped;
    } else {
      const T first = forward ? documented_sum(upper) : documented_sum(lower);
      const T second = forward ? documented_sum(lower) : documented_sum(upper);
      const T r = (b[i] - first) - second;
      const T scale = omega * (1 / diagonal);
      const T rest = (1 - omega) * x[i];
      x[i] = omega == 1 ? r * scale : std::fma(r, scale, rest);
    }
    if (std::isnan(x[i])) x[i] = std::numeric_limits<T>::quiet_NaN();
  }
  return skipped;
}

template <class T>
Dense<T> plain_sweeps(const Csr<T>& A, const Dense<T>& b, Dense<T> x, const SweepOptions& options) {
  const auto omega = static_cast<T>(options.omega);
  for (std::int64_t c = 0; c < x.columns(); ++c) {
    const T* right = b.data() + c * b.leading();
    T* left = x.data() + c * x.leading();
    for (std::int64_t s = 0; s < options.sweeps; ++s) {
      if (options.kind != SweepKind::backward) plain_half(A, right, left, omega, true);
      if (options.kind != SweepKind::forward) plain_half(A, right, left, omega, false);
    }
  }
  return x;
}

template <class T>
void expect_same_bits(const Dense<T>& got, const Dense<T>& expected) {
  ASSERT_EQ(got.bytes(), expected.bytes());
  const auto size = static_cast<std::size_t>(expected.rows() * expected.columns());
  if (size == 0 || std::memcmp(got.data(), expected.data(), size * sizeof(T)) == 0) return;
  for (std::size_t k = 0; k < size; ++k) {
    const auto place = static_cast<std::int64_t>(k);
    ASSERT_EQ(std::memcmp(got.data() + place, expected.data() + place, sizeof(T)), 0)
        << "element " << k << " of " << size << " is " << got.data()[place] << ", not "
        << expected.data()[place];
  }
}

template <class T>
gauss_seidel::Sweeps<T> sweeps_over(const Csr<T>& A, const Dense<T>& b, Dense<T>& x,
                                    const SweepOptions& options) {
  return {.A = &A,
          .right_hand_sides = x.columns(),
          .b = b.data(),
          .leading_b = b.leading(),
          .x = x.data(),
          .leading_x = x.leading(),
          .kind = options.kind,
          .sweeps = options.sweeps,
          .omega = static_cast<T>(options.omega)};
}

/// Sweeps on `threads` threads, whatever the size.
template <class T>
Dense<T> parallel_sweeps(int threads, const Csr<T>& A, const Dense<T>& b, Dense<T> x,
                         const SweepOptions& options) {
  Host backend(Device::openmp(threads));
  gauss_seidel::SweepWorkspace<Host, T> scratch(backend.device());
  const gauss_seidel::Sweeps<T> sweeps = sweeps_over(A, b, x, options);
  within_a_minute([&] { gauss_seidel::sweep_in_parallel(backend, sweeps, scratch); });
  return x;
}

inline constexpr std::array<SweepKind, 3> kinds = {SweepKind::forward, SweepKind::backward,
                                                   SweepKind::symmetric};

}  // namespace echelon::test
