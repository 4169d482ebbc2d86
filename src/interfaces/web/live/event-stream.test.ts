import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { idOf, makeUp } from '../../../../test/kit/agents/made-up-agents.ts';
import { until } from '../../../../test/kit/judges/until.ts';
import {
  type HostHere,
  hostHere
} from '../../../../test/kit/servers/host-here.ts';
import { begin } from '../../../../test/kit/servers/raw-http.ts';
import { streamEvents } from './event-stream.ts';
import { Live } from './live.ts';

let here: HostHere;
let live: Live;
let server: Server;
let ending: AbortController;

beforeEach(async () => {
  here = await hostHere();
  live = new Live(here.host, () => undefined);
  ending = new AbortController();
  server = createServer((request, response) => {
    const query = new URL(request.url ?? '', 'http://x').searchParams;
    const { signal } = ending;
    streamEvents(live, request, response, { query, ending: signal });
  });
  await new Promise<void>((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve())
  );
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
});

function stream(query: string) {
  const { port } = server.address() as AddressInfo;
  const target = { port, token: '' };
  return begin(target, { method: 'GET', path: `/?${query}` });
}

function put(number: number): void {
  makeUp(here.workspace.record, { agent_id: idOf(number), daysAgo: null });
  live.hurry();
}

/** The changes in a stream so far. */
function changesIn(text: string): { rows: { id: string }[]; isAll: boolean }[] {
  const lines = [...text.matchAll(/^event: change\ndata: (.*)$/gm)];
  return lines.map(([, json = '']) => JSON.parse(json).board);
}

test('a page that knows nothing gets all rows, and then what changes', async () => {
  put(1);
  const page = stream('topics=board');
  await page.says(/^event: change/m);
  expect(page.soFar()).toMatch(
    new RegExp(`^event: hello\ndata: {"epoch":"${live.epoch}"}\n\nid: `)
  );
  put(2);
  await page.says(new RegExp(`agent:${idOf(2)}`));
  const [all, next] = changesIn(page.soFar());
  expect([all?.isAll, next?.isAll]).toEqual([true, false]);
  expect(next?.rows.map((row) => row.id)).not.toContain(`agent:${idOf(1)}`);
  ending.abort();
  const { status, headers, text } = await page.answer;
  expect(text).toMatch(/event: end\ndata: \{\}\n\n$/);
  expect([status, headers['content-type'], headers['cache-control']]).toEqual([
    ...[200, 'text/event-stream; charset=utf-8', 'no-store']
  ]);
});

test('a page that connects again gets what it lacks', async () => {
  put(1);
  const first = stream('topics=board');
  await first.says(/^event: change/m);
  const [, after] = /^id: (\S+)$/m.exec(first.soFar()) ?? [];
  put(2);
  await first.says(new RegExp(`agent:${idOf(2)}`));
  const again = stream(`topics=board&after=${after}`);
  await again.says(/^event: change/m);
  expect(changesIn(again.soFar())).toMatchObject([{ isAll: false }]);
  for (const query of [
    'topics=board&after=other.1',
    `topics=board&after=${live.epoch}.x`,
    `topics=board&new=board&after=${after}`
  ]) {
    const page = stream(query);
    await page.says(/^event: change/m);
    expect(changesIn(page.soFar())).toMatchObject([{ isAll: true }]);
    await page.cut();
  }
  await first.cut();
  await again.cut();
});

test('a page whose revision is from the future gets the next change', async () => {
  put(1);
  const first = stream('topics=board');
  await first.says(/^event: change/m);
  const page = stream(`topics=board&after=${live.epoch}.999999`);
  await page.says(/^event: hello/m);
  put(2);
  await page.says(new RegExp(`agent:${idOf(2)}`));
  await Promise.all([first.cut(), page.cut()]);
});

test('a page that is gone is no longer read for', async () => {
  const page = stream('topics=board');
  await page.says(/^event: change/m);
  const known = new Map([['board', 0]]);
  expect(live.since(known)).toBeDefined();
  await page.cut();
  await until('the end of its subscription', () =>
    live.since(known) === undefined ? true : undefined
  );
});
