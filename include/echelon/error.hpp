// SPDX-License-Identifier: BSD-3-Clause
/// Exception types. Exceptions report misuse and a lack of resources; facts that a computation finds about a
/// matrix (singular, not positive definite, not converged) are a Status in the Report instead.
#pragma once

#include <echelon/export.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace echelon {

/// Base of every exception that the library throws on purpose.
class ECHELON_API Error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Two operands whose shapes do not fit together; the message names both.
class ECHELON_API DimensionMismatch : public Error {
  using Error::Error;
};

/// Two operands that live in different memories (host, or a given GPU); the message names both.
class ECHELON_API DeviceMismatch : public Error {
  using Error::Error;
};

/// A result that shares memory with an operand where it must not; the message names both.
class ECHELON_API OverlappingOperands : public Error {
  using Error::Error;
};

/// Arrays that do not describe a matrix (offsets that decrease, columns out of range or out of order), or a
/// size that exceeds what an index can count.
class ECHELON_API InvalidMatrix : public Error {
  using Error::Error;
};

/// A file that cannot be read or is not what it claims to be. `what()` reads "FILE:LINE:COLUMN: reason";
/// line and column start at 1 and are 0 where they have no meaning (a missing file, say).
class ECHELON_API ParseError : public Error {
 public:
  ParseError(std::string file, std::int64_t line, std::int64_t column, const std::string& reason);
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] std::int64_t line() const { return line_; }
  [[nodiscard]] std::int64_t column() const { return column_; }

 private:
  std::string file_;
  std::int64_t line_;
  std::int64_t column_;
};

/// An option, method or device name that does not exist, or a value that its option does not take.
class ECHELON_API BadOption : public Error {
 public:
  BadOption(std::string path, const std::string& reason, std::string did_you_mean = {});
  /// The offending name, dotted where it is nested: "preconditioner.weight".
  [[nodiscard]] const std::string& path() const { return path_; }
  /// The nearest name that exists, or empty.
  [[nodiscard]] const std::string& did_you_mean() const { return did_you_mean_; }

 private:
  std::string path_;
  std::string did_you_mean_;
};

/// The entry of `names` with the smallest edit distance from `word`, for `did_you_mean`, where the exchange
/// of two neighbours counts as one edit; empty if in every entry more than half of the characters differ, or
/// as many as `word` has.
[[nodiscard]] ECHELON_API std::string nearest_name(std::string_view word,
                                                   const std::vector<std::string>& names);

/// A capability that this build of the library lacks, such as CUDA, or that a method lacks on a device.
class ECHELON_API NotBuilt : public Error {
  using Error::Error;
};

/// A device that this machine lacks.
class ECHELON_API NoDevice : public Error {
  using Error::Error;
};

/// An allocation for which memory does not suffice. The object that requested it is unchanged.
class ECHELON_API OutOfMemory : public Error {
 public:
  OutOfMemory(const std::string& device, std::size_t asked, std::size_t available);
  [[nodiscard]] std::size_t asked() const { return asked_; }          ///< bytes; 0 when unknown
  [[nodiscard]] std::size_t available() const { return available_; }  ///< bytes, at the time of asking

 private:
  std::size_t asked_;
  std::size_t available_;
};

/// A failed call of the CUDA run time or of one of its libraries.
class ECHELON_API CudaError : public Error {
  using Error::Error;
};

/// A failed call of an OpenCL driver, or a program that it could not build.
class ECHELON_API OpenClError : public Error {
  using Error::Error;
};

}  // namespace echelon
