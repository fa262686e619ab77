import { describe, expect, it } from "vitest";
import { instant, milliseconds } from "../../../core/units/index.ts";
import { VirtualClock } from "../../clock/testing/index.ts";
import { StoredObject } from "../storage/kube-object.ts";
import { Collection } from "../storage/store.ts";
import { WatchStream, type WatchView } from "./watch-stream.ts";

const stored = (name: string, version: number): StoredObject => {
  const metadata = { name, uid: name, resourceVersion: String(version), creationTimestamp: "" };
  return new StoredObject(name, { kind: "Node", apiVersion: "v1", metadata }, version);
};

function world() {
  const clock = new VirtualClock(instant(0));
  const collection = new Collection("/nodes", 10, 1);
  let version = 1;
  const open = (view: Partial<WatchView> = {}, seconds?: number) =>
    new WatchStream(
      collection,
      {
        matches: undefined,
        format: ({ object }) => JSON.stringify(object.metadata.name),
        bookmarks: false,
        bookmark: (at, initial) => ({ at, initial }),
        ...view,
      },
      clock,
      () => version,
      seconds,
    );
  const change = (name: string) => {
    version++;
    collection.record({ type: "ADDED", version, current: stored(name, version), previous: undefined });
  };
  return { clock, open, change };
}

async function linesOf(stream: WatchStream): Promise<string[]> {
  let text = "";
  for await (const chunk of stream) text += Buffer.from(chunk).toString();
  return text.split("\n").filter(Boolean);
}

const tooMany = 100_001;

describe("WatchStream", () => {
  it("accepts an initial state of any size: only later events count towards the backlog", async () => {
    const { open, change } = world();
    const stream = open();
    stream.begin(
      Array.from({ length: tooMany }, (_, index) => stored(`n${index}`, 1)),
      true,
    );
    change("later");
    stream.end();
    const lines = await linesOf(stream);
    expect(lines).toHaveLength(tooMany + 2);
    expect([lines[0], lines[1], ...lines.slice(-3)]).toEqual([
      '{"type":"ADDED","object":"n0"}',
      '{"type":"ADDED","object":"n1"}',
      `{"type":"ADDED","object":"n${tooMany - 1}"}`,
      '{"type":"BOOKMARK","object":{"at":1,"initial":true}}',
      '{"type":"ADDED","object":"later"}',
    ]);
  });

  it("accepts a history of any size", async () => {
    const { open, change } = world();
    const stream = open();
    stream.replay(
      Array.from({ length: tooMany }, (_, index) => {
        return { type: "ADDED" as const, version: index, current: stored(`n${index}`, index), previous: undefined };
      }),
    );
    change("later");
    stream.end();
    expect(await linesOf(stream)).toHaveLength(tooMany + 1);
  });

  it("ends if its reader falls too far behind, and leaves no timer", async () => {
    const { clock, open, change } = world();
    const stream = open({ bookmarks: true }, 3600);
    for (let index = 0; index < tooMany - 1; index++) change("n");
    await clock.advanceAsync(milliseconds(60_000));
    expect(clock.waiting).toBe(2);
    change("n");
    await expect(linesOf(stream)).rejects.toThrow("100000 events behind");
    expect(clock.waiting).toBe(0);
  });

  it("ends only the stream that fails to encode or select: other streams get the event", async () => {
    const { open, change } = world();
    const broken = () => {
      throw new RangeError("no text");
    };
    const streams = [open({ format: broken }), open({ matches: broken }), open()];
    change("n");
    streams[2]?.end();
    await expect(linesOf(streams[0] as WatchStream)).rejects.toThrow("no text");
    await expect(linesOf(streams[1] as WatchStream)).rejects.toThrow("no text");
    expect(await linesOf(streams[2] as WatchStream)).toEqual(['{"type":"ADDED","object":"n"}']);
  });

  it("ends immediately for a reader that starts after the end", () => {
    const { open } = world();
    const stream = open();
    stream.fail({ code: 410 });
    let ended = 0;
    stream.onEnd(() => ended++);
    expect(ended).toBe(1);
  });

  it("does not time out if timeoutSeconds is 0", async () => {
    const { clock, open } = world();
    const [without, zero, one] = [open(), open({}, 0), open({}, 1)];
    let ended = "";
    for (const [name, stream] of Object.entries({ without, zero, one })) stream.onEnd(() => (ended += name));
    await clock.advanceAsync(milliseconds(3_600_000));
    expect(ended).toBe("one");
  });
});
