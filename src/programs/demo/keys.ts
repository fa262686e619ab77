/** What is asked of `process.stdin`. */
interface KeyInput {
  setRawMode(on: boolean): unknown;
  resume(): unknown;
  pause(): unknown;
  on(event: "data", listener: (chunk: Buffer) => void): unknown;
  on(event: "error", listener: () => void): unknown;
  off(event: "data", listener: (chunk: Buffer) => void): unknown;
}

/** What is asked of `process`. */
interface KeyHost {
  readonly pid: number;
  kill(pid: number, signal: "SIGINT" | "SIGQUIT" | "SIGTSTP"): unknown;
  on(signal: "SIGCONT", listener: () => void): unknown;
  off(signal: "SIGCONT", listener: () => void): unknown;
}

interface KeyOptions {
  readonly input: KeyInput;
  readonly host: KeyHost;
  /** A program in the background that reads from its terminal or changes its mode is stopped by the kernel. */
  readonly isForeground: () => boolean;
  readonly onKey: (key: string) => void;
}

const CTRL_C = "\x03";
const CTRL_BACKSLASH = "\x1c";
const CTRL_Z = "\x1a";
const ESCAPE = "\x1b";
/** As a process id, everyone in our group: `npm` and the launcher as well, as the terminal itself would do it. */
const GROUP = 0;

/** Reads single keys until the returned function is called, which gives the terminal back as it was. */
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
      // The terminal was closed: nothing is left to give back.
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
    // Arrows and function keys: more than one character that begins with Escape.
    if (text.startsWith(ESCAPE) && text.length > 1) return;
    for (const key of text) press(key);
  };
  input.on("data", hear);
  // A closed terminal ends the demo through SIGHUP; here it must only not end it with a stack trace.
  input.on("error", () => undefined);
  // Attaching a listener has made it flow, in the background too.
  input.pause();
  host.on("SIGCONT", hold);
  hold();
  return () => {
    host.off("SIGCONT", hold);
    input.off("data", hear);
    release();
  };
}

/** From the text of /proc/self/stat: our process group, and the one the terminal belongs to. Where there is none, we are asked in vain. */
export function isForeground(stat: string | undefined): boolean {
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ") ?? [];
  const [group, foreground] = [fields[2], fields[5]];
  return group === undefined || foreground === undefined || group === foreground;
}
