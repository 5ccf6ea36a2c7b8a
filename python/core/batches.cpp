// SPDX-License-Identifier: BSD-3-Clause
/// Many sparse systems with one pattern.
#include "bindings.hpp"
#include "matrix.hpp"

#include <echelon/methods/sparse_batch.hpp>

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace echelon::python {

namespace {

template <class T>
class PythonBatch {
 public:
  using Values = nb::ndarray<const T, nb::ndim<2>, nb::c_contig>;
  using ConstVectors = nb::ndarray<const T, nb::ndim<3>, nb::c_contig>;
  using Vectors = nb::ndarray<T, nb::ndim<3>, nb::c_contig>;

  explicit PythonBatch(const PythonMatrix<T>& A) : solver_(A.csr()) {}

  /// `values`: systems by nonzeros; B and X: systems by right-hand sides by rows. Returns the names of the
  /// statuses, the number of each system's status among them, columns, backward errors, systems that were
  /// solved singly, and parts.
  nb::tuple solve(const Values& values, const ConstVectors& B, const Vectors& X) {
    const auto count = static_cast<std::int64_t>(values.shape(0));
    const auto nonzeros = static_cast<std::int64_t>(values.shape(1));
    const DenseView<const T> elements(values.data(), nonzeros, count, std::max<std::int64_t>(nonzeros, 1),
                                      device_of(values));
    SparseBatchReport report;
    {
      const Unlocked unlocked;
      report = solver_.solve(elements, batch_of<const T>(B), batch_of<T>(X));
    }
    return result_of(std::move(report));
  }
  [[nodiscard]] std::size_t bytes_per_system() const { return solver_.bytes_per_system(); }

 private:
  template <class U, class Array>
  static DenseBatch<U> batch_of(const Array& array) {
    return {array.data(), static_cast<std::int64_t>(array.shape(2)),
            static_cast<std::int64_t>(array.shape(1)), static_cast<std::int64_t>(array.shape(0)),
            device_of(array)};
  }
  static nb::tuple result_of(SparseBatchReport report) {
    std::vector<Status> statuses;
    std::vector<std::int32_t> numbers, columns;
    for (const BatchOutcome& outcome : report.outcomes) {
      const auto found = std::find(statuses.begin(), statuses.end(), outcome.status);
      numbers.push_back(static_cast<std::int32_t>(found - statuses.begin()));
      columns.push_back(outcome.column);
      if (found == statuses.end()) statuses.push_back(outcome.status);
    }
    nb::list names;
    for (const Status status : statuses)
      names.append(nb::make_tuple(std::string(to_string(status)), solved(status)));
    return nb::make_tuple(names, numpy_array(std::move(numbers)), numpy_array(std::move(columns)),
                          numpy_array(std::move(report.backward_errors)), report.solved_singly, report.parts);
  }

  SparseBatchSolver<T> solver_;
};

}  // namespace

template <class T>
void bind_batches(nb::module_& module) {
  using S = PythonBatch<T>;
  nb::class_<S>(module, "SparseBatch")
      .def(nb::init<const PythonMatrix<T>&>())
      .def("solve", &S::solve, nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert())
      .def_prop_ro("bytes_per_system", &S::bytes_per_system);
}

template void bind_batches<float>(nb::module_&);
template void bind_batches<double>(nb::module_&);

}  // namespace echelon::python
