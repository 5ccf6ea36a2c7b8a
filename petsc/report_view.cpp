// SPDX-License-Identifier: BSD-3-Clause
#include "report_view.hpp"

#include "guard.hpp"

#include <sstream>

namespace echelon::petsc {

PetscErrorCode view_text(PetscViewer viewer, const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  %s\n", line.c_str()));
  return success;
}

PetscErrorCode view_report(PetscViewer viewer, const char* title, const Report& report) {
  std::ostringstream text;
  text << report;
  PetscCall(PetscViewerASCIIPrintf(viewer, "  %s\n", title));
  PetscCall(PetscViewerASCIIPushTab(viewer));
  PetscCall(view_text(viewer, text.str()));
  PetscCall(PetscViewerASCIIPopTab(viewer));
  return success;
}

}  // namespace echelon::petsc
