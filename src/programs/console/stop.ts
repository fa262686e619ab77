import { annotations } from "../../core/api/index.ts";
import { isApiError, resources } from "../../platform/kube/index.ts";
import { type ConsoleContext, ConsoleError } from "./context.ts";

/** `joulie stop` and `joulie resume`: the annotation on the namespace of the installation. Returns what to print. */
export async function setStopped({ client }: ConsoleContext, name: string, stopped: boolean): Promise<string> {
  const patch = { metadata: { annotations: { [annotations.stop]: stopped ? "true" : null } } };
  try {
    await client.mergePatch(resources.namespaces, { name }, patch);
  } catch (error) {
    if (isApiError(error, "notFound"))
      throw new ConsoleError(`there is no namespace ${name}; name that of the installation with -n`);
    throw error;
  }
  return stopped
    ? `namespace/${name} stopped: agents restore the original limits, the operator changes nothing, sleeping nodes wake\n`
    : `namespace/${name} resumed: the operator plans again\n`;
}
