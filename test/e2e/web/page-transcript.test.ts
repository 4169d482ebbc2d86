import { chmodSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterEach, beforeEach, expect } from 'vitest';
import { talkerPlugin, talkerProgram } from '../../../bench/talker.mjs';
import {
  axeFaults,
  browserTest,
  hasBrowser,
  launchBrowser,
  openPage
} from '../../kit/browser/page-browser.ts';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { type StartedWeb, startWeb } from '../../kit/servers/web-server.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

/** What a page may show and load, whatever the length of a transcript. */
const most = { nodes: 4000, turns: 60, bytes: 400_000 };
/** Turns of a round that have a row of their own. */
const rowsInARound = 3;

let browser: Browser;
let workspace: TempWorkspace;
let server: McpClient;
let web: StartedWeb;
let page: Page;
/** Bytes that the page has loaded, without its own files and the stream. */
let bytes = 0;
let over: string;

beforeEach(async () => {
  if (!hasBrowser) return;
  workspace = createTempWorkspace();
  over = join(workspace.path, '..', 'over');
  const program = workspace.write(
    '../talker',
    talkerProgram({ node: process.execPath, bytes: 5_000_000, over })
  );
  chmodSync(program, 0o755);
  const plugin = workspace.write('../talker.mjs', talkerPlugin(program));
  workspace.write('.trouperc.json', JSON.stringify({ plugins: [plugin] }));
  const engines = ['--engines', 'talker'];
  [server, web, browser] = await Promise.all([
    startServer(workspace, { flags: engines }),
    startWeb(workspace, engines),
    launchBrowser()
  ]);
  ({ page } = await openPage(await browser.newContext(), web.link));
  bytes = 0;
  page.on('response', async (response) => {
    if (!/\/web\/agents/.test(response.url())) return;
    bytes += (await response.body().catch(() => '')).length;
  });
});

afterEach(async () => {
  if (!hasBrowser) return;
  await browser.close();
  await web.end();
  await server.close();
  workspace.remove();
});

function count(selector: string): Promise<number> {
  return page.locator(selector).count();
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** The number of the last step of the transcript; 0 without one. */
async function lastStep(): Promise<number> {
  // What is out of sight has no inner text.
  const texts = await page.locator('.turn .depth-2').allTextContents();
  return Number(texts.at(-1)?.slice('Step '.length) ?? 0);
}

async function isBounded(what: string, pages = 0): Promise<void> {
  const turns = most.turns + 40 * pages;
  expect(await count('*'), what).toBeLessThan(most.nodes + 1500 * pages);
  expect(await count('.turn'), what).toBeLessThanOrEqual(turns);
}

browserTest(
  'a transcript of 5 MB is opened, followed and read back in parts',
  async () => {
    const { data } = await server.call('spawn_talker', { prompt: 'talk' });
    const row = page.locator(`a.row[data-row="${data.agent_id}"]`);
    const output = join(workspace.record, `spawns/${data.agent_id}/stdout`);
    await until('5 MB', () => sizeOf(output) >= 5_000_000 || undefined);
    await row.click();
    await page.locator('.turn').first().waitFor();
    await isBounded('opened');
    await expect.poll(() => bytes).toBeGreaterThan(1000);
    expect(bytes).toBeLessThan(most.bytes);

    // Longer than what is kept, so that older turns go.
    const from = await lastStep();
    expect(from).toBeGreaterThan(1000);
    const to = from + Math.ceil(most.turns / rowsInARound) + 5;
    await expect.poll(lastStep, { timeout: 60_000 }).toBeGreaterThanOrEqual(to);
    await isBounded('followed');
    expect(await count(`.turn :text-is("Step ${from}")`)).toBe(0);

    const earlier = page.getByRole('button', { name: 'Earlier' }).first();
    for (let pages = 1; pages <= 3; pages += 1) {
      const before = await count('.turn');
      await earlier.click();
      await expect.poll(() => count('.turn')).toBeGreaterThan(before);
      await isBounded('earlier', pages);
    }
    expect(await axeFaults(page)).toEqual([]);

    writeFileSync(over, '');
    await page.getByText('The end of the transcript').first().waitFor();
    bytes = 0;
    await page.reload();
    await page.locator('.turn').first().waitFor();
    await page.getByText('The end of the transcript').first().waitFor();
    await isBounded('ended');
    expect(bytes).toBeLessThan(most.bytes);
  }
);
