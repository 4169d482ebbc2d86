import { expect, test } from 'vitest';
import { type Evidence, faultsOf } from './worker-judge.ts';

interface Line {
  type: string;
  [name: string]: unknown;
}

const by = 'troupe';
const one = { task_id: 'one' };
const two = { task_id: 'two' };
const commands: Line[] = [
  { type: 'task', ...one },
  { type: 'task', ...two },
  { type: 'stop' }
];
const ready = { type: 'ready', by };
const stopped = { type: 'stopped', by };
const crashed = { type: 'crashed', payload: { restarting: true }, by };
const given = (task: object) => ({ type: 'delivered', ...task, by });
const ended = (task: object) => ({ type: 'result', ...task, done: true });

const events: Line[] = [
  ready,
  given(one),
  { type: 'progress', ...one },
  crashed,
  { type: 'requeued', ...one, by },
  { type: 'restarted', by },
  given(one),
  ended(one),
  given(two),
  ended(two),
  { type: 'stopping', by },
  stopped
];

test('a worker that crashed once and then did all is in order', () => {
  expect(faultsOf(evidence())).toEqual([]);
});

test.each([
  ['a task that nobody wrote down', {}, 'three was acknowledged and is lost'],
  ['answers in another order', { acknowledged: ['two', 'one'] }, 'order'],
  ['a task written down twice', inbox({ type: 'task', ...one }), 'twice'],
  ['a lost end', without(ended(two)), 'two never ends'],
  ['a second end', before(stopped, ended(one)), 'one ends a second time'],
  ['an end that does not say so', instead({ type: 'error', ...two }), 'no end'],
  ['work after the end', before(stopped, given(one)), 'after its end'],
  ['a task of nobody', before(stopped, ended({ task_id: 'x' })), 'nobody gave'],
  ['two at once', swapped(ended(one), given(two)), 'one still runs'],
  ['the second before the first', swappedTasks(), 'given as two,one'],
  [
    'another one instead of the one given back',
    { ...withEvents([ready, given(one), back(one), given(two)]) },
    'one was to come before two'
  ],
  ['what is given back and did not run', before(stopped, back(two)), 'not run'],
  ['a second ready', before(stopped, ready), 'ready more than once'],
  ['a start without a crash', without(crashed), 'without a crash'],
  ['something after the end', after({ type: 'progress' }), 'the end is'],
  ['a gap in the numbers', gap(), 'number 5 out of its place'],
  ['a torn line', torn('outbox'), 'outbox ends amid one'],
  ['garbage', garbage('inbox'), 'none of ours: ?'],
  ['an event that was not told', told((lines) => lines.slice(1)), 'lacks'],
  ['one told twice', told((lines) => [...lines, ...lines.slice(-1)]), 'twice'],
  ['one told that was not', toldMore(), 'what nobody told'],
  ['told in another order', told((lines) => lines.toReversed()), 'order']
])('%s is a fault', (what, change, fault) => {
  const acknowledged = what.includes('nobody wrote')
    ? ['one', 'two', 'three']
    : ['one', 'two'];
  const faults = faultsOf({ ...evidence(), acknowledged, ...change });
  expect(faults.join('\n')).toContain(fault);
});

function evidence(): Evidence {
  return {
    agentId: 'a',
    inbox: textOf(commands),
    ...withEvents(events),
    acknowledged: ['one', 'two']
  };
}

function withEvents(list: Line[]) {
  const outbox = textOf(list);
  return { outbox, broadcast: broadcastOf(outbox) };
}

function textOf(lines: Line[]): string {
  return lines
    .map((line, index) => JSON.stringify({ seq: index + 1, at: '', ...line }))
    .map((line) => `${line}\n`)
    .join('');
}

/** Events of another worker do not concern it. */
function broadcastOf(outbox: string): string {
  return outbox
    .split('\n')
    .filter((line) => /"done"|"by"|"ready"/.test(line))
    .map((line) => JSON.stringify({ agent_id: 'a', ...JSON.parse(line) }))
    .flatMap((line) => [line, line.replace('"a"', '"b"')])
    .map((line) => `${line}\n`)
    .join('');
}

function inbox(line: Line) {
  return { inbox: textOf([...commands, line]) };
}

function indexOf(line: Line): number {
  return events.findIndex(
    (one) => JSON.stringify(one) === JSON.stringify(line)
  );
}

function without(line: Line) {
  return withEvents(events.filter((_, index) => index !== indexOf(line)));
}

function before(line: Line, added: Line) {
  return withEvents(events.toSpliced(indexOf(line), 0, added));
}

function after(added: Line) {
  return withEvents([...events, added]);
}

function instead(line: Line) {
  return withEvents(events.toSpliced(indexOf(ended(two)), 1, line));
}

function back(task: object): Line {
  return { type: 'requeued', ...task, by };
}

function swapped(first: Line, second: Line) {
  const changed = [...events];
  changed[indexOf(first)] = second;
  changed[indexOf(second)] = first;
  return withEvents(changed);
}

function swappedTasks() {
  const { outbox } = evidence();
  const changed = outbox.replaceAll(/"(one|two)"/g, (word) =>
    word === '"one"' ? '"two"' : '"one"'
  );
  return { outbox: changed, broadcast: broadcastOf(changed) };
}

function gap() {
  const { outbox } = evidence();
  const changed = outbox.replace(/.*"seq":4,.*\n/, '');
  return { outbox: changed, broadcast: broadcastOf(changed) };
}

function torn(name: 'outbox') {
  return { [name]: evidence()[name].slice(0, -5) };
}

function garbage(name: 'inbox') {
  return { [name]: `?\n${evidence()[name]}` };
}

function told(change: (lines: string[]) => string[]) {
  const lines = evidence().broadcast.split('\n').slice(0, -1);
  const ours = lines.filter((line) => line.includes('"agent_id":"a"'));
  return { broadcast: `${change(ours).join('\n')}\n` };
}

function toldMore() {
  const line = { agent_id: 'a', seq: 99, at: '', ...ready };
  return told((lines) => [...lines, JSON.stringify(line)]);
}
