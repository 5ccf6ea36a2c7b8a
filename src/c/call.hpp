// SPDX-License-Identifier: BSD-3-Clause
/// Boundary of the C interface: exceptions become codes, and their texts the last error of the thread.
#pragma once

#include <echelon/echelon.h>
#include <echelon/error.hpp>

#include <cstdint>
#include <exception>
#include <string>

namespace echelon::c {

/// A call that is refused with a code of the C interface.
class Refusal : public Error {
 public:
  Refusal(std::int32_t code, const std::string& reason) : Error(reason), code_(code) {}
  [[nodiscard]] std::int32_t code() const { return code_; }

 private:
  std::int32_t code_;
};

/// Keeps the text of an exception for echelon_last_error, and returns its code. Allocates nothing.
std::int32_t keep_error(const std::exception_ptr& error) noexcept;

/// Calls f, which returns a code; an exception becomes a negative one.
template <class F>
std::int32_t call(const F& f) noexcept {
  try {
    return f();
  } catch (...) {
    return keep_error(std::current_exception());
  }
}

/// Throws Refusal for a null pointer.
inline void require_pointer(const void* pointer, const char* name) {
  if (pointer == nullptr) throw Refusal(ECHELON_BAD_ARGUMENT, std::string(name) + " is a null pointer");
}

/// Throws Refusal for a negative number of elements that an array has room for, or a null pointer to some.
inline void check_capacity(std::int64_t capacity, const void* pointer, const char* name) {
  if (capacity < 0) throw Refusal(ECHELON_BAD_ARGUMENT, "capacity is " + std::to_string(capacity));
  if (capacity > 0) require_pointer(pointer, name);
}

/// Stores an output of a call, unless its pointer is null.
template <class T>
void store(T* output, T value) {
  if (output != nullptr) *output = value;
}

/// Text that may be a null pointer, which stands for the empty text.
inline std::string text_or_empty(const char* text) {
  return text == nullptr ? std::string() : std::string(text);
}

}  // namespace echelon::c
