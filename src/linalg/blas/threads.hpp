// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/device.hpp>

#include <cstdint>

namespace echelon::blas {

/// Sets the number of threads of BLAS within a scope; OpenBLAS over OpenMP takes it from the calling thread's
/// OpenMP setting. Operations on small matrices run on one thread, which is faster than waking the others.
class Threads {
 public:
  Threads(const Device& device, std::int64_t dimension);
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads();

 private:
  int before_;
};

}  // namespace echelon::blas
