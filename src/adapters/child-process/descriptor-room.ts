import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';

/** Descriptors for both ends of a pipe, and for reporting a failed start. */
const perPipe = 2;
const perStart = 2;

/**
 * Checks that enough file descriptors are free to start a program with this
 * number of pipes. When a start fails for lack of them, Node (20 to 24) never
 * closes its pipes, so every attempt would leak more descriptors.
 * @throws EMFILE or ENFILE, with no descriptor left open
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
