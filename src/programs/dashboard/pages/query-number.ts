import { BadRequest } from "../server/http-server.ts";

/** A number from 0 to `limit` in the query of a request. */
export function numberIn(query: URLSearchParams, name: string, otherwise: number, limit: number): number {
  const text = query.get(name);
  if (text === null) return otherwise;
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (!(value >= 0 && value <= limit)) throw new BadRequest(`${name} is a number from 0 to ${limit}`);
  return value;
}
