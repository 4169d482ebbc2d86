import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { startHttp } from '../kit/servers/http-server.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../kit/workspaces/temp-workspace.ts';
import { startFixture } from './fixture-server.ts';
import { testWith } from './judges.ts';
import { runSuite } from './suite.ts';

const judged = testWith('conformance');

const expectedFailures = join(import.meta.dirname, 'expected-failures.yaml');
const expectedLater = join(
  import.meta.dirname,
  'expected-failures-2026-07-28.yaml'
);

/**
 * Run by the suite, but not required: its own reference server does not pass
 * it. A stream that breaks is not resumed by a server that keeps no events.
 */
const unscored = 'server-sse-polling';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

judged(
  'a server with the tools, prompts and resources of the suite passes all that 2025-11-25 requires',
  async () => {
    const token = 'a-token-for-conformance-tests';
    const server = await startFixture(workspace, token);
    const { url } = server;
    const verdict = await runSuite(
      { url, token },
      workspace.home,
      '2025-11-25'
    );
    await server.close();
    const { code, scenarios, failed, told } = verdict;
    expect(failed, told).toEqual([unscored]);
    expect(code, told).toBe(0);
    expect(scenarios).toHaveLength(33);
  }
);

judged(
  'the server itself passes it but for what is named, with its reason',
  async () => {
    const server = await startHttp(workspace, { flags: ['--toolsets', 'all'] });
    const verdict = await runSuite(
      server,
      workspace.home,
      '2025-11-25',
      expectedFailures
    );
    expect(await server.end()).toBe(0);
    const { code, scenarios, failed, told } = verdict;
    const named = namedIn(expectedFailures);
    // The schema of a tool of the suite's own, which is not required either.
    const others = [unscored, 'json-schema-2020-12'];
    expect(failed, told).toEqual([...named, ...others].sort());
    expect(code, told).toBe(0);
    expect(scenarios).toHaveLength(33);
    expect(server.command.stderr).not.toContain('bug');
  }
);

/** An extension, which the server does not declare. */
function isOfTasks(scenario: string): boolean {
  return scenario.startsWith('tasks-');
}

judged(
  'a server with the tools of the suite passes all that 2026-07-28 requires but a prompt that asks',
  async () => {
    const token = 'a-token-for-conformance-tests';
    const server = await startFixture(workspace, token);
    const { url } = server;
    const verdict = await runSuite(
      { url, token },
      workspace.home,
      '2026-07-28'
    );
    await server.close();
    const { scenarios, failed, told } = verdict;
    // Prompts of another program cannot ask for more; its tools can.
    expect(
      failed.filter((one) => !isOfTasks(one)),
      told
    ).toEqual(['input-required-result-non-tool-request']);
    expect(scenarios).toHaveLength(50);
  }
);

judged(
  'the server itself passes 2026-07-28 but for what is named, with its reason',
  async () => {
    const server = await startHttp(workspace, { flags: ['--toolsets', 'all'] });
    const verdict = await runSuite(
      server,
      workspace.home,
      '2026-07-28',
      expectedLater
    );
    expect(await server.end()).toBe(0);
    const { code, scenarios, failed, told } = verdict;
    const warned = [
      'input-required-result-missing-input-response',
      'input-required-result-validate-input'
    ];
    const named = namedIn(expectedLater).filter((one) => !warned.includes(one));
    // They call tools of the suite's own, and are not required either.
    const others = [
      'http-custom-header-server-validation',
      'json-schema-2020-12'
    ];
    expect(
      failed.filter((one) => !isOfTasks(one)),
      told
    ).toEqual([...named, ...others].sort());
    expect(code, told).toBe(0);
    expect(scenarios).toHaveLength(50);
    expect(server.command.stderr).not.toContain('bug');
  }
);

function namedIn(file: string): string[] {
  return z
    .strictObject({ server: z.array(z.string()) })
    .parse(parse(readFileSync(file, 'utf8'))).server;
}
