import type { Candidates } from "./candidates.ts";

const HOST = Buffer.from('{"Host":');
const SCORE = Buffer.from(',"Score":');
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const CLOSE_OBJECT = 0x7d;
const COMMA = 0x2c;
const ZERO = 0x30;
/** Of a score between -32768 and 32767. */
const SCORE_DIGITS = 6;

/** `[{"Host":…,"Score":…},…]`: one for each candidate, in their order. Names go back as the request spelled them. */
export function prioritizeReply(candidates: Candidates, scores: Int16Array): Buffer[] {
  const { body, count } = candidates;
  let room = 2 + count * (HOST.length + SCORE.length + SCORE_DIGITS + 2);
  for (let i = 0; i < count; i++) room += candidates.quotedNameEnd(i) - candidates.quotedNameStart(i);
  const out = Buffer.allocUnsafe(room);
  let at = 0;
  out[at++] = OPEN_ARRAY;
  for (let i = 0; i < count; i++) {
    if (i > 0) out[at++] = COMMA;
    at = copy(HOST, 0, HOST.length, out, at);
    at = copy(body, candidates.quotedNameStart(i), candidates.quotedNameEnd(i), out, at);
    at = copy(SCORE, 0, SCORE.length, out, at);
    at = writeScore(scores[i] ?? 0, out, at);
    out[at++] = CLOSE_OBJECT;
  }
  out[at++] = CLOSE_ARRAY;
  return [out.subarray(0, at)];
}

/** Names are a dozen bytes or two: a loop is there before a call to Buffer.copy is. */
function copy(from: Uint8Array, start: number, end: number, to: Uint8Array, at: number): number {
  let p = at;
  for (let i = start; i < end; i++) to[p++] = from[i] as number;
  return p;
}

function writeScore(score: number, out: Buffer, at: number): number {
  if (score < 0 || score > 999) return at + out.write(String(score), at, "latin1");
  let p = at;
  if (score > 99) out[p++] = ZERO + Math.floor(score / 100);
  if (score > 9) out[p++] = ZERO + (Math.floor(score / 10) % 10);
  out[p++] = ZERO + (score % 10);
  return p;
}

/**
 * The answer to /filter as pieces to write one behind the other; the nodes among them are slices of the request, never copies.
 * `codes` says of each candidate why it is refused, as a position in `reasons`; 0 keeps it. What was not asked about is null:
 * kube-scheduler takes NodeNames if it sent names, else Nodes, as its new list. An empty list keeps no node, and so would null.
 */
export function filterReply(
  candidates: Candidates,
  codes: Uint8Array,
  reasons: readonly (string | undefined)[],
): Buffer[] {
  const [head, tail] =
    candidates.kind === "names"
      ? ['{"Nodes":null,"NodeNames":[', '],"FailedNodes":{},"FailedAndUnresolvableNodes":{']
      : ['{"Nodes":{"metadata":{},"items":[', ']},"NodeNames":null,"FailedNodes":{},"FailedAndUnresolvableNodes":{'];
  return [
    Buffer.from(head),
    ...keptPieces(candidates, codes),
    Buffer.from(tail),
    refused(candidates, codes, reasons),
    Buffer.from('},"Error":""}'),
  ];
}

/**
 * Neighbours that are kept go back as one slice, with the comma between them. A slice that another follows reaches to the start
 * of the candidate behind it, and so ends with the comma it needs.
 */
function keptPieces(candidates: Candidates, codes: Uint8Array): Buffer[] {
  const { body, count } = candidates;
  let last = count - 1;
  while (last >= 0 && codes[last] !== 0) last--;
  const pieces: Buffer[] = [];
  for (let i = 0; i <= last; i++) {
    if (codes[i] !== 0) continue;
    const first = i;
    while (i < last && codes[i + 1] === 0) i++;
    pieces.push(body.subarray(candidates.startOf(first), i === last ? candidates.endOf(i) : candidates.startOf(i + 1)));
  }
  return pieces;
}

/** `"name":"reason",…` */
function refused(candidates: Candidates, codes: Uint8Array, reasons: readonly (string | undefined)[]): Buffer {
  const { body, count } = candidates;
  const texts = reasons.map((reason) => Buffer.from(`:${JSON.stringify(reason ?? "")},`));
  const textOf = (i: number) => texts[codes[i] as number] as Buffer;
  let room = 0;
  for (let i = 0; i < count; i++) {
    if (codes[i] === 0) continue;
    room += candidates.quotedNameEnd(i) - candidates.quotedNameStart(i) + textOf(i).length;
  }
  const out = Buffer.allocUnsafe(room);
  let at = 0;
  for (let i = 0; i < count; i++) {
    if (codes[i] === 0) continue;
    at = copy(body, candidates.quotedNameStart(i), candidates.quotedNameEnd(i), out, at);
    const text = textOf(i);
    out.set(text, at);
    at += text.length;
  }
  // Without the last comma.
  return out.subarray(0, Math.max(0, at - 1));
}
