// SPDX-License-Identifier: BSD-3-Clause
// The leaf kernels of Gauss-Jordan elimination.
#include "dense/panels/leaf_plan.cuh"

namespace echelon {

template LeafPlan<float> plan_leaves(const Cuda&, std::int64_t, std::int64_t, const PanelTuning&);
template LeafPlan<double> plan_leaves(const Cuda&, std::int64_t, std::int64_t, const PanelTuning&);
template void factor_leaf(const Cuda&, const LeafPlan<float>&, const LeafJob<float>&, cudaStream_t);
template void factor_leaf(const Cuda&, const LeafPlan<double>&, const LeafJob<double>&, cudaStream_t);

}  // namespace echelon
