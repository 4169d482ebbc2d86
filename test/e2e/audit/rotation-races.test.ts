import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { verifyJournal } from '../../../src/core/audit/journal/verify.ts';
import { type Contest, createContest } from '../../kit/workspaces/contest.ts';

let contest: Contest;

beforeAll(async () => {
  contest = await createContest([
    'audit/journal/journal.ts',
    'audit/journal/rotation.ts',
    'audit/journal/journal-files.ts',
    '../adapters/child-process/processes.ts'
  ]);
});

afterAll(() => contest.remove());

const setting = `
  const path = join(arena, 'logs', 'iac.jsonl');
  const redact = (text, from, to) => text.slice(from, to);
  const journal = new pieces.Journal(path, join(arena, 'heads'), redact);
  const write = (round) => journal.append({
    type: 'cancel_requested', agent_id: '0000000' + me, reason: 'r' + round
  });
  const problems = [];
  const newRotation = () => new pieces.Rotation({
    journal: path,
    maximumBytes: 2000,
    lock: join(arena, 'rotation.lock'),
    witnesses: pieces.createProcesses(arena),
    onProblem: (problem) => problems.push(String(problem))
  });
`;

const found = (arena: string) =>
  verifyJournal(join(arena, 'logs/iac.jsonl'), join(arena, 'heads'));

const segments = (arena: string) =>
  readdirSync(join(arena, 'logs/journal')).filter((name) =>
    name.endsWith('.jsonl')
  );

/** Every process writes, and rotates as soon as there is enough. */
describe('of four that write and rotate at once', () => {
  const rounds = 120;
  const play = async (name: string, rotate: string) => {
    const arena = contest.arena(name);
    const told = await contest.run(
      `${setting}
      const rotation = newRotation();
      (async () => {
        for (let round = 0; round < rounds; round += 1) {
          atRound(round);
          write(round);
          ${rotate}
        }
        rotation.close();
        tell(problems);
      })();`,
      arena,
      4,
      rounds
    );
    return { arena, told: told.flat(), ...(await found(arena)) };
  };

  test('records are lost where the next number is looked up, then used', async () => {
    for (let round = 1; round <= 20; round += 1) {
      const { faults, records } = await play(
        `look-then-rename-${round}`,
        `const files = new pieces.JournalFiles(path);
         if ((fs.statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 2000) {
           fs.mkdirSync(files.archive, { recursive: true });
           const segment = files.segmentPath(files.nextNumber());
           pause();
           try { fs.renameSync(path, segment); } catch {}
         }`
      );
      if (records < 4 * rounds && faults.length > 0) return;
    }
    throw new Error('They never met.');
  });

  test('none is, and every chain holds, under the lock', async () => {
    const { arena, told, records, torn, faults } = await play(
      'rotation',
      'await rotation.run();'
    );
    expect({ told, records, torn, faults }).toEqual({
      told: [],
      records: 4 * rounds,
      torn: 0,
      faults: []
    });
    expect(segments(arena).length).toBeGreaterThan(10);
  });
});

describe('a rotation that is killed', () => {
  const calls = ['linkSync', 'openSync', 'renameSync', 'unlinkSync'];
  const cases = calls.flatMap((call) => [`before ${call}`, `after ${call}`]);

  test.each(cases)(
    '%s loses nothing, and the next one goes on',
    async (when) => {
      const [side, call] = when.split(' ');
      const arena = contest.arena(when.replace(' ', '-'));
      mkdirSync(join(arena, 'logs/journal'), { recursive: true });
      const run = (end: string) =>
        contest.run(
          `${setting}
        for (let round = 0; round < 20; round += 1) write(round);
        ${end}
        newRotation().run().then(() => tell(problems));`,
          arena,
          1,
          0
        );
      // What it does with its lock, with the segment and with the journal.
      const killed = run(`
      const real = fs.${call};
      const ours = /rotation\\.lock$|journal.iac-\\d+\\.jsonl$/;
      fs.${call} = (...args) => {
        const isStep = args.some((argument) => ours.test(String(argument)));
        const die = () => process.kill(process.pid, 'SIGKILL');
        if (isStep && '${side}' === 'before') die();
        const result = real(...args);
        if (isStep) die();
        return result;
      };`);
      await expect(killed).rejects.toThrow('A contestant ended with null');
      expect(await found(arena)).toMatchObject({ records: 20, faults: [] });

      expect(await run('')).toEqual([[]]);

      expect(await found(arena)).toMatchObject({ records: 40, faults: [] });
      expect(readdirSync(arena)).not.toContain('rotation.lock');
      expect(segments(arena).length).toBeLessThanOrEqual(3);
    }
  );
});
