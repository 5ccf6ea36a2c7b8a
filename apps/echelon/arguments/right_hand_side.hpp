// SPDX-License-Identifier: BSD-3-Clause
/// The right-hand sides of `echelon solve`.
#pragma once

#include <echelon/io/files.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace echelon::tool {

enum class RhsKind {
  row_sums,  ///< b = A 1: x is all ones
  range,     ///< b = A v with random v: in the range of A, so that a solution exists even if A is singular
  ones,      ///< b = 1
  random,    ///< independent elements, uniform in [-1, 1)
  file,
};

/// The value of --rhs.
struct RhsOption {
  std::optional<RhsKind> kind;  ///< unset if the option is not given
  std::uint64_t seed = 1;       ///< for `range` and `random`
  std::string file;             ///< for `file`
};

/// Parses "row-sums", "range[:SEED]", "ones", "random[:SEED]" or the name of a file. Throws BadOption.
[[nodiscard]] RhsOption parse_rhs(const std::string& text);

/// The right-hand sides, and where they come from.
template <class T>
struct Rhs {
  Dense<T> values;  ///< one column each
  RhsKind kind = RhsKind::file;
  std::uint64_t seed = 1;
  std::string file;
  bool is_default = false;  ///< chosen by the tool: neither --rhs nor A's file gives any
};

/// The kind's name in JSON: "A*1", "A*v", "ones", "random" or "file".
[[nodiscard]] std::string_view to_string(RhsKind kind);
/// "b = A * 1, as no --rhs was given", for a right-hand side that is not read from a file.
[[nodiscard]] std::string describe_rhs(RhsKind kind, std::uint64_t seed, bool is_default);

/// Makes or reads the right-hand sides. Without --rhs they are those in A's file; if it has none, b = A 1, or
/// b = A v where A 1 vanishes, as for the Laplacian of a graph. Throws what the reader throws.
template <class T>
[[nodiscard]] Rhs<T> make_rhs(const RhsOption& option, const std::string& matrix_path, MatrixFile<T>& matrix);

}  // namespace echelon::tool
