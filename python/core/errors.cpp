// SPDX-License-Identifier: BSD-3-Clause
#include "bindings.hpp"

#include <echelon/error.hpp>

#include <nanobind/stl/string.h>

#include <exception>
#include <string>

namespace echelon::python {

namespace {

/// Raises echelon.NAME(what, *details): the classes are Python's, since they have two bases and attributes.
template <class... Details>
void raise(const char* name, const Error& error, const Details&... details) {
  const nb::object type = nb::module_::import_("echelon._errors").attr(name);
  const nb::object exception = type(error.what(), details...);
  PyErr_SetObject(type.ptr(), exception.ptr());
}

void translate(const std::exception_ptr& pointer, void* /*payload*/) {
  try {
    std::rethrow_exception(pointer);
  } catch (const BadOption& error) {
    raise("BadOption", error, error.path(), error.did_you_mean());
  } catch (const ParseError& error) {
    raise("ParseError", error, error.file(), error.line(), error.column());
  } catch (const OutOfMemory& error) {
    raise("OutOfMemory", error, error.asked(), error.available());
  } catch (const DimensionMismatch& error) {
    raise("DimensionMismatch", error);
  } catch (const InvalidMatrix& error) {
    raise("InvalidMatrix", error);
  } catch (const DeviceMismatch& error) {
    raise("DeviceMismatch", error);
  } catch (const OverlappingOperands& error) {
    raise("OverlappingOperands", error);
  } catch (const NotBuilt& error) {
    raise("NotBuilt", error);
  } catch (const NoDevice& error) {
    raise("NoDevice", error);
  } catch (const CudaError& error) {
    raise("CudaError", error);
  } catch (const OpenClError& error) {
    raise("OpenClError", error);
  } catch (const Error& error) {
    raise("Error", error);
  }
}

}  // namespace

void bind_errors() {
  nb::register_exception_translator(translate);
}

}  // namespace echelon::python
