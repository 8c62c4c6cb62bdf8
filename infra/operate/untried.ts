/** The parameter of a stage's stack by which a deployment releases versions without a trial. */
export const untriedParameter = "Untried";
