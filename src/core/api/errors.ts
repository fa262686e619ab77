/**
 * Every error with a code, once: what causes it and what to do. `docs/reference/errors.md` is generated from this
 * table. The message of a `JoulieError` says what happened and where; the table says what is always true of its code.
 */
interface ErrorEntry {
  readonly cause: string;
  readonly remedy: string;
}

export const errorRegistry = {
  JOULIE_E_CONFIG_VALUE: {
    cause: "A variable or flag has a value outside what it allows, or two values contradict each other.",
    remedy:
      "Correct the value; the message names what is allowed. `--print-config` shows every effective value and its source.",
  },
  JOULIE_E_PROGRAM_ABSENT: {
    cause: "The command names a program that this version of Joulie does not contain yet.",
    remedy: "Install a version that has it; the README lists the state of each part.",
  },
  JOULIE_E_UNWRITABLE: {
    cause: "Joulie computed an object that its own schema forbids, for example a figure that is not a number.",
    remedy:
      "Nothing was written and the next pass tries again. This is a fault in Joulie: report it with the message, which names the object, the field and the value.",
  },
  JOULIE_E_KUBECONFIG: {
    cause:
      "A kubeconfig file is missing, is not valid, names something it does not contain, or asks for what Joulie does not support.",
    remedy:
      "Correct the file or the context; the message names both. `kubectl config view` shows what KUBECONFIG adds up to, and `kubectl get nodes` whether it works.",
  },
  JOULIE_E_KUBE_IDENTITY: {
    cause:
      "Joulie found no way to prove to a cluster who it is: no service account, no kubeconfig, a file that cannot be read, or a plugin that failed.",
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
