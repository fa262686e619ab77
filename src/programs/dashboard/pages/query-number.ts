import { BadRequest } from "../server/http-server.ts";

/** A number from 0 to `most` in the query of a request. */
export function numberIn(query: URLSearchParams, name: string, otherwise: number, most: number): number {
  const text = query.get(name);
  if (text === null) return otherwise;
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (!(value >= 0 && value <= most)) throw new BadRequest(`${name} is a number from 0 to ${most}`);
  return value;
}
