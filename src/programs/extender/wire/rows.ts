/** Numbers of equal rows, one row per candidate, in one array that grows. */
export class Rows {
  readonly width: number;
  count = 0;
  cells: Int32Array;

  constructor(width: number) {
    this.width = width;
    this.cells = new Int32Array(width * 64);
  }

  /** Room for one more row of zeros; where it starts. */
  add(): number {
    const start = this.count * this.width;
    this.count++;
    if (start + this.width > this.cells.length) {
      const more = new Int32Array(this.cells.length * 2);
      more.set(this.cells);
      this.cells = more;
    }
    this.cells.fill(0, start, start + this.width);
    return start;
  }
}
