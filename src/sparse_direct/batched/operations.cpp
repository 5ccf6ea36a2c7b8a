// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/batched/operations.hpp"

#include "backend/target.hpp"
#include "sparse_direct/batched/device_elimination.hpp"
#include "sparse_direct/batched/host_elimination.hpp"

#include <type_traits>

namespace echelon::sparse_direct {

template <class Target, class T>
std::unique_ptr<BatchElimination<T>> make_batch_elimination(const Device& device, const BatchPattern& A,
                                                            const EliminationProgram& program) {
  return on_backend(device, [&]<class B>() -> std::unique_ptr<BatchElimination<T>> {
    if constexpr (B::on_host) {
      return std::make_unique<HostBatchElimination<B, T>>(device, A, program);
    } else {
      return std::make_unique<DeviceBatchElimination<B, T>>(device, A, program);
    }
  });
}

template std::unique_ptr<BatchElimination<float>> make_batch_elimination<ThisTarget, float>(
    const Device&, const BatchPattern&, const EliminationProgram&);
template std::unique_ptr<BatchElimination<double>> make_batch_elimination<ThisTarget, double>(
    const Device&, const BatchPattern&, const EliminationProgram&);

}  // namespace echelon::sparse_direct
