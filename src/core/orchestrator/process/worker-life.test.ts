import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Line,
  openOffice,
  type WorkerOffice
} from '../../../../test/kit/agents/worker-office.ts';
import { until } from '../../../../test/kit/judges/until.ts';
import { HostError } from '../../errors.ts';
import type { Orchestrator } from '../orchestrator.ts';
import { isBroadcast, terminalTypes } from '../queue/records.ts';
import { TaskQueue } from '../queue/task-queue.ts';

const id = 'aaaaaaaa';
const now = { timeoutMs: 0, signal: new AbortController().signal };

/** The calls and crashes that may happen to a worker. */
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      what: fc.constant('enqueue' as const),
      task: fc.constantFrom('a', 'b', 'c', 'd', 'e')
    })
  },
  {
    weight: 2,
    arbitrary: fc.record({
      what: fc.constant('cancel' as const),
      task: fc.constantFrom('a', 'b', 'c')
    })
  },
  { weight: 5, arbitrary: fc.record({ what: fc.constant('wait' as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      what: fc.constant('emit' as const),
      type: fc.constantFrom('ready', 'progress', ...terminalTypes, 'result'),
      task: fc.constantFrom('a', 'b', undefined, undefined)
    })
  },
  {
    weight: 2,
    arbitrary: fc.record({
      what: fc.constantFrom('crash' as const, 'newServer' as const)
    })
  },
  {
    weight: 1,
    arbitrary: fc.record({
      what: fc.constantFrom('stop' as const, 'force' as const)
    })
  }
);

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

const policies = fc.record({
  restart: fc.constantFrom('never', 'on-crash', 'on-crash'),
  runningTask: fc.constantFrom('requeue', 'requeue', 'fail')
});

/** Whether a deleted worker has its stop command, or is over. */
function mustStop({ store }: Orchestrator): boolean {
  const { state, isOver } = store.get(id).log.read();
  return isOver || state.stopAfter !== null;
}

/** Performs steps as one of two masters or as the worker; ignores refusals. */
async function perform(
  office: WorkerOffice,
  steps: Step[]
): Promise<Promise<unknown>[]> {
  const masters = [office.master(), office.master()];
  const stopping: Promise<unknown>[] = [];
  let mailbox = office.desk(id);
  for (const [index, one] of steps.entries()) {
    const [master = office.master()] = masters.toSorted(
      () => (index % 2) - 0.5
    );
    const doing = async (): Promise<unknown> => {
      switch (one.what) {
        case 'enqueue':
          return master.enqueue(id, { id: one.task, payload: index });
        case 'cancel':
          return master.cancel(id, one.task);
        case 'wait':
          return mailbox.waitForCommand(now);
        case 'emit':
          return mailbox.emitEvent({ type: one.type, taskId: one.task });
        case 'crash':
          office.lose(id);
          return master.attend();
        case 'newServer':
          mailbox = office.desk(id);
          return;
        case 'stop':
          // Not awaited: it waits for the worker, whose calls this test makes.
          stopping.push(master.delete(id, { force: false, confirm: false }));
          return until('a stop', () => mustStop(master));
        case 'force':
          return master.delete(id, { force: true, confirm: index % 2 === 0 });
      }
    };
    await doing().catch((error: unknown) => {
      if (!(error instanceof HostError)) throw error;
    });
  }
  return stopping;
}

function checkEvents(events: Line[], accepted: string[]): void {
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, at) => at + 1));
  const delivered: string[] = [];
  const ended: string[] = [];
  let running: string | undefined;
  for (const { type, task_id = '', done, by } of events) {
    if (type === 'delivered') {
      expect([running, ended.includes(task_id)]).toEqual([undefined, false]);
      running = task_id;
      if (!delivered.includes(task_id)) delivered.push(task_id);
    }
    if (type === 'requeued') {
      expect(task_id).toBe(running);
      running = undefined;
    }
    if (!done) continue;
    expect(terminalTypes).toContain(type);
    expect(ended).not.toContain(task_id);
    // The worker can only end its running task.
    if (by !== 'troupe') expect(task_id).toBe(running);
    if (task_id === running) running = undefined;
    ended.push(task_id);
  }
  expect(delivered).toEqual(
    accepted.filter((task) => delivered.includes(task))
  );
  for (const task of ended) expect(accepted).toContain(task);
}

describe('in any sequence of calls and crashes', () => {
  test('tasks run one at a time, in order of arrival, and end at most once', async () => {
    await fc.assert(
      fc.asyncProperty(
        policies,
        fc.array(step, { minLength: 15, maxLength: 40, size: 'max' }),
        async (policy, steps) => {
          const office = await openOffice(policy);
          try {
            office.hire(id);
            const stopping = await perform(office, steps);
            const accepted = office
              .lines(id, 'inbox')
              .flatMap(({ type, task_id }) =>
                type === 'task' ? [task_id] : []
              )
              .map(String);
            expect(new Set(accepted).size).toBe(accepted.length);
            checkEvents(office.lines(id, 'outbox'), accepted);
            const queue = office.reader().get(id).log.read();
            const { running } = queue;
            expect(queue.tasks.filter((task) => task.isRunning)).toEqual(
              running ? [running] : []
            );
            // A stored snapshot gives the same queue.
            const snapshot = queue.snapshot();
            const again = new TaskQueue(JSON.parse(JSON.stringify(snapshot)));
            expect(JSON.stringify(again.snapshot())).toBe(
              JSON.stringify(snapshot)
            );
            expect([again.status, again.depth]).toEqual([
              queue.status,
              queue.depth
            ]);
            await office.master().delete(id, { force: true, confirm: true });
            await Promise.all(stopping);
            const events = office.lines(id, 'outbox');
            const ends = events.filter(({ done }) => done);
            const tasks = office
              .lines(id, 'inbox')
              .filter(({ type }) => type === 'task');
            expect(ends.map(({ task_id }) => task_id).toSorted()).toEqual(
              tasks.map(({ task_id }) => task_id).toSorted()
            );
            expect(office.reader().get(id).log.read().status).toBe('stopped');
            expect(
              events.filter(({ type }) => type === 'stopped')
            ).toHaveLength(1);
            expect(office.broadcast()).toEqual(
              events
                .filter((event) => isBroadcast({ at: '', ...event }))
                .map((event) => ({ agent_id: id, ...event }))
            );
          } finally {
            office.close();
          }
        }
      ),
      { numRuns: 40, endOnFailure: false, interruptAfterTimeLimit: 100_000 }
    );
  }, 120_000);
});
