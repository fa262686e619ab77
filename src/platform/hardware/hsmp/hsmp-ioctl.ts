import { getSystemErrorName } from "node:util";

export interface Ioctl {
  /** Runs on its own thread. Resolves to the errno name, or to undefined if the call succeeded. */
  call(descriptor: number, request: number, bytes: Buffer): Promise<string | undefined>;
  /** Exits the process at once, even while a thread hangs in a call. */
  exit(code: number): void;
}

/** Node has no ioctl, so koffi calls the one of libc. koffi costs 2 to 9 MB and is loaded only if a device needs it. */
export async function loadIoctl(library: string): Promise<Ioctl> {
  const koffi = (await import("koffi")).default;
  const ioctl = koffi.load(library).func("ioctl", "int", ["int", "unsigned long", "void *"]);
  return {
    call: async (descriptor, request, bytes) =>
      new Promise((resolve, reject) => {
        ioctl.async(descriptor, request, bytes, (error: unknown, result: number) => {
          // The errno of the calling thread: koffi keeps it for this callback.
          const number = koffi.errno();
          // koffi passes an error or a result, never both.
          if (error instanceof Error) reject(error);
          // The driver returns 0. Referencing `bytes` keeps its memory alive during the call.
          else resolve(result >= 0 && bytes.length > 0 ? undefined : nameOf(number));
        });
      }),
    exit: (code) => {
      koffi.load("libc.so.6").func("_exit", "void", ["int"])(code);
    },
  };
}

/** The only errno of the driver that libuv has no name for. */
const ENOMSG = 42;

const nameOf = (errno: number): string => (errno === ENOMSG ? "ENOMSG" : getSystemErrorName(-errno));
