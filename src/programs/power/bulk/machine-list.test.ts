import { describe, expect, it } from "vitest";
import { readMachineList } from "./machine-list.ts";

const read = (text: string, defaults: Parameters<typeof readMachineList>[2] = { type: "redfish" }) =>
  readMachineList(text, "hosts.csv", defaults);

describe("readMachineList", () => {
  it("SLP-80 reads columns in any order, comments, blank lines and a byte order mark", () => {
    const text = "\uFEFFsecret, node,address\r\n# rack 1\r\nbmc,n1,10.9.0.1\r\n\r\n,n2,http://10.9.0.2:8000\n";
    expect(read(text)).toEqual({
      ok: true,
      value: [
        {
          spec: { nodeName: "n1", redfish: { address: "https://10.9.0.1", credentialsSecretRef: { name: "bmc" } } },
          source: "hosts.csv line 3",
        },
        { spec: { nodeName: "n2", redfish: { address: "http://10.9.0.2:8000" } }, source: "hosts.csv line 5" },
      ],
    });
  });

  it("SLP-80 takes what a line lacks from the flags", () => {
    const text =
      "node,address,type,system,ca-secret,insecure,secret\nn1,a,,S1,,,\nn2,b,webhook,,,,token\nn3,c,,,,false,\n";
    const defaults = { type: "redfish", secret: "bmc", caSecret: "ca", insecure: true } as const;
    const machines = read(text, defaults);
    expect(machines.ok && machines.value.map(({ spec }) => spec)).toEqual([
      {
        nodeName: "n1",
        redfish: {
          address: "https://a",
          systemId: "S1",
          credentialsSecretRef: { name: "bmc" },
          caSecretRef: { name: "ca" },
          insecureSkipVerify: true,
        },
      },
      { nodeName: "n2", webhook: { url: "https://b", credentialsSecretRef: { name: "token" } } },
      {
        nodeName: "n3",
        redfish: { address: "https://c", credentialsSecretRef: { name: "bmc" }, caSecretRef: { name: "ca" } },
      },
    ]);
  });

  it.each([
    ["", ["hosts.csv is empty; it needs a header such as node,address,secret"]],
    ["node,adress\nn1,a", [/unknown column "adress"/, /lacks the column address/]],
    ["node,node,address\n", [/has the column node twice/]],
    [
      "node,address\nn1\n,b\nn3,c,d",
      [/line 2 lacks a address/, /line 3 lacks a node/, /line 4 has 3 values for 2 columns/],
    ],
    ["node,address,type\nn1,a,ipmi", [/line 2 has the type "ipmi"; types are redfish, webhook/]],
    ["node,address,insecure\nn1,a,yes", [/line 2 has insecure="yes"; allowed are true and false/]],
  ])("SLP-80 reports all problems of %j with their lines", (text, problems) => {
    const machines = read(text);
    expect(machines).toMatchObject({ ok: false });
    if (machines.ok) return;
    expect(machines.error).toHaveLength(problems.length);
    for (const [index, problem] of problems.entries()) expect(machines.error[index]).toMatch(problem);
  });
});
