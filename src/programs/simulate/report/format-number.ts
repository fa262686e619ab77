/** Uses thousands separators, independent of the locale. */
export const formatNumber = (value: number, digits: number): string =>
  value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });

/** Omits the sign if the value rounds to zero. */
export function formatSigned(value: number, digits: number): string {
  const rounded = Number(value.toFixed(digits));
  return `${rounded > 0 ? "+" : ""}${formatNumber(rounded === 0 ? 0 : rounded, digits)}`;
}
