// SPDX-License-Identifier: BSD-3-Clause
#include "arguments/command_line.hpp"
#include "arguments/method_options.hpp"
#include "output/files.hpp"
#include "output/json.hpp"
#include "terminal/progress_line.hpp"
#include "terminal/terminal.hpp"
#include "terminal/text.hpp"

#include <echelon/error.hpp>
#include <echelon/generate.hpp>
#include <echelon/io/files.hpp>
#include <echelon/io/matrix_market.hpp>
#include <echelon/solver/methods_json.hpp>

#include <fmt/format.h>

#include <complex>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace echelon::tool {

namespace {

struct GenerateRequest {
  std::string name;
  std::string output;
  std::string coordinates;
  std::string precision = "double";
  std::optional<std::string> rows;
  std::optional<std::string> seed;
  std::vector<std::string> parameters;
  bool list = false;
  bool json = false;
  bool quiet = false;
};

/// Prints the size of the matrix and the times.
struct GenerateOutcome {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t nonzeros = 0;
  bool sparse = false;
  std::size_t bytes = 0;
  double generate_seconds = 0;
  double write_seconds = 0;
};

Options options_of(const GenerateRequest& request, const Generator& generator) {
  Options options;
  if (request.rows) options = generator.for_rows(parse_integer("--rows", *request.rows));
  if (request.seed) {
    if (!generator.is_random()) {
      throw BadOption("--seed",
                      fmt::format("generator '{}' is deterministic: it takes no seed", generator.name));
    }
    options.set("seed", parse_integer("--seed", *request.seed));
  }
  for (const std::string& parameter : request.parameters) add_parameter(options, parameter);
  return options;
}

/// The command that reproduces the matrix, for a comment in the file.
std::string provenance(const Generator& generator, const Options& options, const std::string& precision) {
  std::string text = fmt::format("echelon {}: generate {}", ECHELON_VERSION, generator.name);
  if (precision != "double") text += " --precision " + precision;
  for (const auto& [name, value] : options.entries()) {
    text += fmt::format(" -p {}={}", name,
                        std::visit([](const auto& held) { return fmt::format("{}", held); }, value.get()));
  }
  return text;
}

template <class T>
GenerateOutcome make_and_write(const GenerateRequest& request, const Generator& generator,
                               const Options& options, ProgressLine& progress) {
  GenerateOutcome outcome;
  progress.announce("generating " + generator.name);
  const Stopwatch generating;
  const Matrix<T> matrix = make_matrix<T>(generator.name, options);
  outcome.generate_seconds = generating.seconds();
  const MatrixRef<T> A(matrix);
  outcome.rows = A.rows();
  outcome.columns = A.columns();
  outcome.nonzeros = A.nonzeros();
  outcome.sparse = A.is_sparse();
  outcome.bytes = std::visit([](const auto& held) { return held.bytes(); }, matrix);
  if (request.output.empty()) return outcome;
  progress.announce("writing " + output_name(request.output));
  const Stopwatch writing;
  write_file(request.output, [&](const std::string& path) {
    if (output_format(request.output) == FileFormat::matrix_market) {
      return write_matrix_market(path, A, provenance(generator, options, request.precision));
    }
    WriteFileOptions output;
    output.petsc.scalar = std::is_same_v<T, float> ? PetscScalar::real32 : PetscScalar::real64;
    write_matrix(path, A, output);
  });
  outcome.write_seconds = writing.seconds();
  return outcome;
}

std::string list_text() {
  std::vector<std::vector<std::string>> rows = {{"GENERATOR", "FAMILY", "SUMMARY"}};
  for (const std::span<const Generator> of_numbers : {generators(), complex_generators()}) {
    for (const Generator& generator : of_numbers)
      rows.push_back({generator.name, generator.family, generator.summary});
  }
  return table(rows) + "\nA generator's options: echelon --help generator:NAME\n";
}

Json list_json() {
  Json list = Json::array();
  std::vector<Generator> all(generators().begin(), generators().end());
  all.insert(all.end(), complex_generators().begin(), complex_generators().end());
  for (const Generator& generator : all) {
    list.push_back({{"name", generator.name},
                    {"aliases", generator.aliases},
                    {"family", generator.family},
                    {"summary", generator.summary},
                    {"sparse", generator.sparse},
                    {"size", generator.size},
                    {"options", Json::parse(to_json(generator.options))}});
  }
  return {{"version", ECHELON_VERSION}, {"generators", list}};
}

Json outcome_json(const GenerateRequest& request, const Generator& generator, const Options& options,
                  const GenerateOutcome& outcome) {
  Json seed;
  for (const OptionInfo& option : generator.options) {
    if (option.name == "seed") seed = Json::parse(option.fallback);
  }
  for (const auto& [name, value] : options.entries()) {
    if (name != "seed") continue;
    seed = Json::parse(std::visit([](const auto& held) { return fmt::format("{}", held); }, value.get()));
  }
  return {{"generator", generator.name},
          {"command", provenance(generator, options, request.precision)},
          {"precision", request.precision},
          {"format", outcome.sparse ? "coordinate" : "array"},
          {"rows", outcome.rows},
          {"columns", outcome.columns},
          {"nonzeros", outcome.nonzeros},
          {"bytes", outcome.bytes},
          {"seed", seed},
          {"generate_seconds", outcome.generate_seconds},
          {"write_seconds", outcome.write_seconds},
          {"output", request.output.empty() ? Json() : Json(utf8(request.output))}};
}

std::string outcome_text(const GenerateRequest& request, const Generator& generator,
                         const GenerateOutcome& outcome) {
  std::vector<Row> rows = {
      {"size", fmt::format("{} x {}, {} in memory", grouped(outcome.rows), grouped(outcome.columns),
                           byte_count(outcome.bytes))},
      {outcome.sparse ? "nonzeros" : "elements", grouped(outcome.nonzeros)},
      {"time", fmt::format("{}: generating {}, writing {}",
                           duration(outcome.generate_seconds + outcome.write_seconds),
                           duration(outcome.generate_seconds), duration(outcome.write_seconds))}};
  rows.emplace_back("file",
                    request.output.empty() ? "none (write one with -o FILE)" : output_name(request.output));
  return fmt::format("{}: {}\n{}", paint(generator.name, Colour::bold, report_stream()), generator.summary,
                     aligned(rows));
}

void add_options(CLI::App& app, GenerateRequest& request) {
  app.add_option("NAME", request.name, "the generator's name; see --list")->type_name("GENERATOR");
  app.add_flag("--list", request.list, "list the generators; with --json, their options as well");
  app.add_option("--rows", request.rows, "number of rows; approximate if the family has certain sizes only")
      ->type_name("N");
  app.add_option("--seed", request.seed, "seed of a random family")->type_name("S");
  app.add_option("-p,--parameter", request.parameters,
                 "an option of the generator, see 'echelon --help generator:NAME'; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option("--precision", request.precision, "double by default")->type_name("double|float");
  add_file_option(
      app, "-o,--output", request.output,
      "write the matrix, in the format of the name's ending; - for standard output, as Matrix Market");
  add_file_option(app, "--coordinates", request.coordinates,
                  "write the coordinates of the points, for 'echelon solve --coordinates': elasticity-2d")
      ->type_name("FILE");
  app.add_flag("--json", request.json, "print the report as one line of JSON");
  app.add_flag("--quiet", request.quiet, "print no progress");
}

/// Throws BadOption for coordinates that the generator does not have, or a file that does not hold them.
void check_coordinates(const GenerateRequest& request, const Generator& generator) {
  if (request.coordinates.empty()) return;
  if (!generator.make_coordinates) {
    throw BadOption("--coordinates", fmt::format("generator '{}' has no coordinates", generator.name));
  }
  check_dense_format({"--coordinates", request.coordinates});
}

}  // namespace

ExitCode run_generate(const Arguments& arguments) {
  GenerateRequest request;
  CLI::App app("Generates a test matrix, with the same bits on every machine.", "echelon generate");
  set_style(app);
  add_options(app, request);
  if (!parse(app, arguments)) return exit_solved;
  if (request.list) {
    request.json ? print_json(list_json()) : print_result(list_text());
    return exit_solved;
  }
  if (request.name.empty()) {
    throw BadOption("NAME", "no generator named: 'echelon generate --list' lists them");
  }
  const Generator& generator = find_generator(request.name);
  const Options options = options_of(request, generator);
  static_cast<void>(scalar_of(request.precision));
  if (generator.make_complex && request.precision != "double")
    throw BadOption("--precision", fmt::format("{} makes complex matrices, in double", generator.name));
  const FileFormat format = output_format(request.output);
  if (!is_writable(format)) {
    throw BadOption("--output", fmt::format("{} files can be read but not written", to_string(format)));
  }
  check_coordinates(request, generator);
  check_files({}, {{"--output", request.output}, {"--coordinates", request.coordinates}});

  ProgressLine progress(request.quiet);
  const GenerateOutcome outcome =
      generator.make_complex ? make_and_write<std::complex<double>>(request, generator, options, progress)
                             : in_precision(request.precision, [&]<class T>() {
                                 return make_and_write<T>(request, generator, options, progress);
                               });
  if (!request.coordinates.empty()) {
    write_dense<double>(request.coordinates, generator.make_coordinates(options),
                        "coordinates of " + provenance(generator, options, request.precision));
  }
  progress.clear();
  if (request.json) {
    print_json(outcome_json(request, generator, options, outcome));
  } else {
    print_report(outcome_text(request, generator, outcome));
  }
  return exit_solved;
}

ExitCode print_generator_help(const std::string& name) {
  const Generator& generator = find_generator(name);
  std::string size = "set by its own options";
  if (!generator.size.empty()) size = fmt::format("--rows sets {}", fmt::join(generator.size, ", "));
  std::string text = fmt::format("{}: {}\n\n", generator.name, generator.summary);
  std::vector<Row> rows = {{"family", generator.family},
                           {"result", generator.sparse ? "a sparse matrix" : "a dense matrix"},
                           {"size", size}};
  if (!generator.aliases.empty())
    rows.emplace_back("alias", fmt::format("{}", fmt::join(generator.aliases, ", ")));
  text += aligned(rows);
  const OptionInfo& first = generator.options.front();
  text +=
      fmt::format("\nOptions, given as -p NAME=VALUE:\n{}\nExample: echelon generate {} -p {}={} -o A.mtx\n",
                  options_text(generator.options), generator.name, first.name, first.fallback);
  print_result(text);
  return exit_solved;
}

}  // namespace echelon::tool
