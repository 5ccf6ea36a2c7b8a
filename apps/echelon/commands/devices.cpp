// SPDX-License-Identifier: BSD-3-Clause
#include "arguments/command_line.hpp"
#include "commands/commands.hpp"
#include "output/json.hpp"
#include "terminal/terminal.hpp"
#include "terminal/text.hpp"

#include <echelon/device.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <vector>

namespace echelon::tool {

namespace {

/// A row of the table.
struct DeviceRow {
  std::string device;  ///< name for --device
  std::string hardware;
  std::string platform = {};  ///< of OpenCL, else empty
  std::string driver = {};
  std::string refusal = {};  ///< why it cannot be used; empty if it can
};

std::vector<DeviceRow> device_rows() {
  std::vector<DeviceRow> rows;
  for (const Device& device : {Device::serial(), Device()}) rows.push_back({device.name(), hardware(device)});
  for (int id = 0; id < cuda_device_count(); ++id) {
    rows.push_back({Device::cuda(id).name(), hardware(Device::cuda(id))});
  }
  int id = 0;
  for (const OpenClDeviceInfo& info : opencl_devices()) {
    rows.push_back({Device::opencl(id++).name(), info.name, info.platform, info.driver, info.refusal});
  }
  return rows;
}

std::string devices_text(const std::vector<DeviceRow>& rows) {
  std::vector<std::vector<std::string>> cells = {{"DEVICE", "HARDWARE", "PLATFORM", "DRIVER", "USABLE"}};
  for (const DeviceRow& row : rows) {
    const auto word = [](const std::string& text) { return text.empty() ? std::string("-") : text; };
    cells.push_back({row.device, row.hardware, word(row.platform), word(row.driver),
                     row.refusal.empty() ? "yes" : "no: " + row.refusal});
  }
  return fmt::format("{}\nCUDA is {}built in, OpenCL is {}built in.\n", table(cells),
                     cuda_built() ? "" : "not ", opencl_built() ? "" : "not ");
}

Json devices_json(const std::vector<DeviceRow>& rows) {
  const auto or_null = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  Json list = Json::array();
  for (const DeviceRow& row : rows) {
    list.push_back({{"device", row.device},
                    {"hardware", row.hardware},
                    {"platform", or_null(row.platform)},
                    {"driver", or_null(row.driver)},
                    {"usable", row.refusal.empty()},
                    {"refusal", or_null(row.refusal)}});
  }
  return {{"cuda_built", cuda_built()}, {"opencl_built", opencl_built()}, {"devices", list}};
}

}  // namespace

ExitCode run_devices(const Arguments& arguments) {
  bool json = false;
  CLI::App app("Lists the devices of this machine: the host, NVIDIA GPUs, and devices of OpenCL drivers.",
               "echelon devices");
  set_style(app);
  app.add_flag("--json", json, "print one line of JSON");
  if (!parse(app, arguments)) return exit_solved;
  if (json) {
    print_json(devices_json(device_rows()));
  } else {
    print_result(devices_text(device_rows()));
  }
  return exit_solved;
}

}  // namespace echelon::tool
