// SPDX-License-Identifier: BSD-3-Clause
/// Codes, errors and facts about the library.
#include "c/call.hpp"

#include <echelon/solver.hpp>
#include <echelon/solver/methods_json.hpp>

#include <c/version.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace echelon::c {

namespace {

/// Text of the last error of this thread, truncated to the length of the array.
thread_local std::array<char, 2048> last_error{};

/// Keeps the text for echelon_last_error(). Returns the code.
std::int32_t keep(std::int32_t code, std::string_view text) noexcept {
  const std::size_t length = std::min(text.size(), last_error.size() - 1);
  std::copy_n(text.begin(), length, last_error.begin());
  last_error[length] = '\0';
  return code;
}

constexpr std::array<std::pair<std::int32_t, const char*>, 29> code_names = {{
    {ECHELON_SOLVED, "solved"},
    {ECHELON_MAX_ITERATIONS, "max_iterations"},
    {ECHELON_STAGNATED, "stagnated"},
    {ECHELON_DIVERGED, "diverged"},
    {ECHELON_BREAKDOWN, "breakdown"},
    {ECHELON_SINGULAR, "singular"},
    {ECHELON_INCONSISTENT, "inconsistent"},
    {ECHELON_UNDERDETERMINED, "underdetermined"},
    {ECHELON_NOT_A_NUMBER, "not_a_number"},
    {ECHELON_NOT_SPD, "not_spd"},
    {ECHELON_MEMORY_EXHAUSTED, "memory_exhausted"},
    {ECHELON_CANCELLED, "cancelled"},
    {ECHELON_LEAST_SQUARES, "least_squares"},
    {ECHELON_BATCH_UNSOLVED, "batch_unsolved"},
    {ECHELON_BAD_ARGUMENT, "bad_argument"},
    {ECHELON_BAD_OPTION, "bad_option"},
    {ECHELON_DIMENSION_MISMATCH, "dimension_mismatch"},
    {ECHELON_DEVICE_MISMATCH, "device_mismatch"},
    {ECHELON_OVERLAPPING_OPERANDS, "overlapping_operands"},
    {ECHELON_INVALID_MATRIX, "invalid_matrix"},
    {ECHELON_PARSE_ERROR, "parse_error"},
    {ECHELON_NOT_BUILT, "not_built"},
    {ECHELON_NO_DEVICE, "no_device"},
    {ECHELON_OUT_OF_MEMORY, "out_of_memory"},
    {ECHELON_CUDA_ERROR, "cuda_error"},
    {ECHELON_NOT_SET_UP, "not_set_up"},
    {ECHELON_CALLBACK_FAILED, "callback_failed"},
    {ECHELON_OPENCL_ERROR, "opencl_error"},
    {ECHELON_INTERNAL, "internal"},
}};

}  // namespace

std::int32_t keep_error(const std::exception_ptr& error) noexcept {
  try {
    std::rethrow_exception(error);
  } catch (const Refusal& e) {
    return keep(e.code(), e.what());
  } catch (const BadOption& e) {
    return keep(ECHELON_BAD_OPTION, e.what());
  } catch (const DimensionMismatch& e) {
    return keep(ECHELON_DIMENSION_MISMATCH, e.what());
  } catch (const DeviceMismatch& e) {
    return keep(ECHELON_DEVICE_MISMATCH, e.what());
  } catch (const OverlappingOperands& e) {
    return keep(ECHELON_OVERLAPPING_OPERANDS, e.what());
  } catch (const InvalidMatrix& e) {
    return keep(ECHELON_INVALID_MATRIX, e.what());
  } catch (const ParseError& e) {
    return keep(ECHELON_PARSE_ERROR, e.what());
  } catch (const NotBuilt& e) {
    return keep(ECHELON_NOT_BUILT, e.what());
  } catch (const NoDevice& e) {
    return keep(ECHELON_NO_DEVICE, e.what());
  } catch (const OutOfMemory& e) {
    return keep(ECHELON_OUT_OF_MEMORY, e.what());
  } catch (const CudaError& e) {
    return keep(ECHELON_CUDA_ERROR, e.what());
  } catch (const OpenClError& e) {
    return keep(ECHELON_OPENCL_ERROR, e.what());
  } catch (const Error& e) {
    return keep(ECHELON_BAD_ARGUMENT, e.what());
  } catch (const std::bad_alloc&) {
    return keep(ECHELON_OUT_OF_MEMORY, "memory does not suffice");
  } catch (const std::exception& e) {
    return keep(ECHELON_INTERNAL, e.what());
  } catch (...) {
    return keep(ECHELON_INTERNAL, "an exception of an unknown type");
  }
}

}  // namespace echelon::c

namespace c = echelon::c;

const char* echelon_version(void) {
  return c::version;
}

const char* echelon_last_error(void) {
  return c::last_error.data();
}

const char* echelon_code_name(std::int32_t code) {
  for (const auto& [number, name] : c::code_names) {
    if (number == code) return name;
  }
  return "unknown";
}

const char* echelon_methods_json(void) {
  const char* text = nullptr;
  c::call([&] {
    static const std::string json = to_json(echelon::methods());
    text = json.c_str();
    return ECHELON_SOLVED;
  });
  return text;
}
