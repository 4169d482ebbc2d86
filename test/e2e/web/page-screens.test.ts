import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import {
  axeFaults,
  browserTest,
  hasBrowser,
  isForDocs,
  isTooWide,
  keepPicture,
  launchBrowser,
  openPage,
  pictures
} from '../../kit/browser/page-browser.ts';
import {
  createPageStage,
  type PageStage
} from '../../kit/browser/page-stage.ts';

let stage: PageStage;
let browser: Browser;

beforeAll(async () => {
  if (!hasBrowser) return;
  [stage, browser] = await Promise.all([createPageStage(), launchBrowser()]);
});

afterAll(async () => {
  await browser?.close();
  await stage?.remove();
});

/** The screens, each with a text that shows that it is complete. */
function screens(): [path: string, text: string][] {
  const { completed, edited, failed, running, asking } = stage.agents;
  return [
    ['/', 'Needs you'],
    [`/agents/${completed}`, 'one line too many'],
    [`/agents/${edited}`, 'replaceAll'],
    [`/agents/${failed}`, 'asks to slow down'],
    [`/agents/${running}`, 'sleep 600'],
    [`/agents/${asking}`, 'npm install'],
    ['/agents/00000000', 'There is no agent'],
    ['/squads', 'squad-'],
    ['/council', 'O_APPEND'],
    ['/workers', 'drop-user'],
    ['/audit', 'Verify now'],
    ['/spend', 'By engine'],
    ['/?filter=nothing-has-this', 'No agent matches']
  ];
}

async function keepScreen(page: Page, where: string): Promise<void> {
  if (pictures === undefined) return;
  if (isForDocs) {
    const [, name] =
      /^\/(agents|squads|council|workers|audit|spend|) light 1280$/.exec(
        where.replace(stage.agents.edited, '').replace('agents/ ', 'agents ')
      ) ?? ['', undefined];
    if (name === undefined) return;
    const part = name === 'agents' ? page.locator('.main') : page;
    await part.screenshot({ path: join(pictures, `${name || 'now'}.png`) });
    return;
  }
  const entries = Object.entries(stage.agents);
  const name = entries
    .reduce((text, [kind, id]) => text.replace(id, kind), where)
    .replace(/^\/ /, 'now ')
    .replace(/^\//, '');
  await keepPicture(page, name);
}

browserTest(
  'every screen is sound for axe in light and dark, wide and narrow, and says nothing to the console',
  async () => {
    const context = await browser.newContext();
    const { page, messages, foreign } = await openPage(context, stage.web.link);
    const faults: string[] = [];
    for (const colorScheme of ['light', 'dark'] as const)
      for (const width of [1280, 390]) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 800 });
        for (const [path, text] of screens()) {
          const where = `${path} ${colorScheme} ${width}`;
          await page.goto(new URL(path, stage.web.link).href);
          await page.getByText(text).first().waitFor();
          for (const fault of await axeFaults(page))
            faults.push(`${where}: ${fault}`);
          await keepScreen(page, `${path} ${colorScheme} ${width}`);
          if (await isTooWide(page)) faults.push(`${where}: too wide`);
        }
      }
    expect(faults).toEqual([]);
    // The browser itself reports the agent that is not there.
    expect(messages.filter((one) => !/404 \(Not Found\)/.test(one))).toEqual(
      []
    );
    expect(foreign).toEqual([]);
    await context.close();
  },
  240_000
);

browserTest('the keyboard alone opens an agent, and leads back', async () => {
  const context = await browser.newContext();
  const link = await stage.web.newLink('act');
  const { page } = await openPage(context, link);
  await page.getByText('Needs you').waitFor();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
  // No key waits for the effect of the one before it.
  await Promise.all([
    page.keyboard.press('Escape'),
    page.keyboard.press('/'),
    page.keyboard.type('parser')
  ]);
  await page.getByRole('searchbox').press('Tab');
  expect(new URL(page.url()).search).toBe('?filter=parser');
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Findings' }).waitFor();
  expect(page.url()).toContain(`/agents/${stage.agents.completed}`);
  await page.keyboard.press('Escape');
  await page.getByRole('heading', { name: 'Now' }).waitFor();
  await page.keyboard.press('5');
  await page.getByRole('heading', { name: 'Audit' }).waitFor();
  await page.goBack();
  await page.getByRole('heading', { name: 'Now' }).waitFor();
  await context.close();
});

browserTest(
  'Esc closes a dialog at once, and gives the focus back',
  async () => {
    const context = await browser.newContext();
    const { page } = await openPage(context, await stage.web.newLink('act'));
    await page.getByText('Needs you').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    const focused = () =>
      page.evaluate(() => document.activeElement?.getAttribute('data-row'));
    const before = await focused();
    expect(before).toMatch(/^[0-9a-f]{8}$/);
    const help = page.getByRole('dialog', { name: 'Keyboard' });
    await page.keyboard.press('?');
    await help.waitFor();
    await Promise.all([
      page.keyboard.press('Escape'),
      page.keyboard.press('?')
    ]);
    await help.waitFor();
    await page.keyboard.press('Escape');
    await help.waitFor({ state: 'detached' });
    expect(await focused()).toBe(before);
    await context.close();
  }
);
