import { execFile } from 'node:child_process';
import {
  allClis,
  claude,
  codex,
  geminiCli,
  type RealCli,
  userEnvironment
} from '../engines/clis.ts';
import type { Place } from './provoke.ts';

interface ClientSymptom {
  cli: RealCli;
  /** What shows it, once troupe has been added to the project. */
  args: string[];
}

/** Symptoms that the real clients show before their user has agreed. */
export const symptomsOfClients: Record<string, ClientSymptom> = {
  'The tools do not appear in Claude Code': {
    cli: claude,
    args: ['mcp', 'list']
  },
  'The tools do not appear in Codex': { cli: codex, args: ['mcp', 'list'] },
  'The tools do not appear in Gemini CLI': {
    cli: geminiCli,
    args: ['mcp', 'list']
  }
};

/** What a client says in a project to which it was just added. */
export async function saidByClient(
  { workspace, run }: Place,
  { cli, args }: ClientSymptom
): Promise<string> {
  await run(['init', cli.name, '--yes']);
  return new Promise((resolve) => {
    const env = {
      HOME: workspace.home,
      LANG: 'C.UTF-8',
      ...userEnvironment(...allClis)
    };
    execFile(cli.program, args, { cwd: workspace.path, env }, (_, out, err) =>
      resolve(err + out)
    );
  });
}
