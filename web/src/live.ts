import type { Delta, Snapshot } from "../../src/programs/dashboard/wire.ts";
import { ApiFailure, failureOf, get, headers } from "./api.ts";

export interface LiveHandlers {
  snapshot(snapshot: Snapshot): void;
  /** False if the delta does not follow. */
  delta(delta: Delta): boolean;
  beat(beat: { readonly at: number; readonly silence: number | null }): void;
  /** Any message: the connection lives. */
  alive(): void;
  lost(reason: string): void;
  /** A token is needed, or this one is not enough. */
  login(reason: string): void;
}

const FIRST_PAUSE = 500;
const MAX_PAUSE = 10_000;
/** The server sends something every 5 seconds. */
const SILENCE = 20_000;

/** Reads the snapshot, then the stream of changes, for ever. It reconnects with a growing pause, and continues where it was. */
export class Live {
  readonly #handlers: LiveHandlers;
  #last = "";
  #epoch = "";
  #stopped = false;
  #wake: (() => void) | undefined;

  constructor(handlers: LiveHandlers) {
    this.#handlers = handlers;
  }

  async run(): Promise<void> {
    for (let failures = 0; !this.#stopped; ) {
      let began = performance.now();
      try {
        if (this.#last === "") await this.#load();
        began = performance.now();
        await this.#stream();
        this.#handlers.lost("the server ended the connection");
      } catch (error) {
        if (error instanceof ApiFailure && (error.status === 401 || error.status === 403)) {
          this.#handlers.login(error.message);
          this.#last = "";
          await new Promise<void>((resolve) => (this.#wake = resolve));
          failures = 0;
          continue;
        }
        this.#handlers.lost(error instanceof ApiFailure ? error.message : "the dashboard's server does not answer");
      }
      failures = performance.now() - began > MAX_PAUSE ? 1 : failures + 1;
      const pause = Math.min(MAX_PAUSE, FIRST_PAUSE * 2 ** (failures - 1));
      await new Promise<void>((resolve) => setTimeout(resolve, pause * (0.75 + Math.random() / 2)));
    }
  }

  /** Tries again after a login. */
  retry(): void {
    this.#wake?.();
  }

  async #load(): Promise<void> {
    const snapshot = await get<Snapshot>("/api/snapshot");
    this.#epoch = snapshot.epoch;
    this.#last = `${snapshot.epoch}-${snapshot.seq}`;
    this.#handlers.snapshot(snapshot);
    this.#handlers.alive();
  }

  async #stream(): Promise<void> {
    const abort = new AbortController();
    let watchdog = 0;
    const alive = () => {
      clearTimeout(watchdog);
      watchdog = window.setTimeout(() => abort.abort(), SILENCE);
    };
    alive();
    try {
      const response = await fetch(`/api/events?last=${encodeURIComponent(this.#last)}`, {
        headers: headers(),
        signal: abort.signal,
      });
      if (!response.ok || response.body === null) throw await failureOf(response);
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let rest = ""; ; ) {
        const { value, done } = await reader.read();
        if (done) return;
        alive();
        this.#handlers.alive();
        const messages = (rest + value).split("\n\n");
        rest = messages.pop() ?? "";
        for (const message of messages) await this.#message(message);
      }
    } finally {
      clearTimeout(watchdog);
      abort.abort();
    }
  }

  async #message(message: string): Promise<void> {
    const event = /^event: (\w+)$/m.exec(message)?.[1];
    const data = /^data: (.*)$/m.exec(message)?.[1] ?? "{}";
    if (event === "beat") this.#handlers.beat(JSON.parse(data) as Parameters<LiveHandlers["beat"]>[0]);
    else if (event === "resync") await this.#load();
    else if (event === "delta") {
      const delta = JSON.parse(data) as Delta;
      if (this.#handlers.delta(delta)) this.#last = `${this.#epoch}-${delta.seq}`;
      else await this.#load();
    }
  }
}
