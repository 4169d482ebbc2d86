import { existsSync } from 'node:fs';
import { join } from 'node:path';
import axe from 'axe-core';
import {
  type Browser,
  type BrowserContext,
  chromium,
  type Page
} from 'playwright-core';
import { expect } from 'vitest';
import { needing } from '../workspaces/needs.ts';

/** Where Debian, Ubuntu and macOS put it; TROUPE_CHROMIUM names another. */
const places = [
  process.env.TROUPE_CHROMIUM ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'
];

const wholeBrowser = places.find((path) => path !== '' && existsSync(path));

/** Debian's build without windows takes half of the processor time. */
const windowless = '/usr/bin/chromium-headless-shell';

/** `test`, for what a browser shows. */
export const browserTest = needing('chromium', wholeBrowser !== undefined);

/** Nothing can be started without one: hooks have to ask. */
export const hasBrowser = wholeBrowser !== undefined;

/** @param options.whole also shows notifications */
export function launchBrowser({ whole = false } = {}): Promise<Browser> {
  const isWhole =
    whole || !existsSync(windowless) || process.env.TROUPE_CHROMIUM;
  return chromium.launch({
    executablePath: (isWhole ? wholeBrowser : windowless) ?? '',
    // Containers have no user namespaces for its own sandbox.
    args: ['--no-sandbox', '--disable-dev-shm-usage']
  });
}

/** A page, and everything that it should not have said or loaded. */
export interface WatchedPage {
  page: Page;
  /** Messages of the console, refusals of the policy among them, and errors. */
  messages: string[];
  /** Addresses of requests that leave the server of the page. */
  foreign: string[];
}

/** @param link of the server that the page may talk to */
export async function openPage(
  context: BrowserContext,
  link: string
): Promise<WatchedPage> {
  const page = await context.newPage();
  const watched: WatchedPage = { page, messages: [], foreign: [] };
  page.on('console', (message) => watched.messages.push(message.text()));
  page.on('pageerror', (error) => watched.messages.push(error.message));
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== new URL(link).origin)
      watched.foreign.push(request.url());
  });
  await page.goto(link);
  await page.waitForSelector('h1');
  return watched;
}

/** `scripts/page-screens.mjs` names a folder for pictures. */
export const pictures = process.env.TROUPE_SCREENS;

/** Pictures for the documentation, which show no path of the machine. */
export const isForDocs = process.env.TROUPE_SCREENS_OF === 'docs';

/** A picture of the whole page, if pictures are wanted. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  if (pictures === undefined || isForDocs) return;
  const file = `${name.replaceAll(/[^\w-]+/g, '-')}.png`;
  await page.screenshot({ path: join(pictures, file), fullPage: true });
}

/** What axe finds wrong with the page as it is shown. */
export async function axeFaults(page: Page): Promise<string[]> {
  // By the debugger, because the policy of the page forbids other scripts.
  const session = await page.context().newCDPSession(page);
  const { frameTree } = await session.send('Page.getFrameTree');
  const { executionContextId } = await session.send(
    'Page.createIsolatedWorld',
    { frameId: frameTree.frame.id }
  );
  const evaluate = async (expression: string) => {
    const { result, exceptionDetails } = await session.send(
      'Runtime.evaluate',
      {
        expression,
        contextId: executionContextId,
        awaitPromise: true,
        returnByValue: true
      }
    );
    if (exceptionDetails) throw new Error(JSON.stringify(exceptionDetails));
    return result.value;
  };
  await evaluate(axe.source);
  const faults = await evaluate(`axe.run(document).then(({violations}) =>
    violations.flatMap(({id, nodes}) =>
      nodes.map(({html, failureSummary}) =>
        id + ': ' + html.slice(0, 200) + ' ' + failureSummary)))`);
  await session.detach();
  return faults;
}

/** Whether the page is wider than the screen. */
export function isTooWide(page: Page): Promise<boolean> {
  return page.evaluate(
    'document.documentElement.scrollWidth > window.innerWidth'
  );
}

/**
 * Fails unless what is shown is sound for axe and fits, in light and dark, wide
 * and narrow, and the page has said nothing to the console.
 */
export async function expectSound(
  { page, messages }: WatchedPage,
  name: string
): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const)
    for (const width of [390, 1280]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      expect(await axeFaults(page), name).toEqual([]);
      expect(await isTooWide(page), name).toBe(false);
      await keepPicture(page, `${name} ${colorScheme} ${width}`);
    }
  expect(messages).toEqual([]);
}
