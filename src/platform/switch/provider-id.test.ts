import { expect, it } from "vitest";
import { isHostOf } from "./provider-id.ts";

const host = { namespace: "metal", name: "host-1", machine: "m-1" };

it.each<[string | undefined, boolean | undefined]>([
  ["metal3://metal/host-1/m-1", true],
  ["metal3://metal/host-1/m-2", false],
  ["metal3://metal/host-2/m-1", false],
  ["metal3://other/host-1/m-1", false],
  ["baremetalhost:///metal/host-1", true],
  ["baremetalhost:///metal/host-1/8a5c", true],
  ["baremetalhost:///metal/host-2/8a5c", false],
  ["metal3://4c4c4544-0034-5910-8052-b7c04f4e3332", undefined],
  ["aws:///eu-west-1a/i-0123", undefined],
  ["", undefined],
  [undefined, undefined],
])("SLP-26 a node with provider ID %s runs on the BareMetalHost: %s", (providerId, isSame) => {
  expect(isHostOf(host, providerId)).toBe(isSame);
});

it("SLP-26 ignores the machine of a host that has no Metal3Machine", () => {
  expect(isHostOf({ ...host, machine: undefined }, "metal3://metal/host-1/m-2")).toBe(true);
});
