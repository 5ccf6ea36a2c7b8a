// SPDX-License-Identifier: BSD-3-Clause
/// Many sparse systems with one pattern.
#include "c/handles.hpp"

#include <echelon/matrix/scalar.hpp>
#include <echelon/methods/sparse_batch.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>

struct echelon_batch_object {
  using Solver = std::variant<echelon::SparseBatchSolver<float>, echelon::SparseBatchSolver<double>>;
  explicit echelon_batch_object(Solver made) : solver(std::move(made)) {}

  echelon::c::Tag<echelon::c::HandleKind::batch> tag;
  Solver solver;
  std::int64_t rows = 0;
  std::int64_t nonzeros = 0;
  echelon::Device device;
};

namespace echelon::c {

namespace {

/// Throws Refusal unless the values of the caller's arrays are those of the Csr, element by element.
template <class T>
const Csr<T>& pattern_of(const HeldMatrix<T>& A) {
  if (const Csr<T>* const csr = A.csr_in_order()) return *csr;
  throw Refusal(ECHELON_BAD_ARGUMENT,
                "the pattern of a batch is a matrix of echelon_compressed or echelon_read in CSR form, with "
                "indices that "
                "ascend within rows and all elements (ECHELON_BY_ROWS, ECHELON_FULL or ECHELON_SYMMETRIC)");
}

void check_counts(std::int64_t systems, std::int64_t columns) {
  if (systems >= 0 && columns >= 0) return;
  throw Refusal(ECHELON_BAD_ARGUMENT, "a size is negative: " + std::to_string(systems) + " systems, " +
                                          std::to_string(columns) + " columns");
}

/// Writes the code of each system. Returns that of the batch.
std::int32_t give_outcomes(const SparseBatchReport& report, std::int32_t* codes, double* backward_errors) {
  if (codes != nullptr) {
    std::transform(report.outcomes.begin(), report.outcomes.end(), codes,
                   [](const BatchOutcome& outcome) { return code_of(outcome.status); });
  }
  if (backward_errors != nullptr)
    std::copy(report.backward_errors.begin(), report.backward_errors.end(), backward_errors);
  return report.solved() ? ECHELON_SOLVED : ECHELON_BATCH_UNSOLVED;
}

}  // namespace

}  // namespace echelon::c

namespace c = echelon::c;

std::int32_t echelon_batch_create(echelon_matrix A, echelon_batch* batch) {
  return c::call([&] {
    c::require_pointer(batch, "the result batch");
    *batch = nullptr;
    std::visit(
        [&]<class T>(const std::shared_ptr<c::HeldMatrix<T>>& held) {
          if constexpr (echelon::is_complex<T>) {
            throw c::Refusal(ECHELON_NOT_BUILT, "batches are for real matrices");
          } else {
            const echelon::Csr<T>& pattern = c::pattern_of(*held);
            auto made = std::make_unique<echelon_batch_object>(echelon::SparseBatchSolver<T>(pattern));
            made->rows = pattern.rows();
            made->nonzeros = pattern.nonzeros();
            made->device = pattern.device();
            *batch = made.release();
          }
        },
        c::object(A, "A").held);
    return ECHELON_SOLVED;
  });
}

std::int32_t echelon_batch_solve(echelon_batch batch, std::int64_t systems, const void* values,
                                 std::int64_t columns, const void* b, void* x, std::int32_t* codes,
                                 double* backward_errors) {
  return c::call([&] {
    auto& made = c::object(batch, "batch");
    c::check_counts(systems, columns);
    if (systems > 0 && made.nonzeros > 0) c::require_pointer(values, "values");
    if (systems > 0 && columns > 0 && made.rows > 0) {
      c::require_pointer(b, "b");
      c::require_pointer(x, "x");
    }
    const auto report = std::visit(
        [&]<class T>(echelon::SparseBatchSolver<T>& solver) {
          const echelon::DenseView<const T> elements(static_cast<const T*>(values), made.nonzeros, systems,
                                                     std::max<std::int64_t>(made.nonzeros, 1), made.device);
          return solver.solve(elements, {static_cast<const T*>(b), made.rows, columns, systems, made.device},
                              {static_cast<T*>(x), made.rows, columns, systems, made.device});
        },
        made.solver);
    return c::give_outcomes(report, codes, backward_errors);
  });
}

void echelon_batch_free(echelon_batch batch) {
  c::free_object(batch);
}
