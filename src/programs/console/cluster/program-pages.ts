import { errorMessageOf } from "../../../core/api/index.ts";
import { milliseconds } from "../../../core/units/index.ts";
import { isApiError, type KubeClient, type KubeObject, resources } from "../../../platform/kube/index.ts";
import type { HttpClient } from "../../../platform/telemetry/index.ts";
import type { ConsoleContext, PagedProgram } from "../context.ts";

import { COMPONENT, hasReadyCondition, INSTALLED, PAGES_ANNOTATION } from "./installation.ts";

export interface PageAnswers {
  readonly answers: readonly { readonly value: unknown; readonly from: string }[];
  readonly why: string | undefined;
}

/** The names of the container ports that the chart gives to them. */
const portNames: Readonly<Record<PagedProgram, string>> = {
  operator: "metrics",
  extender: "metrics",
  dashboard: "page",
};

/** Of the extender any replica may have answered kube-scheduler. */
const PODS_LIMIT = 4;
const CALL = milliseconds(10_000);
/** The plan of 10,000 nodes. */
const BYTES_LIMIT = 64 * 2 ** 20;

interface ProgramContainer {
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
}

type ProgramPod = KubeObject & {
  readonly spec?: { readonly containers?: readonly ProgramContainer[] };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
};

/** Reads a page at the named address, else in pods by port-forward, where it arrives from loopback. */
export async function readProgramPages(
  context: ConsoleContext,
  namespace: string,
  program: PagedProgram,
  path: string,
  isEnough: (value: unknown) => boolean = () => false,
): Promise<PageAnswers> {
  const { HttpClient } = await import("../../../platform/telemetry/index.ts");
  const http = new HttpClient({ clock: context.clock, timeout: CALL, maxBodyBytes: BYTES_LIMIT });
  try {
    const url = await pageUrl(context, namespace, program);
    if (url === undefined) return await inPods(context, http, { namespace, program, path, isEnough });
    return {
      answers: [{ value: await http.json({ url: pageAt(url, path) }), from: `${program} at ${publicUrl(url)}` }],
      why: undefined,
    };
  } catch (error) {
    return { answers: [], why: errorMessageOf(error) };
  } finally {
    await http.close();
  }
}

export const pageUrl = async (
  { client, urls }: ConsoleContext,
  namespace: string,
  program: PagedProgram,
): Promise<string | undefined> => urls?.[program] ?? (await announcedUrl(client, namespace, program));

/** Without user, password and parameters: reports are sent to others. */
export function publicUrl(url: string): string {
  const { origin, pathname } = new URL(url);
  return pathname === "/" ? origin : origin + pathname;
}

const pageAt = (url: string, path: string): URL => new URL(path, `${url.replace(/\/*$/, "")}/`);

interface PodsPage {
  readonly namespace: string;
  readonly program: PagedProgram;
  readonly path: string;
  readonly isEnough: (value: unknown) => boolean;
}

async function inPods(
  { client, forward }: ConsoleContext,
  http: HttpClient,
  { namespace, program, path, isEnough }: PodsPage,
): Promise<PageAnswers> {
  const pods = await podsOf(client, namespace, program);
  if (pods.length === 0) return { answers: [], why: `no pod of the ${program} is ready in ${namespace}` };
  if (forward === undefined) return { answers: [], why: "port-forward is not available" };
  const answers: { value: unknown; from: string }[] = [];
  let why: string | undefined;
  for (const pod of pods.slice(0, PODS_LIMIT)) {
    const { name } = pod.metadata;
    const port = portOf(pod, portNames[program]);
    if (port === undefined) {
      why = `pod ${name} has no port named ${portNames[program]}`;
      continue;
    }
    try {
      const forwarded = await forward({ namespace, pod: name, port });
      try {
        const value = await http.json({ url: pageAt(forwarded.url, path) });
        answers.push({ value, from: `pod ${name}` });
        if (isEnough(value)) break;
      } finally {
        await forwarded.close();
      }
    } catch (error) {
      why = errorMessageOf(error);
    }
  }
  return { answers, why };
}

async function podsOf(client: KubeClient, namespace: string, program: PagedProgram): Promise<readonly ProgramPod[]> {
  const labelSelector = `${INSTALLED},${COMPONENT}=${program}`;
  const { items } = await client.listAll<ProgramPod>(resources.pods, { namespace, labelSelector });
  return items.filter(hasReadyCondition);
}

const portOf = ({ spec }: ProgramPod, name: string): number | undefined =>
  spec?.containers?.flatMap(({ ports = [] }) => ports).find((port) => port.name === name)?.containerPort;

/** The address that a demo names; undefined elsewhere. */
export async function announcedUrl(
  client: KubeClient,
  namespace: string,
  program: PagedProgram,
): Promise<string | undefined> {
  try {
    const { metadata } = await client.get(resources.namespaces, { name: namespace });
    const pages: unknown = JSON.parse(metadata.annotations?.[PAGES_ANNOTATION] ?? "null");
    const url = (pages as Readonly<Record<string, unknown>> | null)?.[program];
    return typeof url === "string" && isLoopback(url) ? url : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || isApiError(error, "notFound") || isApiError(error, "forbidden"))
      return undefined;
    throw error;
  }
}

/** An annotation must not make this machine ask others. */
const isLoopback = (url: string): boolean => {
  const { protocol, hostname } = URL.parse(url) ?? {};
  return protocol === "http:" && (hostname === "127.0.0.1" || hostname === "localhost" || hostname === "[::1]");
};
