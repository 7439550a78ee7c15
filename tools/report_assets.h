/* SPDX-License-Identifier: MIT */
/* The files report.css and report.js, as the build put them into the program. */
#ifndef CLPOOL_TOOLS_REPORT_ASSETS_H
#define CLPOOL_TOOLS_REPORT_ASSETS_H

extern const char clpi_report_style[];
extern const char clpi_report_script[];

#endif
