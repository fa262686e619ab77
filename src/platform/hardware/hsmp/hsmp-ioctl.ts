import { getSystemErrorName } from "node:util";

export interface Ioctl {
  /** Runs on a thread of its own. Resolves to the errno's name, or to undefined where the call succeeded. */
  call(descriptor: number, request: number, bytes: Buffer): Promise<string | undefined>;
  /** Ends the process at once, also while a thread hangs in a call. */
  exit(code: number): void;
}

/** Node has no ioctl of its own: koffi calls libc's. Loaded only where a device needs it, for it costs 2 to 9 MB. */
export async function loadIoctl(library: string): Promise<Ioctl> {
  const koffi = (await import("koffi")).default;
  const ioctl = koffi.load(library).func("ioctl", "int", ["int", "unsigned long", "void *"]);
  return {
    call: async (descriptor, request, bytes) =>
      new Promise((resolve, reject) => {
        ioctl.async(descriptor, request, bytes, (error: unknown, result: number) => {
          // Of the thread that made the call: koffi keeps it for this callback.
          const number = koffi.errno();
          // koffi has an error or a result, never both.
          if (error instanceof Error) reject(error);
          // The driver gives 0; `bytes` is named here so that its memory outlives the call.
          else resolve(result >= 0 && bytes.length > 0 ? undefined : nameOf(number));
        });
      }),
    exit: (code) => {
      koffi.load("libc.so.6").func("_exit", "void", ["int"])(code);
    },
  };
}

/** Linux's number of the one answer of the driver that libuv has no name for. */
const ENOMSG = 42;

const nameOf = (errno: number): string => (errno === ENOMSG ? "ENOMSG" : getSystemErrorName(-errno));
