import { describe, expect, it } from "vitest";
import { parseConfig, variableNames } from "../platform/config/index.ts";
import { programs } from "./index.ts";

const configs = await Promise.all(programs.map(async (program) => program.config()));
const known = configs.flatMap(variableNames);
const machine = { isTerminal: false, exists: () => false };

/** What every program together says to a name in its environment. */
const warnings = (name: string): string[] =>
  configs.flatMap((config) => {
    const parsed = parseConfig(config, { env: { [name]: "1" }, flags: {}, machine, known });
    return [...(parsed.ok ? parsed.value : parsed.error).warnings];
  });

const common = {
  shells:
    "PATH HOME USER LOGNAME SHELL TERM LANG LC_ALL LC_CTYPE PWD OLDPWD SHLVL HOSTNAME HOST_NAME USER_NAME MAIL EDITOR PAGER DISPLAY TZ TMPDIR UID SUDO_USER SSH_TTY XDG_STATE_HOME XDG_CACHE_HOME XDG_RUNTIME_DIR NO_COLOR HTTP_PROXY NO_PROXY",
  pods: "POD_IP POD_IPS POD_UID POD_CIDR HOST_IP NODE_IP NODE_ID NODE_ADDR NAMESPACE SERVICE_ACCOUNT MY_POD_NAME MY_NODE_NAME MY_POD_NAMESPACE K8S_NODE_NAME CONTAINER_NAME CLUSTER_NAME SERVICE_NAME APP_NAME APP_ENV DB_NAME DB_HOST ZONE_NAME IMAGE_NAME CPU_LIMIT MEMORY_LIMIT GOMAXPROCS GOMEMLIMIT KUBE_NAMESPACE KUBE_CONTEXT",
  charts:
    "RELEASE_NAME RELEASE_NAMESPACE CHART_NAME HELM_NAMESPACE HELM_DRIVER LEADER_ELECT LEADER_NAME LEASE_TIME LEASE_ID",
  runtimes:
    "NODE_ENV NODE_PATH NODE_OPTIONS NODE_VERSION NODE_HOME NODE_DEBUG NODE_EXTRA_CA_CERTS YARN_VERSION NPM_TOKEN NPM_CONFIG_LOGLEVEL PYTHONPATH VIRTUAL_ENV JAVA_HOME GOPATH LD_LIBRARY_PATH SSL_CERT_DIR RUST_LOG",
  logs: "LOG_DIR LOG_FILE LOG_PATH LOG_NAME LOG_TYPE LOG_HOME LOG_OUTPUT DEBUG VERBOSE OTEL_LOG_LEVEL OTEL_SERVICE_NAME",
  servers:
    "PORT CACHE_DIR CACHE_URL CACHE_SIZE CACHE_KEY REDIS_URL DATABASE_URL BASE_URL BASE_NAME CODE_NAME TABLE_NAME FILE_NAME STATIC_DIR STATIC_URL STATE_FILE STATS_DIR STATUS_DIR DATA_DIR QUEUE_NAME QUEUE_URL POOL_NAME POOL_SIZE METRICS_PATH METRICS_PORT METRICS_URL",
  pipelines:
    "CI BUILD_NUMBER BUILD_ID JOB_NAME JOB_URL JOB_BASE_NAME NODE_LABELS WORKSPACE JENKINS_URL GIT_COMMIT GIT_BRANCH STAGE_NAME STAGE_DIR BRANCH_NAME AGENT_NAME AGENT_HOME AGENT_ROLE AGENT_TYPE AGENT_ID AGENT_OS GITHUB_SHA GITHUB_TOKEN RUNNER_OS RUNNER_NAME CI_JOB_NAME CI_NODE_INDEX CIRCLE_JOB TARGETARCH TARGET_DIR TARGET_BASE TARGET_RELEASE PROD_NAME",
  clusters:
    "NVIDIA_VISIBLE_DEVICES CUDA_HOME CUDA_VISIBLE_DEVICES NCCL_DEBUG MASTER_ADDR WORLD_SIZE NODE_RANK NODE_TYPE NODE_ROLE LOCAL_RANK SLURM_NODELIST SLURMD_NODENAME SLURM_JOB_NAME HOST_PROC HOST_SYS HOST_ROOT GPU_COUNT GPU_TYPE MODEL_NAME",
};

describe("names that others set", () => {
  it.each(Object.entries(common))("of %s are no slips for ours", (_, names) => {
    const alarms = names.split(" ").filter((name) => warnings(name).length > 0);
    expect(alarms).toEqual([]);
  });

  it("cover more than 150 names", () => {
    expect(new Set(Object.values(common).flatMap((names) => names.split(" "))).size).toBeGreaterThan(150);
  });
});

it.each(["TATE_DIR", "KUBE_CONFIG", "PODNAME", "NODE_SELECTORS", "STATIC_HP_FRACT", "CACHE_TTLS"])(
  "warns about the typo %s in a program that reads the right name",
  (name) => {
    expect(warnings(name)).not.toEqual([]);
  },
);
