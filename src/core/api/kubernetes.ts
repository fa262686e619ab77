// The fields of Kubernetes objects that the planning code reads. The types are structural on purpose: a full Node or Pod
// satisfies them, and so does a projection that contains only these fields.

export type Labels = Readonly<Record<string, string>>;
/** Quantity by resource name. The API server sends text; hand-written YAML may contain numbers. */
export type ResourceList = Readonly<Record<string, string | number>>;

interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly labels?: Labels;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly ownerReferences?: readonly { readonly kind: string; readonly controller?: boolean }[];
}

export interface NodeTaint {
  readonly key: string;
  readonly value?: string;
  /** NoSchedule, PreferNoSchedule or NoExecute. */
  readonly effect: string;
}

export interface Node {
  readonly metadata: ObjectMeta;
  readonly spec?: { readonly unschedulable?: boolean; readonly taints?: readonly NodeTaint[] };
  readonly status?: {
    readonly capacity?: ResourceList;
    readonly allocatable?: ResourceList;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

/** A node without a Ready condition counts as ready: taints decide, as they do for the scheduler. */
export const isReady = ({ status }: Pick<Node, "status">): boolean =>
  (status?.conditions?.find(({ type }) => type === "Ready")?.status ?? "True") === "True";

interface Resources {
  readonly requests?: ResourceList;
  readonly limits?: ResourceList;
}

export interface Container {
  readonly resources?: Resources;
  /** `Always` makes an init container a sidecar that keeps running beside the main containers. */
  readonly restartPolicy?: string;
}

export interface NodeSelectorRequirement {
  readonly key: string;
  /** In, NotIn, Exists, DoesNotExist, Gt or Lt. Any other operator of a newer API server matches nothing. */
  readonly operator: string;
  readonly values?: readonly string[];
}

export interface NodeSelectorTerm {
  readonly matchExpressions?: readonly NodeSelectorRequirement[];
  readonly matchFields?: readonly NodeSelectorRequirement[];
}

export interface Toleration {
  /** Absent: every key. */
  readonly key?: string;
  /** Exists or Equal, the default. */
  readonly operator?: string;
  readonly value?: string;
  /** Absent: every effect. */
  readonly effect?: string;
}

export interface PodSpec {
  readonly nodeName?: string;
  readonly schedulerName?: string;
  /** kube-scheduler skips the pod until the last gate is removed. */
  readonly schedulingGates?: readonly { readonly name: string }[];
  readonly nodeSelector?: Labels;
  readonly affinity?: {
    readonly nodeAffinity?: {
      readonly requiredDuringSchedulingIgnoredDuringExecution?: {
        readonly nodeSelectorTerms: readonly NodeSelectorTerm[];
      };
    };
  };
  readonly tolerations?: readonly Toleration[];
  /** The number behind priorityClassName. */
  readonly priority?: number;
  readonly containers?: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly overhead?: ResourceList;
  /** Pod-level resources. */
  readonly resources?: Resources;
  readonly volumes?: readonly {
    readonly name: string;
    readonly persistentVolumeClaim?: { readonly claimName: string };
    /** The pod gets a claim of its own, named after pod and volume. */
    readonly ephemeral?: object;
  }[];
}

export interface Pod {
  readonly metadata: ObjectMeta;
  readonly spec: PodSpec;
  readonly status?: {
    readonly phase?: string;
    readonly startTime?: string;
    readonly nominatedNodeName?: string;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly lastTransitionTime?: string;
    }[];
  };
}
