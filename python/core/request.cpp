// SPDX-License-Identifier: BSD-3-Clause
#include "request.hpp"

#include "arrays.hpp"
#include "bindings.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>

#include <complex>
#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace echelon::python {

namespace {

Operation operation_of(const std::string& name) {
  if (name == "N") return Operation::none;
  if (name == "T") return Operation::transpose;
  if (name == "H") return Operation::adjoint;
  throw BadOption("trans", "trans is 'N', 'T' or 'H', not '" + name + "'");
}

Dense<double> copied(const nb::ndarray<const double, nb::ndim<2>, nb::device::cpu>& array) {
  Dense<double> result(Device(), static_cast<std::int64_t>(array.shape(0)),
                       static_cast<std::int64_t>(array.shape(1)));
  const DenseView<const double> view = view_of<const double>(array);
  for (std::int64_t j = 0; j < result.columns(); ++j) {
    for (std::int64_t i = 0; i < result.rows(); ++i) result(i, j) = view(i, j);
  }
  return result;
}

template <class T>
void set_initial_guess(SolveRequest& request, const nb::ndarray<const T>& x) {
  request.initial_guess = view_of<const T>(x);
  request.initial_guess_array = SharedObject(nb::cast(x));
}

/// NumPy array with the elements of an x on the host.
nb::object copied_vector(std::monostate /*none*/) {
  throw Error("a set-up has no iterate");
}
template <class T>
nb::object copied_vector(const std::function<DenseView<const T>()>& form) {
  const DenseView<const T> x = form();
  if (!x.device().on_host()) throw Error("the iterate of a solve on a GPU is not copied to the host");
  return numpy_array(std::vector<T>(x.data(), x.data() + x.rows()));
}

void bind_control(nb::module_& module) {
  nb::class_<Iterate>(module, "Iterate").def("__call__", &Iterate::vector);
  nb::class_<Request>(module, "Request")
      .def(nb::init<>())
      .def_rw("rtol", &Request::rtol, nb::arg().none())
      .def_rw("atol", &Request::atol, nb::arg().none())
      .def_rw("max_iterations", &Request::max_iterations, nb::arg().none())
      .def_rw("use_initial_guess", &Request::use_initial_guess)
      .def_rw("measure_error", &Request::measure_error)
      .def_rw("least_squares", &Request::least_squares)
      .def("set_operation", [](Request& r, const std::string& name) { r.operation = operation_of(name); })
      .def(
          "set_callback", [](Request& r, const nb::object& f) { r.callback = SharedObject(f); },
          nb::arg().none());
}

void bind_solve_options(nb::module_& module) {
  nb::class_<SolveRequest>(module, "SolveRequest")
      .def(nb::init<>())
      .def_rw("method", &SolveRequest::method)
      .def_rw("rtol", &SolveRequest::rtol, nb::arg().none())
      .def_rw("atol", &SolveRequest::atol, nb::arg().none())
      .def_rw("max_iterations", &SolveRequest::max_iterations, nb::arg().none())
      .def_rw("least_squares", &SolveRequest::least_squares)
      .def_rw("measure_error", &SolveRequest::measure_error)
      .def_rw("certify", &SolveRequest::certify)
      .def("set_device", [](SolveRequest& r, const std::string& name) { r.device = Device::parse(name); })
      .def("set_parameters",
           [](SolveRequest& r, const nb::dict& values) { r.parameters = options_of(values); })
      .def("set_initial_guess", set_initial_guess<float>, nb::arg().noconvert())
      .def("set_initial_guess", set_initial_guess<double>, nb::arg().noconvert())
      .def("set_initial_guess", set_initial_guess<std::complex<double>>, nb::arg().noconvert())
      .def("set_near_null_space",
           [](SolveRequest& r, const nb::ndarray<const double, nb::ndim<2>, nb::device::cpu>& vectors) {
             r.near_null_space = copied(vectors);
           })
      .def(
          "set_callback", [](SolveRequest& r, const nb::object& f) { r.callback = SharedObject(f); },
          nb::arg().none());
}

}  // namespace

nb::object Iterate::vector() const {
  if (progress_ == nullptr) throw Error("an iterate can be asked for only while the callback runs");
  return std::visit([](const auto& form) { return copied_vector(form); }, progress_->source);
}

Options options_of(const nb::dict& values) {
  Options options;
  for (const auto& entry : values) {
    const auto name = nb::cast<std::string>(entry.first);
    const auto value = nb::cast<std::variant<bool, std::int64_t, double, std::string>>(entry.second);
    std::visit([&](const auto& held) { options.set(name, held); }, value);
  }
  return options;
}

nb::dict dictionary_of(const Options& options) {
  nb::dict result;
  for (const auto& [name, value] : options.entries()) result[name.c_str()] = nb::cast(value.get());
  return result;
}

void bind_requests(nb::module_& module) {
  bind_control(module);
  bind_solve_options(module);
}

}  // namespace echelon::python
