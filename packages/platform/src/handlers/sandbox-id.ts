/** The id in a path. Older programs write `{sandboxID}-{clientID}`. */
export const parseSandboxId = ({ sandboxID }: { sandboxID: string }): string => sandboxID.replace(/-.*$/, '');
