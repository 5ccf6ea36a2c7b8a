// SPDX-License-Identifier: BSD-3-Clause
#include "arguments/command_line.hpp"
#include "arguments/method_options.hpp"
#include "output/json.hpp"
#include "terminal/terminal.hpp"
#include "terminal/text.hpp"

#include <echelon/device.hpp>
#include <echelon/linalg/blas.hpp>
#include <echelon/solver.hpp>
#include <echelon/solver/methods_json.hpp>

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

namespace echelon::tool {

namespace {

std::string_view description(MethodNeeds needs) {
  switch (needs) {
    case MethodNeeds::any_shape:
      return "any shape";
    case MethodNeeds::square:
      return "square";
    case MethodNeeds::nonzero_diagonal:
      return "square, no zero on the diagonal";
    case MethodNeeds::one_sided_spectrum:
      return "square, all eigenvalues on one side of the imaginary axis";
    case MethodNeeds::symmetric:
      return "square and symmetric";
    case MethodNeeds::symmetric_positive_definite:
      return "symmetric positive definite";
    case MethodNeeds::diagonally_dominant:
      return "diagonally dominant";
    case MethodNeeds::triangular:
      return "triangular, no zero on the diagonal";
  }
  return {};
}

std::vector<std::string> device_names(const Method& method) {
  std::vector<std::string> names;
  if (method.serial) names.emplace_back("serial");
  if (method.openmp) names.emplace_back("openmp");
  if (method.cuda && cuda_built()) names.emplace_back("cuda");
  if (method.opencl && opencl_built()) names.emplace_back("opencl");
  return names;
}

std::string devices_text(const Method& method) {
  const std::string names = fmt::format("{}", fmt::join(device_names(method), ", "));
  return names.empty() ? "cuda, which this build lacks" : names;
}

std::string cuda_line() {
  if (!cuda_built()) return "Built without CUDA: configure with -DECHELON_CUDA=ON";
  const int count = cuda_device_count();
  if (count == 0) return "Built with CUDA; no usable GPU found";
  return fmt::format("Built with CUDA; {} GPU{} found, the first: {}", count, count == 1 ? "" : "s",
                     hardware(Device::cuda()));
}

std::string opencl_line() {
  if (!opencl_built()) return "Built without OpenCL: configure with -DECHELON_OPENCL=ON";
  const int count = opencl_device_count();
  if (count == 0) return "Built with OpenCL; no usable device found";
  return fmt::format("Built with OpenCL; {} usable device{} found, the first: {}", count,
                     count == 1 ? "" : "s", hardware(Device::opencl()));
}

/// Description of the kernels that BLAS runs on the host; empty if they are unknown.
std::string blas_line() {
  const HostBlas blas = host_blas();
  if (blas.kernels.empty()) return {};
  const std::string warning = blas.warning.empty() ? "" : fmt::format("warning: {}.\n", blas.warning);
  return fmt::format("OpenBLAS with kernels for {}.\n{}", blas.kernels, warning);
}

std::string opencl_mark(const Method& method) {
  if (!opencl_built()) return "-";
  return method.opencl ? "yes" : "not for OpenCL";
}

/// Where the method takes complex matrices.
std::string complex_mark(const Method& method) {
  const bool on_cuda = method.complex_cuda && cuda_built();
  if (!method.complex || (!method.serial && !on_cuda)) return "-";
  if (!method.serial) return "cuda";
  return on_cuda ? "host, cuda" : "host";
}

std::string methods_text() {
  const auto mark = [](bool yes) { return std::string(yes ? "yes" : "-"); };
  std::vector<std::vector<std::string>> rows = {{"METHOD", "KIND", "SERIAL", "OPENMP", "CUDA", "OPENCL",
                                                 "SPARSE", "DENSE", "COMPLEX", "PRECONDITIONS", "STUDY",
                                                 "SUMMARY"}};
  for (const Method& method : methods()) {
    rows.push_back({method.name, std::string(to_string(method.kind)), mark(method.serial),
                    mark(method.openmp), mark(method.cuda && cuda_built()), opencl_mark(method),
                    mark(method.sparse), mark(method.dense), complex_mark(method),
                    mark(method.usable_as_preconditioner), mark(method.study), method.summary});
  }
  return fmt::format("{}\n{}.\n{}.\n{}A method's options: echelon --help solver:NAME\n", table(rows),
                     cuda_line(), opencl_line(), blas_line());
}

Json methods_json() {
  const HostBlas blas = host_blas();
  return {{"version", ECHELON_VERSION},
          {"cuda_built", cuda_built()},
          {"cuda_devices", cuda_device_count()},
          {"opencl_built", opencl_built()},
          {"opencl_devices", opencl_device_count()},
          {"blas_kernels", blas.kernels},
          {"blas_warning", blas.warning.empty() ? Json(nullptr) : Json(blas.warning)},
          {"methods", Json::parse(to_json(methods()))}};
}

}  // namespace

ExitCode run_methods(const Arguments& arguments) {
  bool json = false;
  CLI::App app("Lists the methods of this build and the devices that they run on.", "echelon methods");
  set_style(app);
  app.add_flag("--json", json, "print one line of JSON, with the options of every method");
  if (!parse(app, arguments)) return exit_solved;
  if (json) {
    print_json(methods_json());
  } else {
    print_result(methods_text());
  }
  return exit_solved;
}

ExitCode print_method_help(const std::string& name) {
  const Method& method = find_method(name);
  std::string text = fmt::format("{}: {}\n\n", method.name, method.summary);
  std::vector<Row> facts = {{"kind", std::string(to_string(method.kind))},
                            {"intended for A", std::string(description(method.needs))},
                            {"devices", devices_text(method)},
                            {"complex A", complex_mark(method)}};
  if (method.usable_as_preconditioner && method.kind != MethodKind::preconditioner) {
    facts.emplace_back("also", "a preconditioner: -p preconditioner=" + method.name);
  }
  if (method.study) facts.emplace_back("study", "kept for comparison; auto does not take it");
  text += aligned(facts);
  if (method.options.empty()) return print_result(text + "\nThis method has no options.\n"), exit_solved;

  const OptionInfo& first = method.options.front();
  text += fmt::format(
      "\nOptions, given as -p NAME=VALUE:\n{}\nExample: echelon solve A.mtx --method {} -p {}={}\n",
      options_text(method.options), method.name, first.name, first.fallback);
  print_result(text);
  return exit_solved;
}

}  // namespace echelon::tool
