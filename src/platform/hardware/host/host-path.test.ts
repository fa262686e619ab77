import { expect, it } from "vitest";
import { errorCode, HostFileError, writeErrorOutcome } from "./host-error.ts";
import { mountPointOf, nameReadOnlyMount } from "./host-path.ts";

const MOUNTINFO = `22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/root rw
24 22 0:22 / /sys rw,nosuid,nodev,noexec shared:7 - sysfs sysfs rw
31 22 0:22 / /host-sys ro,nosuid master:7 - sysfs sysfs rw
35 31 0:22 /devices/virtual /host-sys/devices/virtual ro - sysfs sysfs rw
40 22 0:31 / /mnt/with\\040blank ro - tmpfs tmpfs ro
`;
const MOUNTS = `/dev/root / ext4 rw,relatime 0 0
sysfs /host-sys sysfs ro,nosuid 0 0
`;

it.each([
  ["/host-sys/class/powercap", MOUNTINFO, "/host-sys"],
  ["/host-sys/devices/virtual/powercap/intel-rapl", MOUNTINFO, "/host-sys/devices/virtual"],
  ["/host-sys-too/class", MOUNTINFO, "/"],
  ["/mnt/with blank/sys", MOUNTINFO, "/mnt/with blank"],
  ["/host-sys/devices/system/cpu", MOUNTS, "/host-sys"],
  ["/sys/class", "", undefined],
  ["/sys/class", "nonsense", undefined],
])("names the mount of %s", (path, table, point) => {
  expect(mountPointOf(path, table)).toBe(point);
});

it("X-70 names the read-only mount in the outcome, or the file without a mount table", () => {
  const error = new HostFileError("EROFS", "x", "write");
  const path = "/host-sys/class/powercap/x";
  expect(
    writeErrorOutcome(
      nameReadOnlyMount(error, path, () => MOUNTINFO),
      "package-0",
    ),
  ).toEqual({
    result: "blocked",
    message: "package-0: /host-sys is mounted read-only: mount the host's /sys writable at HOST_SYS_ROOT (EROFS)",
  });
  expect(
    writeErrorOutcome(
      nameReadOnlyMount(error, path, () => undefined),
      "package-0",
    ).message,
  ).toContain(`${path} is mounted`);
  const other = new HostFileError("EACCES", "x", "write");
  expect(nameReadOnlyMount(other, path, () => MOUNTINFO)).toBe(other);
  expect(errorCode(other)).toBe("EACCES");
});
