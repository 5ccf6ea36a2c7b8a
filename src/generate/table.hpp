// SPDX-License-Identifier: BSD-3-Clause
/// Rows of the table of generators. Each file of generators has a function that returns its rows;
/// registry.cpp concatenates them.
#pragma once

#include "options/table.hpp"

#include <echelon/generate.hpp>
#include <echelon/options.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace echelon::generate {

/// An option of a generator, of the type of its default.
struct Parameter {
  using Value = std::variant<bool, std::int64_t, double, std::string>;
  std::string name;
  Value fallback;
  std::string help;
  Range range = {};
  std::vector<std::string> allowed = {};
};

/// Values of all parameters.
class ParameterValues {
 public:
  explicit ParameterValues(std::map<std::string, Parameter::Value> values) : values_(std::move(values)) {}
  [[nodiscard]] bool flag(const std::string& name) const { return std::get<bool>(values_.at(name)); }
  [[nodiscard]] std::int64_t integer(const std::string& name) const {
    return std::get<std::int64_t>(values_.at(name));
  }
  [[nodiscard]] double real(const std::string& name) const { return std::get<double>(values_.at(name)); }
  [[nodiscard]] const std::string& text(const std::string& name) const {
    return std::get<std::string>(values_.at(name));
  }
  [[nodiscard]] std::uint64_t seed() const { return static_cast<std::uint64_t>(integer("seed")); }

 private:
  std::map<std::string, Parameter::Value> values_;
};

/// The defaults, replaced by the given options. Throws BadOption.
ParameterValues parse_parameters(const std::string& generator, const std::vector<Parameter>& parameters,
                                 const Options& options);
std::vector<OptionInfo> described(const std::vector<Parameter>& parameters);
/// Throws InvalidMatrix, naming the generator and the place, for an element that overflows T or is NaN.
template <class T>
void check_finite(const std::string& generator, const Matrix<T>& matrix);

inline constexpr double largest_size = 2147483647;

/// An integer from `least` to the largest 32-bit index.
inline Parameter size(std::string name, std::int64_t fallback, std::string help, double least = 0) {
  return {std::move(name), fallback, std::move(help), {least, largest_size}};
}
inline Parameter dimension(std::int64_t fallback = 100, double least = 0) {
  return size("n", fallback, "rows and columns", least);
}
inline Parameter real(std::string name, double fallback, std::string help, Range range = {}) {
  return {std::move(name), fallback, std::move(help), range};
}
inline Parameter choice(std::string name, std::string fallback, std::string help,
                        std::vector<std::string> allowed) {
  return {std::move(name), std::move(fallback), std::move(help), {}, std::move(allowed)};
}
inline Parameter seed() {
  return {"seed", std::int64_t{1}, "seed of the random numbers", {0}};
}

/// A generator that calls the generic `make(arguments, T{})`, which returns a Dense<T> or a Csr<T>.
template <class Make>
Generator row(std::string name, std::string family, std::string summary,
              const std::vector<Parameter>& parameters, std::vector<std::string> size, Make make) {
  Generator generator;
  generator.name = std::move(name);
  generator.family = std::move(family);
  generator.summary = std::move(summary);
  generator.size = std::move(size);
  using Result = decltype(make(std::declval<const ParameterValues&>(), double{}));
  generator.sparse = std::is_same_v<Result, Csr<double>>;
  generator.options = described(parameters);
  const auto maker = [=, name = generator.name](auto zero) {
    return [=](const Options& options) -> Matrix<decltype(zero)> {
      Matrix<decltype(zero)> matrix = make(parse_parameters(name, parameters, options), zero);
      check_finite(name, matrix);
      return matrix;
    };
  };
  generator.make_float = maker(float{});
  generator.make_double = maker(double{});
  return generator;
}

std::vector<Generator> grid_rows();
std::vector<Generator> sparse_rows();
std::vector<Generator> graph_rows();
std::vector<Generator> dense_rows();
std::vector<Generator> spectrum_rows();
std::vector<Generator> complex_rows();

}  // namespace echelon::generate
