// SPDX-License-Identifier: BSD-3-Clause
/// Options by name, and what the options of all methods share. One table per method describes its options;
/// the plain struct, the command line, JSON and the help text all come from it.
#pragma once

#include <echelon/enum_words.hpp>
#include <echelon/export.h>

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace echelon {

/// A value given by name: true, 3, 0.5 or "text". Text is converted to the option's own type where it fits
/// ("3" for an integer, "on" for a truth value), so command lines can pass what they got.
class ECHELON_API OptionValue {
 public:
  OptionValue(bool value) : value_(value) {}                      // NOLINT(google-explicit-constructor)
  OptionValue(double value) : value_(value) {}                    // NOLINT(google-explicit-constructor)
  OptionValue(const char* value) : value_(std::string(value)) {}  // NOLINT(google-explicit-constructor)
  OptionValue(std::string value) : value_(std::move(value)) {}    // NOLINT(google-explicit-constructor)
  template <std::integral I>
  requires(!std::same_as<I, bool>)
      // NOLINTNEXTLINE(google-explicit-constructor)
      OptionValue(I value)
      : value_(static_cast<std::int64_t>(value)) {}

  [[nodiscard]] const std::variant<bool, std::int64_t, double, std::string>& get() const { return value_; }

 private:
  std::variant<bool, std::int64_t, double, std::string> value_;
};

/// Options by name, in the order given; a later value of the same name wins. Names of a nested solver are
/// dotted: "preconditioner.weight".
class ECHELON_API Options {
 public:
  using Entry = std::pair<std::string, OptionValue>;
  Options() = default;
  Options(std::initializer_list<Entry> entries) : entries_(entries) {}

  void set(std::string name, OptionValue value) { entries_.emplace_back(std::move(name), std::move(value)); }
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] bool empty() const { return entries_.empty(); }

 private:
  std::vector<Entry> entries_;
};

/// Devices that a method supports: `both` are the host and CUDA, `all` OpenCL as well.
enum class Targets { host = 1, cuda = 2, both = 3, all = 7 };
/// Whether `targets` has OpenCL, the kind of device that no method supports alone.
constexpr bool has_opencl(Targets targets) {
  return targets == Targets::all;
}
/// Whether `targets` has CUDA.
constexpr bool has_cuda(Targets targets) {
  return targets != Targets::host;
}
/// Whether `targets` has `serial` and `openmp`.
constexpr bool has_host(Targets targets) {
  return targets != Targets::cuda;
}

/// Kinds of values that an option takes.
enum class OptionKind {
  boolean,
  integer,
  number,
  word,    ///< one of the words
  method,  ///< the name of a method
  path,    ///< the name of a file
  text,    ///< any other text
  nested,  ///< an option of a nested method, whose name takes the place of NAME
};
constexpr std::array<EnumWord<OptionKind>, 8> words_of(OptionKind) {
  return {{{OptionKind::boolean, "boolean"},
           {OptionKind::integer, "integer"},
           {OptionKind::number, "number"},
           {OptionKind::word, "word"},
           {OptionKind::method, "method"},
           {OptionKind::path, "path"},
           {OptionKind::text, "text"},
           {OptionKind::nested, "nested"}}};
}

/// Bounds of a number; a bound is excluded where `open_low` or `open_high` says so.
struct ECHELON_API Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool open_low = false;
  bool open_high = false;
};

/// Description of an option for help texts, documents and bindings.
struct ECHELON_API OptionInfo {
  std::string name;  ///< key of the option
  OptionKind kind = OptionKind::text;
  std::string fallback;  ///< the default, as text
  /// All words that a `word` or `method` takes; for other kinds, words that are taken in place of a value.
  std::vector<std::string> words = {};
  Range range = {};  ///< of an integer or a number
  std::string help;  ///< one line about the meaning

  /// Type of the value: "boolean", "integer", "number", "text", or "any" of a nested option.
  [[nodiscard]] std::string type() const;
  /// The words and the range as text: "0 < x <= 2", "point, l1", or empty, as for a method.
  [[nodiscard]] std::string allowed() const;
};

/// Description of an option of the struct `O`: its name, the member that holds it, and its allowed values.
template <class O>
struct Option;

/// Values of a struct of options by name, in the order of its table. Numbers that are not set are omitted.
template <class O>
[[nodiscard]] ECHELON_API Options to_options(O values);

/// Stopping criteria of an iterative method: it has solved the system when
/// ||b - A x||_2 <= max(rtol ||b||_2, atol).
struct ECHELON_API Stop {
  /// Tolerance relative to ||b||_2, 0 to 1; default: 1e-8 in double, 1e-5 in float.
  std::optional<double> rtol = {};
  /// Absolute tolerance, in the units of b; at least 0.
  double atol = 0;
  /// Largest number of iterations for each right-hand side, at least 0; when it is reached, the status is
  /// `max_iterations`.
  std::int64_t max_iterations = 10000;
  /// Iterations between two residual checks by the host, at most 64; 0: 1 on the host, 16 on a GPU. The
  /// answer does not depend on it, since iterations after convergence change nothing.
  std::int64_t check_every = 0;

  /// `rtol`, or the default for the precision.
  [[nodiscard]] double relative_tolerance(bool single_precision) const {
    return rtol.value_or(single_precision ? 1e-5 : 1e-8);
  }
};

}  // namespace echelon
