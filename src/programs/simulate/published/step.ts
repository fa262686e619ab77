/** The experiment looks at the cluster once a minute. */
export const STEP_SEC = 60;
