import { readFileSync } from 'node:fs';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterEach, beforeEach, expect } from 'vitest';
import {
  axeFaults,
  browserTest,
  expectSound,
  hasBrowser,
  launchBrowser,
  openPage,
  type WatchedPage
} from '../../kit/browser/page-browser.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { type StartedWeb, startWeb } from '../../kit/servers/web-server.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let browser: Browser;
let workspace: TempWorkspace;
let server: McpClient;
let web: StartedWeb;
let context: BrowserContext;
let opened: WatchedPage;
let page: Page;

beforeEach(async () => {
  if (!hasBrowser) return;
  workspace = createTempWorkspace();
  workspace.write('.trouperc.json', '{"engines": {"rehearsal": true}}');
  [server, web, browser] = await Promise.all([
    startServer(workspace),
    startWeb(workspace),
    launchBrowser()
  ]);
  context = await browser.newContext({
    permissions: ['clipboard-read', 'clipboard-write']
  });
  opened = await openPage(context, web.link);
  page = opened.page;
});

afterEach(async () => {
  if (!hasBrowser) return;
  await browser.close();
  await web.end();
  await server.close();
  workspace.remove();
});

async function spawn(prompt: string, more: Record<string, unknown> = {}) {
  const { data } = await server.call('spawn_rehearsal', { prompt, ...more });
  const id = String(data.agent_id);
  const row = page.locator(`a.row[data-row="${id}"]`);
  await row.getByText('completed').waitFor();
  return { id, row };
}

/** What the browser saves when the button is pressed, by keyboard. */
async function saved(name: string): Promise<{ file: string; text: string }> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name }).press('Enter')
  ]);
  const text = readFileSync(await download.path(), 'utf8');
  return { file: download.suggestedFilename(), text };
}

browserTest('a table of the spend is saved as CSV', async () => {
  await spawn('say one');
  await page.keyboard.press('6');
  await page.getByRole('heading', { name: 'By engine' }).waitFor();
  await expectSound(opened, 'spend-csv');
  const { file, text } = await saved('Save as CSV, by engine');
  expect(file).toMatch(/^troupe-spend-by-engine-since-\d{4}-\d\d-\d\d\.csv$/);
  const [head, row, ...rest] = text.split('\r\n');
  expect(head).toBe(
    '\ufeff"Engine","Cost in USD","Unknown costs","Agents","Not completed","Tokens","Seconds"'
  );
  expect(row).toMatch(/^"rehearsal",0,0,1,0,\d+,[\d.]+$/);
  expect(rest).toEqual(['']);
});

browserTest('a whole answer is copied and downloaded', async () => {
  const lines = Array.from({ length: 3000 }, (_, line) => {
    return `say line ${line} ${'x'.repeat(60)}`;
  });
  // Marks of the direction are shown as escapes, and saved as they are.
  lines.push('say \u200fשלום\u200f');
  const { id, row } = await spawn(lines.join('\n'));
  await row.click();
  await page.getByRole('button', { name: 'Copy', exact: true }).press('Enter');
  await page.getByText('Copied.').waitFor();
  const copied = String(await page.evaluate('navigator.clipboard.readText()'));
  expect(copied.length).toBeGreaterThan(200_000);
  expect(copied).toContain('line 2999 xxx');
  const { file, text } = await saved('Download');
  expect(file).toBe(`${id}.md`);
  expect(text).toBe(copied);
  expect(text).toContain('\u200fשלום\u200f');
  expect(opened.messages).toEqual([]);

  await page.evaluate(
    "Object.defineProperty(navigator, 'clipboard', { value: undefined })"
  );
  const says = async (text: string) => {
    await page.locator('.message.is-error').getByText(text).waitFor();
    await page.getByRole('button', { name: 'Dismiss' }).click();
  };
  const only = 'This browser copies only over https or on localhost.';
  await page.getByRole('button', { name: 'Copy', exact: true }).click();
  await says(`${only} Use Download.`);
  await page.getByRole('button', { name: 'Copy id' }).click();
  await says(`${only} The id is ${id}.`);
  await page.keyboard.press('y');
  await says(`${only} The id is ${id}.`);
});

browserTest('an agent alike is started by keyboard', async () => {
  const { id, row } = await spawn(`${'x'.repeat(900)}\nsay one`, {
    ...{ access: 'read', model: 'm'.repeat(200) }
  });
  await row.click();
  await page.getByRole('button', { name: 'Spawn alike…' }).press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Spawn alike' });
  await dialog.getByText('with read access').waitFor();
  await expectSound(opened, 'agent-alike');
  await page.keyboard.type('say two');
  await page.keyboard.press('Control+Enter');
  await page.getByRole('heading', { name: 'say two' }).waitFor();
  await dialog.waitFor({ state: 'detached' });
  expect(page.url()).not.toContain(id);
  await page.locator('.facts').getByText('troupe web').waitFor();
});

browserTest(
  'no more access is promised than the configuration allows',
  async () => {
    const { row } = await spawn('say one', { access: 'full' });
    await web.end();
    web = await startWeb(workspace, ['--max-access', 'read']);
    await page.goto(web.link);
    await row.click();
    const capped = 'read access (capped by maxAccess)';
    await page.getByText(`It has ${capped}, in the same`).waitFor();
    await page.getByRole('button', { name: 'Spawn alike…' }).click();
    await page.getByRole('dialog').getByText(`with ${capped}, in`).waitFor();
  }
);

browserTest(
  'a refused spawn is shown in its dialog, and keeps the prompt',
  async () => {
    const { row } = await spawn('say one', { access: 'read' });
    await row.click();
    workspace.write(
      '.trouperc.json',
      '{"engines": {"rehearsal": true}, "maxSpawnsPerMinute": 1}'
    );
    await page.getByRole('button', { name: 'Spawn alike…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Spawn alike' });
    const field = dialog.getByRole('textbox');
    await field.fill('say two');
    await field.press('Control+Enter');
    await dialog.getByRole('alert').waitFor();
    expect(await dialog.getByRole('alert').innerText()).toMatch(/minute/);
    expect(await field.inputValue()).toBe('say two');
    expect(await axeFaults(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  }
);
