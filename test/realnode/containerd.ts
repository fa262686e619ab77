// containerd with every file of its own, and the images that pods use: nothing is pulled from a registry.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ProgramSpec } from "../controlplane/server-process.ts";
import { run } from "./command.ts";
import type { Network } from "./network.ts";
import { buildGo, buildOwnImage } from "./own-image.ts";

const pauseImage = "localhost/pause:1";

export interface Containerd {
  readonly socket: string;
  readonly spec: ProgramSpec;
  /** Makes the images of a docker or OCI archive known to the kubelet. */
  importImage(archive: string): Promise<void>;
  importPause(): Promise<void>;
  ctr(...args: string[]): Promise<string>;
}

export function containerd(folder: string, network: Network): Containerd {
  const own = join(folder, "containerd");
  const socket = join(own, "c.sock");
  const cni = join(own, "cni");
  mkdirSync(cni, { recursive: true });
  writeFileSync(join(own, "config.toml"), configOf(own, socket, cni));
  writeFileSync(join(cni, "10-bridge.conflist"), JSON.stringify(podNetwork(own)));
  const ctr = async (...args: string[]) => run("ctr", ["--address", socket, "--namespace", "k8s.io", ...args]);
  const importImage = async (archive: string) => void (await ctr("images", "import", archive));
  return {
    socket,
    ctr,
    importImage,
    importPause: async () => importImage(await buildPause(own)),
    spec: {
      name: "containerd",
      // containerd does not notice the end of the test process by itself.
      command: ["setpriv", "--pdeathsig", "KILL", ...network.enter, "containerd"],
      args: ["--config", join(own, "config.toml")],
      ready: async () => (await ctr("version")) !== "",
    },
  };
}

const configOf = (own: string, socket: string, cni: string) => `version = 2
root = "${own}/root"
state = "${own}/state"
[grpc]
  address = "${socket}"
[plugins."io.containerd.internal.v1.opt"]
  path = "${own}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  netns_mounts_under_state_dir = true
  # Containers on a machine without CAP_SYS_RESOURCE cannot lower their score.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${cni}"
`;

const podNetwork = (own: string) => ({
  cniVersion: "0.4.0",
  name: "joulie-test",
  plugins: [
    {
      type: "bridge",
      bridge: "pods0",
      isGateway: true,
      ipMasq: true,
      hairpinMode: true,
      ipam: {
        type: "host-local",
        dataDir: `${own}/ipam`,
        ranges: [[{ subnet: "10.88.0.0/24" }]],
        routes: [{ dst: "0.0.0.0/0" }],
      },
    },
    { type: "portmap", capabilities: { portMappings: true } },
  ],
});

async function buildPause(own: string): Promise<string> {
  const binary = join(own, "pause");
  await buildGo(join(import.meta.dirname, "pause", "pause.go"), binary);
  const files = new Map([["/pause", binary]]);
  return buildOwnImage(own, { name: pauseImage, files, entrypoint: ["/pause"], user: "65535:65535" });
}
