// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/blas/threads.hpp"

#include <omp.h>

namespace echelon::blas {

Threads::Threads(const Device& device, std::int64_t dimension) : before_(omp_get_max_threads()) {
  constexpr std::int64_t parallel_threshold = 192;
  omp_set_num_threads(dimension < parallel_threshold ? 1 : device.threads());
}
Threads::~Threads() {
  omp_set_num_threads(before_);
}

}  // namespace echelon::blas
