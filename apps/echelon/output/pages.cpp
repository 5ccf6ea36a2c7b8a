// SPDX-License-Identifier: BSD-3-Clause
#include "output/pages.hpp"

#include "arguments/command_line.hpp"
#include "terminal/terminal.hpp"

#include <filesystem>
#include <utility>

namespace echelon::tool {

void add_page_option(CLI::App& app, std::string& path) {
  add_file_option(app, "--report", path, "write the report as a page that a browser shows")
      ->type_name("FILE.html");
}

std::string file_title(const std::string& path) {
  return utf8(std::filesystem::path(input_name(path)).filename().string());
}

std::string command_text(const std::string& command, const Arguments& arguments) {
  std::vector<std::string> words = {"echelon"};
  for (const std::string& word : CLI::detail::split(command, ' ')) words.push_back(word);
  words.insert(words.end(), arguments.begin(), arguments.end());
  return shell_command(words);
}

std::vector<ReportRow> page_rows(const std::vector<Row>& rows) {
  std::vector<ReportRow> result;
  result.reserve(rows.size());
  for (const auto& [label, text] : rows) result.push_back({.label = label, .value = text});
  return result;
}

void add_repetition(Page& page, const std::string& command, const Json& json) {
  page.section("To repeat it");
  page.code(command);
  page.data(json_line(json));
}

}  // namespace echelon::tool
