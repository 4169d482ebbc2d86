import { execFile } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { installOurs } from '../kit/workspaces/npm-package.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../kit/workspaces/temp-workspace.ts';
import type { Action, Turn } from '../model-server/actions.ts';
import { type ModelServer, startModelServer } from '../model-server/server.ts';
import { allClis, furnishHome, userEnvironment } from './clis.ts';

/** What a user types behind the name of a command; no page says it. */
export const task = 'Tick off the jobs in notes.md';

/** Of the prompt that the command stands for. */
export const order = 'You answer for the outcome.';

/** A user's machine with the npm package on it and no client set up. */
export class PackagedClient {
  readonly workspace: TempWorkspace;
  readonly model: ModelServer;
  /** Of the installed package. */
  readonly folder: string;

  constructor(workspace: TempWorkspace, model: ModelServer) {
    this.workspace = workspace;
    this.model = model;
    this.folder = installGlobally(workspace);
    furnishHome(workspace.home, allClis);
    const engines = { rehearsal: true };
    workspace.write('troupe.config.json', JSON.stringify({ engines }));
  }

  /** Runs a client's program to its end; gives what it printed. */
  run(program: string, args: string[], stdin = ''): Promise<string> {
    const { url } = this.model;
    const user = userEnvironment(...allClis);
    const troupe = join(this.workspace.home, 'npm', 'bin');
    return new Promise((resolve, reject) => {
      const child = execFile(
        program,
        args,
        {
          cwd: this.workspace.path,
          timeout: 60_000,
          env: {
            ...{ HOME: this.workspace.home, LANG: 'C.UTF-8', TERM: 'dumb' },
            ...user,
            PATH: [troupe, user.PATH].join(delimiter),
            GEMINI_CLI_TRUST_WORKSPACE: 'true',
            IS_SANDBOX: '1',
            ANTHROPIC_BASE_URL: url,
            COPILOT_PROVIDER_BASE_URL: url,
            GOOGLE_GEMINI_BASE_URL: url
          }
        },
        (error, stdout, stderr) => {
          const said = `${stdout}\n${stderr}`;
          if (error) reject(new Error(`${error.message}\n${said}`));
          else resolve(said);
        }
      );
      child.stdin?.end(stdin);
    });
  }
}

/** A machine whose model answers the task as the script says. */
export async function createPackagedClient(
  script: (turn: Turn) => Action[]
): Promise<PackagedClient> {
  const model = await startModelServer({
    script: (turn) =>
      [task, order].some((words) => turn.prompt.includes(words))
        ? script(turn)
        : undefined
  });
  const workspace = createTempWorkspace();
  onTestFinished(async () => {
    await model.close();
    workspace.remove();
  });
  return new PackagedClient(workspace, model);
}

/** As `npm install -g` leaves it; gives the folder of the package. */
function installGlobally(workspace: TempWorkspace): string {
  const prefix = join(workspace.home, 'npm');
  const folder = installOurs(workspace, join(prefix, 'lib', 'node_modules'));
  mkdirSync(join(prefix, 'bin'));
  symlinkSync(join(folder, 'dist/troupe.cjs'), join(prefix, 'bin/troupe'));
  writeFileSync(join(workspace.home, '.npmrc'), `prefix=${prefix}\n`);
  return folder;
}
