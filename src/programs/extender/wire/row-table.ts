/** Numbers of equal rows, one row per candidate, in one array that grows and is used again. */
export class RowTable {
  readonly width: number;
  count = 0;
  cells: Int32Array;
  /** How often they were cleared: who reads rows of an earlier time reads another's. */
  generation = 0;

  constructor(width: number) {
    this.width = width;
    this.cells = new Int32Array(width * 64);
  }

  clear(): void {
    this.count = 0;
    this.generation++;
  }

  /** Room for one more row of zeros; where it starts. */
  add(): number {
    const start = this.count * this.width;
    const end = start + this.width;
    this.count++;
    if (end > this.cells.length) {
      const more = new Int32Array(this.cells.length * 2);
      more.set(this.cells);
      this.cells = more;
    }
    // A loop over a handful of numbers is over before a call to fill begins.
    for (let cell = start; cell < end; cell++) this.cells[cell] = 0;
    return start;
  }
}
