/** The board's unique id in one format for sysfs and rocm-smi. It survives slot and number changes. Undefined if the board has none. */
export function normalizedAmdId(text: string | undefined): string | undefined {
  const digits = /^(?:0x)?([0-9a-f]{1,16})$/i.exec(text?.trim() ?? "")?.[1]?.toLowerCase();
  return digits === undefined || /^0+$/.test(digits) ? undefined : digits.padStart(16, "0");
}
