// SPDX-License-Identifier: BSD-3-Clause
// The leaf kernels of LU factorisation in iterated sections.
#include "dense/panels/leaf_plan.cuh"

namespace echelon {

template LeafPlan<float, IteratedLeafJob<float>> plan_leaves(const Cuda&, std::int64_t, std::int64_t,
                                                             const PanelTuning&);
template LeafPlan<double, IteratedLeafJob<double>> plan_leaves(const Cuda&, std::int64_t, std::int64_t,
                                                               const PanelTuning&);
template void factor_leaf(const Cuda&, const LeafPlan<float, IteratedLeafJob<float>>&,
                          const IteratedLeafJob<float>&, cudaStream_t);
template void factor_leaf(const Cuda&, const LeafPlan<double, IteratedLeafJob<double>>&,
                          const IteratedLeafJob<double>&, cudaStream_t);

}  // namespace echelon
