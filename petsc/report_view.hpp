// SPDX-License-Identifier: BSD-3-Clause
/// Reports in PETSc's viewers.
#pragma once

#include <echelon/report.hpp>

#include <petscviewer.h>

#include <string>

namespace echelon::petsc {

/// Writes each line of a text to an ASCII viewer, indented by two more columns.
PetscErrorCode view_text(PetscViewer viewer, const std::string& text);
/// Writes a report under a title.
PetscErrorCode view_report(PetscViewer viewer, const char* title, const Report& report);

}  // namespace echelon::petsc
