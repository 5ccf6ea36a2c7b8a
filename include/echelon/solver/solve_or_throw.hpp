// SPDX-License-Identifier: BSD-3-Clause
/// solve() for callers that want an exception where the system is not solved.
#pragma once

#include <echelon/error.hpp>
#include <echelon/export.h>
#include <echelon/report.hpp>
#include <echelon/solve.hpp>
#include <echelon/solver/report_rows.hpp>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace echelon {

/// A system that was not solved: singular, inconsistent, not converged, ...; what() says how it ended and
/// why.
class ECHELON_API NotSolved : public Error {
 public:
  explicit NotSolved(Report report)
      : Error(text_of(report)), report_(std::make_shared<const Report>(std::move(report))) {}
  [[nodiscard]] const Report& report() const { return *report_; }
  [[nodiscard]] Status status() const { return report_->status; }

 private:
  static std::string text_of(const Report& report) {
    const std::string outcome = report_rows(report).front().value;
    return report.message.empty() ? outcome : outcome + ": " + report.message;
  }
  std::shared_ptr<const Report> report_;
};

/// The solution of A X = B by solve() with these options. Throws NotSolved, with the report, unless X is one:
/// where solve() reports `converged`, `direct`, `underdetermined` or, if it was asked for, `least_squares`.
/// Throws what solve() throws for misuse.
template <class T>
[[nodiscard]] Dense<T> solve_or_throw(MatrixRef<T> A, std::type_identity_t<DenseView<const T>> B,
                                      const SolveOptions& options = {}) {
  Solution<T> solution = solve<T>(A, B, options);
  if (!solution.report.solved()) throw NotSolved(std::move(solution.report));
  return std::move(solution.x);
}
template <class T>
[[nodiscard]] Dense<T> solve_or_throw(const Csr<T>& A, std::type_identity_t<DenseView<const T>> B,
                                      const SolveOptions& options = {}) {
  return solve_or_throw<T>(MatrixRef<T>(A), B, options);
}
template <class T>
[[nodiscard]] Dense<T> solve_or_throw(const Dense<T>& A, std::type_identity_t<DenseView<const T>> B,
                                      const SolveOptions& options = {}) {
  return solve_or_throw<T>(MatrixRef<T>(A), B, options);
}

}  // namespace echelon
