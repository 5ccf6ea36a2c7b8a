// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "page/markup.hpp"
#include "page/page_style.hpp"

#include <echelon/page/page.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace echelon {

namespace {

constexpr std::size_t longest_data = 400'000;  // bytes of JSON on a page

/// Class of the style sheet.
std::string_view class_of(Severity severity) {
  return to_string(severity);
}

std::string_view sign_of(Severity severity) {
  switch (severity) {
    case Severity::good:
      return "\u2713";
    case Severity::warning:
      return "!";
    case Severity::failure:
      return "\u2717";
    case Severity::note:
      break;
  }
  return "\u2022";
}

std::string explained(const ReportRow& row) {
  std::string text = escaped(row.value);
  if (!row.explanation.empty()) text += fmt::format("<small>{}</small>", escaped(row.explanation));
  return text;
}

/// A list of labels and values.
std::string description_list(std::string_view name, std::span<const ReportRow> rows) {
  if (rows.empty()) return {};
  std::string list = fmt::format("<dl class=\"{}\">\n", name);
  for (const ReportRow& row : rows) {
    list += fmt::format("<div class=\"{}\"><dt>{}</dt><dd>{}</dd></div>\n", class_of(row.severity),
                        escaped(row.label), explained(row));
  }
  return list + "</dl>\n";
}

std::string cells(const std::vector<std::string>& texts, std::size_t text_columns, std::string_view head) {
  std::string line = "<tr>";
  for (std::size_t j = 0; j < texts.size(); ++j) {
    const std::string_view alignment = j < text_columns ? "" : " class=\"number\"";
    if (!head.empty() || j == 0) {
      line += fmt::format("<th scope=\"{}\"{}>{}</th>", head.empty() ? "row" : head, alignment,
                          escaped(texts[j]));
    } else {
      line += fmt::format("<td{}>{}</td>", alignment, escaped(texts[j]));
    }
  }
  return line + "</tr>\n";
}

std::string caption_of(std::string_view text) {
  return text.empty() ? std::string() : fmt::format("<caption>{}</caption>\n", escaped(text));
}

/// A word for the shell.
std::string shell_word(std::string_view word) {
  const bool plain = !word.empty() && std::ranges::all_of(word, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-+=.,:/@%").find(c) != std::string_view::npos;
  });
  if (plain) return std::string(word);
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace

Page::Page(std::string_view title, std::string_view subtitle)
    : heading_(fmt::format("<h1>{}</h1>\n", escaped(title))), title_(escaped(title)) {
  if (!subtitle.empty()) heading_ += fmt::format("<p class=\"subtitle\">{}</p>\n", escaped(subtitle));
}

void Page::outcome(const ReportRow& row) {
  body_ +=
      fmt::format("<p class=\"outcome {}\"><span aria-hidden=\"true\">{}</span> <strong>{}</strong> {}</p>\n",
                  class_of(row.severity), sign_of(row.severity), escaped(row.label), explained(row));
}

void Page::section(std::string_view heading) {
  if (sections_++ > 0) body_ += "</section>\n";
  const std::string text = escaped(heading);
  body_ +=
      fmt::format("<section aria-labelledby=\"part-{0}\">\n<h2 id=\"part-{0}\">{1}</h2>\n", sections_, text);
  contents_ += fmt::format("<li><a href=\"#part-{}\">{}</a></li>\n", sections_, text);
}

void Page::paragraph(std::string_view text) {
  body_ += fmt::format("<p>{}</p>\n", escaped(text));
}

void Page::figures(std::span<const ReportRow> rows) {
  body_ += description_list("figures", rows);
}

void Page::facts(std::span<const ReportRow> rows) {
  body_ += description_list("facts", rows);
}

void Page::table(const PageTable& table, std::size_t most_rows) {
  const std::string label = table.caption.empty() ? "table" : escaped(table.caption);
  body_ += fmt::format("<div class=\"scroll\" role=\"region\" aria-label=\"{}\" tabindex=\"0\"><table>\n{}",
                       label, caption_of(table.caption));
  body_ += "<thead>" + cells(table.columns, table.text_columns, "col") + "</thead>\n<tbody>\n";
  const std::size_t shown = std::min(most_rows, table.rows.size());
  for (std::size_t i = 0; i < shown; ++i) body_ += cells(table.rows[i], table.text_columns, {});
  body_ += "</tbody></table></div>\n";
  if (shown < table.rows.size())
    paragraph(fmt::format("{} more rows are not shown.",
                          grouped(std::ssize(table.rows) - static_cast<std::int64_t>(shown))));
}

void Page::bars(std::string_view caption, std::span<const PageBar> bars) {
  double largest = 0;
  for (const PageBar& bar : bars) largest = std::max(largest, bar.value);
  if (!(largest > 0)) return;
  body_ += "<table class=\"bars\">\n" + caption_of(caption);
  for (const PageBar& bar : bars) {
    const double share = std::clamp(bar.value / largest, 0.0, 1.0);
    body_ += fmt::format(
        "<tr><th scope=\"row\">{}</th><td aria-hidden=\"true\"><span style=\"width:{:.1f}%\"></span></td>"
        "<td class=\"number\">{}</td></tr>\n",
        escaped(bar.label), 100 * share, escaped(bar.text));
  }
  body_ += "</table>\n";
}

void Page::picture(std::string_view svg, std::string_view caption) {
  body_ += fmt::format("<figure>{}<figcaption>{}</figcaption></figure>\n", svg, escaped(caption));
}

void Page::code(std::string_view text) {
  body_ += fmt::format("<pre tabindex=\"0\"><code>{}</code></pre>\n", escaped(text));
}

void Page::data(std::string_view json) {
  if (json.size() > longest_data) {
    paragraph(fmt::format("The data of this page, {} bytes of JSON, are too long to be part of it.",
                          grouped(std::ssize(json))));
    return;
  }
  // "<" in a text of JSON may begin the end of the script element.
  body_ += "<script type=\"application/json\" id=\"data\">";
  for (const char c : json) {
    if (c == '<') {
      body_ += "\\u003c";
    } else {
      body_ += c;
    }
  }
  body_ += "</script>\n";
}

std::string Page::html() const {
  return at_api_boundary([&] {
    const std::string contents =
        sections_ < 2 ? std::string()
                      : fmt::format("<nav aria-label=\"Contents\"><ul>\n{}</ul></nav>\n", contents_);
    return fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        // The browser itself refuses whatever would be loaded or run.
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
        "'unsafe-inline'; "
        "img-src data:\">\n<link rel=\"icon\" "
        "href=\"data:,\">\n<title>{}</title>\n<style>{}</style>\n</head>\n"
        "<body>\n<main>\n<header>\n{}{}</header>\n{}{}</main>\n</body>\n</html>\n",
        title_, page_style, heading_, contents, body_, sections_ > 0 ? "</section>\n" : "");
  });
}

std::string shell_command(std::span<const std::string> words) {
  return at_api_boundary([&] {
    std::string line;
    for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_word(word);
    return line;
  });
}

}  // namespace echelon
