// npm run check: runs all static checks in parallel.
import { runChecks } from "./rules/checks.ts";

const { failed } = await runChecks();
process.exit(failed === 0 ? 0 : 1);
