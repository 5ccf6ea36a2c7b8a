// SPDX-License-Identifier: BSD-3-Clause
// The leaf kernels of LU factorisation.
#include "dense/panels/leaf_plan.cuh"

namespace echelon {

template LeafPlan<float, LuLeafJob<float>> plan_leaves(const Cuda&, std::int64_t, std::int64_t,
                                                       const PanelTuning&);
template LeafPlan<double, LuLeafJob<double>> plan_leaves(const Cuda&, std::int64_t, std::int64_t,
                                                         const PanelTuning&);
template void factor_leaf(const Cuda&, const LeafPlan<float, LuLeafJob<float>>&, const LuLeafJob<float>&,
                          cudaStream_t);
template void factor_leaf(const Cuda&, const LeafPlan<double, LuLeafJob<double>>&, const LuLeafJob<double>&,
                          cudaStream_t);

}  // namespace echelon
