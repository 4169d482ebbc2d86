import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { terminalClients } from '../first-hour/clients.ts';
import { walk } from '../first-hour/walk.ts';
import { testWith } from './clis.ts';

/** Which troupe; where the steps and their times are to be written. */
const troupe =
  process.env.TROUPE_FIRST_HOUR_PROGRAM ??
  join(import.meta.dirname, '../../dist/troupe.cjs');
const notes = process.env.TROUPE_FIRST_HOUR_NOTES;

/** From hearing of troupe to the first delegated task: two minutes. */
const promisedSeconds = 120;

describe('a user of a client, new to troupe', () => {
  for (const client of terminalClients)
    testWith(client.cli)(
      `has the first answer in ${client.title}, in its own terminal`,
      async () => {
        const done = await walk(client, troupe);
        if (notes) appendFileSync(notes, `${JSON.stringify(done)}\n`);
        expect(done.entry).toContain('✅ **Done**');
        expect(done.entry).toContain('Access: read (enforced)');
        const seconds = done.steps.reduce((sum, one) => sum + one.seconds, 0);
        expect(seconds).toBeLessThan(promisedSeconds);
      },
      1.5 * promisedSeconds * 1000
    );
});
