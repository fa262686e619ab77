import type { Candidates } from "./candidates.ts";
import { CLOSE_ARRAY, COMMA, OPEN_ARRAY } from "./json-bytes.ts";

const HOST = Buffer.from('{"Host":');
/** What follows the name, by score. SCORE_MAX never exceeds 100. */
const scoreTexts = Array.from({ length: 101 }, (_, score) => scoreText(score));

/** `[{"Host":…,"Score":…},…]`: one entry per candidate, in the order of the request. Names are copied from the request. */
export function prioritizeReply(candidates: Candidates, scores: Int16Array): Buffer[] {
  const { body, count } = candidates;
  if (count === 0) return [Buffer.from("[]")];
  const bytes = Buffer.allocUnsafe(1 + candidates.quotedNameBytes + count * (HOST.length + MAX_SCORE_LENGTH));
  bytes[0] = OPEN_ARRAY;
  let at = 1;
  for (let i = 0; i < count; i++) {
    const score = scores[i] as number;
    at = copyBytes(HOST, 0, HOST.length, bytes, at);
    at = copyBytes(body, candidates.quotedNameStart(i), candidates.quotedNameEnd(i), bytes, at);
    const text = scoreTexts[score] ?? scoreText(score);
    at = copyBytes(text, 0, text.length, bytes, at);
  }
  // In place of the last comma.
  bytes[at - 1] = CLOSE_ARRAY;
  return [bytes.subarray(0, at)];
}

function scoreText(score: number): Buffer {
  return Buffer.from(`,"Score":${score}},`);
}
const MAX_SCORE_LENGTH = scoreText(-32_768).length;

/** Copies from[start, end) to `to` at `at` and returns the position behind it. For 20 bytes a loop is faster than Buffer.copy. */
function copyBytes(from: Uint8Array, start: number, end: number, to: Uint8Array, at: number): number {
  const offset = at - start;
  for (let p = start; p < end; p++) to[p + offset] = from[p] as number;
  return end + offset;
}

/**
 * The answer to /filter as chunks to write in order, and those of them that are the accepted candidates. Whole Nodes are slices
 * of the request, never copies. `codes` holds an index into `reasons` for each rejected candidate, and 0 for an accepted one.
 * The list that was not sent is null: kube-scheduler takes NodeNames as its new list if it sent names, else Nodes.
 */
export function filterReply(
  candidates: Candidates,
  codes: Uint8Array,
  reasons: readonly (string | undefined)[],
): { readonly chunks: readonly Buffer[]; readonly accepted: readonly Buffer[] } {
  const accepted = candidates.kind === "names" ? acceptedNames(candidates, codes) : acceptedSlices(candidates, codes);
  const [head, tail] =
    candidates.kind === "names"
      ? ['{"Nodes":null,"NodeNames":[', '],"FailedNodes":{},"FailedAndUnresolvableNodes":{']
      : ['{"Nodes":{"metadata":{},"items":[', ']},"NodeNames":null,"FailedNodes":{},"FailedAndUnresolvableNodes":{'];
  const chunks = [
    Buffer.from(head),
    ...accepted,
    Buffer.from(tail),
    rejectedNames(candidates, codes, reasons),
    Buffer.from('},"Error":""}'),
  ];
  return { chunks, accepted };
}

/** Adjacent candidates form one slice with the commas between them. All slices but the last end with a comma. */
function acceptedSlices(candidates: Candidates, codes: Uint8Array): Buffer[] {
  const { body, count } = candidates;
  let last = count - 1;
  while (last >= 0 && codes[last] !== 0) last--;
  const slices: Buffer[] = [];
  for (let i = 0; i <= last; i++) {
    if (codes[i] !== 0) continue;
    const first = i;
    while (i < last && codes[i + 1] === 0) i++;
    slices.push(body.subarray(candidates.startOf(first), i === last ? candidates.endOf(i) : candidates.startOf(i + 1)));
  }
  return slices;
}

/** Names are so short that copying is faster than slicing when every other one is rejected. */
function acceptedNames(candidates: Candidates, codes: Uint8Array): Buffer[] {
  const { body, count } = candidates;
  if (!codes.some((code) => code !== 0)) return acceptedSlices(candidates, codes);
  let length = 0;
  for (let i = 0; i < count; i++) length += candidates.quotedNameEnd(i) - candidates.quotedNameStart(i) + 1;
  const bytes = Buffer.allocUnsafe(length);
  let at = 0;
  for (let i = 0; i < count; i++) {
    if (codes[i] !== 0) continue;
    at = copyBytes(body, candidates.quotedNameStart(i), candidates.quotedNameEnd(i), bytes, at);
    bytes[at++] = COMMA;
  }
  // Without the last comma.
  return [bytes.subarray(0, Math.max(0, at - 1))];
}

/** `"name":"reason",…` */
function rejectedNames(candidates: Candidates, codes: Uint8Array, reasons: readonly (string | undefined)[]): Buffer {
  const { body, count } = candidates;
  const texts = reasons.map((reason) => Buffer.from(`:${JSON.stringify(reason ?? "")},`));
  const textOf = (i: number) => texts[codes[i] as number] as Buffer;
  let length = 0;
  for (let i = 0; i < count; i++) {
    if (codes[i] === 0) continue;
    length += candidates.quotedNameEnd(i) - candidates.quotedNameStart(i) + textOf(i).length;
  }
  const bytes = Buffer.allocUnsafe(length);
  let at = 0;
  for (let i = 0; i < count; i++) {
    if (codes[i] === 0) continue;
    at = copyBytes(body, candidates.quotedNameStart(i), candidates.quotedNameEnd(i), bytes, at);
    const text = textOf(i);
    bytes.set(text, at);
    at += text.length;
  }
  // Without the last comma.
  return bytes.subarray(0, Math.max(0, at - 1));
}
