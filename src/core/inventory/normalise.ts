/** Longer text is not a model name. The cut keeps hostile labels cheap. */
export const MAX_NAME_LENGTH = 256;

const TRADEMARKS = /\((?:r|tm|c)\)|[®™©]/g;
/** "@ 2.30GHz" ends the model name. */
const CLOCK = /@.*$/;
const CORE_COUNT = /(?:^|[^a-z0-9])(\d{1,4})[-_ ]cores?(?![a-z0-9])/;
const ORDINAL = /^\d(?:st|nd|rd|th)$/;

/** Words that name a vendor or a product type but not a model. Leaving them out must not change the match. */
const SHARED_NOISE = ["r", "tm", "c", "intel", "amd", "nvidia", "corporation", "gen", "generation", "series"];
const CPU_NOISE: ReadonlySet<string> = new Set([
  ...SHARED_NOISE,
  ..."cpu processor processors epyc xeon platinum gold silver bronze scalable ampere aws arm 6".split(" "),
]);
const GPU_NOISE: ReadonlySet<string> = new Set([
  ...SHARED_NOISE,
  ..."gpu tesla instinct radeon data center accelerator graphics vf advanced micro devices inc ati".split(" "),
]);

export interface NameParts {
  /** All words, in lower case. */
  readonly words: readonly string[];
  /** The words that identify the model, joined: the key of the index. */
  readonly id: string;
  /** "96-Core" in the name. */
  readonly cores?: number;
  /** The name describes a slice of a board: MIG or time slicing. */
  readonly sliced: boolean;
}

function wordsOf(name: string): string[] {
  return name
    .replaceAll("+", "plus")
    .split(/[^a-z0-9.]+/)
    .map((word) => word.replaceAll(/^\.+|\.+$/g, ""))
    .filter((word) => word !== "");
}

const plain = (name: string): string =>
  name.slice(0, MAX_NAME_LENGTH).toLowerCase().replaceAll(TRADEMARKS, " ").replace(CLOCK, " ");

const idOf = (words: readonly string[], noise: ReadonlySet<string>): string =>
  words.filter((word) => !noise.has(word) && !ORDINAL.test(word)).join(" ");

export function cpuNameParts(name: string): NameParts {
  const text = plain(name);
  const cores = CORE_COUNT.exec(text)?.[1];
  const words = wordsOf(text.replace(CORE_COUNT, " "));
  return { words, id: idOf(words, CPU_NOISE), sliced: false, ...(cores === undefined ? {} : { cores: Number(cores) }) };
}

export function gpuNameParts(name: string): NameParts {
  const all = wordsOf(plain(name));
  const slice = all.findIndex((word) => word === "mig" || word === "shared");
  const words = slice < 0 ? all : all.slice(0, slice);
  return { words, id: idOf(words, GPU_NOISE), sliced: slice >= 0 };
}
