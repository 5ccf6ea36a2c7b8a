// SPDX-License-Identifier: BSD-3-Clause
/// Forward and backward substitution with the factors of a multifrontal factorisation on the host.
#pragma once

#include "sparse_direct/multifrontal/fronts/factors.hpp"
#include "sparse_direct/multifrontal/host/tree_schedule.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace echelon::sparse_direct {

/// Right-hand sides that are solved for together: the factors are read once for all of them.
inline constexpr int columns_at_once = 16;

/// Division of the fronts for a substitution with one right-hand side, which does not depend on the number of
/// threads: subtrees that one thread each takes, and the fronts above them, which all threads share.
struct SubstitutionSchedule {
  std::vector<SupernodeRange> ranges;
  std::vector<std::int32_t> roots;      ///< fronts of ranges whose parents are outside
  std::vector<std::int32_t> root_ends;  ///< by range, the end of its roots
  std::vector<std::int32_t> top;        ///< ascending
};

/// A single range unless the factors are large.
[[nodiscard]] SubstitutionSchedule schedule_substitution(const PanelLayout& layout);

/// Calls its argument with (part, parts) for each part, at the same time.
using RunTeam = std::function<void(const std::function<void(int, int)>&)>;

/// Number of elements of scratch memory for a substitution with `columns` right-hand sides or one on at most
/// `threads` threads.
template <class T>
[[nodiscard]] std::int64_t substitution_scratch(const MultifrontalFactors<T>& factors,
                                                const SubstitutionSchedule& schedule, int columns,
                                                int threads);

/// Forward and backward substitution, or one of them.
enum class SubstitutionHalves { both, forward, backward };

/// Computes X = (P A Q)^-1 X, or its transpose, for `columns` right-hand sides that are stored row by row:
/// element (i, c) is x[i * columns + c]. Rows and columns have the numbers of their pivots. The forward
/// substitution leaves in the elements of x after the last pivot the right-hand side of the Schur complement,
/// for a border B after the interior I that is x_B - A_BI A_II^-1 x_I. The backward one takes them as the
/// values of the unknowns there; of `both` these are zero. A single right-hand side is substituted by the
/// team; the result has the same bits for any number of threads.
template <class T>
void substitute(const MultifrontalFactors<T>& factors, const SubstitutionSchedule& schedule,
                const RunTeam& run, bool transposed, int columns, T* x, T* scratch,
                SubstitutionHalves halves = SubstitutionHalves::both);

}  // namespace echelon::sparse_direct
