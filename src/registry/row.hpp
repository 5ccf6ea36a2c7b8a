// SPDX-License-Identifier: BSD-3-Clause
/// Rows of the registry, made from the type of a method's options.
#pragma once

#include "backend/dispatch.hpp"
#include "options/parse.hpp"
#include "solver/implementation.hpp"
#include "solver/make.hpp"
#include "solver/preconditioner_option.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/scalar.hpp>
#include <echelon/solver.hpp>

#include <fmt/format.h>
#include <support/scalar_list.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace echelon::registry {

/// Throws NotBuilt if the method with the options O is not written for the device.
template <class O>
void check_device(const Device& device) {
  constexpr Targets targets = O::targets;
  if (device.kind() == DeviceKind::opencl ? has_opencl(targets)
      : device.on_host()                  ? has_host(targets)
                                          : has_cuda(targets))
    return;
  constexpr const char* kinds = targets == Targets::cuda ? "cuda"
                                : has_cuda(targets)      ? "serial, openmp and cuda"
                                                         : "serial and openmp";
  throw NotBuilt(fmt::format("method '{}' runs on {} only, not on {}", O::name, kinds, device.name()));
}

/// Implements Method::check_options.
template <class O>
void check_options(const Device& device, const Options& options) {
  const O parsed = parse_options<O>(std::string(O::name), options);
  check_device<O>(device);
  if constexpr (requires { parsed.preconditioner_options; }) {
    check_preconditioner(parsed.preconditioner, device, parsed.preconditioner_options);
  }
}

/// Whether the method with the options O is written for complex matrices on a GPU.
template <class O>
inline constexpr bool takes_complex_on_cuda = false;
template <class O>
requires O::takes_complex_on_cuda inline constexpr bool takes_complex_on_cuda<O> = true;

/// Throws NotBuilt: the method takes no complex matrices on the device. Names those that do.
[[noreturn]] void throw_for_complex_device(std::string_view name, const Device& device);

/// Targets of the method with the options O for matrices of T.
template <class T, class O>
constexpr Targets targets_for_numbers() {
  if constexpr (!is_complex<T> || !has_host(O::targets)) return O::targets;
  return takes_complex_on_cuda<O> ? targets_of<T> : Targets::host;
}

template <class T, class O>
Solver<T> make(const Device& device, const O& options) {
  check_device<O>(device);
  constexpr Targets targets = targets_for_numbers<T, O>();
  if constexpr (is_complex<T>) {
    const bool runs = device.on_host() || (has_cuda(targets) && device.kind() == DeviceKind::cuda);
    if (!runs) throw_for_complex_device(O::name, device);
  }
  auto implementation =
      on_target<targets>(device, [&]<class Target>() -> std::unique_ptr<SolverImplementation<T>> {
        if constexpr (std::is_same_v<Target, CudaTarget> ? has_cuda(targets) : has_host(targets)) {
          return make_implementation<Target, T>(device, options);
        }
        return nullptr;
      });
  implementation->set_description(std::string(O::name), changed_options(options));
  implementation->keep_maker([device, options] { return make<T>(device, options); });
  return Solver<T>(std::move(implementation));
}

/// Whether the method with the options O is written for complex matrices.
template <class O>
inline constexpr bool takes_complex = false;
template <class O>
requires O::takes_complex inline constexpr bool takes_complex<O> = true;

/// Whether the method with the options O is written for matrices of T on a device.
template <class T, class O>
constexpr bool takes_numbers() {
  return !is_complex<T> || (takes_complex<O> && (has_host(O::targets) || has_cuda(targets_of<T>)));
}

/// Sets the maker for matrices of T, if the method is written for them.
template <class T, class O>
void set_maker(Method& method) {
  if constexpr (takes_numbers<T, O>()) {
    std::get<SolverMaker<T>>(method.makers) = [](const Device& device, const Options& options) {
      return make<T, O>(device, parse_options<O>(std::string(O::name), options));
    };
  }
}

/// Fills in the fields that follow from the type of the options.
template <class O>
Method row(Method method) {
  method.name = O::name;
  method.serial = method.openmp = has_host(O::targets);
  method.cuda = has_cuda(O::targets);
  method.opencl = has_opencl(O::targets);
  method.transposable = method.transposable || method.kind == MethodKind::direct;
  method.options = describe_options<O>();
  method.check_options = check_options<O>;
  method.complex = takes_complex<O>;
  method.complex_cuda = takes_complex_on_cuda<O>;
#define ECHELON_SET_MAKER(T) set_maker<T, O>(method);
  ECHELON_FOR_EACH_SCALAR(ECHELON_SET_MAKER)
#undef ECHELON_SET_MAKER
  return method;
}

}  // namespace echelon::registry
