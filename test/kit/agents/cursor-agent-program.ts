import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { TempWorkspace } from '../workspaces/temp-workspace.ts';
import type { Recording } from './recordings.ts';

export interface CursorCall {
  argv: string[];
  cwd: string;
  env: Record<string, string>;
  prompt: string;
}

/** Puts the stand-in for Cursor's command line on PATH. */
export function cursorAgentProgram(workspace: TempWorkspace): {
  path: string;
  /** How it was asked last. */
  seen: () => CursorCall;
} {
  const source = join(import.meta.dirname, 'cursor-agent-stand-in.mjs');
  const path = workspace.program(
    'cursor-agent',
    `import(${JSON.stringify(pathToFileURL(source).href)});`
  );
  return { path, seen: () => JSON.parse(readFileSync(`${path}.seen`, 'utf8')) };
}

/** What it puts out for prompts of every kind that end by themselves. */
export function cursorAgentOutputs(workspace: TempWorkspace): Recording[] {
  const { path } = cursorAgentProgram(workspace);
  return [
    'say: All done.',
    'shell: npm test',
    'edit: notes.md',
    'error result',
    'polite error result',
    'crash',
    'vanish',
    'untrusted'
  ].map((prompt) => {
    const { status, stdout, stderr } = spawnSync(
      path,
      ['-p', '--output-format', 'stream-json', '--trust'],
      {
        input: prompt,
        encoding: 'utf8',
        env: { HOME: workspace.home, CURSOR_API_KEY: 'key' }
      }
    );
    const engine = 'cursor-agent';
    return { engine, case: prompt, exitCode: status, stdout, stderr };
  });
}
