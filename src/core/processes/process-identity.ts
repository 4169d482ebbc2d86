import { z } from 'zod';
import { lazy } from '../lazy.ts';

/** Identifies a process, even after the system reuses its pid. */
export interface ProcessIdentity {
  pid: number;
  /** Start time in the system's notation, compared as text. */
  start: string;
  /** Machine, boot and process namespace. Pids are unique only within one. */
  place: string;
}

export function isSameProcess(
  one: ProcessIdentity,
  other: ProcessIdentity
): boolean {
  return (
    one.pid === other.pid &&
    one.start === other.start &&
    one.place === other.place
  );
}

export const identitySchema = lazy(() =>
  z.object({
    pid: z.number().int().min(1),
    start: z.string(),
    place: z.string()
  })
);

/** Undefined for text that is no process identity. */
export function parseIdentity(text: string): ProcessIdentity | undefined {
  try {
    return identitySchema().parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
