import { effect, signal } from '@preact/signals';
import { go } from './router.mjs';
import { about, allRows, isActive, isLoaded, watchRows } from './store.mjs';

const isThere = typeof Notification !== 'undefined' && isSecureContext;

/** Whether the person can be asked for notifications. */
export const canNotify = signal(
  isThere && Notification.permission === 'default'
);

export async function notifyMe() {
  await Notification.requestPermission();
  canNotify.value = false;
}

/** Asks and ends of agents at work, as they were seen last. */
const seen = new Map();

/** Tabs of the page ask each other whether a person looks at one of them. */
const channel =
  typeof BroadcastChannel === 'undefined'
    ? undefined
    : new BroadcastChannel('troupe visible');

/** How long a visible tab may take to answer. */
const answerMs = 250;

/** When another tab was last known to be visible. */
let visibleAt = Number.NEGATIVE_INFINITY;

channel?.addEventListener('message', ({ data }) => {
  if (data === 'visible') visibleAt = performance.now();
  else if (!document.hidden) channel.postMessage('visible');
});

async function isOtherVisible() {
  const askedAt = performance.now();
  channel?.postMessage('visible?');
  await new Promise((resolve) => setTimeout(resolve, answerMs));
  return visibleAt >= askedAt;
}

/**
 * Notifies of asks and ends while no tab of the page is visible. What was there
 * when the page was opened is not reported.
 */
export function startNotifying() {
  let isSeeded = false;
  /** When the last of the known agents ended. */
  let lastEnd = '';
  effect(() => {
    watchRows();
    if (!isLoaded.value) return;
    const rows = allRows();
    for (const row of rows) {
      const state = stateOf(row);
      if (state === undefined || seen.get(row.id) === state) continue;
      const before = seen.get(row.id);
      seen.set(row.id, state);
      // An agent may have ended before the page has seen it at work.
      const hasJustEnded = before === undefined && row.completed_at > lastEnd;
      const isNew = row.kind === 'ask' || before === 'active' || hasJustEnded;
      if (isSeeded && isNew && state !== 'active') void notify(row);
    }
    for (const { completed_at: at } of rows) if (at > lastEnd) lastEnd = at;
    isSeeded = true;
  });
}

function stateOf(row) {
  if (row.kind === 'ask') return 'asks';
  if (row.kind !== 'agent') return undefined;
  return isActive(row) ? 'active' : row.status;
}

/** The words of an agent stay out: they are not ours. */
async function notify(row) {
  if (!isThere || Notification.permission !== 'granted' || !document.hidden)
    return;
  if (await isOtherVisible()) return;
  const engine = row.agent_type ?? row.engine;
  const title =
    row.kind === 'ask' ? `${engine} asks` : `${engine} ${row.status}`;
  const notification = new Notification(title, {
    body: `${row.agent_id} in ${about.peek()?.workspace ?? 'the workspace'}`,
    // Several tabs show one notification.
    tag: `${row.id} ${row.status ?? ''}`
  });
  notification.onclick = () => {
    focus();
    go(`/agents/${row.agent_id}`);
    notification.close();
  };
}
