import { computed, signal } from '@preact/signals';

/** What the page knows of the workspace; stream.mjs fills it. */

/** The rows of the board: id → a signal with the row. */
const rows = new Map();
/** Changes when a row is added, removed, or moves to another group. */
const structure = signal(0);
/** Changes with every row. */
const anyRow = signal(0);

/** Steps and text of agents at work: id → signal. */
const outputs = new Map();

/** Of the server: workspace, version, scope. Undefined before the sign-in. */
export const about = signal(undefined);
/** `lost` also means that the page was not live yet; `since`: a time or 0. */
export const connection = signal({ state: 'lost', since: 0 });
/** Why the page has no token, if it has none. */
export const signedOut = signal(undefined);
/** Whether the rows have been received at all. */
export const isLoaded = signal(false);
/** Updated each second, for ages. */
export const now = signal(Date.now());
/** Whether the end of an open agent's output stays in view. */
export const isFollowing = signal(false);
/** A sentence about the last action; empty for none. */
export const message = signal({ text: '', isError: false });

setInterval(() => {
  now.value = Date.now();
}, 1000);

export function rowOf(id) {
  return rows.get(id);
}

export function allRows() {
  return [...rows.values()].map((row) => row.peek());
}

/** @param change what the server sends of the topic `board` */
export function takeBoard({ isAll, rows: changed, gone }) {
  let hasMoved = false;
  if (isAll) {
    const ids = new Set(changed.map(({ id }) => id));
    for (const id of rows.keys())
      if (!ids.has(id)) {
        rows.delete(id);
        hasMoved = true;
      }
  }
  for (const id of gone) hasMoved = rows.delete(id) || hasMoved;
  for (const row of changed) {
    const known = rows.get(row.id);
    if (!known) {
      rows.set(row.id, signal(row));
      hasMoved = true;
      continue;
    }
    if (groupOf(known.peek()) !== groupOf(row)) hasMoved = true;
    known.value = row;
  }
  isLoaded.value = true;
  anyRow.value += 1;
  if (hasMoved) structure.value += 1;
}

/** An agent's output; empty until the server has sent it. */
export function outputOf(id) {
  const known = outputs.get(id);
  if (known) return known;
  const output = signal({
    steps: [],
    firstStep: 0,
    text: '',
    offset: 0,
    sizes: ''
  });
  outputs.set(id, output);
  return output;
}

/** @param change what the server sends of the topic `agent:<id>` */
export function takeOutput(id, { isAll, step, steps, offset, text, sizes }) {
  const output = outputOf(id);
  const before = output.peek();
  if (isAll) {
    output.value = { steps, firstStep: step, text, offset, sizes };
    return;
  }
  const kept = before.text.slice(0, Math.max(0, offset - before.offset));
  const all = [...before.steps.slice(0, step - before.firstStep), ...steps];
  const whole = kept + text;
  output.value = {
    steps: all.slice(-mostSteps),
    firstStep: before.firstStep + Math.max(0, all.length - mostSteps),
    text: whole.slice(-mostChars),
    offset: before.offset + Math.max(0, whole.length - mostChars),
    sizes
  };
}

/** As much of an output as the server sends at first. */
const mostSteps = 500;
const mostChars = 64 * 1024;

/** Everything, for another tab of this browser. */
export function wholeState() {
  return {
    board: { isAll: true, rows: allRows(), gone: [] },
    outputs: [...outputs].map(([id, output]) => {
      const { firstStep, ...rest } = output.peek();
      return [id, { isAll: true, step: firstStep, ...rest }];
    })
  };
}

export const isActive = ({ status }) =>
  status === 'queued' || status === 'running' || status === 'asking';

export const isOverWorker = ({ status }) =>
  status === 'stopped' || status === 'crashed';

/** Unread failures of this time need a look. */
const failures = ['failed', 'timeout', 'interrupted'];

function groupOf(row) {
  if (row.kind === 'agent') {
    if (row.status === 'queued') return 'queued';
    if (isActive(row)) return 'running';
    return failures.includes(row.status) && row.is_read === false
      ? 'failed'
      : 'ended';
  }
  if (row.kind === 'worker')
    return isOverWorker(row) ? 'workers over' : 'workers';
  return row.kind;
}

/** Ids by group, in the order in which they are shown. */
export const groups = computed(() => {
  structure.value;
  const found = {
    ask: [],
    failed: [],
    running: [],
    queued: [],
    workers: [],
    'workers over': [],
    ended: []
  };
  for (const row of allRows()) found[groupOf(row)]?.push(row);
  const oldest = (a, b) => (startOf(a) < startOf(b) ? -1 : 1);
  const newest = (a, b) =>
    (a.completed_at ?? a.created_at) > (b.completed_at ?? b.created_at)
      ? -1
      : 1;
  for (const name of ['ask', 'running', 'queued', 'workers'])
    found[name].sort(oldest);
  for (const name of ['failed', 'ended', 'workers over'])
    found[name].sort(newest);
  return found;
});

function startOf({ asked_at, created_at }) {
  return asked_at ?? created_at;
}

export const totals = computed(() => {
  structure.value;
  return rows.get('totals');
});

/** How many things wait for a person. */
export const needsCount = computed(
  () => groups.value.ask.length + groups.value.failed.length
);

/** Subscribes to every change of a row. */
export function watchRows() {
  return anyRow.value;
}
