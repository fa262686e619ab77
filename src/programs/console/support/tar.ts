// A tar archive in memory, in the format ustar. Only what a support bundle needs: plain files with short names.

export interface ArchivedFile {
  /** At most 100 bytes. */
  readonly name: string;
  readonly content: string;
}

const BLOCK = 512;
const octal = (value: number, length: number): string => `${value.toString(8).padStart(length - 1, "0")}\0`;

export function tarOf(files: readonly ArchivedFile[], modifiedAt: number): Buffer {
  const blocks: Buffer[] = [];
  for (const { name, content } of files) {
    const body = Buffer.from(content);
    blocks.push(headerOf(name, body.length, modifiedAt), body, Buffer.alloc((BLOCK - (body.length % BLOCK)) % BLOCK));
  }
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
}

function headerOf(name: string, size: number, modifiedAt: number): Buffer {
  if (Buffer.byteLength(name) > 100) throw new Error(`the name ${name} is too long for the archive`);
  const header = Buffer.alloc(BLOCK);
  header.write(name, 0);
  header.write(octal(0o600, 8), 100);
  header.write(octal(0, 8), 108);
  header.write(octal(0, 8), 116);
  header.write(octal(size, 12), 124);
  header.write(octal(Math.floor(modifiedAt / 1000), 12), 136);
  header.write(" ".repeat(8), 148);
  header.write("0", 156);
  header.write("ustar\x0000", 257);
  let sum = 0;
  for (const byte of header) sum += byte;
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}
