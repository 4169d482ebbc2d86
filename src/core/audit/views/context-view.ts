import type { RecordIdentity } from '../../paths/records.ts';
import { ensureDirectory } from '../../state/files/directories.ts';
import { markdownLine, utc } from './entry.ts';
import { markOf, replaceView, viewPath } from './view-file.ts';

export interface ActiveAgent {
  agent_id: string;
  label: string;
  kind: 'cli' | 'api';
  model: string | null;
  task: string;
  created_at: string;
  queued: boolean;
  /** True while it waits for an answer. */
  asking?: boolean;
}

const emptyRow = '| - | - | - | - | *No active agents* | - |';

/** Whether a view shows an empty table of active agents. */
export function showsNoActiveAgents(text: string): boolean {
  return text.split('\n').includes(emptyRow);
}

export function activeTable(active: ActiveAgent[]): string {
  const rows = active.map((agent) => {
    const started = agent.queued
      ? 'queued'
      : `${utc(agent.created_at).replace(' UTC', '')}${agent.asking ? ' (asking)' : ''}`;
    const model = markdownLine(agent.model ?? 'default', 40);
    return `| \`${agent.agent_id}\` | ${markdownLine(agent.label, 40)} | ${agent.kind.toUpperCase()} | ${model} | ${markdownLine(agent.task, 50)} | ${started} |`;
  });
  return [
    '| ID | Agent | Type | Model | Task | Started |',
    '|----|-------|------|-------|------|---------|',
    ...(rows.length > 0 ? rows : [emptyRow])
  ].join('\n');
}

const stem = 'CONTEXT';

export function contextPath(directory: string, identity: RecordIdentity) {
  return viewPath(directory, stem, identity);
}

/** Writes `logs/CONTEXT.md`, which lists the running agents. */
export async function writeContext(
  directory: string,
  identity: RecordIdentity,
  active: ActiveAgent[],
  now = new Date()
): Promise<void> {
  ensureDirectory(directory);
  const path = contextPath(directory, identity);
  const text = [
    '# Agent Context',
    '',
    markOf(path, stem, identity),
    '',
    `**Last updated:** ${utc(now.toISOString())}`,
    '',
    '## Active Agents',
    '',
    activeTable(active.filter(({ queued }) => !queued)),
    '',
    'What agents did before is in [IAC.md](IAC.md).',
    ''
  ].join('\n');
  await replaceView(path, [text], identity);
}
