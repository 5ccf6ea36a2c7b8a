// SPDX-License-Identifier: BSD-3-Clause
// LU factors of matrices of any shape.
#include "backend/store.hpp"
#include "backend/target.hpp"
#include "dense/factorization/packed_factors.hpp"
#include "dense/lu/factorization.hpp"
#include "dense/lu/operations.hpp"
#include "linalg/vector/functors.hpp"
#ifdef __CUDACC__
#include "dense/lu/workspace.cuh"
#endif

#include <algorithm>
#include <cmath>
#include <utility>

namespace echelon::lu {

template <class Target, class T>
LuFactors<T> factors_on(const Device& device, Dense<T> A) {
  return on_backend(device, [&]<class B>() {
    B backend(device);
    LuFactors<T> result;
    result.factors = std::move(A);
    const DenseView<T> view = result.factors.view();
    const std::int64_t count = std::min(view.rows(), view.columns());
    if (count == 0) return result;
    Array<Largest> largest(device, 1);
    backend.reduce(view.rows() * view.columns(), LargestMagnitude<ViewElements<T>>{ViewElements<T>(view)},
                   Store<Largest>{largest.data()});
    const double size = backend.read(largest.data()).value;
    Array<std::int64_t> pivots(device, count);
    FactorWorkspace<B, T> workspace(device);
    const LuResult factored = factor<T>(backend, workspace, view, pivots.data(), {});
    backend.synchronize();
    if (factored.zero_pivot >= 0) result.zero_pivot = factored.zero_pivot;
    result.growth = size > 0 || std::isnan(size) ? factored.largest / size : 0;
    result.row_exchanges = pivots.to_vector();
    return result;
  });
}

template <class Target, class T>
Dense<T> triangle_on(DenseView<const T> factors, bool lower) {
  return on_backend(factors.device(), [&]<class B>() {
    B backend(factors.device());
    return copy_triangle(backend, factors, {.lower = lower, .unit_diagonal = lower});
  });
}

template LuFactors<float> factors_on<ThisTarget>(const Device&, Dense<float>);
template LuFactors<double> factors_on<ThisTarget>(const Device&, Dense<double>);
template Dense<float> triangle_on<ThisTarget>(DenseView<const float>, bool);
template Dense<double> triangle_on<ThisTarget>(DenseView<const double>, bool);

}  // namespace echelon::lu
