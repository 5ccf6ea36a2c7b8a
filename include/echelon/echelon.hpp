// SPDX-License-Identifier: BSD-3-Clause
/// Everything.
#pragma once

#include <echelon/array.hpp>
#include <echelon/context.hpp>
#include <echelon/coo.hpp>
#include <echelon/csc.hpp>
#include <echelon/csr.hpp>
#include <echelon/dense.hpp>
#include <echelon/device.hpp>
#include <echelon/error.hpp>
#include <echelon/io/matrix_market.hpp>
#include <echelon/linalg.hpp>
#include <echelon/matrix.hpp>
#include <echelon/methods.hpp>
#include <echelon/options.hpp>
#include <echelon/report.hpp>
#include <echelon/solve.hpp>
#include <echelon/solver.hpp>
#include <echelon/sparse_product.hpp>
#include <echelon/sparse_sum.hpp>
#include <echelon/structure.hpp>
#include <echelon/transform.hpp>
