import { signal } from '@preact/signals';

/** Whether the end of an open agent's output stays in view. */
export const isFollowing = signal(false);
