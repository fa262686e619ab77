import { expect, it } from "vitest";
import { ForwardCache } from "./forward-cache.ts";

it("CLI-18 opens a port once, again if its pod is gone, and closes all at the end", async () => {
  const opened: { isOpen: boolean; url: string }[] = [];
  const cache = new ForwardCache(async ({ pod }) => {
    const port = { url: `http://${pod}-${opened.length}`, isOpen: true, close: async () => void (port.isOpen = false) };
    opened.push(port);
    return port;
  });
  const ask = async (pod: string) => {
    const port = await cache.forward({ namespace: "n", pod, port: 1 });
    await port.close();
    return port.url;
  };
  expect([await ask("a"), await ask("a"), await ask("b")]).toEqual(["http://a-0", "http://a-0", "http://b-1"]);
  if (opened[0] !== undefined) opened[0].isOpen = false;
  expect(await ask("a")).toBe("http://a-2");
  await cache.close();
  expect(opened.map(({ isOpen }) => isOpen)).toEqual([false, false, false]);
});
