import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { commandHere } from '../kit/servers/command-here.ts';
import { goldenEnvironment, goldenStage, type Scene } from './golden-stage.ts';
import { steady } from './golden-steady.ts';

/**
 * For each file of `golden/`, a test that runs its command in this process and
 * compares the output in a pipe. For commands whose arguments have no blank,
 * and that change nothing.
 */
export function goldenHere(set: string, names: string[], scene: Scene): void {
  const stage = goldenStage(scene);
  const before = process.cwd();
  afterAll(async () => {
    process.chdir(before);
    await (await stage).stop();
  });
  const cases = names.flatMap((name) => casesIn(set, name));
  test.each(cases)('"troupe %s" prints what golden/%s says', async (...one) => {
    const [command, , expected] = one;
    const { workspace, ids } = await stage;
    process.chdir(workspace.path);
    const { code, stdout, stderr } = await commandHere(
      workspace,
      command.split(' '),
      goldenEnvironment(workspace)
    );
    const errors = stderr === '' ? '' : `-- stderr\n${stderr}`;
    const text = steady(`${stdout}${errors}`, ids);
    expect(`exit code ${code}\n${text}`).toBe(expected);
  });
}

type Case = [command: string, file: string, expected: string];

/** The command in a pipe, and with `--json` if the file has that. */
function casesIn(set: string, name: string): Case[] {
  const file = `${set}/${name}`;
  const path = join(import.meta.dirname, `${file}.txt`);
  const [first = '', ...sections] = readFileSync(path, 'utf8').split(/^== /m);
  const command = first.replace(/^\$ troupe /, '').trim();
  return sections.flatMap((section): Case[] => {
    const [, flag = '', rest = ''] =
      /^in a pipe( --json)?, (exit code [\s\S]*)$/.exec(section) ?? [];
    // The entry of the program prints errors as JSON.
    if (rest === '' || rest.includes('{"error":')) return [];
    return [[`${command}${flag}`, file, rest.replace(/\n\n$/, '\n')]];
  });
}
