/**
 * The version of the agent that every reply carries as `envdVersion`. Clients compare it as plain semver to decide
 * which features they may use, so it has no suffix, is the same everywhere, and is raised only together with the
 * behaviour it promises. It is not the version of skerry.
 */
export const AGENT_VERSION = '0.6.13';
