import * as z from "zod";
import type { AnyKind } from "./kinds.ts";
import { apiGroup, apiVersionName } from "./names.ts";
import { isPlainObject, type PlainObject } from "./object-shape.ts";
import { rulesOf } from "./rules.ts";

/** Kubernetes' structural subset of OpenAPI v3.0. */
export interface StructuralSchema {
  readonly description?: string;
  readonly type: string;
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly maxItems?: number;
  readonly items?: StructuralSchema;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, StructuralSchema>>;
  readonly "x-kubernetes-list-type"?: string;
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-validations"?: readonly { readonly rule: string; readonly message: string }[];
}

/** The keys of a structural schema, in the order in which they are printed. Other keys are not allowed. */
const keywords = [
  "description",
  "type",
  "format",
  "enum",
  "minimum",
  "exclusiveMinimum",
  "maximum",
  "minLength",
  "maxLength",
  "pattern",
  "maxItems",
  "x-kubernetes-list-type",
  "x-kubernetes-list-map-keys",
  "x-kubernetes-validations",
  "required",
  "items",
  "properties",
] as const satisfies readonly (keyof StructuralSchema)[];

function structural(json: PlainObject): StructuralSchema {
  const { additionalProperties: _, ...given }: Record<string, unknown> = json;
  // Kubernetes checks the format itself. zod adds 2^53 as JavaScript's integer limit; the contract has no such limit.
  if (given.format === "date-time") delete given.pattern;
  if (given.maximum === Number.MAX_SAFE_INTEGER) delete given.maximum;
  if (isPlainObject(given.items)) given.items = structural(given.items);
  if (isPlainObject(given.properties)) {
    const fields = Object.entries(given.properties).filter((field): field is [string, PlainObject] =>
      isPlainObject(field[1]),
    );
    given.properties = Object.fromEntries(fields.map(([name, field]) => [name, structural(field)]));
  }
  const misfit = Object.keys(given).find((key) => !(keywords as readonly string[]).includes(key));
  if (misfit !== undefined) throw new TypeError(`structural schemas do not allow ${misfit}: ${JSON.stringify(json)}`);
  const ordered = keywords.filter((key) => given[key] !== undefined).map((key) => [key, given[key]]);
  return Object.fromEntries(ordered) as StructuralSchema;
}

const validationsOf = (schema: z.core.$ZodType) => {
  const validations = rulesOf(schema).map(({ cel, message }) => ({ rule: cel, message }));
  return validations.length === 0 ? {} : { "x-kubernetes-validations": validations };
};

export function structuralSchemaOf(schema: z.ZodType): StructuralSchema {
  const json = z.toJSONSchema(schema, {
    target: "openapi-3.0",
    io: "input",
    override: ({ zodSchema, jsonSchema }) => void Object.assign(jsonSchema, validationsOf(zodSchema)),
  });
  return structural(json);
}

/** The CustomResourceDefinition of the kind, ready to print as YAML. */
export function crdOf(kind: AnyKind) {
  const { spec, status } = kind.schema.shape as { spec: z.ZodType; status?: z.ZodType };
  const openAPIV3Schema: StructuralSchema = {
    description: `${kind.purpose} ${kind.writtenBy}`,
    type: "object",
    ...validationsOf(kind.schema),
    required: ["spec"],
    properties: {
      apiVersion: { description: "API group and version of this object.", type: "string" },
      kind: { description: "Kind of this object.", type: "string" },
      metadata: { type: "object" },
      spec: structuralSchemaOf(spec),
      ...(status === undefined ? {} : { status: structuralSchemaOf(status) }),
    },
  };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${kind.plural}.${apiGroup}` },
    spec: {
      group: apiGroup,
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural: kind.plural,
        singular: kind.singular,
        shortNames: kind.shortNames,
        categories: ["joulie"],
      },
      scope: "Cluster",
      versions: [
        {
          name: apiVersionName,
          served: true,
          storage: true,
          schema: { openAPIV3Schema },
          ...(kind.statusSubresource ? { subresources: { status: {} } } : {}),
          ...(kind.selectableFields && { selectableFields: kind.selectableFields.map((jsonPath) => ({ jsonPath })) }),
          additionalPrinterColumns: kind.columns,
        },
      ],
    },
  };
}
