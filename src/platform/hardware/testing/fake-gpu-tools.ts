import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A fake vendor tool as a shell script. Each board is a folder with one file per value. */
export interface FakeTool {
  readonly file: string;
  /** Boards by number. */
  get(board: number, key: string): string;
  set(board: number, key: string, value: string): void;
  unset(board: number, key: string): void;
  /** The number of runs that tried to set a limit. */
  writes(): number;
  /** Every run's arguments. */
  runs(): readonly string[];
  /** The tool is uninstalled. */
  vanish(): void;
  remove(): void;
}

/** The presence of the files `lost`, `forbid`, `spoil` and `ignore` matters; the top-level `unknown-field` names a column. */
const nvidiaSmi = String.raw`
echo "$*" >> "$D/runs"
[ -e "$D/hang" ] && sleep 1000
while [ $# -gt 0 ]; do
  case "$1" in
    -i) which=$2; shift ;;
    -pl) limit=$2; shift ;;
    --query-gpu=*) columns=$(echo "$1" | cut -d= -f2 | tr , ' ') ;;
  esac
  shift
done
value() { v='[N/A]'; [ -e "$b/$1" ] && IFS= read -r v < "$b/$1"; }
if [ -e "$D/unknown-field" ]; then
  read -r field < "$D/unknown-field"
  case " $columns " in *" $field "*) echo "Field \"$field\" is not a valid field to query."; exit 2 ;; esac
fi
for b in "$D"/board*; do
  [ -d "$b" ] || continue
  value uuid
  n=$(basename "$b" | tr -d a-z)
  [ -n "$which" ] && [ "$which" != "$v" ] && [ "$which" != "$n" ] && continue
  found=1
  if [ -e "$b/lost" ]; then
    echo "Unable to determine the device handle for GPU 0000:17:00.0: GPU is lost.  Reboot the system to recover this GPU"
    exit 15
  fi
  if [ -n "$limit" ]; then
    echo "$limit" >> "$D/writes"
    if [ -e "$b/forbid" ]; then
      echo "Unable to set the power management limit for GPU 00000000:17:00.0: Insufficient Permissions"
      echo "Terminating early due to previous errors."
      exit 4
    fi
    [ -e "$b/spoil" ] && { echo "Unable to set the power management limit: Unknown Error"; exit 255; }
    value power.min_limit; min=$v; value power.max_limit; max=$v
    if [ "$(printf '%.0f' "$limit")" -lt "$(printf '%.0f' "$min")" ] || [ "$(printf '%.0f' "$limit")" -gt "$(printf '%.0f' "$max")" ]; then
      echo "Provided power limit $limit W is not a valid power limit which should be between $min W and $max W for GPU 00000000:17:00.0"
      echo "Terminating early due to previous errors."
      exit 2
    fi
    [ -e "$b/ignore" ] || printf '%.2f\n' "$limit" > "$b/power.limit"
    [ -e "$b/ignore" ] || printf '%.2f\n' "$limit" > "$b/enforced.power.limit"
    [ -e "$b/oob" ] && cat "$b/oob" > "$b/enforced.power.limit"
    echo "Power limit for GPU 00000000:17:00.0 was set to $limit W from 700.00 W."
    echo "All done."
    exit 0
  fi
  line=
  for column in $columns; do value "$column"; line="$line$v, "; done
  echo "$line" | sed 's/, $//'
done
[ -n "$found" ] || { echo "No devices were found"; exit 6; }
`;

const rocmSmi = String.raw`
echo "$*" >> "$D/runs"
while [ $# -gt 0 ]; do
  case "$1" in
    -d) which=$2; shift ;;
    --setpoweroverdrive) limit=$2; shift ;;
  esac
  shift
done
value() { v=N/A; [ -e "$b/$1" ] && IFS= read -r v < "$b/$1"; }
if [ -n "$limit" ]; then
  echo "$limit" >> "$D/writes"
  b="$D/board$which"
  echo "========================= ROCm System Management Interface ========================="
  [ -e "$b/forbid" ] && { echo "GPU[$which] : Unable to set: Permission denied, run as root"; exit 1; }
  [ -e "$b/spoil" ] && { echo "GPU[$which] : Unable to set Power OverDrive"; exit 2; }
  if [ "$limit" -gt 750 ]; then
    echo "GPU[$which] : Value cannot be greater than: 750W"
    exit 1
  fi
  [ -e "$b/ignore" ] || echo "$limit.0" > "$b/limit"
  echo "==================================== End of ROCm SMI Log ===================================="
  exit 0
fi
[ -e "$D/warn" ] && echo "WARNING: AMD GPU device(s) is/are in a low-power state. Check power control/runtime_status"
first=1
printf '{'
for b in "$D"/board*; do
  [ -d "$b" ] && [ ! -e "$b/lost" ] || continue
  [ -n "$first" ] || printf ', '
  first=
  value draw-key; key=$v
  value draw; printf '"card%s": {"%s": "%s", ' "$(basename "$b" | tr -d a-z)" "$key" "$v"
  value limit; printf '"Max Graphics Package Power (W)": "%s", ' "$v"
  value unique; printf '"Unique ID": "%s", ' "$v"
  value series; printf '"Card Series": "%s"}' "$v"
done
printf ', "system": {"Driver version": "6.12"}}\n'
`;

const scripts = { "nvidia-smi": nvidiaSmi, "rocm-smi": rocmSmi } as const;

export function fakeTool(name: keyof typeof scripts, boards: readonly Readonly<Record<string, string>>[]): FakeTool {
  const folder = mkdtempSync(join(tmpdir(), "joulie-tool-"));
  const file = join(folder, name);
  writeFileSync(file, `#!/bin/sh\nD='${folder}'\n${scripts[name]}`);
  chmodSync(file, 0o755);
  const at = (board: number, key: string): string => join(board < 0 ? folder : join(folder, `board${board}`), key);
  const lines = (key: string): readonly string[] =>
    existsSync(at(-1, key)) ? readFileSync(at(-1, key), "utf8").trim().split("\n") : [];
  const tool: FakeTool = {
    file,
    get: (board, key) => readFileSync(at(board, key), "utf8").trim(),
    set: (board, key, value) => writeFileSync(at(board, key), `${value}\n`),
    unset: (board, key) => rmSync(at(board, key), { force: true }),
    writes: () => lines("writes").length,
    runs: () => lines("runs"),
    vanish: () => rmSync(file),
    remove: () => rmSync(folder, { recursive: true }),
  };
  for (const [board, values] of boards.entries()) {
    mkdirSync(join(folder, `board${board}`));
    for (const [key, value] of Object.entries(values)) tool.set(board, key, value);
  }
  return tool;
}
