import { HostError } from '../../core/errors.ts';
import type { CouncilDoor } from '../../council-config.ts';
import { readFlags } from '../served-flags.ts';
import { serveWith } from './mcp.ts';

/** Flags of `council mcp`; as with `troupe mcp`, help shows them elsewhere. */
export const councilFlags = {
  'agent-name': { type: 'string', short: 'n' },
  format: { type: 'string', short: 'f' },
  workspace: { type: 'string' },
  config: { type: 'string' },
  engines: { type: 'string' },
  'max-access': { type: 'string' },
  trust: { type: 'boolean' }
} as const;

/** Serves the council's tools alone, until the client leaves. */
export async function runCouncilMcp(args: string[]): Promise<void> {
  let councilDoor: CouncilDoor = {};
  await serveWith(
    () => {
      const values = readFlags(args, councilFlags, 'council mcp');
      const { workspace, config, engines, trust } = values;
      councilDoor = doorOf(values['agent-name'], values.format);
      return {
        workspace,
        config,
        engines,
        trust,
        maxAccess: values['max-access'],
        toolsets: 'council'
      };
    },
    (config) => ({ ...config, councilDoor })
  );
}

/** @throws HostError `config_invalid` */
function doorOf(name: string | undefined, format = 'markdown'): CouncilDoor {
  if (format !== 'markdown' && format !== 'json')
    throw new HostError(
      'config_invalid',
      `--format is "${format}".`,
      'Give markdown or json.'
    );
  const agentName = name?.trim();
  if (agentName !== undefined && !/^.{1,200}$/su.test(agentName))
    throw new HostError(
      'config_invalid',
      '--agent-name is empty, or longer than 200 characters.',
      'Give the name under which the agent takes part.'
    );
  return { agentName, format };
}
