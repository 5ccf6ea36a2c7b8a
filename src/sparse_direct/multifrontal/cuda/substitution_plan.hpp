// SPDX-License-Identifier: BSD-3-Clause
/// Tasks of the substitutions with a multifrontal factorisation on a GPU.
#pragma once

#include "sparse_direct/multifrontal/cuda/front_plan.hpp"

namespace echelon::sparse_direct::gpu {

/// Lists the tasks of the forward and the backward substitution of a plan whose levels are known, places the
/// counters by which they wait for each other, and finds the sources of contributions. O(rows of all fronts)
/// time. Throws Error if these are more than 2^31 - 1.
void plan_substitution(FrontPlan& plan);

}  // namespace echelon::sparse_direct::gpu
