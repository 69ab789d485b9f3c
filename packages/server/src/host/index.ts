export { currentRootlessState } from './current-rootless-state.ts';
export { examineHost } from './examine-host.ts';
export { refuseHost } from './refuse-host.ts';
export { enterRootlessNamespace } from './rootless.ts';
