import { readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  agentId,
  createLog,
  type TestLog
} from '../../../../test/kit/servers/logged-agents.ts';
import { Journal } from './journal.ts';
import { verifyJournal } from './verify.ts';

let log: TestLog;

/** Six records of one writer on the even lines, one of another on line 14. */
beforeEach(() => {
  log = createLog();
  for (let number = 0; number < 6; number += 1)
    log.spawn(agentId(number), `prompt ${number}`);
  const other = new Journal(log.path, log.heads, log.redact);
  const reason = 'enough';
  other.append({ type: 'cancel_requested', agent_id: agentId(1), reason });
});

afterEach(() => log.workspace.remove());

function change(how: (lines: string[]) => string[]): void {
  const lines = readFileSync(log.path, 'utf8').split('\n');
  writeFileSync(log.path, how(lines).join('\n'));
}

/** Changes one line, numbered from 1. */
function edit(number: number, how: (line: string) => string): void {
  change((lines) =>
    lines.map((line, index) => (index === number - 1 ? how(line) : line))
  );
}

test.each<[string, number, (line: string) => string]>([
  ['cut short', 2, (line) => line.slice(0, 250)],
  ['cut at its end', 10, (line) => line.slice(0, -5)],
  ['cut in its link', 10, (line) => line.slice(0, 40)],
  ['given a NUL', 6, (line) => `${line.slice(0, 300)}\0${line.slice(300)}`],
  ['cut, the last of its writer', 12, (line) => line.slice(0, -1)],
  ['cut, the only one of its writer', 14, (line) => line.slice(0, -5)]
])('a record that was %s is reported with its line', async (_, line, how) => {
  edit(line, how);
  const { torn, faults } = await verifyJournal(log.path, log.heads);
  expect({ torn, faults }).toEqual({
    torn: 0,
    faults: [
      {
        file: 'iac.jsonl',
        line,
        problem: expect.stringMatching(/^record \d of .* was cut or changed$/)
      }
    ]
  });
});

test('missing records after a cut record are reported as well', async () => {
  const isOurs = (line: string) => line.includes(log.journal.writer);
  change((lines) => lines.filter((line, at) => at < 8 || !isOurs(line)));
  edit(8, (line) => line.slice(0, -5));
  const { faults } = await verifyJournal(log.path, log.heads);
  expect(faults.map(({ line, problem }) => [line, problem])).toEqual([
    [6, expect.stringMatching(/^records 4 to 5 .* are missing$/)],
    [8, expect.stringMatching(/^record 3 .* was cut or changed$/)]
  ]);
});
