#!/usr/bin/env python3
"""Each check finds a file that breaks its rule, and is silent about one that does not."""

import pathlib
import tempfile
import unittest

import docs_check
import include_check
import log_check
import settings_check
import style_check
import tidy_check


def includes(path, *targets, is_test=False):
    text = "".join(f"#include {target}\n" for target in targets)
    return include_check.check_file(path, text, is_test)


def style(path, text):
    return style_check.check_file(pathlib.PurePosixPath(path), text)


class Includes(unittest.TestCase):
    def test_a_folder_includes_what_is_below_it(self):
        self.assertEqual(includes("transports/ucx/endpoint.cpp", '"base/result.h"',
                                  '"transports/transport.h"', "<ucp/api/ucp.h>"), [])
        self.assertEqual(includes("daemon/collectives/all_reduce.cpp",
                                  '"daemon/kernels/reduce.h"', '"transports/transport.h"'), [])

    def test_a_folder_does_not_include_what_is_above_or_beside_it(self):
        self.assertTrue(includes("base/log/log.cpp", '"protocol/types.h"'))
        self.assertTrue(includes("libclient/session/session.cpp", '"daemon/runtime/buffer.h"'))
        self.assertTrue(includes("daemon/collectives/all_reduce.h", '"daemon/runtime/buffer.h"'))
        self.assertTrue(includes("daemon/gpu/gpu_sum.h", '"daemon/members/worker.h"'))
        self.assertTrue(includes("daemon/members/worker.h", '"daemon/exchange/exchange.h"'))
        self.assertTrue(includes("daemon/exchange/exchange.cpp", '"daemon/families/rounds/rounds.h"'))
        self.assertTrue(includes("daemon/families/rounds/rounds.h", '"daemon/families/groups/groups.h"'))
        self.assertTrue(includes("daemon/families/serving/serving.h", '"daemon/jobs/engine.h"'))
        self.assertTrue(includes("service/controller/core/core.cpp", '"protocol/types.h"'))
        self.assertTrue(includes("service/controller/core/nodes/membership.h", '"service/controller/core/jobs/job.h"'))
        self.assertTrue(includes("service/controller/policies/policy.h", '"service/controller/core/nodes/cluster.h"'))
        self.assertEqual(includes("service/controller/core/jobs/job.h", '"service/controller/core/nodes/cluster.h"'), [])
        self.assertTrue(includes("examples/trainer.c", '"libclient/session/session.h"'))

    def test_a_floor_sees_those_below_it(self):
        self.assertEqual(includes("libclient/session/session.h", '"libclient/link/link.h"'), [])
        self.assertTrue(includes("libclient/link/link.h", '"libclient/session/session.h"'))
        self.assertTrue(includes("base/result.h", '"base/log/log.h"'))
        self.assertTrue(includes("daemon/sparse/wire/wire.h", '"daemon/sparse/sparse_all_reduce.h"'))
        self.assertEqual(includes("daemon/sparse/sparse_all_reduce.h", '"daemon/sparse/wire/wire.h"'), [])
        self.assertEqual(includes("libclient/testing/fake.h", '"libclient/session/session.h"'), [])
        self.assertTrue(includes("service/controller/core/nodes/membership.h", '"service/controller/core/tests/fixture.h"'))

    def test_engines_are_seen_only_by_their_own_folder(self):
        self.assertEqual(includes("daemon/control/controller_link.cpp", "<zmq.h>"), [])
        self.assertTrue(includes("daemon/clients/client.cpp", "<zmq.h>"))
        self.assertTrue(includes("daemon/families/groups/groups.cpp", "<ucp/api/ucp.h>"))
        self.assertTrue(includes("daemon/main.cpp", "<toml++/toml.h>"))

    def test_the_core_has_no_clock_and_no_chance(self):
        self.assertTrue(includes("service/controller/core/core.cpp", "<random>"))
        self.assertTrue(includes("service/controller/policies/policy.h", '"base/loop/event_loop.h"'))
        self.assertEqual(includes("service/controller/core/core_test.cpp", "<random>",
                                  is_test=True), [])

    def test_the_public_header_needs_nothing(self):
        self.assertEqual(includes("capi/pace.h", "<stddef.h>", "<stdint.h>"), [])
        self.assertTrue(includes("capi/pace.h", "<stdbool.h>"))


class Style(unittest.TestCase):
    def test_a_clean_header_is_clean(self):
        self.assertEqual(style("base/x.h", "// X: a thing.\n#pragma once\n"), [])

    def test_headers_say_what_they_are_and_are_guarded(self):
        self.assertTrue(style("base/x.h", "#pragma once\n"))
        self.assertTrue(style("base/x.h", "// X: a thing.\n"))

    def test_files_have_one_thing_in_them(self):
        self.assertEqual(style("base/x.cpp", "int a;\n" * 400), [])
        self.assertTrue(style("base/x.cpp", "int a;\n" * 401))

    def test_white_space(self):
        self.assertTrue(style("base/x.cpp", "\tint a;\n"))
        self.assertTrue(style("base/x.cpp", "int a; \n"))
        self.assertTrue(style("base/x.cpp", "int a;"))

    def test_tests_neither_sleep_nor_take_fixed_ports(self):
        nap = "sle" + "ep"
        self.assertTrue(style("base/x_test.cpp", f"std::this_thread::{nap}_for(1s);\n"))
        self.assertTrue(style("tests/cluster/run.py", f"time.{nap}(1)\n"))
        self.assertTrue(style("tests/cluster/x.cpp", 'bind("tcp://127.0.0.1' + ':5555");\n'))
        self.assertEqual(style("tests/cluster/x.cpp", 'bind("tcp://127.0.0.1:0");\n'), [])
        self.assertEqual(style("examples/x.cpp", f"{nap}(1);\n"), [])

    def test_a_library_does_not_end_its_host(self):
        self.assertTrue(style("libclient/x.cpp", "    std::abort();\n"))
        self.assertTrue(style("daemon/x.cpp", "    exit(1);\n"))
        self.assertEqual(style("daemon/x.cpp", "    group.abort(reason);\n"), [])
        self.assertEqual(style("daemon/main.cpp", "    exit(1);\n"), [])
        self.assertEqual(
            style("daemon/x.cpp", "    _exit(1);  // style: allow ending, because of the fork\n"),
            [])

    def test_no_path_of_a_machine(self):
        self.assertTrue(style("docs/x.md", "see /ho" + "me/ann/pace\n"))
        self.assertEqual(style("docs/x.md", "see daemon/home/x\n"), [])

    def test_every_folder_is_explained_by_a_readme(self):
        names = ("README.md", "a/x.cpp", "a/README.md", "b/x.cpp", "c/x.cpp")
        paths = [pathlib.PurePosixPath(name) for name in names]
        found = style_check.folders_without_readme(paths, lambda _: "`b/` is for this and that")
        self.assertEqual([problem.split(":")[0] for problem in found], ["c/"])


class Links(unittest.TestCase):
    def test_links_lead_somewhere(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "a.md").write_text("# One thing, here\n", encoding="utf-8")
            good = "[a](a.md) [b](a.md#one-thing-here) [c](https://example.org) `[d](e.md)`\n"
            self.assertEqual(docs_check.check_file("b.md", good, root), [])
            self.assertTrue(docs_check.check_file("b.md", "[a](c.md)\n", root))
            self.assertTrue(docs_check.check_file("b.md", "[a](a.md#two)\n", root))

    def test_headings_are_named_as_the_web_view_names_them(self):
        self.assertEqual(docs_check.anchors("# `pace_call`, `__len__`\n## _One_ *thing*\n## One thing\n```\n# none\n```\n"),
                         {"pace_call-__len__", "one-thing", "one-thing-1"})


class Settings(unittest.TestCase):
    def test_a_name_that_no_table_has_is_found(self):
        names = settings_check.names_of("| `socket` | `x` |\n")
        self.assertEqual(settings_check.check_uses("x.cpp", 'settings.text("socket")', names), [])
        self.assertTrue(settings_check.check_uses("x.cpp", 'settings->text("sokcet")', names))

    def test_a_setting_that_nobody_reads_is_found(self):
        self.assertEqual(settings_check.unread({"socket"}, ['text("socket")']), [])
        self.assertTrue(settings_check.unread({"socket"}, ["socket"]))

    def test_a_field_that_is_filled_and_that_nobody_looks_at_is_found(self):
        filler = 'config.insecure = settings.enabled("insecure");'
        self.assertEqual(settings_check.unused("c.cpp", filler, ["link.insecure = config.insecure;"]), [])
        self.assertTrue(settings_check.unused("c.cpp", filler, ["link.insecure = true;"]))


    def test_an_option_of_jobs_that_nobody_looks_at_is_found(self):
        header = "struct JobOptions {\n    std::vector<uint32_t> edges;\n    double alpha = 0.5;\n};\n"
        used = "use(job.options().edges, options_.alpha);"
        self.assertEqual(settings_check.unused_options(header, [used]), [])
        self.assertEqual(len(settings_check.unused_options(header, ["options.alpha = 1; edges()"])), 2)


class Tidy(unittest.TestCase):
    def test_it_reads_commands_without_precompiled_headers_of_either_compiler(self):
        for precompiled in (
                " -fpch-preprocess --param=ggc-min-heapsize=1048576 -Winvalid-pch -include /a/b.dir/cmake_pch.hxx",
                " -Xclang -fno-pch-timestamp -fpch-instantiate-templates -Winvalid-pch"
                " -Xclang -include-pch -Xclang /a/b.dir/cmake_pch.hxx.pch"
                " -Xclang -include -Xclang /a/b.dir/cmake_pch.hxx"):
            self.assertEqual(tidy_check.PRECOMPILED.sub("", f"c++{precompiled} -O1 -include c.h -c d.cpp"),
                             "c++ -O1 -include c.h -c d.cpp")


class Log(unittest.TestCase):
    TABLE = ('inline constexpr LogEvent kPeerGone{"peer-gone", "peer is " "gone",\n    "' + "1" * 12 + "4111b" + "1" * 15
             + '", LogLevel::warning, "It, and more.", ""};\n')

    def test_a_row_is_read_over_its_lines(self):
        self.assertEqual(log_check.rows_of(self.TABLE),
                         {"kPeerGone": ("peer-gone", "peer is gone", "1" * 12 + "4111b" + "1" * 15)})

    def test_what_two_rows_share_is_found(self):
        rows = {"kOne": ("one", "first", "1"), "kTwo": ("two", "second", "2")}
        self.assertEqual(log_check.doubled(rows), [])
        self.assertEqual(len(log_check.doubled(rows | {"kThree": ("one", "third", "2")})), 2)

    def test_an_event_that_no_program_says_is_found(self):
        rows = log_check.rows_of(self.TABLE)
        said = {"daemon/a.cpp": "log_event(base::events::kPeerGone);"}
        noted = {"service/controller/core/a.cpp": 'turn.note("peer is gone", detail);'}
        self.assertEqual(log_check.unsaid(rows, said), [])
        self.assertEqual(log_check.unsaid(rows, noted), [])
        self.assertTrue(log_check.unsaid(rows, {"daemon/a.cpp": '"peer is gone" kPeerGoneToo'}))

    def test_a_warning_that_is_in_no_table_is_found(self):
        self.assertEqual(log_check.without_event("daemon/a.cpp", "base::log_warning(warning); log_info(\"x\");"), [])
        self.assertTrue(log_check.without_event("daemon/a.cpp", 'base::log_error(\n    "no memory");'))


if __name__ == "__main__":
    unittest.main()
