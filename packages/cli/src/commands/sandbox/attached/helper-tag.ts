/** The tag of commands that skerry runs in a sandbox for its own purpose: `sandbox events` leaves them out. */
export const HELPER_TAG = 'skerry';
