/** The service that a daemon runs as, by its cgroup. */
import { expect, test } from "vitest";
import { unitIn } from "../../src/cli/reload-act.ts";

test.each([
  ["0::/system.slice/perpwatch.service\n", { name: "perpwatch", isUsers: false }],
  [
    "0::/user.slice/user-1000.slice/user@1000.service/app.slice/perpwatch.service\n",
    { name: "perpwatch", isUsers: true },
  ],
  ["1:name=systemd:/system.slice/perpwatch-b.service\n0::/\n", { name: "perpwatch-b", isUsers: false }],
  ["0::/user.slice/user-1000.slice/user@1000.service/app.slice/terminal.scope\n", null],
  ["0::/system.slice/docker-1234.scope\n", null],
  ["", null],
])("%j", (cgroup, unit) => {
  expect(unitIn(cgroup)).toEqual(unit);
});
