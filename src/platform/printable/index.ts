export { printable, printableLine, withoutControlCharacters } from "./printable.ts";
