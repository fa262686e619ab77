import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { expect, it } from "vitest";
import { answersOk } from "./programs.ts";

it("closes the connection to a program that accepts it and never responds", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const accepted = once(server, "connection");
  const answer = answersOk(`https://127.0.0.1:${(server.address() as AddressInfo).port}/readyz`, 200);
  const [socket] = (await accepted) as [Socket];
  socket.resume().on("error", () => undefined);
  const closed = once(socket, "close");
  expect(await answer).toBe(false);
  await closed;
  server.close();
  await once(server, "close");
});
