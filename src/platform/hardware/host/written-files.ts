/** A file pattern that the agent may open for writing: `*` matches part of a name, `**` any folders. */
export interface WrittenFile {
  readonly path: string;
  readonly why: string;
}

/**
 * Every host file below HOST_SYS_ROOT that Joulie opens for writing. HostDirectory and FakeHost refuse any other path before they
 * open it, so this list is enforced. Nothing below HOST_PROC_ROOT is ever written.
 */
export const writtenFiles: readonly WrittenFile[] = [
  { path: "**/intel-rapl:*/constraint_*_power_limit_uw", why: "the power limit of a CPU package (RAPL)" },
  { path: "**/hwmon*/power1_cap", why: "the power limit of an EPYC socket (HSMP) or of an AMD GPU" },
  { path: "**/hwmon*/power1_max", why: "the power limit of an Intel GPU" },
  { path: "**/cpufreq/policy*/scaling_max_freq", why: "throttles CPUs where their power cannot be limited" },
  { path: "**/cpufreq/policy*/scaling_min_freq", why: "puts back a minimum that a lower maximum pulled down" },
];

const expressions = writtenFiles.map(({ path }) => asExpression(path));

/** Whether a resolved path matches the list. */
export const isWrittenFile = (path: string): boolean => expressions.some((expression) => expression.test(path));

function asExpression(glob: string): RegExp {
  const parts = glob.split(/(\*\*\/|\*)/).map((part) => {
    if (part === "**/") return "(?:[^/]+/)*";
    return part === "*" ? "[^/]*" : part.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
  });
  return new RegExp(`^${parts.join("")}$`);
}
