// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "generate/assemble.hpp"
#include "generate/table.hpp"
#include "options/parse.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <iterator>
#include <limits>

namespace echelon {

namespace generate {

std::int64_t checked_size(const std::string& what, const std::vector<std::int64_t>& factors) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  std::int64_t product = 1;
  for (const std::int64_t factor : factors) {
    if (factor < 0) {
      throw InvalidMatrix(fmt::format("{} of {}: a size is negative", what, fmt::join(factors, " x ")));
    }
    if (factor == 0) return 0;
    if (product > most / factor) {
      throw InvalidMatrix(fmt::format("{} of {} has too many rows: the largest 32-bit index is {}", what,
                                      fmt::join(factors, " x "), most));
    }
    product *= factor;
  }
  return product;
}

ParameterValues parse_parameters(const std::string& generator, const std::vector<Parameter>& parameters,
                                 const Options& options) {
  std::map<std::string, Parameter::Value> values;
  for (const Parameter& parameter : parameters) values.emplace(parameter.name, parameter.fallback);
  for (const auto& [name, given] : options.entries()) {
    const auto found = std::find_if(parameters.begin(), parameters.end(),
                                    [&, &wanted = name](const Parameter& p) { return p.name == wanted; });
    if (found == parameters.end()) {
      std::vector<std::string> names;
      names.reserve(parameters.size());
      for (const Parameter& parameter : parameters) names.push_back(parameter.name);
      throw BadOption(name, fmt::format("generator '{}' has no option '{}'", generator, name),
                      nearest_name(name, names));
    }
    std::visit([&, &path = name,
                &value = given](auto& field) { assign(path, value, found->range, found->allowed, field); },
               values.at(name));
  }
  return ParameterValues(std::move(values));
}

namespace {

/// The first element that is not finite, in storage order; -1 if all are.
template <class T>
std::int64_t first_not_finite(const T* values, std::int64_t count) {
  std::int64_t first = count;
#pragma omp parallel for num_threads(Device().threads()) schedule(static) \
    reduction(min                                                         \
              : first) if (count > few_elements)
  for (std::int64_t k = 0; k < count; ++k) {
    if (!std::isfinite(values[k])) first = std::min(first, k);
  }
  return first < count ? first : -1;
}

template <class T>
[[noreturn]] void throw_not_finite(const std::string& generator, std::int64_t row, std::int64_t column,
                                   T value) {
  throw InvalidMatrix(fmt::format("generator '{}' with these options: element ({}, {}) is {} in {} precision",
                                  generator, row, column, value,
                                  sizeof(T) == sizeof(float) ? "single" : "double"));
}

template <class T>
void check_elements(const std::string& generator, const Csr<T>& a) {
  const std::int64_t k = first_not_finite(a.values().data(), a.nonzeros());
  if (k < 0) return;
  const auto offsets = a.row_offsets().span();
  const auto row = std::upper_bound(offsets.begin(), offsets.end(), k) - offsets.begin() - 1;
  throw_not_finite<T>(generator, row, a.column_indices()[k], a.values()[k]);
}

template <class T>
void check_elements(const std::string& generator, const Dense<T>& a) {
  const std::int64_t k = first_not_finite(a.data(), a.rows() * a.columns());
  if (k >= 0) throw_not_finite<T>(generator, k % a.rows(), k / a.rows(), a[k]);
}

}  // namespace

template <class T>
void check_finite(const std::string& generator, const Matrix<T>& matrix) {
  std::visit([&](const auto& a) { check_elements(generator, a); }, matrix);
}
template void check_finite(const std::string&, const Matrix<float>&);
template void check_finite(const std::string&, const Matrix<double>&);

std::vector<OptionInfo> described(const std::vector<Parameter>& parameters) {
  std::vector<OptionInfo> infos;
  infos.reserve(parameters.size());
  for (const Parameter& parameter : parameters) {
    const FieldText text =
        std::visit([](const auto& field) { return field_text(field); }, parameter.fallback);
    const OptionKind kind = parameter.allowed.empty() ? text.kind : OptionKind::word;
    infos.push_back({parameter.name, kind, text.value, parameter.allowed, parameter.range, parameter.help});
  }
  return infos;
}

}  // namespace generate

namespace {

std::vector<Generator> table() {
  std::vector<Generator> all;
  for (std::vector<Generator> rows : {generate::grid_rows(), generate::sparse_rows(), generate::graph_rows(),
                                      generate::dense_rows(), generate::spectrum_rows()}) {
    std::move(rows.begin(), rows.end(), std::back_inserter(all));
  }
  return all;
}

/// The largest integer whose power of this degree is at most `value`.
std::int64_t whole_root(std::int64_t value, int degree) {
  const auto fits = [&](std::int64_t root) {
    std::int64_t rest = value;
    for (int i = 0; i < degree; ++i) rest /= root;  // floor(floor(a / b) / b) = floor(a / b^2)
    return rest >= 1;
  };
  std::int64_t low = 0;
  for (std::int64_t step = std::int64_t{1} << 32; step > 0; step /= 2) {
    if (fits(low + step)) low += step;
  }
  return low;
}

}  // namespace

bool Generator::is_random() const {
  return std::any_of(options.begin(), options.end(), [](const OptionInfo& o) { return o.name == "seed"; });
}

Options Generator::for_rows(std::int64_t rows) const {
  if (size.empty()) {
    throw BadOption("rows", fmt::format("no option of generator '{}' sets the number of rows alone", name));
  }
  Options result;
  const std::int64_t points = rows / unknowns_per_point;
  const std::int64_t side = dimensions == 1 ? points : whole_root(points, dimensions);
  for (const std::string& option : size) result.set(option, side);
  return result;
}

std::span<const Generator> generators() {
  static const std::vector<Generator> rows = table();
  return rows;
}

std::span<const Generator> complex_generators() {
  static const std::vector<Generator> rows = generate::complex_rows();
  return rows;
}

const Generator& find_generator(std::string_view name) {
  std::vector<std::string> names;
  for (const std::span<const Generator> of_numbers : {generators(), complex_generators()}) {
    for (const Generator& generator : of_numbers) {
      const std::vector<std::string>& aliases = generator.aliases;
      if (generator.name == name || std::find(aliases.begin(), aliases.end(), name) != aliases.end()) {
        return generator;
      }
      names.push_back(generator.name);
    }
  }
  throw BadOption("generator", fmt::format("there is no generator '{}'", name), nearest_name(name, names));
}

namespace {

/// Makes a matrix by the maker of its type of numbers.
template <class Maker>
auto make_by(Maker Generator::*maker, std::string_view name, const Options& options) {
  return at_api_boundary([&] {
    const Generator& generator = find_generator(name);
    if (generator.*maker) return (generator.*maker)(options);
    throw BadOption("generator",
                    fmt::format("'{}' makes {} matrices", name, generator.make_complex ? "complex" : "real"));
  });
}

}  // namespace

template <>
Matrix<float> make_matrix(std::string_view generator, const Options& options) {
  return make_by(&Generator::make_float, generator, options);
}
template <>
Matrix<double> make_matrix(std::string_view generator, const Options& options) {
  return make_by(&Generator::make_double, generator, options);
}
template <>
Matrix<std::complex<double>> make_matrix(std::string_view generator, const Options& options) {
  return make_by(&Generator::make_complex, generator, options);
}

}  // namespace echelon
