import { buildWebIfOld } from "../../scripts/web.ts";

/** The tests read the built page. */
export const setup = async (): Promise<void> => buildWebIfOld();
