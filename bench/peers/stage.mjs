/** A workspace with stand-ins for agent programs, which only print a text. */
import { mkdirSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { processesOf } from '../processes.mjs';
import { createWorkspace } from '../support.mjs';

/**
 * @param lines printed like Claude Code's `--output-format stream-json`
 * @param text printed without that flag, and by the other programs
 * @param seconds the delay before the output
 * @param answers the files with both, from another stage
 */
export function setStage({ lines, text = 'ok', seconds = 0, answers }) {
  const stage = createWorkspace();
  answers ??= {
    lines: stage.file('answer.jsonl', lines ?? linesOf('ok')),
    text: stage.file('answer.txt', text)
  };
  mkdirSync(join(stage.base, 'bin'));
  const wait = seconds > 0 ? `sleep ${seconds}\n` : '';
  for (const name of ['claude', 'codex', 'gemini'])
    stage.file(
      join('bin', name),
      `#!/bin/sh
case "$*" in
  *--version*) echo '2.1.0 (Claude Code)'; exit;;
esac
${wait}case "$*" in
  *stream-json*) cat >/dev/null; exec cat '${answers.lines}';;
  *) exec cat '${answers.text}';;
esac
`,
      0o755
    );
  const programs = join(stage.base, 'bin');
  const node = dirname(process.execPath);
  return {
    ...stage,
    ...{ answers, programs },
    searched: [programs, node, '/usr/bin', '/bin'].join(delimiter),
    remove: () => {
      for (const pid of processesOf(stage.base)) end(pid);
      stage.remove();
    }
  };
}

function end(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has already exited.
  }
}

/** The events of a run that ends well. */
export function linesOf(result) {
  const session_id = '0b7c8a52-6f0e-4d55-9c3e-2f7d1f6f3c11';
  const content = [{ type: 'text', text: result.slice(0, 100) }];
  return [
    { type: 'system', subtype: 'init', session_id },
    { type: 'assistant', message: { role: 'assistant', content }, session_id },
    { type: 'result', subtype: 'success', is_error: false, result, session_id }
  ]
    .map((event) => `${JSON.stringify(event)}\n`)
    .join('');
}
