import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { processesOf } from '../kit/agents/probe-agent.ts';
import { until } from '../kit/judges/until.ts';
import {
  answerOf,
  enqueued,
  eventSeen,
  eventsOf,
  refusalOf,
  taskEnd,
  typesOf,
  workerSeen
} from '../kit/servers/orchestrator-calls.ts';
import type { RealCli } from './clis.ts';
import { hasty, refused } from './worker-model.ts';
import {
  inOffice,
  type Office,
  type OfficeOptions,
  testWorkers
} from './worker-office.ts';

/** For what takes seconds where nothing else runs. */
const patienceMs = 60_000;
const limitMs = 200_000;

/** What a worker may do to files, and where it shows. */
const lives: [where: string, access: string, options: OfficeOptions][] = [
  ['in a pane', 'read', {}],
  ['in a pane that is small', 'write', { size: [41, 6] }],
  ['in a pane', 'full', {}],
  ['in the background', 'full', { backend: 'process' }]
];

/** With our model, no login is needed. */
const addresses = ['COPILOT_PROVIDER_BASE_URL'];

/**
 * A real CLI as a worker. Its tests run side by side: most of their time is
 * spent waiting.
 * @param words what its screen says to a key that is refused, and when it
 *   knows of none
 */
export function workerSuite(
  cli: RealCli,
  words: { refused: RegExp; keyless: RegExp }
): void {
  const test = testWorkers(cli);

  describe.concurrent(`${cli.name} as a worker`, () => {
    test(
      'goes on after many waits without work, and a long one',
      () =>
        inOffice(cli, {}, async ({ master, mind, ...office }) => {
          const id = await office.hire({ access: 'read', role: hasty });
          await until('the next wait', () => mind.longWaits() > 1, 120_000);
          await enqueued(master, id, 't1', {});
          await taskEnd(master, id, 't1', patienceMs);
          await office.dismiss(id);
        }),
      limitMs
    );

    test(
      'is not created when it is not let in, and its screen says why',
      () => {
        const settings = { readyTimeoutSeconds: 90 };
        return inOffice(cli, { settings }, async ({ master, ...office }) => {
          const before = office.theirs();
          const login = [...Object.keys(cli.login), ...addresses];
          const env = Object.fromEntries(login.map((name) => [name, '']));
          const refusals = await Promise.all(
            [{ role: refused }, { role: 'Nobody knows you.', env }].map(
              (input) =>
                refusalOf(master, 'agent_create', { name: 'out', ...input })
            )
          );
          const [shown, unknown] = refusals.map(({ screen }) =>
            screen.join(' ').replace(/\s+/g, ' ')
          );
          expect(shown).toMatch(words.refused);
          expect(unknown).toMatch(words.keyless);
          for (const { error_code, error } of refusals) {
            expect(error_code).toBe('not_ready');
            const [, id = 'none'] = /, (\w{8})\) is not/.exec(error) ?? [];
            expect(id).not.toBe('none');
            expect(processesOf(id)).toEqual([]);
          }
          expect(office.terminal.panes()).toHaveLength(1);
          expect(office.theirs()).toEqual(before);
        });
      },
      limitMs
    );

    test(
      'that is killed is started again, and does its task',
      () => {
        const settings = { restart: 'on-crash', runningTask: 'requeue' };
        return inOffice(cli, { settings }, diesAndComesBack);
      },
      limitMs
    );

    for (const [where, access, options] of lives)
      test(
        `does its tasks in order, drops one that is canceled, and stops, ${where} with ${access} access`,
        () => inOffice(cli, options, (office) => livesALife(office, access)),
        limitMs
      );
  });
}

/** From its first words to its last; the user's own files stay as they are. */
export async function livesALife(
  { master, mind, ...office }: Office,
  access: string
): Promise<void> {
  const before = office.theirs();
  const id = await office.hire({ access });
  expect(office.terminal.panes()).toHaveLength(
    (await workerSeen(master, id)).tmux_pane_id === null ? 1 : 2
  );
  await enqueued(master, id, 't1', { hold: true });
  await eventSeen(master, id, 'progress', 't1');
  await enqueued(master, id, 't2', { hold: true });
  mind.release('t1');
  await eventSeen(master, id, 'progress', 't2');
  await answerOf(master, 'task_cancel', { agent_id: id, task_id: 't2' });
  await taskEnd(master, id, 't2', patienceMs);
  const events = await eventsOf(master, id);
  const told = events.filter(({ type }) => type !== 'progress');
  expect(typesOf(told)).toEqual([
    '<ready>',
    ...['<delivered>', 'ack', 'result'],
    ...['<delivered>', 'ack', 'canceled']
  ]);
  const tasks = told.map(({ task_id }) => task_id);
  expect(tasks).toEqual([undefined, 't1', 't1', 't1', 't2', 't2', 't2']);
  await office.dismiss(id);
  expect(mind.offers()).toEqual(['emit_event', 'wait_for_command']);
  expect(office.theirs()).toEqual(before);
}

async function diesAndComesBack({
  master,
  mind,
  ...office
}: Office): Promise<void> {
  const id = await office.hire();
  await enqueued(master, id, 't1', { hold: true });
  await eventSeen(master, id, 'progress', 't1');
  process.kill(office.programOf(id), 'SIGKILL');
  await until(
    'its return',
    async () => typesOf(await eventsOf(master, id)).includes('<restarted>'),
    patienceMs
  );
  mind.release('t1');
  await taskEnd(master, id, 't1', patienceMs);
  await enqueued(master, id, 't2', { shell: 'echo yes > said' });
  await taskEnd(master, id, 't2', patienceMs);
  expect(existsSync(join(office.workspace.path, 'said'))).toBe(true);
  const types = typesOf(await eventsOf(master, id));
  expect(types.filter((type) => type !== 'progress')).toEqual([
    ...['<ready>', '<delivered>', 'ack'],
    ...['<crashed>', '<requeued>', '<restarted>'],
    ...['<delivered>', 'ack', 'result'],
    ...['<delivered>', 'ack', 'result']
  ]);
  await office.dismiss(id);
}
