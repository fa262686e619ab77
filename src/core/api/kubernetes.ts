// The parts of Kubernetes' own objects that decisions read. Structural on purpose: a full Node or Pod fits, and so does
// a projection that keeps only these fields.

export type Labels = Readonly<Record<string, string>>;
/** Resource name to quantity; servers send text, people's YAML may hold numbers. */
export type ResourceList = Readonly<Record<string, string | number>>;

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly labels?: Labels;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly deletionTimestamp?: string;
}

export interface NodeTaint {
  readonly key: string;
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

interface Resources {
  readonly requests?: ResourceList;
  readonly limits?: ResourceList;
}

export interface Container {
  readonly resources?: Resources;
  /** `Always` makes an init container a sidecar that runs beside the others. */
  readonly restartPolicy?: string;
}

export interface NodeSelectorRequirement {
  readonly key: string;
  /** In, NotIn, Exists, DoesNotExist, Gt or Lt; whatever else a newer server may know matches nothing. */
  readonly operator: string;
  readonly values?: readonly string[];
}

export interface NodeSelectorTerm {
  readonly matchExpressions?: readonly NodeSelectorRequirement[];
  readonly matchFields?: readonly NodeSelectorRequirement[];
}

export interface PodSpec {
  readonly nodeName?: string;
  /** The scheduler passes the pod over until the last one is removed. */
  readonly schedulingGates?: readonly { readonly name: string }[];
  readonly nodeSelector?: Labels;
  readonly affinity?: {
    readonly nodeAffinity?: {
      readonly requiredDuringSchedulingIgnoredDuringExecution?: {
        readonly nodeSelectorTerms: readonly NodeSelectorTerm[];
      };
    };
  };
  readonly containers?: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly overhead?: ResourceList;
  /** Pod-level resources. */
  readonly resources?: Resources;
}

export interface Pod {
  readonly metadata: ObjectMeta;
  readonly spec: PodSpec;
  readonly status?: { readonly phase?: string };
}
