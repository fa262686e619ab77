import { describe, expect, it } from "vitest";
import { Screen } from "./screen.ts";

const ESC = String.fromCodePoint(27);
/** Splits output into text and control sequences, keeping both. */
const PIECES = new RegExp(`(${ESC}\\[[?]?\\d*[A-Za-z]|\\n|\\r)`, "g");

/** Terminal emulator that records the resulting characters. */
class Paper {
  columns: number | undefined = 80;
  rows: number | undefined;
  readonly lines: string[] = [""];
  writes = 0;
  last = "";
  cursorShown = true;
  #row = 0;

  constructor(rows?: number) {
    this.rows = rows;
  }

  write(text: string): void {
    this.writes++;
    this.last = text;
    for (const piece of text.split(PIECES)) {
      const up = piece.startsWith(ESC) && piece.endsWith("A") ? Number(piece.slice(2, -1)) : 0;
      this.#row -= up;
      if (piece === `${ESC}[J`) this.lines.splice(this.#row, this.lines.length, this.#written);
      else if (piece === `${ESC}[K`) this.lines[this.#row] = this.#written;
      else if (piece === `${ESC}[?25l` || piece === `${ESC}[?25h`) this.cursorShown = piece.endsWith("h");
      else if (piece === "\n") {
        this.#row++;
        this.lines[this.#row] ??= "";
        this.#written = "";
      } else if (piece === "\r") this.#written = "";
      else if (!piece.startsWith(ESC)) {
        this.#written += piece;
        const under = this.lines[this.#row] ?? "";
        this.lines[this.#row] = this.#written + under.slice(this.#written.length);
      }
    }
  }
  #written = "";
}

describe("Screen", () => {
  it("overwrites the previous output, even if that was longer", () => {
    const paper = new Paper();
    const screen = new Screen(paper);
    screen.draw(["first picture", "with two lines", "and a third"]);
    expect(paper.cursorShown).toBe(false);
    screen.draw(["second", "picture"]);
    expect(paper.lines).toEqual(["second", "picture", ""]);
    screen.draw(["third", "picture", "is longer"]);
    expect(paper.lines).toEqual(["third", "picture", "is longer", ""]);
    expect(paper.writes).toBe(3);
    screen.end();
    expect(paper.cursorShown).toBe(true);
    expect(paper.lines).toEqual(["third", "picture", "is longer", ""]);
  });

  it("draws only what fits: scrolled lines cannot be overwritten", () => {
    const paper = new Paper(4);
    const screen = new Screen(paper);
    for (const round of ["a", "b"]) screen.draw([`${round}1`, `${round}2`, `${round}3`, `${round}4`, `${round}5`]);
    expect(paper.lines).toEqual(["b1", "b2", "b3", ""]);
  });

  it("clears the screen after a width change: wrapped lines have moved", () => {
    const paper = new Paper();
    const screen = new Screen(paper);
    screen.draw(["a long line", "another"]);
    paper.columns = 6;
    screen.draw(["short"]);
    expect(paper.last).toContain(`${ESC}[H${ESC}[2J`);
    screen.draw(["again"]);
    expect(paper.last).not.toContain(`${ESC}[2J`);
  });

  it("clears the screen after a change of height: lines may have scrolled away", () => {
    const paper = new Paper(4);
    const screen = new Screen(paper);
    screen.draw(["a", "b", "c"]);
    paper.rows = 3;
    screen.draw(["a", "b", "c"]);
    expect(paper.last).toContain(`${ESC}[H${ESC}[2J`);
    expect([screen.height, new Screen(new Paper()).height]).toEqual([2, 23]);
  });

  it("leaves the last column empty: clearing after it would erase its character", () => {
    const paper = new Paper();
    expect(new Screen(paper).width).toBe(79);
    paper.columns = 1;
    expect(new Screen(paper).width).toBe(1);
    paper.columns = undefined;
    expect(new Screen(paper).width).toBe(79);
  });

  it("treats 0 columns and rows as unknown, as serial lines and container terminals report them", () => {
    const paper = new Paper(0);
    paper.columns = 0;
    const screen = new Screen(paper);
    expect(screen.width).toBe(79);
    screen.draw(["a", "b"]);
    expect(paper.lines).toEqual(["a", "b", ""]);
  });

  it("writes nothing if it never drew", () => {
    const paper = new Paper();
    new Screen(paper).end();
    expect(paper.writes).toBe(0);
  });
});
