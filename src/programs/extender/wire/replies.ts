import type { Candidates } from "./candidates.ts";
import { CLOSE_ARRAY, COLON, COMMA, OPEN_ARRAY } from "./json-bytes.ts";
import { copyBytes, viewOf } from "./words.ts";

/** Bytes as the number a DataView writes them by. */
const word = (text: string): number => viewOf(Buffer.from(text)).getInt32(0);
const HOST = '{"Host":';
const HOST_WORDS = [word(HOST), word(HOST.slice(4))] as const;
const SCORE = ',"Score":';
const SCORE_WORDS = [word(SCORE), word(SCORE.slice(4))] as const;
/** The digits of each score up to 100, which SCORE_MAX never exceeds, with room behind them. */
const digits = Int32Array.from({ length: 101 }, (_, score) => word(`${score}   `));
/** Of a score between -32768 and 32767, or one of `digits` with the room behind it. */
const SCORE_ROOM = 6;
const BEHIND = viewOf(Buffer.from("},")).getInt16(0);

/** `[{"Host":…,"Score":…},…]`: one for each candidate, in their order. Names go back as the request spelled them. */
export function prioritizeReply(candidates: Candidates, scores: Int16Array): Buffer[] {
  const { count } = candidates;
  if (count === 0) return [Buffer.from("[]")];
  const body = viewOf(candidates.body);
  let room = 2 + count * (HOST.length + SCORE.length + SCORE_ROOM + 2);
  for (let i = 0; i < count; i++) room += candidates.quotedNameEnd(i) - candidates.quotedNameStart(i);
  const bytes = Buffer.allocUnsafe(room);
  const out = viewOf(bytes);
  bytes[0] = OPEN_ARRAY;
  let at = 1;
  for (let i = 0; i < count; i++) {
    out.setInt32(at, HOST_WORDS[0]);
    out.setInt32(at + 4, HOST_WORDS[1]);
    at = copyBytes(body, candidates.quotedNameStart(i), candidates.quotedNameEnd(i), out, at + HOST.length);
    out.setInt32(at, SCORE_WORDS[0]);
    out.setInt32(at + 4, SCORE_WORDS[1]);
    out.setUint8(at + 8, COLON);
    at = writeScore(scores[i] ?? 0, bytes, out, at + SCORE.length);
    out.setInt16(at, BEHIND);
    at += 2;
  }
  // In place of the last comma.
  bytes[at - 1] = CLOSE_ARRAY;
  return [bytes.subarray(0, at)];
}

function writeScore(score: number, bytes: Buffer, out: DataView, at: number): number {
  if (score < 0 || score >= digits.length) return at + bytes.write(String(score), at, "latin1");
  out.setInt32(at, digits[score] as number);
  return at + (score > 99 ? 3 : score > 9 ? 2 : 1);
}

/**
 * The answer to /filter as pieces to write one behind the other; whole Nodes among them are slices of the request, never copies.
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
    ...(candidates.kind === "names" ? keptNames(candidates, codes) : keptPieces(candidates, codes)),
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

/** Names are so short that a copy costs less than a slice: of 5,000 every other one may be refused. */
function keptNames(candidates: Candidates, codes: Uint8Array): Buffer[] {
  const { count } = candidates;
  if (!codes.some((code) => code !== 0)) return keptPieces(candidates, codes);
  const body = viewOf(candidates.body);
  let room = 0;
  for (let i = 0; i < count; i++) room += candidates.quotedNameEnd(i) - candidates.quotedNameStart(i) + 1;
  const bytes = Buffer.allocUnsafe(room);
  const out = viewOf(bytes);
  let at = 0;
  for (let i = 0; i < count; i++) {
    if (codes[i] !== 0) continue;
    at = copyBytes(body, candidates.quotedNameStart(i), candidates.quotedNameEnd(i), out, at);
    out.setUint8(at++, COMMA);
  }
  // Without the last comma.
  return [bytes.subarray(0, Math.max(0, at - 1))];
}

/** `"name":"reason",…` */
function refused(candidates: Candidates, codes: Uint8Array, reasons: readonly (string | undefined)[]): Buffer {
  const { count } = candidates;
  const body = viewOf(candidates.body);
  const texts = reasons.map((reason) => Buffer.from(`:${JSON.stringify(reason ?? "")},`));
  const textOf = (i: number) => texts[codes[i] as number] as Buffer;
  let room = 0;
  for (let i = 0; i < count; i++) {
    if (codes[i] === 0) continue;
    room += candidates.quotedNameEnd(i) - candidates.quotedNameStart(i) + textOf(i).length;
  }
  const bytes = Buffer.allocUnsafe(room);
  const out = viewOf(bytes);
  let at = 0;
  for (let i = 0; i < count; i++) {
    if (codes[i] === 0) continue;
    at = copyBytes(body, candidates.quotedNameStart(i), candidates.quotedNameEnd(i), out, at);
    const text = textOf(i);
    bytes.set(text, at);
    at += text.length;
  }
  // Without the last comma.
  return bytes.subarray(0, Math.max(0, at - 1));
}
