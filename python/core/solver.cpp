// SPDX-License-Identifier: BSD-3-Clause
#include "bindings.hpp"
#include "matrix.hpp"
#include "request.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/scalar.hpp>
#include <echelon/methods/multigrid/near_null_space.hpp>
#include <echelon/preconditioner.hpp>
#include <echelon/solve.hpp>
#include <echelon/solver.hpp>
#include <echelon/solver/preconditioner_application.hpp>

#include <nanobind/stl/complex.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <complex>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

namespace echelon::python {

namespace {

/// Solver<T> of the extension, which keeps the matrix and the preconditioner that it refers to.
template <class T>
class PythonSolver {
 public:
  using Vectors = nb::ndarray<T>;
  using ConstVectors = nb::ndarray<const T>;

  PythonSolver(const std::string& method, const std::string& device, const nb::dict& options)
      : solver_(make_solver<T>(method, Device::parse(device), options_of(options))) {}

  Report analyze(const nb::object& A) {
    return prepare(
        A, {}, [&](MatrixRef<T> matrix, const Control& control) { return solver_.analyze(matrix, control); });
  }
  Report setup(const nb::object& A, const Request& request) {
    return prepare(A, request, [&](MatrixRef<T> matrix, const Control& control) {
      return solver_.setup(matrix, control);
    });
  }
  Report update(const nb::object& A, const Request& request) {
    return prepare(A, request, [&](MatrixRef<T> matrix, const Control& control) {
      return solver_.update_values(matrix, control);
    });
  }
  Report solve(const ConstVectors& B, const Vectors& X) const {
    const auto b = view_of<const T>(B);
    const auto x = view_of<T>(X);
    const std::stop_token token = stop_.get_token();
    return compute(b.rows() * b.columns(), [&](std::atomic<bool>& flag) {
      return solver_.solve(b, x, {.cancel = {token, &flag}});
    });
  }
  Report solve_as(const ConstVectors& B, const Vectors& X, const Request& request) const {
    const auto b = view_of<const T>(B);
    const auto x = view_of<T>(X);
    return run(b.rows() * b.columns(), request,
               [&](const Control& control) { return solver_.solve(b, x, control); });
  }

  /// One application as a preconditioner, to each column. A thread that applies while others do gets an
  /// application of its own.
  void apply(const ConstVectors& R, const Vectors& Z, bool transposed) {
    const auto r = view_of<const T>(R);
    const auto z = view_of<T>(Z);
    if (r.rows() != z.rows() || r.columns() != z.columns()) {
      throw DimensionMismatch("the vectors of a preconditioner differ in shape");
    }
    auto application = take_application(r.rows());
    {
      const Unlocked unlocked;
      transposed ? application->transposed(r, z) : (*application)(r, z);
    }
    idle_applications_.push_back(std::move(application));
  }
  [[nodiscard]] bool is_transposable(std::int64_t rows) {
    auto application = take_application(rows);
    const bool result = application->is_transposable();
    idle_applications_.push_back(std::move(application));
    return result;
  }

  void precondition_by_solver(const PythonSolver& other) {
    solver_.set_preconditioner(Preconditioner<T>(other.solver_));
  }
  void precondition_by_function(const nb::object& callable, std::int64_t rows) {
    solver_.set_preconditioner(Preconditioner<T>(vector_function<T>(SharedObject(callable), rows, rows)));
  }
  void set_near_null_space(
      const nb::ndarray<const double, nb::ndim<2>, nb::f_contig, nb::device::cpu>& vectors) {
    if constexpr (is_complex<T>) {
      throw BadOption("near_null_space", "near-null-space vectors are those of real matrices");
    } else {
      const std::vector<double> elements(vectors.data(), vectors.data() + vectors.size());
      echelon::set_near_null_space(solver_,
                                   Dense<double>(static_cast<std::int64_t>(vectors.shape(0)),
                                                 static_cast<std::int64_t>(vectors.shape(1)),
                                                 Array<double>(Device(), std::span<const double>(elements))));
    }
  }

  /// Ends the calls that are running; later ones start afresh.
  void cancel() {
    stop_.request_stop();
    stop_ = std::stop_source();
  }
  [[nodiscard]] const Solver<T>& solver() const { return solver_; }

 private:
  template <class F>
  Report run(std::int64_t elements, const Request& request, const F& f) const {
    const std::stop_token token = stop_.get_token();
    return compute(elements, [&](std::atomic<bool>& flag) { return f(connected(request, flag, token)); });
  }

  /// Prepares for a PythonMatrix<T>. The matrices before it are kept until f has returned: after an exception
  /// the solver may still refer to them.
  template <class F>
  Report prepare(const nb::object& A, const Request& request, const F& f) {
    const auto& matrix = nb::cast<const PythonMatrix<T>&>(A);
    idle_applications_.clear();
    matrices_.push_back(A);
    Report report =
        run(matrix.work(), request, [&](const Control& control) { return f(matrix.ref(), control); });
    matrices_ = {A};
    return report;
  }

  // Python's lock protects the list.
  std::unique_ptr<PreconditionerApplication<T>> take_application(std::int64_t rows) {
    if (idle_applications_.empty() || rows != rows_of_applications_) {
      idle_applications_.clear();
      rows_of_applications_ = rows;
      return std::make_unique<PreconditionerApplication<T>>(solver_, rows);
    }
    auto application = std::move(idle_applications_.back());
    idle_applications_.pop_back();
    return application;
  }

  std::vector<nb::object> matrices_;
  Solver<T> solver_;
  std::stop_source stop_;
  std::vector<std::unique_ptr<PreconditionerApplication<T>>> idle_applications_;
  std::int64_t rows_of_applications_ = 0;
};

/// (sign, logarithm of the magnitude); the sign of a complex determinant has its phase.
template <class T>
nb::tuple determinant_of(const Determinant& determinant) {
  if constexpr (is_complex<T>) {
    const double sign = determinant.sign;
    return nb::make_tuple(sign * determinant.phase, determinant.log_abs());
  } else {
    return nb::make_tuple(determinant.sign, determinant.log_abs());
  }
}

nb::tuple inertia_of(const Inertia& inertia) {
  return nb::make_tuple(inertia.positive, inertia.negative, inertia.zero);
}

/// (form, L, U, F, D, its subdiagonal, row and column permutations, row and column scales, exponent)
template <class T>
nb::tuple factors_of(MatrixFactors<T> factors) {
  return nb::make_tuple(to_string(factors.form), python_matrix(std::move(factors.lower)),
                        python_matrix(std::move(factors.upper)), csr_arrays(std::move(factors.coupling)),
                        numpy_array(std::move(factors.diagonal)), numpy_array(std::move(factors.subdiagonal)),
                        numpy_array(std::move(factors.row_permutation)),
                        numpy_array(std::move(factors.column_permutation)),
                        numpy_array(std::move(factors.row_scales)),
                        numpy_array(std::move(factors.column_scales)), factors.exponent);
}

/// Result of a function of a solver that runs without Python's lock.
template <class T, class F>
auto unlocked(const PythonSolver<T>& solver, const F& f) {
  const Unlocked unlocked;
  return f(solver.solver());
}

template <class T>
Report solve_once(const PythonMatrix<T>& A, const nb::ndarray<const T>& B, const nb::ndarray<T>& X,
                  const SolveRequest& request) {
  const auto b = view_of<const T>(B);
  const auto x = view_of<T>(X);
  return compute(A.work(), [&](std::atomic<bool>& flag) {
    return solve_into<T>(A.ref(), b, x, connected(request, flag));
  });
}

template <class T>
nb::list candidates(const PythonMatrix<T>& A, const std::string& device) {
  std::optional<Device> on;
  if (!device.empty()) on = Device::parse(device);
  std::vector<Candidate> found;
  {
    const Unlocked unlocked;
    found = choose<T>(A.ref(), on);
  }
  nb::list result;
  for (const Candidate& candidate : found) {
    result.append(nb::make_tuple(candidate.method, candidate.device.name(),
                                 dictionary_of(candidate.parameters), candidate.reason, candidate.seconds));
  }
  return result;
}

}  // namespace

template <class T>
void bind_solvers(nb::module_& module) {
  using S = PythonSolver<T>;
  nb::class_<S>(module, "Solver")
      .def(nb::init<const std::string&, const std::string&, const nb::dict&>())
      .def("analyze", &S::analyze)
      .def("setup", &S::setup)
      .def("update", &S::update)
      .def("solve", &S::solve, nb::arg().noconvert(), nb::arg().noconvert())
      .def("solve_as", &S::solve_as, nb::arg().noconvert(), nb::arg().noconvert(), nb::arg())
      .def("apply", &S::apply, nb::arg().noconvert(), nb::arg().noconvert(), nb::arg())
      .def("is_transposable", &S::is_transposable)
      .def("precondition_by_solver", &S::precondition_by_solver, nb::keep_alive<1, 2>())
      .def("precondition_by_function", &S::precondition_by_function)
      .def("set_near_null_space", &S::set_near_null_space)
      .def("cancel", &S::cancel)
      .def("determinant",
           [](const S& s) {
             return determinant_of<T>(
                 unlocked(s, [](const Solver<T>& solver) { return solver.determinant(); }));
           })
      .def("inertia",
           [](const S& s) {
             return inertia_of(unlocked(s, [](const Solver<T>& solver) { return solver.inertia(); }));
           })
      .def("factors",
           [](const S& s) {
             return factors_of<T>(unlocked(s, [](const Solver<T>& solver) { return solver.factors(); }));
           })
      .def_prop_ro("nbytes", [](const S& s) { return s.solver().bytes(); })
      .def_prop_ro("device", [](const S& s) { return s.solver().device().name(); })
      .def("describe", [](const S& s) { return s.solver().describe(); });
  module.def("solve_once", solve_once<T>, nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg());
  module.def("choose", candidates<T>);
}

template void bind_solvers<float>(nb::module_&);
template void bind_solvers<double>(nb::module_&);
template void bind_solvers<std::complex<double>>(nb::module_&);

}  // namespace echelon::python
