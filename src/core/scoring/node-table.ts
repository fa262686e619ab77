import type { Labels, NodeTwinStatus } from "../api/index.ts";
import { type GpuNode, gpuNodeOf, marginalHardwareOf } from "../demand/index.ts";
import type { HardwareView } from "../inventory/index.ts";
import { SlotTable } from "../units/index.ts";
import { ScoringColumns } from "./columns.ts";
import { twinStateOf } from "./twin-state.ts";

/** The inputs of a slot that later events need again. */
interface Sources {
  readonly hasTwin: boolean;
  readonly hardware?: HardwareView | undefined;
  readonly labels?: Labels | undefined;
}

const nothing: Sources = { hasTwin: false };
const gpuless: GpuNode = { boards: 0 };

/**
 * All nodes, each in a slot of the columns. Twin, hardware and labels arrive as separate events in any order; each event
 * writes one slot in constant time. A node without any remaining part frees its slot, so late deletions leave nothing behind.
 */
export class ScoringNodeTable {
  protected readonly columns = new ScoringColumns();
  readonly #facilityMetrics: boolean;
  readonly #slots = new SlotTable();
  readonly #sources: Sources[] = [];
  readonly #gpuNodes: GpuNode[] = [];
  readonly #names: (string | undefined)[] = [];

  constructor(facilityMetrics: boolean) {
    this.#facilityMetrics = facilityMetrics;
  }

  /** -1 for an unknown node. Valid while `slotsVersion` stays the same. */
  slotOf(name: string): number {
    return this.#slots.of(name);
  }

  /** While it stays the same, every name has the same slot. */
  get slotsVersion(): number {
    return this.#slots.version;
  }

  /** One more than the highest slot ever used. */
  get end(): number {
    return this.#slots.end;
  }

  upsertTwin(name: string, status: NodeTwinStatus | undefined): void {
    const slot = this.#update(name, { hasTwin: status !== undefined });
    if (slot >= 0) this.columns.writeTwin(slot, status && twinStateOf(status), this.#facilityMetrics);
  }

  upsertHardware(name: string, hardware: HardwareView | undefined): void {
    this.#writeHardware(this.#update(name, { hardware }));
  }

  upsertLabels(name: string, labels: Labels | undefined): void {
    this.#writeHardware(this.#update(name, { labels }));
  }

  remove(name: string): void {
    this.#release(name, this.#slots.of(name));
  }

  protected labelOn(slot: number, key: string): string | undefined {
    return this.#sources[slot]?.labels?.[key];
  }

  /** Called after the hardware or the labels of a slot changed, and with `undefined` as name when the slot became free. */
  protected hardwareChanged(
    _slot: number,
    _name: string | undefined,
    _hardware: HardwareView | undefined,
    _labels: Labels | undefined,
  ): void {
    // For subclasses with further columns.
  }

  protected gpuNode(slot: number): GpuNode {
    return this.#gpuNodes[slot] ?? gpuless;
  }

  /** The slot to write; -1 if there is nothing to write. */
  #update(name: string, change: Partial<Sources>): number {
    const known = this.#slots.of(name);
    const sources = { ...(this.#sources[known] ?? nothing), ...change };
    if (!sources.hasTwin && sources.hardware === undefined && sources.labels === undefined) {
      this.#release(name, known);
      return -1;
    }
    const slot = known >= 0 ? known : this.#take(name);
    this.#sources[slot] = sources;
    return slot;
  }

  #take(name: string): number {
    const slot = this.#slots.take(name);
    if (slot >= this.columns.capacity) this.columns.grow();
    this.#clear(slot, name);
    return slot;
  }

  /** A free slot looks like a node without a twin: it adds nothing to a batch. */
  #release(name: string, slot: number): void {
    if (slot < 0) return;
    this.#slots.release(name);
    this.#clear(slot, undefined);
  }

  #clear(slot: number, name: string | undefined): void {
    this.#names[slot] = name;
    this.#sources[slot] = nothing;
    this.columns.writeTwin(slot, undefined, this.#facilityMetrics);
    this.#writeHardware(slot);
  }

  #writeHardware(slot: number): void {
    if (slot < 0) return;
    const { hardware, labels } = this.#sources[slot] ?? nothing;
    const gpuNode = gpuNodeOf(hardware, labels);
    this.#gpuNodes[slot] = gpuNode;
    this.columns.writeHardware(slot, marginalHardwareOf(hardware), gpuNode);
    this.hardwareChanged(slot, this.#names[slot], hardware, labels);
  }
}
