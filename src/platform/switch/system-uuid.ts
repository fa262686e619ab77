/** 32 hexadecimal digits that are not all the same: firmware without a UUID reports zeros or ones. */
const KNOWN = /^(?!(.)\1{31}$)[0-9a-f]{32}$/;

/** Placeholders of firmware whose vendor set no UUID. Many machines report the same one. */
const placeholders: ReadonlySet<string> = new Set([
  "03000200040005000006000700080009",
  "000102030405060708090a0b0c0d0e0f",
  "123456781234567890abcddeefaabbcc",
]);

/** Undefined for a text that is no UUID, or one that says nothing about the machine. */
function digitsOf(uuid: string | undefined): string | undefined {
  const digits = uuid?.toLowerCase().replace(/^urn:uuid:|[{}-]/g, "");
  if (digits === undefined || !KNOWN.test(digits)) return undefined;
  return placeholders.has(digits) || placeholders.has(byteSwapped(digits)) ? undefined : digits;
}

const reversed = (digits: string): string => (digits.match(/../g) ?? []).toReversed().join("");

/** SMBIOS stores the first three fields with the least significant byte first. Not every firmware turns them round. */
const byteSwapped = (digits: string): string =>
  reversed(digits.slice(0, 8)) + reversed(digits.slice(8, 12)) + reversed(digits.slice(12, 16)) + digits.slice(16);

/** The UUID in lower case with dashes; undefined for a text that is none, and for a placeholder. */
export function uuidIn(text: string | undefined): string | undefined {
  return digitsOf(text)?.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** Whether two UUIDs are of the same machine, in either byte order; undefined if one of them is not known. */
export function isSameSystem(first: string | undefined, second: string | undefined): boolean | undefined {
  const [a, b] = [digitsOf(first), digitsOf(second)];
  return a === undefined || b === undefined ? undefined : a === b || a === byteSwapped(b);
}
