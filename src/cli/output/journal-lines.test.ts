import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  agentId,
  createLog,
  type TestLog
} from '../../../test/kit/servers/logged-agents.ts';
import { spoiltLine } from '../../../test/kit/workspaces/spoilt-records.ts';
import { RunStore } from '../../core/runs/run-store.ts';
import { DaySum } from '../../interfaces/board/day-sum.ts';
import { lastLines, logTable } from './journal-lines.ts';

let log: TestLog;

beforeEach(() => {
  log = createLog();
});

afterEach(() => log.workspace.remove());

test('with any foreign line in the journal, the table shows the other records', async () => {
  const store = new RunStore(log.workspace.record);
  log.run(1, 2);
  const before = readFileSync(log.path, 'utf8');
  await fc.assert(
    fc.asyncProperty(spoiltLine, async (line) => {
      writeFileSync(log.path, before);
      const { newLines } = lastLines(log.journal.files, 9);
      appendFileSync(log.path, `\n${line}\n`);
      log.run(2, 3);
      const { lines } = lastLines(log.journal.files, 9);
      for (const text of [
        logTable({ store }, lines),
        logTable({ store }, await newLines())
      ])
        expect(text).toContain(agentId(2));
      const noon = () => new Date('2026-11-21T12:00:00Z');
      const { ended, costUsd } = await new DaySum(
        log.journal.files,
        noon
      ).read();
      expect(ended).toBeGreaterThanOrEqual(2);
      expect(costUsd).toBeTypeOf('number');
    }),
    { numRuns: 100 }
  );
});
