import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { run } from "./cli.ts";
import { schedulerConfigText } from "./scheduler-config.ts";

const options = {
  namespace: "joulie-system",
  service: "joulie-scheduler-extender",
  port: "9876",
  schedulerName: "default-scheduler",
  tls: false,
  wholeNodes: false,
  energy: false,
};

async function joulie(args: readonly string[]) {
  const said = { out: "", err: "" };
  const world = {
    env: {},
    machine: { isTerminal: false, exists: () => false },
    out: (text: string) => (said.out += text),
    err: (text: string) => (said.err += text),
  };
  await run(args, [], world);
  return said;
}

describe("joulie scheduler-config", () => {
  it("prints the configuration of the guide, with names instead of whole Nodes", () => {
    const guide = readFileSync(join(import.meta.dirname, "../../../docs/guides/kube-scheduler.yaml"), "utf8");
    expect(parse(schedulerConfigText({ ...options, wholeNodes: true }))).toEqual(parse(guide));
    expect(parse(schedulerConfigText(options))).toMatchObject({ extenders: [{ nodeCacheCapable: true }] });
  });

  it("prints the configuration of the guide for SCORING=energy", () => {
    const guide = readFileSync(join(import.meta.dirname, "../../../docs/guides/kube-scheduler-energy.yaml"), "utf8");
    expect(parse(schedulerConfigText({ ...options, energy: true }))).toEqual(parse(guide));
  });

  it.each([
    ["observe", false],
    ["partition", false],
    ["energy", true],
    ["energy-sleep", true],
  ])("PRE-07 prints for the preset %s the configuration with energy: %s", async (preset, energy) => {
    const { out } = await joulie(["scheduler-config", "--preset", preset]);
    expect(out).toBe(schedulerConfigText({ ...options, energy }));
    expect((await joulie(["scheduler-config", "--preset", preset, "--energy"])).out).toBe(
      schedulerConfigText({ ...options, energy: true }),
    );
  });

  it("PRE-07 rejects a preset that does not exist", async () => {
    expect((await joulie(["scheduler-config", "--preset", "full"])).err).toContain("Allowed choices are observe");
  });

  it("names another Service, scheduler and scheme", () => {
    const text = schedulerConfigText({
      ...options,
      namespace: "power",
      service: "x",
      port: "443",
      schedulerName: "joulie-scheduler",
      tls: true,
    });
    expect(parse(text)).toMatchObject({
      profiles: [{ schedulerName: "joulie-scheduler" }],
      extenders: [{ urlPrefix: "https://x.power.svc.cluster.local:443", enableHTTPS: true }],
    });
  });

  it.each([undefined, "10.96.0.7"])("expects the Service's name in the certificate, with the host %s", (host) => {
    const text = schedulerConfigText({ ...options, tls: true, ...(host !== undefined && { host }) });
    expect(parse(text)).toMatchObject({
      extenders: [{ tlsConfig: { serverName: "joulie-scheduler-extender.joulie-system.svc" } }],
    });
  });

  it("names the files of kube-scheduler's host for HTTPS", () => {
    const files = { caFile: "/etc/ca.crt", certFile: "/etc/tls.crt", keyFile: "/etc/tls.key" };
    const text = schedulerConfigText({ ...options, tls: true, host: "fd00::1", ...files });
    expect(parse(text)).toMatchObject({
      extenders: [
        {
          urlPrefix: "https://[fd00::1]:9876",
          tlsConfig: { serverName: "joulie-scheduler-extender.joulie-system.svc", ...files },
        },
      ],
    });
    expect(parse(schedulerConfigText(options)).extenders[0]).not.toHaveProperty("tlsConfig");
  });
});
