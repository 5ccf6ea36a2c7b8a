// SPDX-License-Identifier: BSD-3-Clause
/// echelon graph: components, resistances, potentials and smallest eigenvectors of a graph.
#include "arguments/command_line.hpp"
#include "arguments/input.hpp"
#include "commands/commands.hpp"
#include "output/files.hpp"
#include "output/json.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/progress_line.hpp"
#include "terminal/terminal.hpp"
#include "terminal/text.hpp"

#include <echelon/error.hpp>
#include <echelon/graph/analysis.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace echelon::tool {

namespace {

struct GraphRequest {
  std::string matrix;
  InputOptions input;
  graph::SolveSettings solve;
  std::vector<std::string> pairs;
  std::string sources;
  std::string output;
  bool edges = false;
  bool strict = false;
  double error = 0;
  double tolerance = 1e-8;
  std::int64_t count = 1;
  std::int64_t seed = 1;
  bool json = false;
  bool quiet = false;
};

void add_common(CLI::App& app, GraphRequest& request) {
  add_matrix_argument(app, "GRAPH", request.matrix);
  add_input_options(app, request.input);
  app.add_flag("--json", request.json, "print one line of JSON");
  app.add_flag("--quiet", request.quiet, "no progress on stderr");
}
void add_solver(CLI::App& app, GraphRequest& request) {
  app.add_option("--method", request.solve.method, "method for the Laplacian systems (approximate-cholesky)");
  app.add_option("--rtol", request.solve.rtol, "relative tolerance of every solve (1e-10)");
}
void add_output(CLI::App& app, GraphRequest& request, const std::string& what) {
  add_file_option(app, "-o,--output", request.output, "write " + what + " to a file");
}

/// Laplacian of the graph: the matrix that is read if none of its off-diagonal elements is positive;
/// otherwise the matrix counts as an adjacency matrix.
Csr<double> read_graph(const GraphRequest& request) {
  ProgressLine progress(request.quiet);
  progress.announce("reading " + (request.matrix == "-" ? std::string("standard input") : request.matrix));
  InputOptions input = request.input;
  input.file.role = FileRole::graph;
  MatrixFile<double> file = read_input<double>(request.matrix, input);
  progress.clear();
  const Csr<double> matrix = std::holds_alternative<Csr<double>>(file.matrix)
                                 ? std::get<Csr<double>>(std::move(file.matrix))
                                 : to_csr(MatrixRef<double>(file.matrix));
  const bool has_negative = std::any_of(matrix.values().data(), matrix.values().data() + matrix.nonzeros(),
                                        [](double value) { return value < 0; });
  return has_negative ? matrix : laplacian(matrix, request.input.laplacian);
}

ExitCode finish(const GraphRequest& request, Json json, std::vector<Row> rows, const std::string& headline,
                Status status) {
  if (request.json) {
    print_json(json);
  } else {
    print_report(headline + "\n" + aligned(rows));
  }
  return exit_code(status);
}

Json graph_json(const std::string& verb, const GraphRequest& request, const Csr<double>& L) {
  const std::int64_t edges = (L.nonzeros() - L.rows()) / 2;
  return {
      {"command", "graph " + verb}, {"file", utf8(request.matrix)}, {"vertices", L.rows()}, {"edges", edges}};
}
void add_report(const Report& report, Json& json) {
  json.update(Json{{"status", std::string(to_string(report.status))},
                   {"method", report.method},
                   {"iterations", report.iterations},
                   {"relative_residual", report.relative_residual},
                   {"setup_seconds", report.setup_seconds},
                   {"solve_seconds", report.solve_seconds},
                   {"warnings", report.warnings},
                   {"message", report.message}});
}

ExitCode run_components(const Arguments& arguments) {
  GraphRequest request;
  CLI::App app("Connected components of a graph.", "echelon graph components");
  set_style(app);
  add_common(app, request);
  add_output(app, request, "the component of each vertex");
  if (!parse(app, arguments)) return exit_solved;
  check_files({request.matrix}, {{"-o", request.output}});
  const Csr<double> L = read_graph(request);
  const graph::Components parts = graph::components(L);
  std::vector<std::int64_t> sizes = parts.sizes;
  std::sort(sizes.rbegin(), sizes.rend());
  const std::int64_t isolated = std::count(sizes.begin(), sizes.end(), 1);
  if (!request.output.empty()) {
    Dense<double> of_vertex(Device(), L.rows(), 1);
    for (std::int64_t i = 0; i < L.rows(); ++i) {
      of_vertex(i, 0) = static_cast<double>(parts.of_vertex[static_cast<std::size_t>(i)]);
    }
    write_dense(request.output, of_vertex, "component of each vertex, from 0");
  }
  Json json = graph_json("components", request, L);
  json.update(Json{{"components", parts.count}, {"isolated_vertices", isolated}, {"sizes", sizes}});
  const std::string largest = sizes.empty() ? "0" : std::to_string(sizes.front());
  return finish(
      request, json,
      {{"vertices", std::to_string(L.rows())}, {"largest", largest}, {"isolated", std::to_string(isolated)}},
      fmt::format("{} components", parts.count), Status::direct);
}

std::vector<graph::Pair> parse_pairs(const std::vector<std::string>& texts) {
  std::vector<graph::Pair> pairs;
  for (const std::string& text : texts) {
    const std::size_t comma = text.find(',');
    if (comma == std::string::npos) throw BadOption("--pair", "'" + text + "' is not of the form U,V");
    const auto vertex = [&](const std::string& part) {
      const std::int64_t v = parse_integer("--pair", part);
      if (v > INT32_MAX) throw BadOption("--pair", "there is no vertex " + part);
      return static_cast<std::int32_t>(v);
    };
    pairs.push_back({vertex(text.substr(0, comma)), vertex(text.substr(comma + 1))});
  }
  return pairs;
}

ExitCode edge_resistances(const GraphRequest& request, const Csr<double>& L) {
  const graph::EdgeResistances result = graph::edge_resistances(
      L, {.solve = request.solve, .error = request.error, .seed = static_cast<std::uint64_t>(request.seed)});
  if (!request.output.empty()) {
    Dense<double> table(Device(), static_cast<std::int64_t>(result.edges.size()), 4);
    for (std::int64_t e = 0; e < table.rows(); ++e) {
      const graph::EdgeResistance& edge = result.edges[static_cast<std::size_t>(e)];
      table(e, 0) = edge.first;
      table(e, 1) = edge.second;
      table(e, 2) = edge.weight;
      table(e, 3) = edge.resistance;
    }
    write_dense(request.output, table, "vertices from 0, weight, effective resistance of each edge");
  }
  Json json = graph_json("resistance", request, L);
  add_report(result.report, json);
  json.update(Json{{"standard_error", result.error},
                   {"solves", result.solves},
                   {"foster_sum", result.foster_sum},
                   {"foster_rank", result.foster_rank}});
  if (request.output.empty()) {
    Json edges = Json::array();
    for (const graph::EdgeResistance& edge : result.edges) {
      edges.push_back({edge.first, edge.second, edge.weight, edge.resistance});
    }
    json["edges_resistances"] = edges;
  }
  return finish(
      request, json,
      {{"solves", std::to_string(result.solves)},
       {"standard error", fmt::format("{:.3g}", result.error)},
       {"sum of w R", fmt::format("{:.10g}, {} by Foster's theorem", result.foster_sum, result.foster_rank)}},
      fmt::format("Effective resistances of {} edges", result.edges.size()), result.report.status);
}

ExitCode run_resistance(const Arguments& arguments) {
  GraphRequest request;
  CLI::App app("Effective resistances of pairs of vertices, or of all edges.", "echelon graph resistance");
  set_style(app);
  add_common(app, request);
  add_solver(app, request);
  app.add_option("--pair", request.pairs, "vertices U,V, from 0; may be given several times");
  app.add_flag("--edges", request.edges, "all edges");
  app.add_option("--error", request.error,
                 "with --edges: relative standard error of an estimate by random projections (0: exact)");
  app.add_option("--seed", request.seed, "with --error: seed of the projections");
  add_output(app, request, "the edges with their resistances");
  if (!parse(app, arguments)) return exit_solved;
  if (request.edges == !request.pairs.empty()) {
    throw BadOption("--pair", "give either --pair U,V, once or several times, or --edges");
  }
  const std::vector<graph::Pair> pairs = parse_pairs(request.pairs);
  check_files({request.matrix}, {{"-o", request.output}});
  const Csr<double> L = read_graph(request);
  const Interrupt interrupt(request.quiet);
  request.solve.cancel = interrupt.token();
  if (request.edges) return edge_resistances(request, L);
  const graph::Resistances result = graph::resistances(L, pairs, request.solve);
  Json json = graph_json("resistance", request, L);
  if (!result.report.method.empty()) add_report(result.report, json);
  Json list = Json::array();
  std::vector<Row> rows;
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const double value = result.values[p];
    list.push_back({{"first", pairs[p].first},
                    {"second", pairs[p].second},
                    {"connected", std::isfinite(value)},
                    {"resistance", value}});
    rows.emplace_back(fmt::format("{} - {}", pairs[p].first, pairs[p].second), fmt::format("{:.12g}", value));
  }
  json["pairs"] = list;
  json["solves"] = result.solves;
  const Status status = result.report.method.empty() ? Status::direct : result.report.status;
  return finish(request, json, rows, "Effective resistances", status);
}

/// Reads the currents from a file with lines "vertex current".
Dense<double> read_sources(const std::string& path, std::int64_t vertices) {
  const bool is_text = path.find(".mtx") == std::string::npos && path.find(".np") == std::string::npos;
  const Matrix<double> file = read_matrix<double>(path, is_text ? FileFormat::text : FileFormat::automatic);
  const Dense<double>* table = std::get_if<Dense<double>>(&file);
  if (table == nullptr || table->columns() != 2) {
    throw BadOption("--sources", "the file has two columns: a vertex, from 0, and its current");
  }
  Dense<double> currents(Device(), vertices, 1);
  std::fill_n(currents.data(), vertices, 0.0);
  for (std::int64_t line = 0; line < table->rows(); ++line) {
    const double vertex = (*table)(line, 0);
    if (!(vertex >= 0 && vertex < static_cast<double>(vertices)) || vertex != std::floor(vertex)) {
      throw BadOption("--sources",
                      fmt::format("row {} (from 0) names the vertex {}, but the graph has {} vertices, "
                                  "from 0",
                                  line, vertex, vertices));
    }
    currents(static_cast<std::int64_t>(vertex), 0) += (*table)(line, 1);
  }
  return currents;
}

ExitCode run_potential(const Arguments& arguments) {
  GraphRequest request;
  CLI::App app("Potentials for given currents: L x = b, of mean zero on each component.",
               "echelon graph potential");
  set_style(app);
  add_common(app, request);
  add_solver(app, request);
  add_file_option(app, "--sources", request.sources, "file of lines: vertex, from 0, and current")
      ->required();
  app.add_flag("--strict", request.strict, "currents that do not sum to zero on a component are an error");
  add_output(app, request, "the potentials");
  if (!parse(app, arguments)) return exit_solved;
  check_files({request.matrix, request.sources}, {{"-o", request.output}});
  const Csr<double> L = read_graph(request);
  const Dense<double> currents = read_sources(request.sources, L.rows());
  const Interrupt interrupt(request.quiet);
  request.solve.cancel = interrupt.token();
  const graph::Potentials result = graph::potentials(L, currents, request.solve, request.strict);
  double lowest = INFINITY;
  double highest = -INFINITY;
  double power = 0;
  for (std::int64_t i = 0; i < L.rows(); ++i) {
    lowest = std::min(lowest, result.x(i, 0));
    highest = std::max(highest, result.x(i, 0));
    power += result.x(i, 0) * currents(i, 0);
  }
  if (!request.output.empty()) write_dense(request.output, result.x, "potentials");
  Json json = graph_json("potential", request, L);
  add_report(result.report, json);
  json.update(Json{{"lowest", lowest}, {"highest", highest}, {"power", power}});
  if (request.output.empty()) {
    json["potentials"] = std::vector<double>(result.x.data(), result.x.data() + L.rows());
  }
  std::vector<Row> rows = {{"lowest", fmt::format("{:.10g}", lowest)},
                           {"highest", fmt::format("{:.10g}", highest)},
                           {"power", fmt::format("{:.10g}", power)}};
  for (const std::string& warning : result.report.warnings) rows.emplace_back("warning", warning);
  return finish(request, json, rows, fmt::format("Potentials: {}", to_string(result.report.status)),
                result.report.status);
}

ExitCode run_fiedler(const Arguments& arguments) {
  GraphRequest request;
  CLI::App app("Smallest eigenvectors of the Laplacian, without the constants.", "echelon graph fiedler");
  set_style(app);
  add_common(app, request);
  app.add_option("-k,--count", request.count, "eigenvectors wanted (1)");
  app.add_option("--tolerance", request.tolerance, "on ||L x - lambda x|| / ||L|| (1e-8)");
  app.add_option("--seed", request.seed, "seed of the first block");
  add_output(app, request, "the eigenvectors, a column each");
  if (!parse(app, arguments)) return exit_solved;
  check_files({request.matrix}, {{"-o", request.output}});
  const Csr<double> L = read_graph(request);
  const Interrupt interrupt(request.quiet);
  graph::FiedlerOptions options;
  options.count = request.count;
  options.tolerance = request.tolerance;
  options.seed = static_cast<std::uint64_t>(request.seed);
  options.solve.cancel = interrupt.token();
  const graph::Eigenpairs result = graph::fiedler(L, options);
  if (!request.output.empty()) write_dense(request.output, result.vectors, "eigenvectors");
  Json json = graph_json("fiedler", request, L);
  json.update(Json{{"status", std::string(to_string(result.status))},
                   {"message", result.message},
                   {"iterations", result.iterations},
                   {"components", result.null_vectors},
                   {"eigenvalues", result.values},
                   {"residuals", result.residuals}});
  std::vector<Row> rows;
  for (std::size_t j = 0; j < result.values.size(); ++j) {
    rows.emplace_back(fmt::format("lambda_{}", static_cast<std::int64_t>(j) + result.null_vectors + 1),
                      fmt::format("{:.12g} (residual {:.2g})", result.values[j], result.residuals[j]));
  }
  return finish(request, json, rows,
                fmt::format("Smallest eigenvalues: {} after {} iterations", to_string(result.status),
                            result.iterations),
                result.status);
}

constexpr const char* graph_help = R"(usage: echelon graph COMMAND GRAPH [OPTION]...

  components  connected components
  resistance  effective resistances of pairs of vertices, or of all edges
  potential   potentials for given currents
  fiedler     smallest eigenvalues and eigenvectors of the Laplacian

GRAPH is a file of any format: a Laplacian, or an adjacency matrix with weights of at least 0.
See 'echelon graph COMMAND --help' for the options.
)";

}  // namespace

ExitCode run_graph(const Arguments& arguments) {
  if (arguments.empty()) {
    print_stderr(graph_help);
    return exit_usage;
  }
  const std::string& command = arguments.front();
  const Arguments rest(arguments.begin() + 1, arguments.end());
  if (command == "--help" || command == "-h") return print_result(graph_help), exit_solved;
  const std::vector<std::string> names = {"components", "resistance", "potential", "fiedler"};
  switch (parse_word("COMMAND", command, names)) {
    case 0:
      return run_components(rest);
    case 1:
      return run_resistance(rest);
    case 2:
      return run_potential(rest);
    default:
      return run_fiedler(rest);
  }
}

}  // namespace echelon::tool
