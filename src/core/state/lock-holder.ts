import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readFileSync
} from 'node:fs';
import { z } from 'zod';
import { errnoOf } from '../errors.ts';
import { lazily } from '../lazily.ts';

const holderSchema = lazily(() =>
  z.object({
    pid: z.number(),
    start: z.string(),
    place: z.string(),
    nonce: z.string()
  })
);

export type Holder = z.output<ReturnType<typeof holderSchema>>;

/** A lock as it is found: who holds it, if it says so, and which holding it is. */
interface Found {
  holder: Holder | undefined;
  /** Differs from one holding to the next, also of one process. */
  holding: string;
}

/** Who holds a lock, undefined when nobody does. */
export function findHolder(path: string): Found | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const { ino, ctimeNs } = fstatSync(descriptor, { bigint: true });
    const text = readFileSync(descriptor, 'utf8');
    return { holder: parse(text), holding: `${ino} ${ctimeNs}` };
  } finally {
    closeSync(descriptor);
  }
}

function parse(text: string): Holder | undefined {
  try {
    return holderSchema().safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
