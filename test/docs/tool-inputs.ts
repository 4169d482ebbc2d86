import { z } from 'zod';
import { optionalEngines } from '../../plugins/index.ts';
import { loadConfig } from '../../src/config/config.ts';
import { createHost } from '../../src/host/host.ts';
import { toolsOf } from '../../src/interfaces/mcp/server/offer.ts';
import type { TempWorkspace } from '../kit/workspaces/temp-workspace.ts';

/** What is wrong with the input of a call, as the tool itself would say it. */
export type InputJudge = (tool: string, input: string) => string | undefined;

/** Judges by the schemas of all tools that a server can have. */
export async function inputJudge(
  workspace: TempWorkspace
): Promise<InputJudge> {
  const engines = optionalEngines.map(({ name }) => [name, true]);
  const config = {
    engines: Object.fromEntries(engines),
    squad: { stateMode: 'stateful' }
  };
  workspace.write('.trouperc.json', JSON.stringify(config));
  const flags = { workspace: workspace.path, toolsets: 'all' };
  const host = await createHost(await loadConfig(flags, {}));
  const schemas = new Map(
    toolsOf(host).map(({ name, inputSchema }) => [
      name,
      z.fromJSONSchema(inputSchema)
    ])
  );
  await host.close();
  return (tool, input) => {
    // A user's engine takes the same input as a built-in one.
    const schema =
      schemas.get(tool) ??
      (tool.startsWith('spawn_') ? schemas.get('spawn_claude') : undefined);
    if (!schema) return `there is no tool "${tool}"`;
    try {
      const { error } = schema.safeParse(JSON.parse(input));
      return error && z.prettifyError(error);
    } catch {
      return 'its input is not JSON';
    }
  };
}
