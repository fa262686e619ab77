import { type ConfigSchema, factsOf } from "./variable.ts";

interface Part {
  readonly title: string;
  readonly variables: { readonly name: string; readonly facts: ReturnType<typeof factsOf> }[];
}

/** The variables of a program by heading, in the order of its configuration. */
export function grouped(config: ConfigSchema): Part[] {
  const parts = new Map<string, Part>();
  for (const [name, schema] of Object.entries(config.shape)) {
    const facts = factsOf(schema);
    const part = parts.get(facts.group) ?? { title: facts.group, variables: [] };
    part.variables.push({ name, facts });
    parts.set(facts.group, part);
  }
  return [...parts.values()];
}
