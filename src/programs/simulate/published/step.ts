/** The experiment has steps of one minute. */
export const STEP_SEC = 60;
