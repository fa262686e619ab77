import { describe, expect, it } from "vitest";
import { isSameSystem, uuidIn } from "./system-uuid.ts";

const UUID = "4c4c4544-0034-5910-8052-b7c04f4e3332";

describe("SLP-26 the UUIDs of a machine", () => {
  it.each([
    ["equal", UUID],
    ["in capitals", UUID.toUpperCase()],
    ["with the first three fields in the other byte order", "44454c4c-3400-1059-8052-b7c04f4e3332"],
    ["without dashes", UUID.replaceAll("-", "")],
    ["as a URN", `urn:uuid:${UUID}`],
    ["in braces", `{${UUID}}`],
  ])("are the same: %s", (_, other) => {
    expect(isSameSystem(UUID, other)).toBe(true);
    expect(isSameSystem(other, UUID)).toBe(true);
  });

  it.each([
    ["another machine", "4c4c4544-0034-5910-8052-b7c04f4e3333"],
    ["the last two fields in the other byte order", "4c4c4544-0034-5910-5280-32334e4fc0b7"],
    ["one field in the other byte order", "44454c4c-0034-5910-8052-b7c04f4e3332"],
  ])("differ: %s", (_, other) => {
    expect(isSameSystem(UUID, other)).toBe(false);
  });

  it("are shown in one spelling, and nothing else is", () => {
    expect(uuidIn(`{${UUID.toUpperCase()}}`)).toBe(UUID);
    expect(uuidIn("<script>")).toBeUndefined();
  });

  it.each([
    undefined,
    "",
    "Not Available",
    "00000000-0000-0000-0000-000000000000",
    "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
    `${UUID}0`,
    "03000200-0400-0500-0006-000700080009",
    "00020003-0004-0005-0006-000700080009",
    "00010203-0405-0607-0809-0A0B0C0D0E0F",
    "12345678-1234-5678-90AB-CDDEEFAABBCC",
  ])("say nothing: %s", (other) => {
    expect(isSameSystem(UUID, other)).toBeUndefined();
    expect(isSameSystem(other, UUID)).toBeUndefined();
  });
});
