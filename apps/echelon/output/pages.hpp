// SPDX-License-Identifier: BSD-3-Clause
/// Pages in HTML that --report writes.
#pragma once

#include "commands/commands.hpp"
#include "output/json.hpp"
#include "terminal/text.hpp"

#include <echelon/page/page.hpp>

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace echelon::tool {

/// Adds --report FILE.html.
void add_page_option(CLI::App& app, std::string& path);

/// The name of a file without its folders, as the title of a plot or a page.
[[nodiscard]] std::string file_title(const std::string& path);
/// The command line that was given: "echelon", the words of the command and its arguments.
[[nodiscard]] std::string command_text(const std::string& command, const Arguments& arguments);
/// Rows of a table of facts as those of a page.
[[nodiscard]] std::vector<ReportRow> page_rows(const std::vector<Row>& rows);
/// Adds the command that repeats the work, and the report in JSON.
void add_repetition(Page& page, const std::string& command, const Json& json);

}  // namespace echelon::tool
