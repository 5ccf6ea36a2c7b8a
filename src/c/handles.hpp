// SPDX-License-Identifier: BSD-3-Clause
/// Objects of the C interface. Each knows its kind, so that a null pointer, a handle of another kind and, as
/// long as its memory has not been used again, a freed handle are refused.
#pragma once

#include "c/call.hpp"
#include "c/held_matrix.hpp"
#include "c/held_solver.hpp"

#include <echelon/report.hpp>
#include <echelon/solver/any_solver.hpp>

#include <nlohmann/json_fwd.hpp>

#include <complex>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>

namespace echelon::c {

enum class HandleKind : std::uint64_t {
  freed = 0,
  matrix = 0x6d6174726978,
  solver = 0x736f6c766572,
  report = 0x7265706f7274,
  batch = 0x6261746368
};

/// The kind of a handle, its first member.
template <HandleKind kind>
class Tag {
 public:
  Tag() = default;
  Tag(const Tag&) = delete;
  Tag& operator=(const Tag&) = delete;
  ~Tag() { value_ = HandleKind::freed; }
  [[nodiscard]] bool valid() const { return value_ == kind; }

 private:
  volatile HandleKind value_ = kind;  // volatile: the compiler would omit the last assignment
};

template <class T>
using SharedMatrix = std::shared_ptr<HeldMatrix<T>>;
template <class T>
using SharedSolver = std::shared_ptr<HeldSolver<T>>;

/// The object of a handle. Throws Refusal.
template <class Object>
Object& object(Object* handle, const char* name) {
  require_pointer(handle, name);
  if (!handle->tag.valid()) {
    throw Refusal(
        ECHELON_BAD_ARGUMENT,
        std::string(name) + " is not a handle of this kind: it was freed, or is one of another kind");
  }
  return *handle;
}

/// Frees a handle; a null pointer and a handle that is not valid are left alone.
template <class Object>
void free_object(Object* handle) noexcept {
  call([&] {
    if (handle != nullptr) delete &object(handle, "the handle");
    return ECHELON_SOLVED;
  });
}

/// Calls f.operator()<T>() for the element type that `scalar` names.
template <class F>
decltype(auto) with_scalar(std::int32_t scalar, const F& f) {
  switch (scalar) {
    case ECHELON_FLOAT:
      return f.template operator()<float>();
    case ECHELON_DOUBLE:
      return f.template operator()<double>();
    case ECHELON_COMPLEX_DOUBLE:
      return f.template operator()<std::complex<double>>();
    case ECHELON_COMPLEX_FLOAT:
      throw Refusal(ECHELON_NOT_BUILT,
                    "complex elements in float are not supported: use ECHELON_COMPLEX_DOUBLE");
    default:
      throw Refusal(ECHELON_BAD_ARGUMENT,
                    "scalar is " + std::to_string(scalar) +
                        ": use ECHELON_FLOAT, ECHELON_DOUBLE or ECHELON_COMPLEX_DOUBLE");
  }
}

/// The device of a name; null and empty: the host.
[[nodiscard]] inline Device device_of(const char* name) {
  const std::string text = text_or_empty(name);
  return text.empty() ? Device() : Device::parse(text);
}

/// Code of a status of systems.
[[nodiscard]] std::int32_t code_of(Status status);

/// Code of the outcome that a report describes; stores the report unless `report` is null.
std::int32_t give_report(echelon_report* report, const Report& outcome);

/// The matrix of a solver's element type. Throws Refusal.
template <class T>
[[nodiscard]] std::shared_ptr<HeldMatrix<T>> matrix_of(echelon_matrix A);

}  // namespace echelon::c

struct echelon_matrix_object {
  echelon::c::Tag<echelon::c::HandleKind::matrix> tag;
  echelon::OfAnyScalar<echelon::c::SharedMatrix> held;
};

struct echelon_solver_object {
  echelon::c::Tag<echelon::c::HandleKind::solver> tag;
  echelon::c::SolverSettings settings;
  echelon::OfAnyScalar<echelon::c::SharedSolver> held;
};

template <class T>
std::shared_ptr<echelon::c::HeldMatrix<T>> echelon::c::matrix_of(echelon_matrix A) {
  const auto* const held = std::get_if<std::shared_ptr<HeldMatrix<T>>>(&object(A, "A").held);
  if (held == nullptr) throw Refusal(ECHELON_BAD_ARGUMENT, "A has another scalar type than the solver");
  return *held;
}
