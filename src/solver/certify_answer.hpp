// SPDX-License-Identifier: BSD-3-Clause
/// Proof that `solve` asks for; implemented by the certification, which is above the solver.
#pragma once

#include <echelon/cancellation.hpp>
#include <echelon/matrix/matrix.hpp>
#include <echelon/report.hpp>

namespace echelon {

/// Bounds the error of X, which `report` describes, on the device that solved. A refusal with the reason if
/// nothing was computed.
template <class T>
[[nodiscard]] ErrorCertificate certify_answer(const MatrixRef<T>& A, DenseView<const T> B,
                                              DenseView<const T> X, const Report& report,
                                              const CancellationToken& cancel);

}  // namespace echelon
