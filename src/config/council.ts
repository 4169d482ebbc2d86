import { homedir, userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { lazy } from '../core/lazy.ts';
import { defaultConfig } from './defaults.ts';

/** The configuration's `council`. */
export const councilSchema = lazy(() => {
  const defaults = defaultConfig().council;
  return z
    .strictObject({
      scope: z
        .enum(['user', 'project'])
        .default(defaults.scope)
        .describe(
          '`user`: one council for all projects, in `~/.agents-council/`. `project`: one of its own, in `.agents/council/`.'
        ),
      statePath: z
        .string()
        .min(1)
        .optional()
        .describe(
          "The council's file, relative to the workspace. It overrides `scope`."
        )
    })
    .describe('Where the shared council is kept.');
});

type CouncilConfig = z.output<ReturnType<typeof councilSchema>>;

/** How `council mcp` serves its tools. */
export interface CouncilDoor {
  /** The name of all callers; undefined: each call gives one. */
  agentName?: string | undefined;
  /** The form of an answer's text. Default: json. */
  format?: 'markdown' | 'json';
}

export const statePathVariable = 'AGENTS_COUNCIL_STATE_PATH';

/** The file of the council; the user's own by default. */
export function councilPathOf(
  { scope, statePath }: CouncilConfig,
  workspace: string
): string {
  if (statePath !== undefined) return resolve(workspace, atHome(statePath));
  return scope === 'project'
    ? join(workspace, '.agents', 'council', 'state.json')
    : join(home(), '.agents-council', 'state.json');
}

function atHome(path: string): string {
  return path === '~' || path.startsWith('~/')
    ? join(home(), path.slice(1))
    : path;
}

/** An empty HOME is ignored. */
function home(): string {
  return homedir() || userInfo().homedir;
}
