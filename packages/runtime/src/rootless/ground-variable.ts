/** The variable that names the folder of the ground to whoever was started to work in it. */
export const groundVariable = 'SKERRY_GROUND';
