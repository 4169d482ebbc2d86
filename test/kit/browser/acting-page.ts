import type { Browser, Page } from 'playwright-core';
import { type McpClient, startServer } from '../servers/mcp-client.ts';
import { type StartedWeb, startWeb } from '../servers/web-server.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../workspaces/temp-workspace.ts';
import { openPage, type WatchedPage } from './page-browser.ts';

/** A page for acting, of a workspace whose agents and workers rehearse. */
export interface ActingPage {
  workspace: TempWorkspace;
  server: McpClient;
  web: StartedWeb;
  opened: WatchedPage;
  page: Page;
  /** @param worker is ended, too */
  close: (worker?: string) => Promise<void>;
}

export async function actingPage(browser: Browser): Promise<ActingPage> {
  const workspace = createTempWorkspace();
  workspace.write(
    '.trouperc.json',
    JSON.stringify({
      engines: { rehearsal: true },
      orchestrator: { backend: 'process', engine: 'rehearsal' }
    })
  );
  const server = await startServer(workspace, {
    flags: ['--engine', 'rehearsal', '--toolsets', 'all']
  });
  const web = await startWeb(workspace);
  const context = await browser.newContext();
  const opened = await openPage(context, web.link);
  const close = async (worker?: string) => {
    await context.close();
    await web.end();
    const end = { agent_id: worker, force: true, confirm: true };
    if (worker !== undefined) await server.call('agent_delete', end);
    await server.close();
    workspace.remove();
  };
  const { page } = opened;
  return { workspace, server, web, opened, page, close };
}
