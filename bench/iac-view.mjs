/**
 * Measures how long a rendering of IAC.md with 200 entries of 100 KB blocks a
 * server: by the longest delay of its event loop, and by the slowest of the
 * pings that are sent meanwhile.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { writeHistory } from './history.mjs';
import { startProbed } from './inside.mjs';
import { fact, row } from './statistics.mjs';
import { createWorkspace, runBench, until } from './support.mjs';

const entries = 200;
const line =
  'The `quick` brown fox jumps over <b>it</b>: https://example.com/a_b?c=d, sk-no-key.\n';
const answer = line.repeat(Math.ceil(102_400 / line.length));
const atMostMs = { limit: 20, absolute: true };

await runBench(10, async (options) => {
  const workspace = createWorkspace();
  const program = workspace.file('answer', answer);
  const long = workspace.file(
    'long.mjs',
    `export default {
  kind: 'cli',
  name: 'long',
  description: 'Says 100 KB.',
  command: 'cat',
  args: () => [${JSON.stringify(program)}]
};
`
  );
  workspace.offer(long);
  try {
    const intact = await writeHistory(workspace, 'long', entries, 0, answer);
    const { server, look } = await startProbed(options, workspace);
    const first = await watched(server, look, () => shown(workspace, entries));
    const again = [];
    for (let run = 1; run <= options.runs; run += 1) {
      const isShown = () => shown(workspace, entries + run);
      // A view is written at most once a second.
      await delay(1100);
      again.push(
        await watched(server, look, isShown, () =>
          server.call('spawn_long', { prompt: 'Go.' })
        )
      );
    }
    const peak = server.memory().peak;
    await server.close();
    return reportOf(first, again, intact, sizeOf(viewOf(workspace)), peak);
  } finally {
    workspace.remove();
  }

  /** The longest delays until `isShown` returns true. */
  async function watched(server, look, isShown, start = () => undefined) {
    await look();
    const from = performance.now();
    await start();
    let ping = 0;
    let isOver = false;
    const ended = until(join(workspace.path, 'logs'), isShown).then((at) => {
      isOver = true;
      return at;
    });
    while (!isOver) {
      const asked = performance.now();
      ping = Math.max(ping, (await server.request('ping')).at - asked);
      await delay(2);
    }
    const ms = (await ended) - from;
    const { loop } = await look();
    return { ms, ping, loop: loop.most };
  }
});

function viewOf({ path }) {
  return join(path, 'logs', 'IAC.md');
}

/** Whether the view covers the whole journal and the end of each agent. */
function shown(workspace, spawns) {
  const view = viewOf(workspace);
  const text = tailOf(view);
  const [, offset, count] =
    /journal (\d+) bytes, (\d+) spawns,.*\n$/.exec(text) ?? [];
  const journal = sizeOf(join(workspace.record, 'iac.jsonl'));
  return Number(count) === spawns && Number(offset) === journal && ended();

  function ended() {
    const file = openSync(view, 'r');
    try {
      const head = Buffer.alloc(64 * 1024);
      readSync(file, head);
      return !/\*\*(Running|Queued)\*\*/.test(head.toString());
    } finally {
      closeSync(file);
    }
  }
}

function tailOf(path) {
  try {
    const file = openSync(path, 'r');
    try {
      const end = Buffer.alloc(200);
      readSync(file, end, 0, 200, Math.max(0, fstatSync(file).size - 200));
      return end.toString();
    } finally {
      closeSync(file);
    }
  } catch {
    return '';
  }
}

function sizeOf(path) {
  const file = openSync(path, 'r');
  try {
    return fstatSync(file).size;
  } finally {
    closeSync(file);
  }
}

function reportOf(first, again, intact, bytes, peak) {
  const of = (what) => again.map((sample) => sample[what]);
  const what = 'IAC.md with 200 entries of 100 KB';
  return {
    title: what,
    rows: [
      row('all of it for the first time: event loop late', [first.loop], {
        ...atMostMs,
        summary: `${what}: event loop late, the first time`
      }),
      row('the same: slowest ping', [first.ping]),
      row('the same: server started → IAC.md written', [first.ms]),
      row('one agent more: event loop late', of('loop'), {
        ...atMostMs,
        summary: `${what}: event loop late, one agent more`
      }),
      row('the same: slowest ping', of('ping')),
      row('the same: spawn called → its end shown', of('ms')),
      row('most memory', [peak], { unit: 'MB' }),
      fact('the journal made for this is valid', intact, `${entries} agents`)
    ],
    notes: [
      `IAC.md has ${(bytes / 1024 / 1024).toFixed(1)} MB; what is older, and the middle of long texts, lies elsewhere. The event loop's delay is its longest of each rendering, with all else that the run of an agent makes the server do.`
    ]
  };
}
