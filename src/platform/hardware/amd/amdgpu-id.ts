/** The id that stays when slots and numbers change, written alike by sysfs and rocm-smi; none where the board has none. */
export function normalizedAmdId(text: string | undefined): string | undefined {
  const digits = /^(?:0x)?([0-9a-f]{1,16})$/i.exec(text?.trim() ?? "")?.[1]?.toLowerCase();
  return digits === undefined || /^0+$/.test(digits) ? undefined : digits.padStart(16, "0");
}
