import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterEach, beforeEach, expect } from 'vitest';
import {
  browserTest,
  hasBrowser,
  launchBrowser
} from '../../kit/browser/page-browser.ts';
import { until } from '../../kit/judges/until.ts';
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
let page: Page;

beforeEach(async () => {
  if (!hasBrowser) return;
  workspace = createTempWorkspace();
  workspace.write('.trouperc.json', '{"engines": {"rehearsal": true}}');
  [server, web, browser] = await Promise.all([
    startServer(workspace),
    startWeb(workspace),
    launchBrowser({ whole: true })
  ]);
});

afterEach(async () => {
  if (!hasBrowser) return;
  await browser.close();
  await web.end();
  await server.close();
  workspace.remove();
});

async function spawn(prompt: string, ask = false): Promise<string> {
  const { data } = await server.call('spawn_rehearsal', {
    prompt,
    access: 'read',
    ...(ask ? { ask: 'person' } : {})
  });
  return String(data.agent_id);
}

const words = 'words-of-an-agent';

/**
 * Opens the page where notifications are allowed, or refused.
 * @param isHidden whether another tab is in front of it
 */
async function open(isHidden: boolean, isAllowed = true): Promise<void> {
  const context = await browser.newContext();
  const { origin } = new URL(web.link);
  if (isAllowed) await context.grantPermissions(['notifications'], { origin });
  page = await openTab(context, isHidden, web.link);
}

async function openTab(
  context: BrowserContext,
  isHidden: boolean,
  address: string
): Promise<Page> {
  const tab = await context.newPage();
  // Playwright makes every page believe that it is in front.
  await tab.addInitScript(`
    window.isHidden = ${isHidden};
    Object.defineProperty(document, 'hidden', { get: () => window.isHidden });
    window.shown = [];
    window.Notification = class extends Notification {
      constructor(title, options) {
        super(title, options);
        const { body, tag } = this;
        this.onshow = () => window.shown.push({ title, body, tag });
        this.onerror = () => window.shown.push('error');
      }
    };`);
  await tab.goto(address);
  await tab.waitForSelector('h1');
  return tab;
}

/** Notifications that the browser has shown. */
function shown(tab = page): Promise<Record<string, string>[]> {
  return tab.evaluate('window.shown');
}

async function shownOf(id: string, count: number, tab = page) {
  return until(`${count} notifications of ${id}`, async () => {
    const own = (await shown(tab)).filter(({ body }) => body?.startsWith(id));
    return own.length >= count ? own : undefined;
  });
}

function row(id: string) {
  return page.locator(`a.row[data-row="${id}"]`);
}

browserTest(
  'a hidden page notifies once of each ask and each end that comes while it is open',
  async () => {
    const ended = await spawn(`say ${words}`);
    const asking = await spawn(`permit make ${words}`, true);
    const running = await spawn(`sleep 600\nsay ${words}`);
    await open(true);
    await row(ended).getByText('completed').waitFor();
    await page.getByRole('article').waitFor();

    const asks = await spawn(`${words}\npermit make ${words}`, true);
    await shownOf(asks, 1);
    await server.call('cancel_agent', { agent_id: asks, reason: words });
    await shownOf(asks, 2);
    await server.call('cancel_agent', { agent_id: running, reason: words });
    await shownOf(running, 1);
    // A page that is loaded by the next tab sends its rows once more.
    const { origin } = new URL(web.link);
    const other = await openTab(page.context(), true, origin);
    await other.locator(`a.row[data-row="${asks}"]`).waitFor();
    const last = await spawn(`fail auth ${words}`);
    await shownOf(last, 1);

    const all = await shown();
    const titles = (id: string) =>
      all
        .filter(({ body }) => body === `${id} in ${workspace.path}`)
        .map(({ title }) => title);
    expect(titles(asks)).toEqual(['rehearsal asks', 'rehearsal canceled']);
    expect(titles(running)).toEqual(['rehearsal canceled']);
    expect(titles(last)).toEqual(['rehearsal failed']);
    expect(titles(ended)).toEqual([]);
    expect(titles(asking)).toEqual([]);
    expect(all.length).toBe(4);
    expect(JSON.stringify(all)).not.toContain(words);
    expect(new Set(all.map(({ tag }) => tag)).size).toBe(4);
  }
);

browserTest(
  'a page in front notifies of nothing, nor does a hidden one while another is in front',
  async () => {
    await open(false);
    const { origin } = new URL(web.link);
    const hidden = await openTab(page.context(), true, origin);
    await hidden.evaluate(`
      window.channel = new BroadcastChannel('troupe visible');
      window.channel.onmessage = ({ data }) => {
        if (data === 'visible') window.hasAnswer = true;
      };`);
    const first = await spawn('say hello');
    for (const tab of [page, hidden])
      await tab
        .locator(`a.row[data-row="${first}"]`)
        .getByText('completed')
        .waitFor();
    await until('the answer of the page in front', () =>
      hidden.evaluate<boolean | undefined>('window.hasAnswer')
    );
    await page.evaluate('window.isHidden = true');
    const second = await spawn('say hello');
    for (const tab of [page, hidden]) {
      await shownOf(second, 1, tab);
      expect((await shown(tab)).length).toBe(1);
    }
  }
);

browserTest('a page that may not notify offers to ask for it', async () => {
  await open(true, false);
  const id = await spawn('say hello');
  await row(id).getByText('completed').waitFor();
  expect(await shown()).toEqual([]);
  const { state } = (await page.evaluate(
    "navigator.permissions.query({ name: 'notifications' }).then(({ state }) => ({ state }))"
  )) as { state: string };
  expect(await page.getByRole('button', { name: 'Notify me' }).count()).toBe(
    state === 'prompt' ? 1 : 0
  );
});
