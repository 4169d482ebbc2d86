import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openOffice } from '../../../../test/kit/agents/worker-office.ts';
import { until } from '../../../../test/kit/judges/until.ts';

/** An engine whose program sleeps for an hour. */
const mine = {
  kind: 'cli',
  name: 'mine',
  description: 'Mine.',
  command: 'sh',
  args: () => ['-c', 'echo here I am; exec sleep 3600'],
  connect: (): unknown => ({ args: [] })
};

async function officeWith(changes: object = {}, settings: object = {}) {
  const office = await openOffice(settings, [{ ...mine, ...changes }]);
  const master = office.master();
  onTestFinished(async () => {
    await master.close(true);
    office.close();
  });
  const create = (changes: object = {}) =>
    master.create({
      ...{ name: 'One', role: 'A brief.', patienceMs: 30_000 },
      ...changes
    });
  return { office, master, create };
}

function throwing(): never {
  throw new Error('my config is gone');
}

test.each<[string, object, string]>([
  ['throws', { connect: throwing }, 'connect threw: my config is gone'],
  [
    'returns an invalid connection',
    { connect: () => ({ args: [7] }) },
    'connect returned an invalid value: args[0]: expected string'
  ],
  [
    'would write elsewhere',
    { connect: () => ({ args: [], files: { '../x': '' } }) },
    'must be a name inside the directory'
  ],
  ['throws for its arguments', { args: throwing }, 'args threw'],
  ['throws for its variables', { env: { set: throwing } }, 'env.set threw'],
  ['throws for its input', { stdin: throwing }, 'stdin threw']
])(
  'a plugin that %s is reported, and nothing is left',
  async (_, changes, problem) => {
    const { office, master, create } = await officeWith(changes);
    await expect(create()).rejects.toMatchObject({
      code: 'not_ready',
      message: expect.stringContaining(`The plugin mine is at fault: `),
      hint: expect.stringContaining('plugin')
    });
    await expect(create()).rejects.toThrow(problem);
    expect(await master.list('all')).toEqual([]);
    const { record, shared } = office.workspace.paths;
    for (const path of [shared.agents, join(record, 'workers')])
      expect(readdirSync(path).filter((name) => /^0/.test(name))).toEqual([]);
  }
);

test.each([
  ['an alias names its engine', 'short', 'mine'],
  ['an alias yields to the engine of that name', 'twin', 'twin']
])('%s', async (_, asked, engine) => {
  const office = await openOffice({}, [
    { ...mine, workerAliases: ['short', 'twin'] },
    { ...mine, name: 'twin' }
  ]);
  const master = office.master();
  onTestFinished(async () => {
    await master.close(true);
    office.close();
  });
  const creating = master.create({
    ...{ name: 'One', role: 'A brief.', patienceMs: 30_000 },
    engine: asked
  });
  const id = await until('the worker', () => master.store.ids()[0]);
  const signal = new AbortController().signal;
  await office.desk(id).waitForCommand({ timeoutMs: 0, signal });
  expect((await creating).meta.engine).toBe(engine);
});

test.each(['--yolo', 'a\0b'])(
  'no worker has the model %j, which is no word of its program',
  async (model) => {
    const { master, create } = await officeWith();
    await expect(create({ model })).rejects.toMatchObject({
      code: 'invalid_input'
    });
    expect(master.store.ids()).toEqual([]);
  }
);

test('a worker is ready once it has asked for work', async () => {
  const { office, master, create } = await officeWith();
  const creating = create();
  const id = await until('the worker', () => master.store.ids()[0]);
  expect(master.store.get(id).log.read().status).toBe('starting');
  const { folder } = master.store.get(id);
  await until('its program', () => existsSync(join(folder.start(1), 'claim')));
  const signal = new AbortController().signal;
  await office.desk(id).waitForCommand({ timeoutMs: 0, signal });
  const { meta, log } = await creating;
  expect(log.read().status).toBe('ready');
  expect(meta).toMatchObject({ agent_id: id, engine: 'mine', access: 'full' });
});

test('a worker that never asks for work is ended, and its output is reported', async () => {
  const { master, create } = await officeWith({}, { readyTimeoutSeconds: 4 });
  await expect(create()).rejects.toMatchObject({
    code: 'not_ready',
    message: expect.stringMatching(/within 4 s/),
    quoted: { screen: ['here I am'] }
  });
  const [worker] = await master.list('all');
  expect(worker?.log.read().status).toBe('crashed');
});

test('workers that several servers create at once join one run', async () => {
  const { office, master, create } = await officeWith();
  const others = [office.master(), office.master()];
  onTestFinished(async () => {
    await Promise.all(others.map((other) => other.close(true)));
  });
  const request = { name: 'Two', role: 'A brief.', patienceMs: 30_000 };
  const creating = [create(), ...others.map((other) => other.create(request))];
  const ids = await until('three workers', () => {
    const all = master.store.ids();
    return all.length === 3 ? all : undefined;
  });
  const signal = new AbortController().signal;
  await Promise.all(
    ids.map((id) => office.desk(id).waitForCommand({ timeoutMs: 0, signal }))
  );
  const runs = (await Promise.all(creating)).map(({ meta }) => meta.run_id);
  expect(new Set(runs).size).toBe(1);
});
