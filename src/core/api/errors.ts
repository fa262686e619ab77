/**
 * The registry of error codes, each with its cause and remedy. `docs/reference/errors.md` is generated from this table.
 * The message of a `JoulieError` describes the single failure; the registry describes what all failures of a code share.
 */
interface ErrorEntry {
  readonly cause: string;
  readonly remedy: string;
}

export const errorRegistry = {
  JOULIE_E_CONFIG_VALUE: {
    cause: "A variable or flag has a value that is not allowed, or two values contradict each other.",
    remedy:
      "Correct the value; the message lists the allowed values. `--print-config` shows every effective value and its source.",
  },
  JOULIE_E_PROGRAM_ABSENT: {
    cause: "The command names a program that this version of Joulie does not contain yet.",
    remedy: "Install a version that contains the program. The README lists the state of each part.",
  },
  JOULIE_E_UNWRITABLE: {
    cause: "Joulie computed an object that violates its own schema, for example a field that is NaN.",
    remedy:
      "Nothing was written, and the next pass tries again. This is a bug in Joulie: report it with the message, which names the object, the field and the value.",
  },
  JOULIE_E_KUBECONFIG: {
    cause:
      "A kubeconfig file is missing or invalid, refers to an entry that it does not contain, or uses a feature that Joulie does not support.",
    remedy:
      "Correct the file or the context; the message names both. `kubectl config view` shows the merged KUBECONFIG, and `kubectl get nodes` shows whether it works.",
  },
  JOULIE_E_KUBE_IDENTITY: {
    cause:
      "Joulie found no credentials for the cluster: no service account, no kubeconfig, an unreadable file, or a failed credential plugin.",
    remedy:
      "In a pod, leave automountServiceAccountToken on; elsewhere set KUBECONFIG. The message names the file or the plugin.",
  },
} as const satisfies Record<`JOULIE_E_${string}`, ErrorEntry>;

export type ErrorCode = keyof typeof errorRegistry;

export class JoulieError extends Error {
  readonly code: ErrorCode;
  override readonly name = "JoulieError";

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
