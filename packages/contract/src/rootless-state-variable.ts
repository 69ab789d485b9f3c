/** The environment variable that names the folder of the rootless namespace to processes that work in it. */
export const rootlessStateVariable = 'SKERRY_ROOTLESS_STATE';
