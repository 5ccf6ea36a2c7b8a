// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/cancellation.hpp>
#include <echelon/error.hpp>

namespace echelon::sparse_direct {

/// A request to stop ended an analysis, which has no result then. The factorisation that asked for the
/// analysis catches it.
class AnalysisCancelled : public Error {
 public:
  AnalysisCancelled() : Error("the analysis was cancelled") {}
};

/// Throws AnalysisCancelled if a stop is requested.
inline void test_for_stop(const CancellationToken& cancel) {
  if (cancel.stop_requested()) throw AnalysisCancelled();
}

}  // namespace echelon::sparse_direct
