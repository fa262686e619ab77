// npm run check: everything that can be said about the code without running it, side by side.
import { runChecks } from "./rules/checks.ts";

const { failed } = await runChecks();
process.exit(failed === 0 ? 0 : 1);
