import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createEndStage,
  type EndStage
} from '../../../../test/kit/servers/end-stage.ts';
import { outcomeWith } from '../../../../test/kit/servers/run-facts.ts';
import { JournalFiles } from '../../audit/journal/journal-files.ts';
import type { Outcome, RunRecord } from '../run.ts';
import { RunStore } from '../run-store.ts';
import {
  completeEnd,
  type FinalizeDependencies,
  finalize
} from './finalize.ts';
import { RunJournal } from './run-journal.ts';

let stage: EndStage;

beforeEach(() => {
  stage = createEndStage();
});
afterEach(() => stage.log.workspace.remove());

test('an end whose mark is lost while it is recorded is journalled', async () => {
  const record = stage.ended(new RunStore(stage.state));
  class Cleaned extends RunStore {
    override end(...end: Parameters<RunStore['end']>): boolean {
      this.close(record.agent_id);
      return super.end(...end);
    }
  }
  await finalize(record, stage.dependenciesOf(new Cleaned(stage.state)));
  const ends = stage.log.journalText().split('"type":"finished"').length - 1;
  expect(ends).toBe(1);
});

test('an end that a full disk truncated in the journal is journalled again', async () => {
  const store = new RunStore(stage.state);
  const record = stage.ended(store);
  const { agent_id: id } = record;
  class Full extends RunStore {
    override end(...end: Parameters<RunStore['end']>): boolean {
      const isFirst = super.end(...end);
      // A line that a full disk cut short.
      const torn = `{"type":"finished","agent_id":"${id}","status":"comp`;
      stage.log.workspace.writeRecord('iac.jsonl', `\n${torn}`);
      throw new Error(`ENOSPC ${isFirst}`);
    }
  }
  const full = finalize(record, stage.dependenciesOf(new Full(stage.state)));
  await expect(full).rejects.toThrow('ENOSPC true');
  expect(store.isOpen(id)).toBe(true);
  await completed(store, record);
  const whole = /"type":"finished","agent_id":"0badcafe".*\}$/m;
  expect(stage.log.journalText()).toMatch(whole);
  expect(store.isOpen(id)).toBe(false);
});

test('an end is not journalled twice by a process that searched while another wrote', async () => {
  const store = new RunStore(stage.state);
  const record = stage.ended(store);
  await finalize(record, stage.dependenciesOf(store));
  const { files } = stage.log.journal;
  // The list is from before the end was written.
  class Slow extends JournalFiles {
    override list() {
      return [];
    }
  }
  Object.assign(stage.log.journal, { files: new Slow(files.path) });
  await completed(store, record);
  expect(stage.log.journalText().match(/"type":"finished"/g)).toHaveLength(1);
});

/** A run whose process was killed between its outcome and the journal. */
async function unjournalled(store: RunStore): Promise<RunRecord> {
  const record = stage.ended(store);
  class Killed extends RunJournal {
    override async recordEnd(): Promise<void> {
      throw new Error('killed');
    }
  }
  const journal = new Killed(store, stage.log.journal);
  const end = finalize(record, { ...stage.dependenciesOf(store), journal });
  await expect(end).rejects.toThrow('killed');
  expect(stage.log.journalText()).not.toContain('"type":"finished"');
  return record;
}

test('an end that several processes complete at once is journalled once', async () => {
  const stores = [1, 2, 3].map(() => new RunStore(stage.state));
  const record = await unjournalled(new RunStore(stage.state));
  await Promise.all(stores.map((store) => completed(store, record)));
  expect(stage.log.journalText().match(/"type":"finished"/g)).toHaveLength(1);
  const names = readdirSync(join(stage.state, 'spawns', record.agent_id));
  expect(names.filter((name) => name.includes('lock'))).toEqual([]);
});

test('an end that a process journalled before it was killed is not journalled again', async () => {
  const store = new RunStore(stage.state);
  const record = await unjournalled(store);
  const { agent_id: id } = record;
  const outcome = writtenOutcome(store, id);
  // It is killed between the first look of this process and the second one.
  class Late extends RunJournal {
    #looks = 0;
    override async isEndRecorded(agentId: string): Promise<boolean> {
      const isThere = await super.isEndRecorded(agentId);
      this.#looks += 1;
      if (this.#looks === 1)
        await new RunJournal(store, stage.log.journal).recordEnd(
          record,
          outcome
        );
      return isThere;
    }
  }
  const journal = new Late(store, stage.log.journal);
  await completeEnd(record, outcome, {
    ...stage.dependenciesOf(store),
    journal
  });
  expect(stage.log.journalText().match(/"type":"finished"/g)).toHaveLength(1);
  expect(store.isOpen(id)).toBe(false);
});

test('an end whose agent is cleaned away meanwhile leaves no folder', async () => {
  const store = new RunStore(stage.state);
  const record = await unjournalled(store);
  const { agent_id: id } = record;
  const outcome = writtenOutcome(store, id);
  store.close(id);
  rmSync(store.directoryOf(id), { recursive: true });
  await completeEnd(record, outcome, stage.dependenciesOf(store));
  expect(readdirSync(join(stage.state, 'spawns'))).toEqual([]);
});

test('an end that was completed while its process was paused is journalled once', async () => {
  const store = new RunStore(stage.state);
  const record = stage.ended(store);
  class Paused extends RunJournal {
    override async ensureSpawn(): Promise<void> {
      await completed(new RunStore(stage.state), record);
    }
  }
  const journal = new Paused(store, stage.log.journal);
  await finalize(record, { ...stage.dependenciesOf(store), journal });
  expect(stage.log.journalText().match(/"type":"finished"/g)).toHaveLength(1);
});

test('the end of a run whose mark is lost is journalled all the same', async () => {
  const store = new RunStore(stage.state);
  const record = stage.ended(store);
  rmSync(join(stage.state, 'open'), { recursive: true });
  expect((await stage.finalized(store, record))?.status).toBe('completed');
  expect(stage.log.journalText().match(/"type":"finished"/g)).toHaveLength(1);
  expect(store.openIds()).toEqual([]);
  rmSync(join(store.directoryOf(record.agent_id), 'outcome.json'));
  await stage.finalized(new RunStore(stage.state), record);
  expect(stage.log.journalText().match(/"type":"finished"/g)).toHaveLength(1);
});

async function completed(store: RunStore, record: RunRecord): Promise<void> {
  const outcome = writtenOutcome(store, record.agent_id);
  await completeEnd(record, outcome, stage.dependenciesOf(store));
}

test('a worktree is not removed when its end is completed later', async () => {
  const store = new RunStore(stage.state);
  const record = stage.ended(store);
  const dependencies = stage.dependenciesOf(store);
  const isFirst = watchLeaving(dependencies);
  await finalize(record, dependencies);
  await completeEnd(record, outcomeWith(), dependencies);
  expect(isFirst).toEqual([true, false]);
});

/** Whether each worktree that is left is left for the first time. */
function watchLeaving({ changeTracker }: FinalizeDependencies): boolean[] {
  const leave = changeTracker.leave.bind(changeTracker);
  const isFirst: boolean[] = [];
  changeTracker.leave = (...call) => {
    isFirst.push(call[1]);
    return leave(...call);
  };
  return isFirst;
}

function writtenOutcome(store: RunStore, id: string): Outcome {
  const outcome = store.outcomeOf(id);
  if (!outcome) expect.fail('There is no outcome.');
  return outcome;
}

test('an end is published once, when it is in the journal and its mark is gone', async () => {
  const store = new RunStore(stage.state);
  const record = stage.ended(store);
  const { agent_id: id } = record;
  const dependencies = stage.dependenciesOf(store);
  const seen: string[] = [];
  dependencies.events.onRunEnded((run) => {
    expect(run.record).toEqual(record);
    expect(stage.log.journalText()).toContain('"type":"finished"');
    expect(store.isOpen(id)).toBe(false);
    seen.push(`ended ${run.outcome.status}`);
  });
  dependencies.events.onRunChanged(() => seen.push('changed'));
  await finalize(record, dependencies);
  expect(seen).toEqual(['ended completed']);
  await finalize(record, dependencies);
  expect(seen).toEqual(['ended completed', 'changed']);
  expect(stage.log.journalText().match(/"type":"finished"/g)).toHaveLength(1);
  expect(stage.problems).toEqual([]);
});

test('an end that found no room in the journal is published once it is there', async () => {
  const store = new RunStore(stage.state);
  const record = await unjournalled(store);
  const dependencies = stage.dependenciesOf(store);
  const seen: string[] = [];
  dependencies.events.onRunEnded(({ outcome }) => {
    expect(stage.log.journalText()).toContain('"type":"finished"');
    seen.push(outcome.status);
  });
  const isFirst = watchLeaving(dependencies);
  const outcome = writtenOutcome(store, record.agent_id);
  await completeEnd(record, outcome, dependencies);
  await completeEnd(record, outcome, dependencies);
  expect(seen).toEqual(['completed']);
  expect(isFirst).toEqual([true, false]);
});

test('an end whose process was killed before the journal is not published', async () => {
  const store = new RunStore(stage.state);
  const record = await unjournalled(store);
  const dependencies = stage.dependenciesOf(store);
  const seen: string[] = [];
  dependencies.events.onRunEnded(({ outcome }) => seen.push(outcome.status));
  const outcome = writtenOutcome(store, record.agent_id);
  const settled_by = { ...stage.processes.self, start: '1' };
  await completeEnd(record, { ...outcome, settled_by }, dependencies);
  expect(stage.log.journalText()).toContain('"type":"finished"');
  expect(seen).toEqual([]);
});
