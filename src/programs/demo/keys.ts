/** The parts of `process.stdin` that are used. */
interface KeyInput {
  setRawMode(on: boolean): unknown;
  resume(): unknown;
  pause(): unknown;
  on(event: "data", listener: (chunk: Buffer) => void): unknown;
  on(event: "error", listener: () => void): unknown;
  off(event: "data", listener: (chunk: Buffer) => void): unknown;
}

/** The parts of `process` that are used. */
interface KeyHost {
  readonly pid: number;
  kill(pid: number, signal: "SIGINT" | "SIGQUIT" | "SIGTSTP"): unknown;
  on(signal: "SIGCONT", listener: () => void): unknown;
  off(signal: "SIGCONT", listener: () => void): unknown;
}

interface KeyOptions {
  readonly input: KeyInput;
  readonly host: KeyHost;
  /** The kernel stops a background process that reads from its terminal or changes its mode. */
  readonly isForeground: () => boolean;
  readonly onKey: (key: string) => void;
}

const CTRL_C = "\x03";
const CTRL_BACKSLASH = "\x1c";
const CTRL_Z = "\x1a";
const ESCAPE = "\x1b";
/** Process id 0 addresses the whole process group, including `npm` and the launcher, as the terminal does. */
const GROUP = 0;

/** Reads single keys until the returned function is called, which restores the terminal. */
export function listenToKeys({ input, host, isForeground, onKey }: KeyOptions): () => void {
  let held = false;
  const hold = (): void => {
    if (held || !isForeground()) return;
    input.setRawMode(true);
    input.resume();
    held = true;
  };
  const release = (): void => {
    if (!held) return;
    held = false;
    input.pause();
    try {
      input.setRawMode(false);
    } catch {
      // The terminal was closed; nothing to restore.
    }
  };
  const press = (key: string): void => {
    if (key === CTRL_C) host.kill(host.pid, "SIGINT");
    else if (key === CTRL_BACKSLASH) host.kill(host.pid, "SIGQUIT");
    else if (key === CTRL_Z) {
      release();
      host.kill(GROUP, "SIGTSTP");
    } else onKey(key);
  };
  const hear = (chunk: Buffer): void => {
    const text = chunk.toString();
    // Arrow and function keys send an escape sequence of several characters.
    if (text.startsWith(ESCAPE) && text.length > 1) return;
    for (const key of text) press(key);
  };
  input.on("data", hear);
  // A closed terminal ends the demo through SIGHUP; this handler prevents an uncaught error.
  input.on("error", () => undefined);
  // Attaching a listener starts the stream, even in the background.
  input.pause();
  host.on("SIGCONT", hold);
  hold();
  return () => {
    host.off("SIGCONT", hold);
    input.off("data", hear);
    release();
  };
}

/** Compares our process group with the terminal's foreground group, from /proc/self/stat. True if unknown. */
export function isForeground(stat: string | undefined): boolean {
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ") ?? [];
  const [group, foreground] = [fields[2], fields[5]];
  return group === undefined || foreground === undefined || group === foreground;
}
