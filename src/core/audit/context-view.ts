import { join } from 'node:path';
import { replaceFile } from '../state/atomic-file.ts';
import { ensureDirectory } from '../state/directories.ts';
import { oneLine, utc } from './entry.ts';

export interface ActiveAgent {
  agent_id: string;
  label: string;
  kind: 'cli' | 'api';
  model: string | null;
  task: string;
  created_at: string;
}

/** Agents that are at work now, as a markdown table. */
export function activeTable(active: ActiveAgent[]): string {
  const rows = active.map((agent) => {
    const started = utc(agent.created_at).replace(' UTC', '');
    const model = oneLine(agent.model ?? 'default', 40);
    return `| \`${agent.agent_id}\` | ${oneLine(agent.label, 40)} | ${agent.kind.toUpperCase()} | ${model} | ${oneLine(agent.task, 50)} | ${started} |`;
  });
  return [
    '| ID | Agent | Type | Model | Task | Started |',
    '|----|-------|------|-------|------|---------|',
    ...(rows.length > 0 ? rows : ['| - | - | - | - | *No active agents* | - |'])
  ].join('\n');
}

/** `logs/CONTEXT.md`: who is at work now, rebuilt from what is alive. */
export function writeContext(
  logDirectory: string,
  active: ActiveAgent[],
  now = new Date()
): void {
  ensureDirectory(logDirectory);
  replaceFile(
    join(logDirectory, 'CONTEXT.md'),
    [
      '# Agent Context',
      '',
      '> Written by troupe; changes made here are lost.',
      '',
      `**Last updated:** ${utc(now.toISOString())}`,
      '',
      '## Active Agents',
      '',
      activeTable(active),
      '',
      'What agents did before is in [IAC.md](IAC.md).',
      ''
    ].join('\n')
  );
}
