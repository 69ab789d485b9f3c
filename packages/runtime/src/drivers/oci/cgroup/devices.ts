/**
 * Character devices that code inside may use; mknod is allowed for all, but other nodes cannot be opened. `*`: every
 * minor number.
 */
export const usableDevices: readonly [major: number, minor: number | '*'][] = [
  [1, 3],
  [1, 5],
  [1, 7],
  [1, 8],
  [1, 9],
  [5, 0],
  [5, 1],
  [5, 2],
  [136, '*'],
];
