import { type Watts, wattsFromMicrowatts } from "../../../core/units/index.ts";
import { errorCode } from "../host/host-error.ts";
import { hostFileText, namesIn, numberAt, realPath } from "../host/host-values.ts";
import type { HostFiles } from "../port.ts";

/** A graphics card whose driver reports power through hwmon. The card and hwmon numbers change from boot to boot. */
export interface GpuHwmonCard {
  /** The device folder and the hwmon folder, relative to the root. */
  readonly device: string;
  readonly hwmon: string;
  readonly driver: string;
  /** The PCI address (`0000:17:00.0`), which changes only if the card is moved. */
  readonly address: string;
  /** The text of `unique_id`, if the board has one. */
  readonly unique: string | undefined;
  /** The product name, else the PCI device id. */
  readonly model: string | undefined;
}

/** Finds the cards of the given drivers. Skips connectors (`card0-DP-1`) and partitions without a hwmon. */
export class GpuHwmonScanner {
  readonly #files: HostFiles;
  readonly #vendor: string;
  readonly #drivers: readonly string[];
  readonly #known = new Map<string, GpuHwmonCard>();

  constructor(files: HostFiles, vendor: string, drivers: readonly string[]) {
    this.#files = files;
    this.#vendor = vendor;
    this.#drivers = drivers;
  }

  /** The cards present now. A card whose identifying files are unchanged is not searched again. */
  cards(): readonly GpuHwmonCard[] {
    const names = namesIn(this.#files, "class/drm").filter((name) => /^card\d+$/.test(name));
    const found = names.flatMap((name) => {
      const known = this.#known.get(name);
      const card = known !== undefined && this.#isSame(known) ? known : this.#search(name);
      if (card === undefined) this.#known.delete(name);
      else this.#known.set(name, card);
      return card === undefined ? [] : [card];
    });
    return [...new Map(found.map((card) => [card.address, card])).values()];
  }

  /** Finds one card. Scans the other cards only if it moved. */
  card(matches: (card: GpuHwmonCard) => boolean): GpuHwmonCard | undefined {
    const known = [...this.#known.values()].find(matches);
    return known !== undefined && this.#isSame(known) ? known : this.cards().find(matches);
  }

  #isSame({ device, hwmon, driver, address, unique }: GpuHwmonCard): boolean {
    if (hostFileText(this.#files, `${hwmon}/name`) !== driver) return false;
    return unique === undefined ? this.#addressOf(device) === address : this.#uniqueOf(device) === unique;
  }

  #search(card: string): GpuHwmonCard | undefined {
    const device = `class/drm/${card}/device`;
    for (const name of namesIn(this.#files, `${device}/hwmon`)) {
      const hwmon = `${device}/hwmon/${name}`;
      const driver = hostFileText(this.#files, `${hwmon}/name`) ?? "";
      if (this.#drivers.includes(driver)) return this.#cardAt(device, hwmon, driver);
    }
    return undefined;
  }

  #cardAt(device: string, hwmon: string, driver: string): GpuHwmonCard {
    return {
      device,
      hwmon,
      driver,
      address: this.#addressOf(device),
      unique: this.#uniqueOf(device),
      model: this.#modelOf(device),
    };
  }

  #addressOf(device: string): string {
    return (realPath(this.#files, device) ?? device).split("/").at(-1) ?? device;
  }

  #uniqueOf(device: string): string | undefined {
    return hostFileText(this.#files, `${device}/unique_id`);
  }

  #modelOf(device: string): string | undefined {
    const product = hostFileText(this.#files, `${device}/product_name`)?.trim();
    if (product) return product;
    const number = hostFileText(this.#files, `${device}/device`)?.trim();
    return number ? `${this.#vendor} GPU ${number}` : undefined;
  }
}

/** Reads a hwmon value in µW; undefined if it cannot be read. */
export function microwattsAt(files: HostFiles, path: string): Watts | undefined {
  const microwatts = numberAt(files, path);
  return microwatts === undefined ? undefined : wattsFromMicrowatts(microwatts);
}

/** Formats a limit for sysfs: whole microwatts. */
export const asMicrowatts = (limit: Watts): string => String(Math.round(limit * 1e6));

/** Whether a file exists, even if it cannot be read now. Reading through an open descriptor is cheaper than a stat call. */
export function fileExists(files: HostFiles, path: string): boolean {
  try {
    files.read(path);
    return true;
  } catch (error) {
    return errorCode(error) !== "ENOENT";
  }
}
