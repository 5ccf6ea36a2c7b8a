// SPDX-License-Identifier: BSD-3-Clause
/// Tasks of the substitutions with a multifrontal factorisation on a GPU.
#pragma once

#include "sparse_direct/multifrontal/cuda/front_plan.hpp"

namespace echelon::sparse_direct::gpu {

/// Lists the tasks of the forward and the backward substitution of a plan whose levels are known, and places
/// the counters by which they wait for each other. O(fronts + tasks) time.
void plan_substitution(FrontPlan& plan);

}  // namespace echelon::sparse_direct::gpu
