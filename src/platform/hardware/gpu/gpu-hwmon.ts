import { type Watts, wattsFromMicrowatts } from "../../../core/units/index.ts";
import { errorCode } from "../host/host-error.ts";
import { namesIn, numberAt, realPath, textAt } from "../host/host-values.ts";
import type { HostFiles } from "../port.ts";

/** A graphics card whose driver tells power through hwmon. Its number and that of its hwmon change from boot to boot. */
export interface GpuHwmonCard {
  /** Its device's folder, and that of its hwmon, below the root. */
  readonly device: string;
  readonly hwmon: string;
  readonly driver: string;
  /** `0000:17:00.0`: where it sits, which stays until somebody moves it. */
  readonly address: string;
  /** What the board calls itself, where it does: the text of `unique_id`. */
  readonly unique: string | undefined;
  /** By the name the board carries, else by its PCI numbers. */
  readonly model: string | undefined;
}

/** After so many looks a card of another driver is searched again: a driver may give it one more hwmon. */
const LOOKS_BELIEVED = 64;

/** The cards of some drivers. Connectors (`card0-DP-1`) and partitions without a hwmon are no cards. */
export class GpuHwmonScanner {
  readonly #files: HostFiles;
  readonly #vendor: string;
  readonly #drivers: readonly string[];
  readonly #known = new Map<string, GpuHwmonCard>();
  /** Cards of other drivers: the files in which their hwmons name these, and what they say. */
  readonly #others = new Map<string, ReadonlyMap<string, string>>();
  #looks = 0;

  constructor(files: HostFiles, vendor: string, drivers: readonly string[]) {
    this.#files = files;
    this.#vendor = vendor;
    this.#drivers = drivers;
  }

  /** Those that are there now. Where a card's files still say the same of themselves, its folders are not searched again. */
  cards(): readonly GpuHwmonCard[] {
    if (++this.#looks % LOOKS_BELIEVED === 0) this.#others.clear();
    const names = namesIn(this.#files, "class/drm").filter((name) => /^card\d+$/.test(name));
    // One that comes back may be another's by then.
    for (const name of this.#others.keys()) if (!names.includes(name)) this.#others.delete(name);
    const found = names.flatMap((name) => {
      const known = this.#known.get(name);
      const card = known !== undefined && this.#isSame(known) ? known : this.#search(name);
      if (card === undefined) this.#known.delete(name);
      else this.#known.set(name, card);
      return card === undefined ? [] : [card];
    });
    return [...new Map(found.map((card) => [card.address, card])).values()];
  }

  /** One of them, by what makes it that one: as long as it stays where it was, no other is looked at. */
  card(isIt: (card: GpuHwmonCard) => boolean): GpuHwmonCard | undefined {
    const known = [...this.#known.values()].find(isIt);
    return known !== undefined && this.#isSame(known) ? known : this.cards().find(isIt);
  }

  #isSame({ device, hwmon, driver, address, unique }: GpuHwmonCard): boolean {
    if (textAt(this.#files, `${hwmon}/name`) !== driver) return false;
    return unique === undefined ? this.#addressOf(device) === address : this.#uniqueOf(device) === unique;
  }

  #search(card: string): GpuHwmonCard | undefined {
    const others = this.#others.get(card);
    if (others !== undefined && this.#areSame(others)) return undefined;
    const device = `class/drm/${card}/device`;
    const drivers = new Map<string, string>();
    for (const name of namesIn(this.#files, `${device}/hwmon`)) {
      const hwmon = `${device}/hwmon/${name}`;
      const driver = textAt(this.#files, `${hwmon}/name`) ?? "";
      if (this.#drivers.includes(driver)) return this.#cardAt(device, hwmon, driver);
      drivers.set(`${hwmon}/name`, driver);
    }
    // One without a hwmon may still get it.
    if (drivers.size > 0) this.#others.set(card, drivers);
    else this.#others.delete(card);
    return undefined;
  }

  #areSame(drivers: ReadonlyMap<string, string>): boolean {
    for (const [file, driver] of drivers) if (textAt(this.#files, file) !== driver) return false;
    return true;
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
    return textAt(this.#files, `${device}/unique_id`);
  }

  #modelOf(device: string): string | undefined {
    const product = textAt(this.#files, `${device}/product_name`)?.trim();
    if (product) return product;
    const number = textAt(this.#files, `${device}/device`)?.trim();
    return number ? `${this.#vendor} GPU ${number}` : undefined;
  }
}

/** A figure of a hwmon in µW; undefined where there is none to be read. */
export function microwattsAt(files: HostFiles, path: string): Watts | undefined {
  const microwatts = numberAt(files, path);
  return microwatts === undefined ? undefined : wattsFromMicrowatts(microwatts);
}

/** What sysfs wants: whole microwatts. */
export const asMicrowatts = (limit: Watts): string => String(Math.round(limit * 1e6));

/** Whether a file is there, be it that it cannot be read just now. A read by a kept descriptor is cheaper than a look. */
export function fileExists(files: HostFiles, path: string): boolean {
  try {
    files.read(path);
    return true;
  } catch (error) {
    return errorCode(error) !== "ENOENT";
  }
}
