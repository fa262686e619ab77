import process from "node:process";
import packageJson from "../../../package.json" with { type: "json" };

/** Version information for bug reports. */
export function versionText(json: boolean): string {
  const { platform, arch } = process;
  const facts = { version: packageJson.version, node: process.versions.node, platform, arch };
  if (json) return `${JSON.stringify(facts)}\n`;
  return `joulie ${facts.version}\nNode ${facts.node}\n${platform} ${arch}\n`;
}
