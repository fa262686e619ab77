// Gives objects names that no API server accepts, to see what the page does with them.
import type { ApiRequest, ApiResponse, Transport } from "../../src/platform/kube/index.ts";

/** Replaces texts in every answer of the API. */
export function renamingTransport(inner: Transport, names: Readonly<Record<string, string>>): Transport {
  const renamed = (text: string): string =>
    Object.entries(names).reduce((all, [from, to]) => all.replaceAll(`"${from}"`, JSON.stringify(to)), text);
  async function* body(from: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let rest = "";
    for await (const chunk of from) {
      // Watch events are lines; a list is one line.
      const lines = (rest + Buffer.from(chunk).toString()).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) yield Buffer.from(`${renamed(line)}\n`);
    }
    if (rest !== "") yield Buffer.from(renamed(rest));
  }
  return {
    request: async (request: ApiRequest): Promise<ApiResponse> => {
      const answer = await inner.request(request);
      return { ...answer, body: body(answer.body) };
    },
    close: async () => inner.close(),
  };
}
