// SPDX-License-Identifier: BSD-3-Clause
#include "output/files.hpp"

#include "io/output_file.hpp"

namespace echelon::tool {

void check_writable(const std::string& path) {
  if (path.empty()) return;
  const io::OutputFile opened_and_without_commit_gone_again(path);
}

FileFormat output_format(const std::string& path) {
  return file_format_of_name(path).value_or(FileFormat::matrix_market);
}

void write_text(const std::string& path, std::string_view text) {
  io::OutputFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace echelon::tool
