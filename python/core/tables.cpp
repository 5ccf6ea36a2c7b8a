// SPDX-License-Identifier: BSD-3-Clause
/// Tables of methods, generators, formats and devices of this build.
#include "bindings.hpp"

#include <echelon/device.hpp>
#include <echelon/generate.hpp>
#include <echelon/io/file_info.hpp>
#include <echelon/linalg/blas.hpp>
#include <echelon/solver.hpp>

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <string_view>
#include <vector>

namespace echelon::python {

namespace {

nb::list options_table(const std::vector<OptionInfo>& options) {
  nb::list result;
  for (const OptionInfo& option : options) {
    result.append(nb::make_tuple(option.name, option.type(), option.fallback, option.allowed(), option.help));
  }
  return result;
}

nb::list devices_of(const Method& method) {
  nb::list result;
  if (method.serial) result.append("serial");
  if (method.openmp) result.append("openmp");
  if (method.cuda) result.append("cuda");
  if (method.opencl) result.append("opencl");
  return result;
}

nb::list method_table() {
  nb::list result;
  for (const Method& method : methods()) {
    result.append(nb::make_tuple(method.name, method.summary, to_string(method.kind), to_string(method.needs),
                                 devices_of(method), method.operators, method.usable_as_preconditioner,
                                 method.takes_near_null_space, options_table(method.options)));
  }
  return result;
}

nb::list generator_table() {
  nb::list result;
  for (const Generator& generator : generators()) {
    result.append(nb::make_tuple(generator.name, generator.family, generator.summary,
                                 options_table(generator.options)));
  }
  return result;
}

/// Devices on which the library can run here, by name, and their hardware.
nb::dict device_table() {
  nb::dict result;
  result["openmp"] = hardware(Device());
  for (int id = 0; id < cuda_device_count(); ++id) {
    const Device device = Device::cuda(id);
    result[device.name().c_str()] = hardware(device);
  }
  for (int id = 0; id < opencl_device_count(); ++id) {
    const Device device = Device::opencl(id);
    result[device.name().c_str()] = hardware(device);
  }
  return result;
}

}  // namespace

void bind_tables(nb::module_& module) {
  module.def("methods", method_table);
  module.def("generators", generator_table);
  module.def("file_formats", file_format_names);
  module.def("devices", device_table);
  module.def("cuda_built", cuda_built);
  module.def("opencl_built", opencl_built);
  module.def("blas", [] { return host_blas().description; });
  module.def("rows_for", [](const std::string& generator, std::int64_t rows) {
    return dictionary_of(find_generator(generator).for_rows(rows));
  });
}

}  // namespace echelon::python
