import { effect, signal } from '@preact/signals';
import { shownAgent } from './router.mjs';
import { authorization, noteSignedOut } from './session.mjs';
import {
  connection,
  signedOut,
  takeBoard,
  takeOutput,
  wholeState
} from './store.mjs';

/**
 * One stream of events for all tabs of a browser, because a browser opens only
 * six connections to a server. The tab that holds the lock reads the stream
 * and passes it on to the others; when it closes, the next tab takes over.
 */
const hasTabs =
  typeof BroadcastChannel !== 'undefined' && navigator.locks !== undefined;
const channel = hasTabs ? new BroadcastChannel('troupe events') : undefined;
const tab = crypto.randomUUID?.() ?? String(Math.random());

/** A stream without an event for so long is dead; the server beats each 5 s. */
const silentMs = 12_000;
const retryMs = [250, 500, 1000, 2000, 5000];

/** Topics of all tabs, by tab; only the leading tab uses it. */
const wanted = new Map();
const allTopics = signal('board');
let isLeader = false;
let lastEventAt = 0;

export function startStream() {
  effect(() => {
    const id = shownAgent.value;
    announce(id === undefined ? [] : [`agent:${id}`]);
  });
  setInterval(checkSilence, 1000);
  if (!hasTabs) return lead();
  channel.addEventListener('message', ({ data }) => onMessage(data));
  addEventListener('pagehide', () => channel.postMessage({ type: 'bye', tab }));
  channel.postMessage({ type: 'hello', tab });
  void navigator.locks.request('troupe events', () => {
    isLeader = true;
    channel.postMessage({ type: 'leader' });
    return lead();
  });
}

let ownTopics = [];

function announce(topics) {
  ownTopics = topics;
  wanted.set(tab, topics);
  if (!isLeader) channel?.postMessage({ type: 'topics', tab, topics });
  else channel?.postMessage({ type: 'leader' });
  gatherTopics();
}

function gatherTopics() {
  const topics = new Set(['board', ...[...wanted.values()].flat()]);
  allTopics.value = [...topics].sort().join();
}

function onMessage(data) {
  switch (data?.type) {
    case 'hello':
      if (isLeader) channel.postMessage({ type: 'state', ...wholeState() });
      if (isLeader) channel.postMessage({ type: 'leader' });
      return;
    case 'leader':
      channel.postMessage({ type: 'topics', tab, topics: ownTopics });
      return;
    case 'topics':
      wanted.set(data.tab, data.topics);
      if (isLeader) gatherTopics();
      return;
    case 'bye':
      wanted.delete(data.tab);
      if (isLeader) gatherTopics();
      return;
    case 'state':
      if (isLeader) return;
      takeBoard(data.board);
      for (const [id, output] of data.outputs) takeOutput(id, output);
      noteEvent();
      return;
    case 'changes':
      if (!isLeader) apply(data.changes);
      return;
    case 'beat':
      if (!isLeader) noteEvent();
      return;
    case 'lost':
      if (!isLeader) connection.value = data.connection;
      return;
  }
}

function apply(changes) {
  for (const [topic, change] of Object.entries(changes))
    if (topic === 'board') takeBoard(change);
    else takeOutput(topic.slice('agent:'.length), change);
  noteEvent();
}

function noteEvent() {
  lastEventAt = Date.now();
  if (connection.peek().state !== 'live')
    connection.value = { state: 'live', since: lastEventAt };
}

function noteLost() {
  if (connection.peek().state === 'lost') return;
  connection.value = { state: 'lost', since: lastEventAt };
  channel?.postMessage({ type: 'lost', connection: connection.peek() });
}

let abortStream = () => {};

/** Timers of hidden tabs are slow, so a tab also looks when it is shown. */
function checkSilence() {
  if (lastEventAt === 0 || Date.now() - lastEventAt < silentMs) return;
  noteLost();
  if (isLeader || !hasTabs) abortStream();
}
document.addEventListener('visibilitychange', checkSilence);

/** Reads the stream for as long as this tab lives. */
async function lead() {
  isLeader = true;
  let failures = 0;
  const position = { epoch: '', id: '', topics: [] };
  for (;;) {
    if (signedOut.peek()) {
      noteLost();
      await signedIn();
    }
    const hasRead = await readOnce(position);
    if (hasRead === 'topics') continue;
    failures = hasRead ? 0 : failures + 1;
    await pause(retryMs[Math.min(failures, retryMs.length - 1)]);
  }
}

function signedIn() {
  return new Promise((resolve) => {
    const stop = effect(() => {
      if (signedOut.value === undefined) queueMicrotask(() => resolve(stop()));
    });
  });
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** @returns whether an event was read; `topics` if other topics are wanted */
async function readOnce(position) {
  const controller = new AbortController();
  abortStream = () => controller.abort();
  let isOver = false;
  let wantsOthers = false;
  const topics = allTopics.peek();
  const stopWatching = effect(() => {
    if (allTopics.value === topics) return;
    wantsOthers = true;
    controller.abort();
  });
  let hasRead = false;
  try {
    const response = await fetch(`/web/events?${queryFor(position, topics)}`, {
      headers: authorization(),
      signal: controller.signal
    });
    if (response.status === 401) noteSignedOut();
    if (!response.ok) return false;
    for await (const event of eventsOf(response.body)) {
      hasRead = true;
      if (event.name === 'hello') position.epoch = event.data.epoch;
      if (event.name === 'end') break;
      take(event, position);
      // The first change has all there is of every topic.
      if (event.name === 'change') position.topics = topics.split(',');
    }
    isOver = true;
  } catch {
    // The connection was cut off, or this tab wants other topics.
  } finally {
    stopWatching();
    controller.abort();
  }
  if (wantsOthers && !isOver) return 'topics';
  noteLost();
  return hasRead;
}

function queryFor({ id, topics: known }, topics) {
  const added = topics.split(',').filter((topic) => !known.includes(topic));
  return new URLSearchParams({
    topics,
    ...(id === '' ? {} : { after: id, new: added.join() })
  });
}

function take({ name, id, data }, position) {
  if (name === 'change') {
    position.id = id;
    apply(data);
    channel?.postMessage({ type: 'changes', changes: data });
  } else {
    noteEvent();
    channel?.postMessage({ type: 'beat' });
  }
}

/** The events of a response, as they come. */
async function* eventsOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const texts = (rest + value).split('\n\n');
    rest = texts.pop() ?? '';
    for (const text of texts) {
      const fields = Object.fromEntries(
        text.split('\n').map((line) => {
          const at = line.indexOf(': ');
          return [line.slice(0, at), line.slice(at + 2)];
        })
      );
      yield {
        name: fields.event,
        id: fields.id ?? '',
        data: JSON.parse(fields.data ?? '{}')
      };
    }
  }
}
