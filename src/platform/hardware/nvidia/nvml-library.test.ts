import { dirname } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildNvmlStub, type NvmlStub } from "../testing/nvml-stub.ts";
import { loadNvml, nvmlFiles } from "./nvml-library.ts";

describe("the NVML library", () => {
  let stub: NvmlStub;
  beforeAll(() => {
    stub = buildNvmlStub();
    stub.reset(2);
  });
  afterAll(() => stub.remove());

  it("is found in a folder of the host that the linker does not search, as with CDI on RHEL", async () => {
    const files = nvmlFiles("libnvidia-ml.so.1", ["/nowhere", dirname(stub.library)]);
    expect(files).toEqual(["libnvidia-ml.so.1", stub.library]);
    const nvml = await loadNvml(files);
    await nvml.call("init");
    expect(await nvml.call("count")).toEqual([2]);
  });

  it("is searched nowhere else if NVML_LIBRARY is a path", () => {
    expect(nvmlFiles("/opt/libnvidia-ml.so.1", [dirname(stub.library)])).toEqual(["/opt/libnvidia-ml.so.1"]);
  });

  it("is named with every file that was tried if none can be loaded", async () => {
    await expect(loadNvml(["libnone.so.1", "/nowhere/libnone.so.1"])).rejects.toThrow(
      /^cannot load the NVML library libnone\.so\.1 or \/nowhere\/libnone\.so\.1 \(.*install the NVIDIA driver/,
    );
  });
});
