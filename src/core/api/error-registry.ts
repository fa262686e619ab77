/** The programs as groups of the error reference, in the order of the page. */
export const errorGroups = [
  "Command line",
  "Every program",
  "Operator",
  "Agent",
  "Extender",
  "Power",
  "Fleet",
  "Demo",
  "Simulate",
] as const;
export type ErrorGroup = (typeof errorGroups)[number];

interface ErrorEntry {
  /** The program that reports it. */
  readonly group: ErrorGroup;
  readonly cause: string;
  readonly remedy: string;
}

/**
 * The registry of error codes, each with its cause and remedy. `docs/reference/errors.md` is generated from this table.
 * The message of an error describes the single failure; the registry describes what all failures of a code share.
 */
export const errorRegistry = {
  JOULIE_E_USAGE: {
    group: "Command line",
    cause: "The command line names an unknown program or flag, or a flag lacks its value or the flag that it needs.",
    remedy: "Correct the command. `joulie --help` and `joulie PROGRAM --help` list programs and flags.",
  },
  JOULIE_E_CONSOLE: {
    group: "Command line",
    cause:
      "A command of the console names a node, a pod, a namespace, an output format, a column or a cap that does not exist.",
    remedy: "Correct what the message names. `joulie node` lists nodes, and `joulie COMMAND --help` lists formats.",
  },
  JOULIE_E_PROGRAM_ABSENT: {
    group: "Command line",
    cause: "The command names a program that this version of Joulie does not contain yet.",
    remedy: "Install a version that contains the program. The README lists the state of each part.",
  },
  JOULIE_E_NODE_VERSION: {
    group: "Command line",
    cause: "Joulie needs Node 24, and the launcher found none, or could not start the one that it found.",
    remedy: "Install Node 24 or later, or use the container image, which contains it.",
  },
  JOULIE_E_INSTALLATION: {
    group: "Command line",
    cause: "A file or a package of Joulie's installation is missing.",
    remedy: "Run `npm install` in the directory that the message names, then run the command again.",
  },
  JOULIE_E_OUTPUT: {
    group: "Command line",
    cause: "Standard output cannot be written, for example because the disk behind a redirection is full.",
    remedy: "Free space or redirect the output elsewhere. A reader that closes a pipe early is not an error.",
  },

  JOULIE_E_CONFIG_VALUE: {
    group: "Every program",
    cause: "A variable or flag has a value that is not allowed, or two values contradict each other.",
    remedy:
      "Correct the value; the message lists the allowed values. `--print-config` shows every effective value and its source.",
  },
  JOULIE_E_CATALOG_ENTRY: {
    group: "Every program",
    cause: "An entry of the file HARDWARE_CATALOG_PATH is invalid. Joulie uses the other entries.",
    remedy: "Correct the entry; the log field `problem` names its position and the allowed values. Then restart.",
  },
  JOULIE_E_KUBECONFIG: {
    group: "Every program",
    cause:
      "A kubeconfig file is missing or invalid, refers to an entry that it does not contain, or uses a feature that Joulie does not support.",
    remedy:
      "Correct the file or the context; the message names both. `kubectl config view` shows the merged KUBECONFIG, and `kubectl get nodes` shows whether it works.",
  },
  JOULIE_E_KUBE_IDENTITY: {
    group: "Every program",
    cause:
      "Joulie found no credentials for the cluster: no service account, no kubeconfig, an unreadable file, or a failed credential plugin.",
    remedy:
      "In a pod, leave automountServiceAccountToken on; elsewhere set KUBECONFIG. The message names the file or the plugin.",
  },
  JOULIE_E_MISSING_CRD: {
    group: "Every program",
    cause: "A CustomResourceDefinition of Joulie is not installed in the cluster.",
    remedy:
      "Run `kubectl apply -f charts/joulie/crds`. Helm installs CRDs with the first release only, not with an upgrade. Joulie continues by itself afterwards.",
  },
  JOULIE_E_API_UNREACHABLE: {
    group: "Every program",
    cause: "The API server gave no answer: no connection, a timeout, 502, 503 or 504, or too many calls at once.",
    remedy:
      "Joulie retries and leaves all caps as they are. If it lasts, check the server's address in the message, network policies and the health of the API server.",
  },
  JOULIE_E_CONNECTION: {
    group: "Every program",
    cause: "A connection to another program failed: refused, reset, timed out, or the name of the host is unknown.",
    remedy:
      "Joulie retries where the log line says so. If it lasts, check the address in the message, that the program runs there, and network policies.",
  },
  JOULIE_E_API_FORBIDDEN: {
    group: "Every program",
    cause: "The API server rejected the call with 403: the service account or user lacks a permission.",
    remedy:
      "Compare the ClusterRole with the chart's; the message names the verb and the resource. `kubectl auth can-i --as=system:serviceaccount:NAMESPACE:NAME VERB RESOURCE` tests it.",
  },
  JOULIE_E_API_UNAUTHORIZED: {
    group: "Every program",
    cause: "The API server rejected the credentials with 401: a token or certificate is wrong or expired.",
    remedy: "Renew the credentials. In a pod, the kubelet renews the token; restart the pod if it is still rejected.",
  },
  JOULIE_E_API_REJECTED: {
    group: "Every program",
    cause: "The API server rejected a call for another reason, such as a conflict, a quota or an admission webhook.",
    remedy: "The message quotes the server's reason. Joulie retries conflicts by itself; correct quotas and webhooks.",
  },
  JOULIE_E_API_RESPONSE: {
    group: "Every program",
    cause: "The answer is not from a Kubernetes API server, or it is incomplete or too large.",
    remedy: "Check that the server's address leads to the API server and not to a proxy's page.",
  },
  JOULIE_E_OBJECT_UNREADABLE: {
    group: "Every program",
    cause: "An object of the cluster cannot be read as its kind. Joulie ignores this object only.",
    remedy: "Correct the object; the message names the field and the expected value.",
  },
  JOULIE_E_LISTEN: {
    group: "Every program",
    cause:
      "A program cannot listen on its address: the port is in use or not allowed, or the machine lacks the address.",
    remedy: "Set the variable that the message names to a free port or another address, or stop the other program.",
  },
  JOULIE_E_DEBUG_TOKENS: {
    group: "Every program",
    cause: "Joulie cannot review bearer tokens with the API server, so that the debug pages stay closed.",
    remedy:
      "Allow `create` on `tokenreviews` and `subjectaccessreviews`, as the chart does; other pages are not affected.",
  },
  JOULIE_E_INTERNAL: {
    group: "Every program",
    cause: "An unexpected error, which is most likely a bug in Joulie. The log field `err` contains its stack.",
    remedy: "The program tries again or is restarted by Kubernetes. Report the log line as an issue.",
  },
  JOULIE_E_UNWRITABLE: {
    group: "Every program",
    cause: "Joulie computed an object that violates its own schema, for example a field that is NaN.",
    remedy:
      "Nothing was written, and the next pass tries again. This is a bug in Joulie: report it with the message, which names the object, the field and the value.",
  },
  JOULIE_E_ENDPOINT_BLOCKED: {
    group: "Every program",
    cause: "A TelemetryProfile names an endpoint that no variable of the program allows. Joulie does not call it.",
    remedy: "Add the endpoint to the variable that the message names, or correct the TelemetryProfile.",
  },
  JOULIE_E_TELEMETRY: {
    group: "Every program",
    cause: "An endpoint for power readings or control gave no usable answer.",
    remedy:
      "The message names the endpoint and the reason. Joulie uses the next source of power and retries less and less often.",
  },
  JOULIE_E_TELEMETRY_CREDENTIALS: {
    group: "Every program",
    cause: "The token file or the CA file for telemetry endpoints cannot be read, or a value does not fit into a URL.",
    remedy: "Correct the file or the value that the message names; files are read again by themselves.",
  },
  JOULIE_E_WORKLOAD_CLASS: {
    group: "Every program",
    cause: "A pod's annotation `joulie.io/workload-class` has an unknown value; the pod counts as standard.",
    remedy: "Set the annotation to `performance` or `standard`, or remove it.",
  },

  JOULIE_E_LEASE_LOST: {
    group: "Operator",
    cause: "The operator could not renew its lease in time, or its work as the leader failed. It stopped writing.",
    remedy:
      "Another replica takes over; this one becomes a candidate again. If it repeats, check the latency of the API server and the permissions on `leases`.",
  },

  JOULIE_E_STATE_DIR: {
    group: "Agent",
    cause: "STATE_DIR cannot be locked, for example because it is read-only or full.",
    remedy:
      "Mount a writable directory of the host. Without a lock, two agents could overwrite each other's original limits.",
  },
  JOULIE_E_JOURNAL: {
    group: "Agent",
    cause: "The journal of original limits in STATE_DIR is damaged or cannot be read or written.",
    remedy:
      "Make the directory writable and free space; Joulie sets no new cap before it can store the original. `joulie agent restore` lists the limits in force when entries are lost.",
  },
  JOULIE_E_NOT_RESTORED: {
    group: "Agent",
    cause: "A limit could not be set back to its original value when the agent stopped or `joulie agent restore` ran.",
    remedy:
      "Correct the cause in the message, then run `joulie agent restore` on the node. The journal keeps the entry.",
  },
  JOULIE_E_CONTROL_BLOCKED: {
    group: "Agent",
    cause:
      "A requested cap cannot be applied: the mount is read-only, the firmware locks the limit, the GPU tools are missing, the maximum is unknown, or no backend supports the device.",
    remedy:
      "The message names the device and the reason. `joulie agent probe` on the node lists all backends and what they lack.",
  },
  JOULIE_E_CONTROL_FAILED: {
    group: "Agent",
    cause: "Writing or verifying a cap failed, or another program keeps changing it.",
    remedy:
      "The message names the device and the reason. Joulie retries. Stop other programs that set power limits on this node.",
  },
  JOULIE_E_HARDWARE: {
    group: "Agent",
    cause: "The agent could not examine the node's hardware.",
    remedy: "Joulie retries. `joulie agent probe` on the node shows what it finds.",
  },
  JOULIE_E_ENERGY_COUNTER: {
    group: "Agent",
    cause: "RECONCILE_INTERVAL is longer than an energy counter needs to overflow, so that it gives no power reading.",
    remedy: "Set RECONCILE_INTERVAL to at most the length that the log line gives.",
  },

  JOULIE_E_TLS: {
    group: "Extender",
    cause: "The extender cannot read or use its certificate, its key or the CA of its clients.",
    remedy:
      "Correct the file that the message names. At a running extender the previous certificate stays in use until then.",
  },

  JOULIE_E_POWER_SWITCH: {
    group: "Power",
    cause: "The power switch of a node (Redfish, Metal3 or webhook) gave no usable answer.",
    remedy:
      "The message names the address and the reason. Joulie retries less and less often, and other nodes are not affected. Check the BMC and the network policy.",
  },
  JOULIE_E_POWER_CREDENTIALS: {
    group: "Power",
    cause: "The Secret of a PowerEndpoint is missing or incomplete, or the power switch rejects its content.",
    remedy:
      "Create the Secret in the namespace of the power program with the keys username and password (Redfish), token (webhook) or ca.crt. It is read again by itself.",
  },
  JOULIE_E_POWER_REFUSED: {
    group: "Power",
    cause: "The power switch, or its configuration, does not allow the action; for example disablePowerOff is set.",
    remedy: "Correct what the message names, or remove the label joulie.io/may-sleep from the node.",
  },
  JOULIE_E_POWER_WRONG_MACHINE: {
    group: "Power",
    cause: "The BMC reports another UUID than the node (status.nodeInfo.systemUUID), so it belongs to another machine.",
    remedy:
      "Correct the address or the systemId of the PowerEndpoint. Until then Joulie neither switches this machine off nor on.",
  },
  JOULIE_E_WAKE_FAILED: {
    group: "Power",
    cause: "A sleeping node did not come back within WAKE_TIMEOUT, neither at the first nor at the second attempt.",
    remedy:
      "Look at the machine's console. The node is used again as soon as it is Ready, and sleeps again only after `joulie power test NODE` has proven a wake.",
  },
  JOULIE_E_POWER_TEST: {
    group: "Power",
    cause: "The command `joulie power test` or `joulie wake` did not reach its goal in time.",
    remedy: "The message names the nodes and the last known step. `kubectl describe pe NODE` shows the history.",
  },

  JOULIE_E_FOREIGN_NODE: {
    group: "Fleet",
    cause: "A Node with the name of a simulated node exists and is not simulated. The fleet does not touch it.",
    remedy: "Choose another NODE_PREFIX.",
  },
  JOULIE_E_CLEANUP: {
    group: "Fleet",
    cause: "The fleet could not delete all simulated nodes and pods before it stopped.",
    remedy: "Start a fleet with the same NODE_PREFIX, which takes them over, or delete the nodes with `kubectl`.",
  },

  JOULIE_E_DEMO_CLUSTER: {
    group: "Demo",
    cause: "Joulie already manages the cluster of the kubeconfig, so that the demo would interfere with it.",
    remedy: "Use another cluster, or run the demo without a kubeconfig: it then contains its own API server.",
  },
  JOULIE_E_DEMO_PROGRAM: {
    group: "Demo",
    cause: "One of the programs of the demo stopped unexpectedly or did not respond in time.",
    remedy: "Read the log file that the demo names. On a busy machine use fewer nodes (`--nodes`).",
  },

  JOULIE_E_TRACE: {
    group: "Simulate",
    cause: "The trace file cannot be read, or a line of it is invalid.",
    remedy:
      "Correct the line; the message names its number and the expected value. docs/guides/experiments.md describes the format.",
  },
  JOULIE_E_TOO_MANY_JOBS: {
    group: "Simulate",
    cause: "The requested hours and nodes would generate more jobs than a simulation accepts.",
    remedy: "Ask for fewer `--hours` or `--nodes`.",
  },
} as const satisfies Record<`JOULIE_E_${string}`, ErrorEntry>;

export type ErrorCode = keyof typeof errorRegistry;
