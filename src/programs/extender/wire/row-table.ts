/** A table of integers with one row per candidate, in one array that grows and is reused for the next request. */
export class RowTable {
  readonly width: number;
  count = 0;
  cells: Int32Array;
  /** Incremented by `clear`, so that a reader can detect that its rows were replaced. */
  generation = 0;

  constructor(width: number) {
    this.width = width;
    this.cells = new Int32Array(width * 64);
  }

  clear(): void {
    this.count = 0;
    this.generation++;
  }

  /** Appends a row of zeros and returns its start. */
  add(): number {
    const start = this.count * this.width;
    const end = start + this.width;
    this.count++;
    if (end > this.cells.length) {
      const more = new Int32Array(this.cells.length * 2);
      more.set(this.cells);
      this.cells = more;
    }
    // For a handful of numbers a loop is faster than a call to fill.
    for (let cell = start; cell < end; cell++) this.cells[cell] = 0;
    return start;
  }
}
