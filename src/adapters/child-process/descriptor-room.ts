import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';

/** A socket for each pipe, at both ends, and what tells whether it began. */
const perPipe = 2;
const perStart = 2;

/**
 * Sees to it that a program with so many pipes can be started. Node (20 to 24)
 * never closes the pipes of one whose start ended half-way for want of file
 * descriptors: each try would take one more of the few that are left.
 * @throws EMFILE, ENFILE with nothing left open
 */
export function expectDescriptorRoom(pipes: number): void {
  const descriptors: number[] = [];
  try {
    while (descriptors.length < pipes * perPipe + perStart)
      descriptors.push(openSync(devNull, 'r'));
  } finally {
    for (const descriptor of descriptors) closeSync(descriptor);
  }
}
