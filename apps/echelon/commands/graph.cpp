// SPDX-License-Identifier: BSD-3-Clause
/// echelon graph: components, resistances, potentials and smallest eigenvectors of a graph.
#include "arguments/command_line.hpp"
#include "arguments/input.hpp"
#include "commands/commands.hpp"
#include "commands/ungrounded.hpp"
#include "output/files.hpp"
#include "output/json.hpp"
#include "output/pages.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/progress_line.hpp"
#include "terminal/terminal.hpp"
#include "terminal/text.hpp"

#include <echelon/error.hpp>
#include <echelon/graph/analysis.hpp>
#include <echelon/page/report_page.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <numeric>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace echelon::tool {

namespace {

struct GraphRequest {
  std::string matrix;
  InputOptions input;
  graph::SolveSettings solve;
  std::vector<std::string> pairs;
  std::string pairs_file;
  std::string sources;
  std::string output;
  std::string page;
  std::string command;  ///< that repeats the work, for the page
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
  add_page_option(app, request.page);
  app.add_flag("--json", request.json, "print one line of JSON");
  app.add_flag("--quiet", request.quiet, "no progress on stderr");
}
void add_solver(CLI::App& app, GraphRequest& request) {
  app.add_option("--method", request.solve.method,
                 "method for the Laplacian systems (approximate-cholesky; on a GPU lamg)")
      ->type_name("METHOD");
  app.add_option_function<std::string>(
         "--device",
         [&](const std::string& name) {
           if (name != "auto") request.solve.device = Device::parse(name);
         },
         "auto (default, all cores), serial, openmp[:THREADS], cuda[:GPU] or opencl[:DEVICE]")
      ->type_name("DEVICE");
  app.add_option("--rtol", request.solve.rtol, "relative tolerance of every solve (1e-10)")->type_name("X");
}
/// Adds --seed, with the option without which it has no effect.
CLI::Option* add_seed(CLI::App& app, GraphRequest& request, const std::string& help) {
  return app
      .add_option_function<std::string>(
          "--seed", [&](const std::string& text) { request.seed = parse_integer("--seed", text); }, help)
      ->type_name("N");
}
void add_output(CLI::App& app, GraphRequest& request, const std::string& what) {
  add_file_option(app, "-o,--output", request.output, "write " + what + " to a file");
}

struct Graph {
  Csr<double> laplacian;
  std::vector<std::int64_t> labels;  ///< of the vertices of an edge list, which has numbers of its own
};

/// Reads the graph: a matrix with a negative element is its Laplacian, any other one its adjacency matrix.
Graph read_graph(const GraphRequest& request) {
  ProgressLine progress(request.quiet);
  progress.announce("reading " + input_name(request.matrix));
  InputOptions input = request.input;
  input.file.role = FileRole::graph;
  MatrixFile<double> file = read_input<double>(request.matrix, input);
  progress.clear();
  Csr<double> matrix = std::holds_alternative<Csr<double>>(file.matrix)
                           ? std::get<Csr<double>>(std::move(file.matrix))
                           : to_csr(MatrixRef<double>(file.matrix));
  const bool has_negative = std::any_of(matrix.values().data(), matrix.values().data() + matrix.nonzeros(),
                                        [](double value) { return value < 0; });
  if (!has_negative) matrix = laplacian(matrix, request.input.laplacian);
  return {std::move(matrix), std::move(file.labels)};
}

bool is_vertex(double vertex, const Graph& graph) {
  return vertex >= 0 && vertex < static_cast<double>(graph.laplacian.rows()) && vertex == std::floor(vertex);
}
/// Throws BadOption for a vertex that the graph does not have.
void check_vertex(const std::string& option, const std::string& text, double vertex, const Graph& graph) {
  if (is_vertex(vertex, graph)) return;
  const std::int64_t vertices = graph.laplacian.rows();
  std::string reason = fmt::format("{}: there is no vertex {}: the graph has {}, numbered from 0", text,
                                   vertex, counted(vertices, "vertex", "vertices"));
  if (!graph.labels.empty() && graph.labels.back() != vertices - 1) {
    reason += "; the numbers in an edge list are replaced by 0, 1, 2, ..., see --numbering";
  }
  throw BadOption(option, reason);
}

/// Elements in the upper triangle of a symmetric matrix that are not zero.
std::int64_t count_edges(const Csr<double>& L) {
  std::int64_t edges = 0;
  for (std::int64_t i = 0; i < L.rows(); ++i) {
    for (std::int64_t k = L.row_offsets()[i]; k < L.row_offsets()[i + 1]; ++k) {
      edges += L.column_indices()[k] > i && L.values()[k] != 0 ? 1 : 0;
    }
  }
  return edges;
}

/// The page in HTML about the graph of L.
std::string graph_page(const GraphRequest& request, const Csr<double>& L, const Json& json,
                       const std::vector<Row>& rows, const ReportRow& outcome) {
  Page page(file_title(request.matrix), "a graph, analysed by Echelon");
  page.outcome(outcome);
  page.facts(page_rows(rows));
  add_matrix(page, portrait(MatrixRef<double>(L)),
             {{.label = "graph",
               .value = fmt::format("{}, {}", counted(L.rows(), "vertex", "vertices"),
                                    counted(count_edges(L), "edge"))},
              {.label = "matrix", .value = "its Laplacian"}});
  add_repetition(page, request.command, json);
  return page.html();
}

ExitCode finish(const GraphRequest& request, const Csr<double>& L, const Json& json,
                const std::vector<Row>& rows, const std::string& headline, Status status) {
  if (!request.page.empty()) {
    const ReportRow outcome = {.label = headline,
                               .severity = solved(status) ? Severity::good : Severity::failure};
    write_text(request.page, graph_page(request, L, json, rows, outcome));
  }
  if (request.json) {
    print_json(json);
  } else {
    print_report(headline + "\n" + aligned(rows));
  }
  return exit_code(status);
}

/// "Effective resistances", with the status unless the systems were solved.
std::string headline(const std::string& subject, Status status) {
  return solved(status) ? subject : fmt::format("{}: {}", subject, to_string(status));
}
/// Rows that say how far solutions can be trusted.
void add_outcome(const Report& report, std::vector<Row>& rows) {
  if (!report.message.empty()) rows.emplace_back("because", report.message);
  if (!report.solved() && !report.columns.empty()) {
    rows.emplace_back("relative residual", fmt::format("{:.2e}", report.relative_residual));
  }
  for (const std::string& warning : report.warnings) rows.emplace_back("warning", warning);
}

Json graph_json(const std::string& subcommand, const GraphRequest& request, const Csr<double>& L) {
  return {{"command", "graph " + subcommand},
          {"file", utf8(request.matrix)},
          {"vertices", L.rows()},
          {"edges", count_edges(L)}};
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
  request.command = command_text("graph components", arguments);
  check_page_name({"--report", request.page});
  check_dense_format({"-o", request.output});
  check_files({request.matrix}, {{"-o", request.output}, {"--report", request.page}});
  const Csr<double> L = read_graph(request).laplacian;
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
  const RowsOfComponents ungrounded = graph::ungrounded_components(L);
  json.update(Json{{"components", parts.count},
                   {"isolated_vertices", isolated},
                   {"sizes", sizes},
                   {"ungrounded_components", ungrounded.size()},
                   {"ungrounded", ungrounded_json(ungrounded)}});
  const std::string largest = sizes.empty() ? "0" : std::to_string(sizes.front());
  std::vector<Row> rows = {
      {"vertices", std::to_string(L.rows())}, {"largest", largest}, {"isolated", std::to_string(isolated)}};
  if (!ungrounded.empty()) {
    rows.emplace_back("without ground",
                      fmt::format("{}: {}", ungrounded.size(), ungrounded_text(ungrounded)));
  }
  return finish(request, L, json, rows, counted(parts.count, "component"), Status::direct);
}

std::vector<graph::Pair> parse_pairs(const std::vector<std::string>& texts, const Graph& graph) {
  std::vector<graph::Pair> pairs;
  for (const std::string& text : texts) {
    const std::size_t comma = text.find(',');
    const auto vertex = [&](const std::string& part) {
      const std::int64_t v = parse_integer("--pair", part);
      check_vertex("--pair", "--pair " + text, static_cast<double>(v), graph);
      return static_cast<std::int32_t>(v);
    };
    pairs.push_back({vertex(text.substr(0, comma)), vertex(text.substr(comma + 1))});
  }
  return pairs;
}

/// Line, from 1, of a row in plain text; 0 for files of other formats and standard input.
std::int64_t line_of_row(const std::string& path, std::int64_t row) {
  std::ifstream file(path == "-" ? "" : path);
  std::string text;
  for (std::int64_t line = 1; std::getline(file, text); ++line) {
    const bool is_other =
        !text.empty() && (text[0] < 0 || (text[0] < ' ' && text[0] != '\t' && text[0] != '\r'));
    if (line == 1 && (is_other || text.starts_with("%%MatrixMarket"))) return 0;
    const std::size_t first = text.find_first_not_of(" \t\r");
    const bool has_numbers =
        first != std::string::npos && std::strchr("+-.0123456789", text[first]) != nullptr;
    if (has_numbers && row-- == 0) return line;
  }
  return 0;
}

/// Appends the pairs in a file of two columns.
void read_pairs(const std::string& path, const Graph& graph, std::vector<graph::Pair>& pairs) {
  const Dense<double> table = read_vectors<double>(path);
  if (table.rows() > 0 && table.columns() != 2) {
    throw BadOption("--pairs", fmt::format("{} has {}, not two: the vertices of a pair, from 0",
                                           input_name(path), counted(table.columns(), "column")));
  }
  const auto vertex = [&](std::int64_t row, std::int64_t column) {
    const double v = table(row, column);
    if (!is_vertex(v, graph)) {
      const std::int64_t line = line_of_row(path, row);
      const std::string place =
          line > 0 ? fmt::format("line {}", line) : fmt::format("pair {} (from 1)", row + 1);
      check_vertex("--pairs", fmt::format("{}, {}", input_name(path), place), v, graph);
    }
    return static_cast<std::int32_t>(v);
  };
  for (std::int64_t row = 0; row < table.rows(); ++row) pairs.push_back({vertex(row, 0), vertex(row, 1)});
}

void check_pairs(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    if (std::count(text.begin(), text.end(), ',') != 1) {
      throw BadOption("--pair", "'" + text + "' is not of the form U,V");
    }
  }
}

/// Status of solves, of which there may have been none.
Status status_of(const Report& report) {
  return report.method.empty() ? Status::direct : report.status;
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
  std::vector<Row> rows = {{"solves", std::to_string(result.solves)}};
  if (!std::isnan(result.foster_sum)) {
    rows.emplace_back("standard error", fmt::format("{:.3g}", result.error));
    rows.emplace_back("sum of w R",
                      fmt::format("{:.10g}, {} by Foster's theorem", result.foster_sum, result.foster_rank));
  }
  add_outcome(result.report, rows);
  const std::string subject =
      "Effective resistances of " + counted(static_cast<std::int64_t>(result.edges.size()), "edge");
  return finish(request, L, json, rows, headline(subject, status_of(result.report)),
                status_of(result.report));
}

ExitCode pair_resistances(const GraphRequest& request, const Graph& graph) {
  std::vector<graph::Pair> pairs = parse_pairs(request.pairs, graph);
  if (!request.pairs_file.empty()) read_pairs(request.pairs_file, graph, pairs);
  const graph::Resistances result = graph::resistances(graph.laplacian, pairs, request.solve);
  Json json = graph_json("resistance", request, graph.laplacian);
  if (!result.report.method.empty()) add_report(result.report, json);
  Json list = Json::array();
  std::vector<Row> rows;
  Dense<double> table(Device(), static_cast<std::int64_t>(pairs.size()), 3);
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const auto [first, second] = pairs[p];
    const double value = result.values[p];
    list.push_back(
        {{"first", first}, {"second", second}, {"connected", !std::isinf(value)}, {"resistance", value}});
    rows.emplace_back(fmt::format("{} - {}", first, second),
                      std::isnan(value) ? "not computed" : fmt::format("{:.12g}", value));
    table(static_cast<std::int64_t>(p), 0) = first;
    table(static_cast<std::int64_t>(p), 1) = second;
    table(static_cast<std::int64_t>(p), 2) = value;
  }
  if (!request.output.empty()) {
    write_dense(request.output, table, "vertices from 0, effective resistance of each pair");
  }
  json["solves"] = result.solves;
  if (!request.pairs_file.empty() && !request.output.empty()) {
    rows = {{"pairs", std::to_string(pairs.size())}, {"solves", std::to_string(result.solves)}};
  } else {
    json["pairs"] = list;
  }
  add_outcome(result.report, rows);
  const Status status = status_of(result.report);
  return finish(request, graph.laplacian, json, rows, headline("Effective resistances", status), status);
}

ExitCode run_resistance(const Arguments& arguments) {
  GraphRequest request;
  CLI::App app("Effective resistances of pairs of vertices, or of all edges.", "echelon graph resistance");
  set_style(app);
  add_common(app, request);
  add_solver(app, request);
  app.add_option("--pair", request.pairs, "vertices U,V, from 0; may be given several times");
  add_file_option(app, "--pairs", request.pairs_file, "file of lines: two vertices, from 0");
  app.add_flag("--edges", request.edges, "all edges");
  auto* const error =
      app.add_option("--error", request.error,
                     "with --edges: relative standard error of an estimate by random projections (0: exact)")
          ->type_name("X");
  auto* const seed = add_seed(app, request, "with --error: seed of the projections");
  add_output(app, request, "the pairs or edges with their resistances");
  if (!parse(app, arguments)) return exit_solved;
  request.command = command_text("graph resistance", arguments);
  check_page_name({"--report", request.page});
  if (request.edges == (!request.pairs.empty() || !request.pairs_file.empty())) {
    throw BadOption("--pair", "give either --pair U,V, once or several times, and --pairs FILE, or --edges");
  }
  if (request.matrix == "-" && request.pairs_file == "-") {
    throw BadOption("--pairs", "GRAPH and --pairs cannot both be read from standard input");
  }
  if (!request.edges && error->count() > 0) throw BadOption("--error", "--error belongs to --edges");
  if (error->count() == 0 && seed->count() > 0) throw BadOption("--seed", "--seed belongs to --error");
  check_pairs(request.pairs);
  require(request.solve.device);
  check_dense_format({"-o", request.output});
  check_files({request.matrix, request.pairs_file}, {{"-o", request.output}, {"--report", request.page}});
  const Graph graph = read_graph(request);
  const Interrupt interrupt(request.quiet);
  request.solve.cancel = interrupt.token();
  return request.edges ? edge_resistances(request, graph.laplacian) : pair_resistances(request, graph);
}

/// Reads the currents from a file with lines "vertex current".
Dense<double> read_sources(const std::string& path, const Graph& graph) {
  const Dense<double> table = read_vectors<double>(path);
  if (table.columns() != 2) {
    throw BadOption("--sources",
                    input_name(path) + " does not have two columns: a vertex, from 0, and its current");
  }
  Dense<double> currents(Device(), graph.laplacian.rows(), 1);
  std::fill_n(currents.data(), currents.rows(), 0.0);
  for (std::int64_t line = 0; line < table.rows(); ++line) {
    check_vertex("--sources", input_name(path), table(line, 0), graph);
    currents(static_cast<std::int64_t>(table(line, 0)), 0) += table(line, 1);
  }
  return currents;
}

ExitCode report_potentials(const GraphRequest& request, const Csr<double>& L, const Dense<double>& currents,
                           const graph::Potentials& result) {
  const std::vector<double> x(result.x.data(), result.x.data() + L.rows());
  const bool computed = std::none_of(x.begin(), x.end(), [](double value) { return std::isnan(value); });
  const auto [lowest, highest] = std::minmax_element(x.begin(), x.end());
  const double power = std::inner_product(x.begin(), x.end(), currents.data(), 0.0);
  Json json = graph_json("potential", request, L);
  add_report(result.report, json);
  std::vector<Row> rows;
  if (computed && !x.empty()) {
    json.update(Json{{"lowest", *lowest}, {"highest", *highest}, {"power", power}});
    rows = {{"lowest", fmt::format("{:.10g}", *lowest)},
            {"highest", fmt::format("{:.10g}", *highest)},
            {"power", fmt::format("{:.10g}", power)}};
    if (!request.output.empty()) write_dense(request.output, result.x, "potentials");
  }
  if (request.output.empty()) json["potentials"] = x;
  add_outcome(result.report, rows);
  const std::string imbalance = imbalance_text(MatrixRef<double>(L), currents.view());
  if (!imbalance.empty()) {
    rows.emplace_back("unbalanced", imbalance);
    json["unbalanced"] = imbalance;
  }
  return finish(request, L, json, rows, fmt::format("Potentials: {}", to_string(result.report.status)),
                result.report.status);
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
  request.command = command_text("graph potential", arguments);
  check_page_name({"--report", request.page});
  if (request.matrix == "-" && request.sources == "-") {
    throw BadOption("--sources", "GRAPH and --sources cannot both be read from standard input");
  }
  require(request.solve.device);
  check_dense_format({"-o", request.output});
  check_files({request.matrix, request.sources}, {{"-o", request.output}, {"--report", request.page}});
  const Graph graph = read_graph(request);
  const Dense<double> currents = read_sources(request.sources, graph);
  const Interrupt interrupt(request.quiet);
  request.solve.cancel = interrupt.token();
  const graph::Potentials result =
      graph::potentials(graph.laplacian, currents, request.solve, request.strict);
  return report_potentials(request, graph.laplacian, currents, result);
}

ExitCode run_fiedler(const Arguments& arguments) {
  GraphRequest request;
  CLI::App app("Smallest eigenvectors of the Laplacian, without the constants.", "echelon graph fiedler");
  set_style(app);
  add_common(app, request);
  app.add_option("-k,--count", request.count, "eigenvectors wanted (1)")->type_name("N");
  app.add_option("--tolerance", request.tolerance, "on ||L x - lambda x|| / ||L|| (1e-8)")->type_name("X");
  add_seed(app, request, "seed of the first block");
  add_output(app, request, "the eigenvectors, a column for each,");
  if (!parse(app, arguments)) return exit_solved;
  request.command = command_text("graph fiedler", arguments);
  check_page_name({"--report", request.page});
  check_dense_format({"-o", request.output});
  check_files({request.matrix}, {{"-o", request.output}, {"--report", request.page}});
  const Csr<double> L = read_graph(request).laplacian;
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
  if (!result.message.empty())
    rows.emplace_back(solved(result.status) ? "warning" : "because", result.message);
  return finish(request, L, json, rows,
                fmt::format("Smallest eigenvalues: {} after {}", to_string(result.status),
                            counted(result.iterations, "iteration")),
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
  if (arguments == Arguments{"--describe"}) return print_json({{"commands", names}}), exit_solved;
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
