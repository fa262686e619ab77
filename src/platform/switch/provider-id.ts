export interface HostIdentity {
  readonly namespace: string;
  readonly name: string;
  /** The Metal3Machine that uses the host. */
  readonly machine: string | undefined;
}

/**
 * Cluster API writes `metal3://NAMESPACE/HOST/MACHINE`, OpenShift `baremetalhost:///NAMESPACE/HOST/UID`. An older form,
 * `metal3://UID`, says nothing: the UID of a host changes when it is moved to another cluster.
 */
const PROVIDER_ID = /^(metal3:\/|baremetalhost:\/\/)\/([^/]+)\/([^/]+)(?:\/([^/]+))?$/;

/** Whether the node with this provider ID runs on the host; undefined if its provider ID names none. */
export function isHostOf({ namespace, name, machine }: HostIdentity, providerId = ""): boolean | undefined {
  const [, scheme, itsNamespace, itsName, itsMachine] = PROVIDER_ID.exec(providerId) ?? [];
  if (itsName === undefined) return undefined;
  const isOtherMachine =
    scheme === "metal3:/" && machine !== undefined && itsMachine !== undefined && machine !== itsMachine;
  return itsNamespace === namespace && itsName === name && !isOtherMachine;
}
