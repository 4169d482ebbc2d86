import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { verifyJournal } from '../../../src/core/audit/journal/verify.ts';
import { recordWith } from '../../kit/servers/run-facts.ts';
import { type Contest, createContest } from '../../kit/workspaces/contest.ts';

let contest: Contest;

beforeAll(async () => {
  contest = await createContest([
    'state/files/atomic-file.ts',
    'audit/journal/journal.ts',
    'runs/run-store.ts',
    'runs/admission/slots.ts'
  ]);
});

afterAll(() => contest.remove());

/**
 * Every race is run twice: with a version that is wrong in the usual way, to
 * show that the race is really run, and with ours.
 */
describe('of settlers of one run', () => {
  const rounds = 200;
  const settle = (write: string) => `
    const wins = [];
    for (let round = 0; round < rounds; round += 1) {
      const path = join(arena, 'outcome-' + round);
      atRound(round);
      ${write}
    }
    tell(wins);`;
  const winners = async (name: string, write: string) => {
    const arena = contest.arena(name);
    const won = (await contest.run(settle(write), arena, 3, rounds)).flat();
    return { won: won.length, different: new Set(won).size };
  };

  test('several win that look first and write then', async () => {
    await untilTheyMeet(async (round) => {
      const { won, different } = await winners(
        `look-then-write-${round}`,
        `if (!fs.existsSync(path)) {
          fs.writeFileSync(path, me);
          wins.push(round);
        }`
      );
      return won > different;
    });
  });

  test('one wins with createOnce, every time', async () => {
    const found = await winners(
      'create-once',
      'if (pieces.createOnce(path, me)) wins.push(round);'
    );
    expect(found).toEqual({ won: rounds, different: rounds });
  });
});

describe('of records that four processes append at once', () => {
  const rounds = 150;
  const text = `'x'.repeat(40 * (round % 200))`;
  const append = (write: string) => `
    (async () => {
      for (let round = 0; round < rounds; round += 1) {
        const line = JSON.stringify({ me, round, text: ${text} }) + '\\n';
        atRound(round);
        ${write}
      }
      tell([]);
    })();`;
  const whole = async (name: string, write: string) => {
    const arena = contest.arena(name);
    const path = join(arena, 'log');
    writeFileSync(path, '');
    await contest.run(append(write), arena, 4, rounds);
    return readFileSync(path, 'utf8').split('\n').filter(isRecord).length;
  };

  test('some are torn where a record is more than one write', async () => {
    await untilTheyMeet(async (round) => {
      const left = await whole(
        `two-writes-${round}`,
        `const path = join(arena, 'log');
         await fs.promises.appendFile(path, line.slice(0, 30));
         await fs.promises.appendFile(path, line.slice(30));`
      );
      return left < 4 * rounds;
    });
  });

  test('some are lost where the whole file is rewritten', async () => {
    await untilTheyMeet(async (round) => {
      const left = await whole(
        `read-modify-write-${round}`,
        `const path = join(arena, 'log');
         fs.writeFileSync(path, fs.readFileSync(path, 'utf8') + line);`
      );
      return left < 4 * rounds;
    });
  });

  test('all are in the journal, and every chain holds', async () => {
    const arena = contest.arena('journal');
    const path = join(arena, 'logs', 'iac.jsonl');
    const heads = join(arena, 'heads');
    await contest.run(
      `const path = join(arena, 'logs', 'iac.jsonl');
       const redact = (text, from, to) => text.slice(from, to);
       const journal = new pieces.Journal(path, join(arena, 'heads'), redact);
       for (let round = 0; round < rounds; round += 1) {
         const prompt = { chars: 1, text: ${text} };
         const record = {
           agent_id: me.padStart(8, '0'),
           ...{ engine: 'codex', label: 'Codex', kind: 'cli', task: '' },
           ...{ model: null, tools: null, parent: null, continues: null },
           ...{ access: 'full', enforcement: 'none', cwd: '/project' },
           created_at: new Date().toISOString()
         };
         atRound(round);
         journal.append(pieces.spawnedEvent(record, prompt));
       }
       tell([]);`,
      arena,
      4,
      rounds
    );
    const found = await verifyJournal(path, heads);
    expect(found).toMatchObject({
      records: 4 * rounds,
      torn: 0,
      faults: []
    });
    expect(found.heads).toHaveLength(4);
  });
});

describe('of servers that want the last place at work', () => {
  const rounds = 150;
  const record = JSON.stringify(recordWith({ agent_id: '', engine: 'x' }));
  /** Each has one agent of its own, in a workspace with one place. */
  const want = (take: string) => `
    const processes = { liveness: () => 'alive' };
    const agent_id = '0000000' + me;
    const stores = [];
    for (let round = 0; round < rounds; round += 1) {
      const store = new pieces.RunStore(join(arena, String(round)));
      store.create({ ...${record}, agent_id }, '', '');
      stores.push(store);
    }
    const got = [];
    for (const [round, store] of stores.entries()) {
      const starting = (id) => join(store.directoryOf(id), 'starting');
      atRound(round);
      ${take}
    }
    tell(got);`;
  const placed = async (name: string, take: string) => {
    const arena = contest.arena(name);
    const got = (await contest.run(want(take), arena, 3, rounds)).flat();
    return { tooMany: got.length - new Set(got).size, got: got.length };
  };

  test('several get it that count first and announce then', async () => {
    await untilTheyMeet(async (round) => {
      const { tooMany } = await placed(
        `count-then-announce-${round}`,
        `if (!store.openIds().some((id) => fs.existsSync(starting(id)))) {
          pause();
          fs.writeFileSync(starting(agent_id), '');
          got.push(round);
        }`
      );
      return tooMany > 0;
    });
  });

  test.each([
    ['of all', 1, undefined],
    ['of their engine', 9, 1]
  ])(
    'never more than one gets that %s by announcing first',
    async (_, limit, cap) => {
      const { tooMany, got } = await placed(
        `places-${limit}`,
        `const places = new pieces.Slots('cli', () => ${limit}, {
           store, processes, capOf: () => ${cap} });
         if (places.take({ agent_id, engine: 'x' }, []) === 'taken')
           got.push(round);`
      );
      expect(tooMany).toBe(0);
      expect(got).toBeGreaterThan(rounds / 2);
    }
  );
});

/** On a busy machine they may happen not to meet; then they play again. */
async function untilTheyMeet(
  play: (round: number) => Promise<boolean>
): Promise<void> {
  for (let round = 1; round <= 20; round += 1) if (await play(round)) return;
  throw new Error('They never met.');
}

function isRecord(line: string): boolean {
  try {
    return typeof JSON.parse(line).text === 'string';
  } catch {
    return false;
  }
}
