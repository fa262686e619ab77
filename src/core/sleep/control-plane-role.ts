/** Labels of nodes that run the control plane or its etcd. RKE2 and k3s set the last two. */
const CONTROL_PLANE_ROLES = ["control-plane", "master", "etcd", "controlplane"].map(
  (role) => `node-role.kubernetes.io/${role}`,
);

export const hasControlPlaneRole = (labels: Readonly<Record<string, string>> | undefined): boolean =>
  CONTROL_PLANE_ROLES.some((label) => labels?.[label] !== undefined);
